/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics, of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

#include <stdio.h>

struct odeon_stats {
    int unused;
};
static const char *const figures[FAKE_FIGURES] = {
    "gulps",  "gulped_messages",   "messages_processed",
    "steals", "messages_stolen",   "from_the_future",
    "state",  "average_gulp_size", "average_steal_size"
};

int odeon_stats_open(const char *path, struct odeon_stats **ret_stats)
{
    snprintf(fake.path, sizeof(fake.path), "%s", path ? path : "(default)");
    if (fake.stats_result < 0)
        return fake.stats_result;
    *ret_stats = fake_alloc(sizeof(**ret_stats));
    return 0;
}

struct odeon_stats *odeon_stats_close(struct odeon_stats *stats)
{
    odeon_result_free(stats);
    return NULL;
}

int odeon_stats_service(struct odeon_stats *stats, struct odeon_stats_service *ret_service)
{
    (void)stats;
    *ret_service = (struct odeon_stats_service){ .struct_size = ret_service->struct_size,
                                                 .workers = FAKE_WORKERS,
                                                 .supervisor_pid = fake.supervisor_pid,
                                                 .executor_pid = fake.executor_pid,
                                                 .boots = 2,
                                                 .reconfigurations = 3,
                                                 .stealing = "random",
                                                 .steal_mode = "visit" };
    snprintf(ret_service->state_name, sizeof(ret_service->state_name), "%s", fake.state);
    for (size_t i = 0; i < 6; i++)
        fake.value[i] += fake.growth;
    return 0;
}

size_t odeon_stats_n(const struct odeon_stats *stats)
{
    (void)stats;
    return FAKE_FIGURES;
}

const char *odeon_stats_name(const struct odeon_stats *stats, size_t index)
{
    (void)stats;
    return index < FAKE_FIGURES ? figures[index] : NULL;
}

const char *odeon_stats_doc(const struct odeon_stats *stats, size_t index)
{
    (void)stats, (void)index;
    return "documented";
}

enum odeon_stats_kind odeon_stats_kind(const struct odeon_stats *stats, size_t index)
{
    (void)stats;
    return index < 6 ? ODEON_STATS_COUNTER : index == 6 ? ODEON_STATS_GAUGE : ODEON_STATS_DERIVED;
}

double odeon_stats_value(struct odeon_stats *stats, int worker, size_t index)
{
    (void)stats;
    if (index == 6)
        return worker < 0 ? 0 : 3;
    if (index > 6)
        return 2.5;
    return worker < 0 ? fake.value[index] : worker == 0 ? fake.value[index] : 0;
}

int odeon_stats_cpu(struct odeon_stats *stats, int worker)
{
    (void)stats;
    return worker < FAKE_WORKERS ? worker : -1;
}
