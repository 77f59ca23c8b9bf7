/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/promises.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/engine/commit/durable.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/timers/shelf.h"
#include "tests/sim/keeper.h"
#include "tests/sim/lodger.h"
#include "tests/sim/workload.h"

enum { PROMISES_ONE_IN = 3, PROMISES_STEPS = 3, PROMISES_TIMERS = 256, PROMISES_STASH = 8 };

/* ---- the load */

void promises_draw(void)
{
    struct sim_random random = { .state = sim.seed ^ UINT64_C(0xd1342543de82ef95) };
    struct promises *promises = &workload.promises;

    if (!random_one_in(&random, PROMISES_ONE_IN) || workload.overflow != OVERFLOW_NEVER ||
        workload.endless.there)
        return;
    sim.steps_max *= PROMISES_STEPS;
    promises->n = 1 + random_below(&random, KEEPERS_MAX);
    promises->random.state = random_next(&random);
    promises->mayflies_last = random_one_in(&random, 2);
    workload.config.timers_max = PROMISES_TIMERS;
    workload.config.timer_bytes = 1 << 20;
    workload.config.stash_max = PROMISES_STASH;
    for (uint32_t i = 0; i < promises->n; i++) {
        struct keeper_book *book = &promises->keepers[i];
        enum engine_placement placement = (enum engine_placement)random_below(&random, PLACE_N);
        bool nowhere = placement == PLACE_NODE ||
                       (placement == PLACE_DETACHED && workload.config.detached_max == 0);
        book->placement = nowhere ? PLACE_SPREAD : placement;
        book->most = 1 + random_below(&random, PROMISES_MAX);
    }
}

/* Where there are threads enough, and room. */
static int promises_spawn(struct engine *e, uint32_t type, struct engine_spawn *spawn,
                          actor_ref *ret_ref)
{
    int r = engine_actor_spawn_placed(e, type, spawn, ret_ref);
    if ((r == -ENOSPC || r == -EAGAIN) && spawn->placement == PLACE_DETACHED) {
        spawn->placement = PLACE_SPREAD;
        r = engine_actor_spawn_placed(e, type, spawn, ret_ref);
    }
    while (promises_is_full(r)) {
        sim_sleep_ns(100000);
        r = engine_actor_spawn_placed(e, type, spawn, ret_ref);
    }
    return r;
}

actor_ref promises_find_or_make(struct engine *e, uint32_t type, struct engine_spawn *spawn,
                                actor_ref known)
{
    actor_ref ref;
    int r = engine_actor_lookup(e, spawn->name, &ref);
    if (r == -ENOENT && known == 0)
        r = promises_spawn(e, type, spawn, &ref);
    if (r < 0)
        sim_fail("%s: %s", spawn->name, strerror(-r));
    if (known != 0 && ref != known)
        sim_fail("%s has another reference than before", spawn->name);
    return ref;
}

static void promises_begin_keeper(struct engine *e, uint32_t i)
{
    struct keeper_book *book = &workload.promises.keepers[i];
    struct promise_message nothing = { .keeper = i, .number = PROMISES_MAX };
    char name[16];
    snprintf(name, sizeof(name), "keeper%u", i);
    struct engine_spawn spawn = { .placement = book->placement,
                                  .place = ENGINE_ANYWHERE,
                                  .name = name,
                                  .args = &i,
                                  .args_size = sizeof(i) };
    int r;
    actor_ref ref = promises_find_or_make(e, keeper_get_types()->keeper, &spawn, book->ref);
    book->placement = spawn.placement;
    book->ref = ref;
    /* Twice does no harm: it is nothing that was promised. */
    while (book->turn == 0 && (r = engine_actor_send(e, ref, keeper_get_types()->tick, &nothing,
                                                     sizeof(nothing))) < 0) {
        if (!promises_is_full(r))
            sim_fail("keeper %u cannot begin: %s", i, strerror(-r));
        sim_sleep_ns(100000);
    }
}

void promises_crashed(void)
{
    for (uint32_t i = 0; i < workload.promises.n; i++)
        workload.promises.keepers[i].running = false;
    lodger_crashed();
    memset(workload.promises.looked, 0, sizeof(workload.promises.looked));
}

