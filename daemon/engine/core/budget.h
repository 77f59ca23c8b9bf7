/* SPDX-License-Identifier: Apache-2.0 */
/* What waits: a bound for the memory of all windows together, of each user's part in it, and of the
 * time that each user's messages will take (docs/engine/budget.md).
 *
 * What is bound is not what waits but the pages that it has touched: a window that has been full
 * once keeps its pages for a while (reclaim.h), and memory is what runs out. The first
 * BUDGET_FREE_PAGES of a window are nobody's: with them a queue can always work. Pages are counted
 * by 4 KiB, whole ones of the machine's where those are larger; then the first one is nobody's.
 *
 * Threads: any; who may touch which history is told in budget.B1.
 *
 * budget.B1  A history's `charged` and notes are written under the queue's lock for its active
 *     buffer, and by the runner for the other one; a gulp, which changes them over, has both.
 * budget.B2  `pages` is the sum of all `charged`: each changes it by what it changes itself.
 * budget.B3  An account's `waiting` is the sum of its notes. A note goes when its buffer is empty:
 *     what has been consumed of a batch that goes on counts until then.
 * budget.B4  Users are accounted from an eighth of the bound on: below it nobody pays for the
 *     counting, and what came before is nobody's.
 * budget.B5  A window has six notes. A seventh user takes the place of the smallest, which is
 *     forgiven: who has much in a queue is known.
 * budget.B6  An account is given to another user when it has no port and nothing waits.
 * budget.B7  An account's `waiting_ns` is the sum of its times, which are kept as notes are
 *     (budget.B1, budget.B5). A time is what the mean of the behaviour's runs said when the
 *     message was taken in, from a port or by a request; that of one that is known to be quick
 *     is nothing. What a run has lasted is taken off, by parts, and the rest goes when the
 *     buffer is empty: whoever waits for it goes on.
 */
#pragma once

#include "daemon/engine/core/core.h"

enum {
    BUDGET_PAGE = 4096,
    BUDGET_FREE_PAGES = 4,
    /* of a behaviour that has not been timed yet: a guess, for which nobody is turned away */
    BUDGET_GUESS_NS = 10 * 1000 * 1000,
    /* so many may wait however long one takes */
    BUDGET_SLOW_LEAST = 8,
};
#define BUDGET_UNBOUND (INT64_MAX / 16)

int budget_open(struct engine *e);
void budget_close(struct engine *e);

static inline int64_t budget_pages(const struct engine *e)
{
    return load_relaxed(&e->budget.pages);
}
static inline int64_t budget_most(const struct engine *e)
{
    return load_relaxed(&e->budget.most);
}
/* budget.B4 */
static inline bool budget_is_accounted(const struct engine *e)
{
    return budget_pages(e) >= budget_most(e) / 8;
}
/* Windows give back at once what they do not need. */
static inline bool budget_is_pressed(const struct engine *e)
{
    return budget_pages(e) >= budget_most(e) / 2;
}
/* Nothing more is taken in. Of what clients post, the last eighth is not for. */
static inline bool budget_is_full(const struct engine *e)
{
    return budget_pages(e) >= budget_most(e);
}
static inline int64_t budget_most_for_clients(const struct engine *e)
{
    return budget_most(e) - budget_most(e) / 8;
}

/* So many of BUDGET_PAGE, up to the end of a page of the machine's. */
static inline uint32_t budget_whole_pages(const struct engine *e, uint32_t pages)
{
    uint32_t whole = (uint32_t)(e->segment.page_bytes / BUDGET_PAGE);
    return (pages + whole - 1) & ~(whole - 1);
}

static inline uint32_t budget_free_pages(const struct engine *e)
{
    return budget_whole_pages(e, BUDGET_FREE_PAGES);
}

/* The window holds so many pages behind BUDGET_FREE_PAGES. */
void budget_charge(struct engine *e, struct window_history *window, uint32_t pages);
/* The window holds so many bytes now (budget.B1). */
static inline void budget_touch(struct engine *e, struct window_history *window, uint64_t bytes)
{
    if (likely(bytes <= BUDGET_FREE_PAGES * BUDGET_PAGE))
        return;
    uint32_t pages = (uint32_t)((bytes + BUDGET_PAGE - 1) / BUDGET_PAGE) - BUDGET_FREE_PAGES;
    if (unlikely(pages > load_relaxed(&window->charged)))
        budget_charge(e, window, pages);
}
/* Only so many pages of the window exist any more. */
void budget_give_back(struct engine *e, struct window_history *window, uint32_t resident);

/* So many bytes more wait for `account` in the window. */
void budget_note(struct engine *e, struct window_history *window, uint32_t account, uint64_t bytes);
void budget_notes_clear_slow(struct engine *e, struct window_history *window);
static inline bool budget_has_notes(const struct window_history *window)
{
    return unlikely((window->n_notes | window->n_times) != 0);
}
/* The window's buffer is empty. */
static inline void budget_notes_clear(struct engine *e, struct window_history *window)
{
    if (budget_has_notes(window))
        budget_notes_clear_slow(e, window);
}

/* ---- time ---- */

/* What a message will take. */
struct budget_time {
    uint64_t ns;     /* 0: it is quick, or will not be run */
    bool is_guessed; /* it has not been slow some times in a row */
};
static inline struct budget_time budget_time_of(const struct engine *e, uint64_t key,
                                                uint16_t message_type)
{
    const struct actor_type *type = load_acquire(&e->types.known[actor_key_type(key)]);
    if (!type || message_type >= ODEON_MESSAGE_TYPES_MAX)
        return (struct budget_time){ 0 };
    uint32_t index = type->index_of[message_type];
    if (likely(index == BEHAVIOUR_NONE || actor_type_is_quick(type, index)))
        return (struct budget_time){ 0 };
    uint32_t took = load_relaxed(&type->took[index]);
    return (struct budget_time){ .ns = took ? took : BUDGET_GUESS_NS,
                                 .is_guessed = load_relaxed(&type->slow[index]) < BEHAVIOUR_SLOW };
}

/* So many ns more wait for `account` in the window (budget.B7). */
void budget_time_note(struct engine *e, struct window_history *window, uint32_t account,
                      uint64_t ns);
/* The window's batch has been run for so long, and goes on. */
void budget_time_pass(struct engine *e, struct window_history *window, uint64_t ns);
/* Is one that will take `ns` too much for the account, in this queue or in all? `pending`: what is
 * on its way there. */
bool budget_is_slow(const struct engine *e, uint32_t account, uint32_t queue, uint64_t pending,
                    uint64_t ns);

/* Control thread. `user` 0: 0, nobody's account; so is that of a user for whom there is none. */
uint32_t budget_account_get(struct engine *e, uint32_t user);
void budget_account_put(struct engine *e, uint32_t account);

/* Bytes that may still be posted for an account; UINT64_MAX where nobody is accounted. */
uint64_t budget_left(const struct engine *e, uint32_t account);
