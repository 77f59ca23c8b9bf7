/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/budget.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/engine/base/points.h"

int budget_open(struct engine *e)
{
    store_relaxed(&e->budget.most, BUDGET_UNBOUND);
    e->budget.accounts = calloc(BUDGET_ACCOUNTS, sizeof(*e->budget.accounts));
    return e->budget.accounts ? 0 : -ENOMEM;
}

void budget_close(struct engine *e)
{
    free(e->budget.accounts);
    e->budget.accounts = NULL;
}

void budget_charge(struct engine *e, struct window_history *window, uint32_t pages)
{
    uint32_t charged = load_relaxed(&window->charged);
    pages = budget_whole_pages(e, pages + BUDGET_FREE_PAGES) - budget_free_pages(e);
    if (pages <= charged)
        return;
    store_relaxed(&window->charged, pages);
    atomic_fetch_add_explicit(&e->budget.pages, (int64_t)pages - charged, memory_order_relaxed);
}

void budget_give_back(struct engine *e, struct window_history *window, uint32_t resident)
{
    uint32_t charged = load_relaxed(&window->charged),
             left = resident > budget_free_pages(e) ? resident - budget_free_pages(e) : 0;
    if (left >= charged)
        return;
    store_relaxed(&window->charged, left);
    /* seq_cst: before the look whether a port waits for it (overflow.X6) */
    int64_t before =
        atomic_fetch_sub_explicit(&e->budget.pages, (int64_t)charged - left, memory_order_seq_cst);
    engine_check("budget.B2", before >= (int64_t)charged - left);
}

static void budget_account_add(struct engine *e, uint32_t account, int64_t bytes)
{
    /* seq_cst: as above, where it gets less */
    int64_t before = atomic_fetch_add_explicit(&e->budget.accounts[account].waiting, bytes,
                                               memory_order_seq_cst);
    engine_check("budget.B3", before + bytes >= 0);
}

static void budget_account_add_time(struct engine *e, uint32_t account, int64_t ns)
{
    /* seq_cst: as above */
    int64_t before = atomic_fetch_add_explicit(&e->budget.accounts[account].waiting_ns, ns,
                                               memory_order_seq_cst);
    engine_check("budget.B7", before + ns >= 0);
}

static uint32_t budget_time_account(uint64_t time)
{
    return (uint32_t)(time >> BUDGET_TIME_BITS);
}
static uint64_t budget_time_ns(uint64_t time)
{
    return time & ((UINT64_C(1) << BUDGET_TIME_BITS) - 1);
}

/* budget.B7: from now on this is what the word stands for. */
static void budget_time_set(struct engine *e, _Atomic uint64_t *time, uint32_t account, uint64_t ns)
{
    const uint64_t most = (UINT64_C(1) << BUDGET_TIME_BITS) - 1;
    uint64_t was = load_relaxed(time), is = ns < most ? ns : most;
    store_relaxed(time, (uint64_t)account << BUDGET_TIME_BITS | is);
    if (budget_time_account(was) == account) {
        budget_account_add_time(e, account, (int64_t)is - (int64_t)budget_time_ns(was));
        return;
    }
    if (budget_time_ns(was))
        budget_account_add_time(e, budget_time_account(was), -(int64_t)budget_time_ns(was));
    if (is)
        budget_account_add_time(e, account, (int64_t)is);
}

/* budget.B5 */
static struct budget_note *budget_note_find(struct engine *e, struct window_history *window,
                                            uint32_t account)
{
    struct budget_note *least = &window->notes[0];
    for (uint32_t i = 0; i < window->n_notes; i++) {
        struct budget_note *note = &window->notes[i];
        if (note->account == account)
            return note;
        if (note->bytes < least->bytes)
            least = note;
    }
    if (window->n_notes < BUDGET_NOTES)
        least = &window->notes[window->n_notes++];
    else
        budget_account_add(e, least->account, -(int64_t)least->bytes);
    *least = (struct budget_note){ .account = (uint16_t)account };
    return least;
}

void budget_note(struct engine *e, struct window_history *window, uint32_t account, uint64_t bytes)
{
    budget_note_find(e, window, account)->bytes += bytes;
    budget_account_add(e, account, (int64_t)bytes);
}