/* In half of the loads a publication goes through its group once for each member. How far it comes
 * in a round does not change with a crash: group.G2 would not hold. */
void promises_opened(struct engine *e)
{
    if (sim.seed / 2 % 2)
        e->timers.members.block = 1;
}

void promises_begin(struct engine *e)
{
    if (sim.seed % 2) /* else only what is asked soon behind another question is on a shelf */
        e->timers.shelves.sparse_ns = UINT64_MAX;
    lodger_begin(e);
    for (uint32_t i = 0; i < workload.promises.n; i++)
        promises_begin_keeper(e, i);
}

void promises_look(struct engine *e)
{
    uint64_t now = sim.now;
    if (workload.config.timers_max == 0)
        return;
    engine_timers_look(e);
    workload.promises.looked[0] = workload.promises.looked[1];
    workload.promises.looked[1] = now;
}

/* ---- for the actors */

bool promises_draw_one_in(uint32_t n)
{
    return random_one_in(&workload.promises.random, n);
}

uint32_t promises_draw_below(uint32_t n)
{
    return random_below(&workload.promises.random, n);
}

bool promises_is_full(int r)
{
    return r == -EAGAIN && workload.promises.crowded;
}

void promises_must(int r, const char *what)
{
    if (r < 0)
        sim_fail("an actor cannot %s: %s", what, strerror(-r));
}

uint32_t promises_type(struct engine *e, struct engine_actor_type_info *info)
{
    uint32_t id;
    info->plugin = "simulated";
    info->version = 1;
    info->overflow = workload.promises.crowded && !workload.promises.rejects
                         ? OVERFLOW_POLICY_STALL
                         : OVERFLOW_POLICY_REJECT;
    promises_must(engine_actor_type_register(e, info, &id), "have a type");
    return id;
}

/* ---- the book */

static void promises_strike(struct keeper_book *book, uint32_t turn)
{
    while (book->n > 0 && book->promises[book->n - 1].made == turn)
        book->n--;
    for (uint32_t i = 0; i < book->n; i++) {
        struct promise *promise = &book->promises[i];
        promise->settled = promise->settled == turn ? 0 : promise->settled;
        promise->given_up = promise->given_up == turn ? 0 : promise->given_up;
        promise->word = promise->word == turn ? 0 : promise->word;
        if (promise->last == turn)
            promise->due_ns = promise->due_before_ns;
    }
}

struct keeper_book *promises_turn(struct keeper *keeper)
{
    if (keeper->index >= workload.promises.n)
        sim_fail("a keeper without a state runs");
    struct keeper_book *book = &workload.promises.keepers[keeper->index];
    if (keeper->turn + 1 == book->turn) { /* promises.P6 */
        if (book->crashes == sim.n_crashes)
            sim_fail("keeper %u: turn %u begins a second time, and nobody has died", keeper->index,
                     book->turn);
        promises_strike(book, book->turn);
        workload.promises.counted.again++;
    } else if (keeper->turn != book->turn) {
        sim_fail("keeper %u begins a turn behind %u, and has had %u", keeper->index, keeper->turn,
                 book->turn);
    }
    book->turn = ++keeper->turn;
    book->crashes = sim.n_crashes;
    book->running = true;
    book->member = keeper->joined;
    workload.promises.counted.detached += book->placement == PLACE_DETACHED;
    workload.moved = sim.now;
    return book;
}

struct promise *promises_make(struct keeper_book *book, enum promise_kind kind)
{
    struct promise *promise = &book->promises[book->n++];
    *promise = (struct promise){ .kind = kind, .made = book->turn, .crashes = sim.n_crashes };
    return promise;
}

bool promises_is(const struct keeper_book *book, uint32_t number, enum promise_kind kind)
{
    return number < book->n && book->promises[number].kind == kind;
}

struct promise *promises_settle(struct keeper_book *book, uint32_t number, enum promise_kind kind)
{
    uint32_t keeper = (uint32_t)(book - workload.promises.keepers);
    if (!promises_is(book, number, kind))
        sim_fail("keeper %u got number %u of kind %d, which nobody has promised", keeper, number,
                 (int)kind);
    struct promise *promise = &book->promises[number];
    if (promise->settled)
        sim_fail("doubled: keeper %u got number %u of kind %d in turn %u, and again in turn %u",
                 keeper, number, (int)kind, promise->settled, book->turn);
    if (promise->given_up)
        sim_fail("keeper %u got number %u of kind %d in turn %u, and had given it up in turn %u",
                 keeper, number, (int)kind, book->turn, promise->given_up);
    promise->settled = book->turn;
    return promise;
}

