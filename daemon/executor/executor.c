/* SPDX-License-Identifier: Apache-2.0 */
/* See executor.h. */
#include "daemon/executor/executor.h"

#include <stdatomic.h>
#include <string.h>

#include "daemon/executor/backtrace.h"

void executor_report_error(struct executor *executor, uint64_t command, int error, const char *text)
{
    Odeon__Report report = ODEON__REPORT__INIT;

    report.id = command;
    report.error = error;
    report.protocol = ODEON_EXECUTOR_PROTOCOL;
    report.text = (char *)(uintptr_t)text;
    control_send(executor->control, &report);
}

void executor_publish_plugins(struct executor *executor)
{
    backtrace_learn(executor->plugins);
    if (executor->stats)
        atomic_store_explicit(&executor->stats->n_plugins, plugin_registry_count(executor->plugins),
                              memory_order_relaxed);
}

void executor_publish_loading(struct executor *executor, uint32_t place)
{
    if (executor->stats)
        atomic_store_explicit(&executor->stats->plugin_loading, place, memory_order_relaxed);
}

void executor_publish_step(struct executor *executor, enum start_step step, uint64_t when_ns)
{
    if (executor->stats)
        atomic_store_explicit(&executor->stats->start_ns[step], when_ns, memory_order_relaxed);
}

void executor_publish_mode(struct executor *executor)
{
    if (executor->stats)
        strncpy(executor->stats->steal_mode_name, steal_mode_name(executor->settings.steal_mode),
                sizeof(executor->stats->steal_mode_name) - 1);
}
