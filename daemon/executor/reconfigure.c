/* SPDX-License-Identifier: Apache-2.0 */
/* See reconfigure.h. */
#include "daemon/executor/reconfigure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/check.h"
#include "daemon/executor/post_rate.h"
#include "daemon/executor/ref_text.h"

/* `again`: settings that have been in force: a CPU that has gone since is no reason to refuse
 * them. */
static int reconfigure_plan_workers(struct executor *executor, const struct settings *settings,
                                    bool again, struct explain *explain)
{
    struct topology_request request = {
        .affinity = settings->affinity,
        .smt = settings->smt,
        .n_workers = (unsigned)settings->workers_max,
        .restart = again,
    };

    return topology_plan_workers(executor->topology, &request, explain);
}

/* What holds the worker up: the engine says which one, its commit record what it runs. */
static int reconfigure_explain_stuck(const struct executor *executor, uint32_t worker,
                                     struct explain *explain)
{
    struct engine_actor_type_view type;
    struct engine_worker_view view;

    explain_set(explain, -EBUSY, "worker %u", worker);
    if (engine_worker_get(executor->engine, worker, &view) == 0 && view.actor != 0 &&
        engine_actor_type_get(executor->engine, view.type, &type) == 0)
        explain_add(explain,
                    " has been running a handler of actor type %s (actor " REF_FORMAT
                    ", plugin %s) and",
                    type.name, REF_ARGS(view.actor), type.plugin);
    explain_add(explain,
                " did not stop within %d s: nothing has been changed, try again when it is through",
                RECONFIGURE_TIMEOUT_MS / 1000);
    return -EBUSY;
}

static int reconfigure_explain_engine(const struct executor *executor, int error, const char *text,
                                      const struct engine_change *done, struct explain *explain)
{
    if (error == -EBUSY)
        return reconfigure_explain_stuck(executor, done->stuck, explain);
    return explain_set(explain, error, "the engine refuses the change: %s",
                       text && *text ? text : strerror(-error));
}

/* What workers need not stop for, and must not: one may hang, and this be meant to end it. */
static bool reconfigure_is_for_no_worker(const struct settings *is,
                                         const struct settings_change *change)
{
    struct settings to = change->settings;

    to.stall_warn_ms = is->stall_warn_ms;
    to.stall_kill_ms = is->stall_kill_ms;
    to.quarantine_crashes = is->quarantine_crashes;
    to.quarantine_window_s = is->quarantine_window_s;
    to.waiting_bytes = is->waiting_bytes;
    to.quota_waiting_bytes = is->quota_waiting_bytes;
    to.quota_waiting_ms = is->quota_waiting_ms;
    return !change->replan && memcmp(&to, is, sizeof(to)) == 0;
}

/* What is committed is in range: another executor will start with it. */
static void reconfigure_take(struct executor *executor, const struct settings *settings)
{
    struct explain nobody_reads_it;

    explain_init(&nobody_reads_it);
    check("settings.S1", settings_check(settings, &nobody_reads_it) == 0);
    executor->settings = *settings;
}

int reconfigure(struct executor *executor, const struct settings_change *change,
                struct engine_change *ret_done, struct explain *explain)
{
    struct engine_config config = *engine_get_config(executor->engine);
    /* the engine makes copies */
    const struct topology_plan *plan = topology_get_plan(executor->topology);
    struct explain undo; /* nobody reads it: the places that were in force can be planned again */
    const char *text = NULL;
    uint8_t *distances = NULL;
    int r;

    memset(ret_done, 0, sizeof(*ret_done));
    settings_update_config(&change->settings, &config);
    if (reconfigure_is_for_no_worker(&executor->settings, change)) {
        engine_set_stall_limits(executor->engine, config.stall_warn_ns, config.stall_kill_ns);
        engine_set_waiting(executor->engine, config.waiting_bytes, config.waiting_quota_bytes,
                           config.waiting_quota_ns);
        reconfigure_take(executor, &change->settings);
        return 0;
    }
    if (change->replan) {
        r = reconfigure_plan_workers(executor, &change->settings, false, explain);
        if (r < 0)
            return r;
        config.cpus = plan->cpus;
        config.nodes = plan->nodes;
        distances = topology_make_distances(executor->topology);
        if (distances)
            config.distances = distances; /* else: as they were */
    }
    r = engine_reconfigure(executor->engine, &config, RECONFIGURE_TIMEOUT_MS * UINT64_C(1000000),
                           ret_done, &text);
    free(distances);
    if (r < 0) {
        if (change->replan)
            (void)reconfigure_plan_workers(executor, &executor->settings, true, &undo);
        return reconfigure_explain_engine(executor, r, text, ret_done, explain);
    }
    engine_set_waiting(executor->engine, config.waiting_bytes, config.waiting_quota_bytes,
                       config.waiting_quota_ns);
    reconfigure_take(executor, &change->settings);
    post_rate_update(executor);
    executor_publish_mode(executor);
    topology_log_notes(executor->topology, (unsigned)executor->settings.workers);
    return 0;
}