void budget_notes_clear_slow(struct engine *e, struct window_history *window)
{
    for (uint32_t i = 0; i < window->n_notes; i++)
        budget_account_add(e, window->notes[i].account, -(int64_t)window->notes[i].bytes);
    window->n_notes = 0;
    for (uint32_t i = 0; i < window->n_times; i++)
        budget_time_set(e, &window->times[i], 0, 0);
    window->n_times = 0;
}

/* ---- time ---- */

void budget_time_note(struct engine *e, struct window_history *window, uint32_t account,
                      uint64_t ns)
{
    _Atomic uint64_t *least = &window->times[0];
    uint64_t before = 0;
    for (uint32_t i = 0; i < window->n_times; i++) {
        uint64_t time = load_relaxed(&window->times[i]);
        if (budget_time_account(time) == account) {
            least = &window->times[i];
            before = budget_time_ns(time);
            break;
        }
        if (budget_time_ns(time) < budget_time_ns(load_relaxed(least)))
            least = &window->times[i];
    }
    if (budget_time_account(load_relaxed(least)) != account && window->n_times < BUDGET_NOTES)
        least = &window->times[window->n_times++];
    budget_time_set(e, least, account, before + ns);
}

/* In proportion: who has how much of what was run is not known. */
void budget_time_pass(struct engine *e, struct window_history *window, uint64_t ns)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < window->n_times; i++)
        all += budget_time_ns(load_relaxed(&window->times[i]));
    if (ns > all)
        ns = all;
    for (uint32_t i = 0; i < window->n_times; i++) {
        uint64_t time = load_relaxed(&window->times[i]), is = budget_time_ns(time),
                 gone = (uint64_t)((double)is * (double)ns / (double)(all + 1)) + 1;
        budget_time_set(e, &window->times[i], budget_time_account(time), is > gone ? is - gone : 0);
    }
}

static uint64_t budget_time_in(const struct window_history *window, uint32_t account)
{
    for (uint32_t i = 0; i < BUDGET_NOTES; i++) {
        uint64_t time = load_relaxed(&window->times[i]);
        if (budget_time_account(time) == account)
            return budget_time_ns(time);
    }
    return 0;
}

bool budget_is_slow(const struct engine *e, uint32_t account, uint32_t queue, uint64_t pending,
                    uint64_t ns)
{
    uint64_t most = load_relaxed(&e->budget.quota_ns), least = BUDGET_SLOW_LEAST * ns;
    uint64_t in_all = (uint64_t)load_relaxed(&e->budget.accounts[account].waiting_ns),
             here = budget_time_in(&e->windows[2 * queue], account) +
                    budget_time_in(&e->windows[2 * queue + 1], account);
    uint64_t most_in_all = most * engine_workers(e);
    if (most == 0)
        return false;
    return here + pending + ns > (most > least ? most : least) ||
           in_all + pending + ns > (most_in_all > least ? most_in_all : least);
}

/* budget.B6 */
static bool budget_account_is_free(const struct budget_account *account)
{
    return account->n_ports == 0 && load_relaxed(&account->waiting) == 0 &&
           load_relaxed(&account->waiting_ns) == 0;
}

uint32_t budget_account_get(struct engine *e, uint32_t user)
{
    uint32_t found = 0;
    for (uint32_t i = 1; user && i < BUDGET_ACCOUNTS; i++) {
        if (e->budget.accounts[i].user == user) {
            found = i;
            break;
        }
        if (found == 0 && budget_account_is_free(&e->budget.accounts[i]))
            found = i;
    }
    if (found) {
        e->budget.accounts[found].user = user;
        e->budget.accounts[found].n_ports++;
    }
    return found;
}

void budget_account_put(struct engine *e, uint32_t account)
{
    if (account)
        e->budget.accounts[account].n_ports--;
}

uint64_t budget_left(const struct engine *e, uint32_t account)
{
    if (likely(!budget_is_accounted(e)))
        return UINT64_MAX;
    int64_t left = (budget_most_for_clients(e) - budget_pages(e)) * BUDGET_PAGE;
    if (left <= 0)
        return 0;
    if (account == 0)
        return (uint64_t)left;
    /* as much as is free: one user alone gets half, the next one half of what is left */
    int64_t quota = (int64_t)load_relaxed(&e->budget.quota),
            mine = load_relaxed(&e->budget.accounts[account].waiting);
    if (quota > 0 && quota < left)
        left = quota;
    return left > mine ? (uint64_t)(left - mine) : 0;
}