static bool promises_is_open(const struct promise *promise)
{
    return !promise->settled && !promise->given_up;
}

struct promise *promises_open(struct keeper_book *book, enum promise_kind kind)
{
    uint32_t first = book->n ? promises_draw_below(book->n) : 0;
    for (uint32_t i = 0; i < book->n; i++) {
        struct promise *promise = &book->promises[(first + i) % book->n];
        if (promise->kind == kind && promises_is_open(promise))
            return promise;
    }
    return NULL;
}

bool promises_any_open(const struct keeper_book *book)
{
    for (uint32_t i = 0; i < book->n; i++)
        if (promises_is_open(&book->promises[i]))
            return true;
    return false;
}

uint32_t promises_find(const struct keeper_book *book, uint64_t id, enum promise_kind kind)
{
    uint32_t i = 0;
    while (i < book->n && (book->promises[i].kind != kind || book->promises[i].id != id))
        i++;
    return i;
}

/* promises.P5: the first one behind a join that is known to be committed must be heard, if it is
 * sung now: a turn that sings the same number again does so later. */
void promises_sing(uint32_t singer, uint32_t number)
{
    for (uint32_t i = 0; i < workload.promises.n; i++) {
        struct keeper_book *book = &workload.promises.keepers[i];
        if (book->member && book->from[singer] == 0)
            book->from[singer] = number;
    }
    for (uint32_t i = 0; i < workload.promises.n_lodgers; i++) {
        struct lodger_book *book = &workload.promises.lodgers[i];
        if (book->member && book->from[singer] == 0)
            book->from[singer] = number;
    }
}

/* ---- what must be true */

static const struct keeper *promises_state(const struct engine *e, uint32_t index)
{
    actor_ref ref = workload.promises.keepers[index].ref;
    return (const struct keeper *)durable_state(e, actor_ref_slot(ref))->bytes;
}

static uint32_t promises_members(const struct engine *e)
{
    uint32_t members = lodger_members();
    for (uint32_t i = 0; i < workload.promises.n; i++)
        members += promises_state(e, i)->joined;
    return members;
}

/* Are there timers that are no memberships? What clients have posted for later is among them. */
static bool promises_wait(const struct engine *e)
{
    return e->timers.n + shelf_count(e) != promises_members(e);
}

/* Nothing is open, and what was cancelled has been given back, and whom a link ends has ended. */
static bool promises_settled(const struct engine *e, const struct keeper_book *book)
{
    for (uint32_t i = 0; i < book->n; i++)
        if (promises_is_open(&book->promises[i]) ||
            (book->promises[i].kind == PROMISE_END && !book->promises[i].word))
            return false;
    return !promises_wait(e);
}

bool promises_done(const struct engine *e)
{
    for (uint32_t i = 0; i < workload.promises.n; i++) {
        const struct keeper_book *book = &workload.promises.keepers[i];
        if (book->turn == 0 || book->running || book->puts_off || book->n < book->most ||
            !promises_settled(e, book))
            return false;
    }
    return lodger_done() && !promises_wait(e);
}

void promises_check_still(const struct engine *e)
{
    for (uint32_t i = 0; i < workload.promises.n; i++) {
        const struct keeper_book *book = &workload.promises.keepers[i];
        uint32_t n = 0;
        while (n < book->n && !promises_is_open(&book->promises[n]))
            n++;
        if (book->turn == 0 || book->running || book->puts_off || book->n < book->most ||
            !promises_settled(e, book))
            sim_fail("lost: keeper %u, turn %u, %s%s, waits for number %u of %u, of kind %d; %u "
                     "timers, of which %u are memberships",
                     i, book->turn, book->running ? "running" : "at rest",
                     book->puts_off ? ", with something put off" : "", n, book->n,
                     n < book->n ? (int)book->promises[n].kind : -1, e->timers.n + shelf_count(e),
                     promises_members(e));
    }
}

