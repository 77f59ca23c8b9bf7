/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/cover.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/engine/core/core.h"
#include "tests/sim/workload.h"

static const struct {
    const char *name;
    enum stat_index stat;
} counters[] = {
#define COUNTER(name)                                                                              \
    {                                                                                              \
#name, STAT_##name                                                                         \
    }
    COUNTER(steals),
    COUNTER(sources_moved),
    COUNTER(visits),
    COUNTER(follow_moves),
    COUNTER(sources_lent),
    COUNTER(missed_gulps),
    COUNTER(tail_appends),
    COUNTER(batches_parked),
    COUNTER(lock_contended),
    COUNTER(direct_gulps),
    COUNTER(port_backlogged),
    COUNTER(parks),
    COUNTER(wakeups_useful),
    COUNTER(relaxed_timeouts),
    COUNTER(client_wakeups),
    COUNTER(windows_reclaimed),
    COUNTER(redeliveries),
    COUNTER(refusals),
    COUNTER(sends_failed),
    COUNTER(refused_slow),
    COUNTER(dropped_newest),
    COUNTER(dropped_oldest),
    COUNTER(backlog_dropped),
    COUNTER(backlog_dropped_oldest),
    COUNTER(stalled),
    COUNTER(faults),
    COUNTER(dead_letters),
    COUNTER(urgent_messages),
    COUNTER(timers_missed),
    COUNTER(timers_revoked),
    COUNTER(links_ended),
    COUNTER(publications_sent),
    COUNTER(publications_kept),
    COUNTER(publications_missed),
};
enum { N_COUNTERS = sizeof(counters) / sizeof(counters[0]) };

#define RECOVERY_FIELDS(F)                                                                         \
    F(running_handlers)                                                                            \
    F(unflushed_outboxes)                                                                          \
    F(armed_journals)                                                                              \
    F(held_locks)                                                                                  \
    F(parked_batches) F(attached_batches) F(ports_attached) F(spawns_undone) F(states_undone)
#define NAME(field)  #field,
#define INDEX(field) RECOVERED_##field,
#define ADD(field)   recovered[RECOVERED_##field] += load_relaxed(&e->stats->recovery_total.field);
static const char *const recovered_names[] = { RECOVERY_FIELDS(NAME) };
enum { RECOVERY_FIELDS(INDEX) N_RECOVERED };
static uint64_t counted[N_COUNTERS], recovered[N_RECOVERED], bounded_waits, traced, traced_again,
    late_runs, late_orphans, watches_told, watches_given_up;
static struct promises_counted promised;

void cover_add(const struct engine *e)
{
    for (int i = 0; i < N_COUNTERS; i++)
        for (uint32_t id = 0; id < e->segment.n_ids; id++)
            counted[i] += load_relaxed(&e->workers[id]->stats->value[counters[i].stat]);
    RECOVERY_FIELDS(ADD)
    bounded_waits += workload.endless.bounded;
    traced += workload.traced;
    traced_again += workload.traced_again;
    late_runs += workload.late_runs;
    late_orphans += workload.late_orphans;
    watches_told += workload.watches_told;
    watches_given_up += workload.watches_given_up;
#define PROMISED(name) promised.name += workload.promises.counted.name;
    PROMISES_COUNTED(PROMISED)
#undef PROMISED
}

static bool tell(const char *name, uint64_t value)
{
    printf(" %s=%" PRIu64, name, value);
    return value > 0;
}

bool cover_tell(void)
{
    bool all = true;
    printf("# counted:");
    for (int i = 0; i < N_COUNTERS; i++)
        all = tell(counters[i].name, counted[i]) && all;
    all = tell("bounded_waits", bounded_waits) && all;
    all = tell("traced", traced) && all;
    all = tell("traced_again", traced_again) && all;
    all = tell("late_runs", late_runs) && all;
    all = tell("late_orphans", late_orphans) && all;
    all = tell("watches_told", watches_told) && all;
    all = tell("watches_given_up", watches_given_up) && all;
    printf("\n# promised:");
#define PROMISED(name) all = tell(#name, promised.name) && all;
    PROMISES_COUNTED(PROMISED)
#undef PROMISED
    printf("\n# recovered:");
    for (int i = 0; i < N_RECOVERED; i++)
        all = tell(recovered_names[i], recovered[i]) && all;
    putchar('\n');
    return all;
}