static bool promises_is_timer(const struct promise *promise)
{
    return promise->kind == PROMISE_TIMER || promise->kind == PROMISE_PERIOD;
}

/* promises.P1 */
void promises_check_idle(void)
{
    if (workload.promises.crowded) /* one whose receiver's queue is full is tried again later */
        return;
    for (uint32_t i = 0; i < workload.promises.n; i++) {
        const struct keeper_book *book = &workload.promises.keepers[i];
        for (uint32_t n = 0; n < book->n; n++)
            if (promises_is_open(&book->promises[n]) && promises_is_timer(&book->promises[n]) &&
                book->promises[n].due_ns + book->promises[n].arming_ns <
                    workload.promises.looked[0])
                sim_fail("late: number %u of keeper %u was due %llu ns ago, and nothing is under "
                         "way",
                         n, i, (unsigned long long)(sim.now - book->promises[n].due_ns));
    }
}

static void promises_check_keeper(const struct keeper *keeper, uint32_t index)
{
    const struct keeper_book *book = &workload.promises.keepers[index];
    if (keeper->index != index || keeper->turn != book->turn || keeper->n_put_off != 0)
        sim_fail("keeper %u has had %u turns, its state says %u, and that %u are put off", index,
                 book->turn, keeper->turn, keeper->n_put_off);
    for (uint32_t i = 0; i < book->n; i++) {
        const struct promise *promise = &book->promises[i];
        if (promises_is_open(promise))
            sim_fail("lost: number %u of keeper %u, of kind %d", i, index, (int)promise->kind);
        if (promise->kind == PROMISE_END && !promise->word)
            sim_fail("lost: the last word of number %u of keeper %u", i, index);
    }
}

/* promises.P5.  How many of the singer's last songs have not been heard, where that may be. */
static uint32_t promises_check_heard(const struct keeper *keeper, const struct keeper *singer)
{
    uint32_t from = workload.promises.keepers[keeper->index].from[singer->index];
    uint32_t heard = keeper->heard[singer->index];
    if (from == 0 || from > singer->sung || heard == singer->sung)
        return 0;
    if (!workload.promises.rejects || heard > singer->sung)
        sim_fail("lost: keeper %u has heard keeper %u up to number %u, and not number %u",
                 keeper->index, singer->index, heard, singer->sung);
    return singer->sung - (heard < from ? from - 1 : heard);
}

/* What was counted ends with the executor. */
static void promises_check_missed(const struct engine *e, uint32_t unheard)
{
    uint64_t missed = 0;
    for (uint32_t id = 0; id < e->segment.n_ids; id++)
        missed += load_relaxed(&e->workers[id]->stats->value[STAT_publications_missed]);
    if (unheard > missed && sim.n_crashes == 0)
        sim_fail("lost: %u songs have not been heard, and %llu are counted as missed", unheard,
                 (unsigned long long)missed);
}

uint32_t promises_actors(struct engine *e)
{
    actor_ref group;
    if (workload.promises.n == 0)
        return 0;
    return workload.promises.n + workload.promises.n_lodgers +
           (engine_actor_lookup(e, KEEPERS_GROUP, &group) == 0);
}

void promises_check_end(const struct engine *e)
{
    uint32_t members = promises_members(e), unheard = workload.promises.n_unheard;
    uint32_t sung[KEEPERS_MAX] = { 0 };
    for (uint32_t i = 0; i < workload.promises.n; i++)
        promises_check_keeper(promises_state(e, i), i);
    for (uint32_t i = 0; i < workload.promises.n; i++)
        for (uint32_t singer = 0; singer < workload.promises.n; singer++)
            unheard += promises_check_heard(promises_state(e, i), promises_state(e, singer));
    for (uint32_t i = 0; i < workload.promises.n; i++)
        sung[i] = promises_state(e, i)->sung;
    lodger_check_end(sung);
    promises_check_missed(e, unheard);
    if (e->timers.n + shelf_count(e) != members)
        sim_fail("left over: %u timers, questions, monitors, memberships and what is put off, "
                 "should be %u",
                 e->timers.n + shelf_count(e), members);
}
