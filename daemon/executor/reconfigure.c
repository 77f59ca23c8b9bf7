/* SPDX-License-Identifier: Apache-2.0 */
/* See reconfigure.h. */
#include "daemon/executor/reconfigure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/check.h"
#include "daemon/executor/post_rate.h"
#include "daemon/executor/ref_text.h"

static struct topology_request reconfigure_places_of(const struct settings *settings)
{
    return (struct topology_request){
        .affinity = settings->affinity,
        .smt = settings->smt,
        .n_workers = (unsigned)settings->workers_max,
    };
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

/* Whether there are such places, now. */
static int reconfigure_check_places(struct executor *executor, const struct settings *settings,
                                    struct explain *explain)
{
    struct topology_request request = reconfigure_places_of(settings);

    (void)topology_refresh(executor->topology);
    return topology_check_workers(executor->topology, &request, explain);
}

static int reconfigure_plan_places(struct executor *executor, const struct settings *settings,
                                   struct explain *explain)
{
    struct topology_request request = reconfigure_places_of(settings);

    return topology_plan_workers(executor->topology, &request, explain);
}

static int reconfigure_ask(struct executor *executor, const struct settings_change *change,
                           unsigned timeout_ms, struct explain *explain)
{
    struct engine_config config = *engine_get_config(executor->engine);
    struct engine_change nothing = { 0 };
    const char *text = NULL;
    int r = change->replan ? reconfigure_check_places(executor, &change->settings, explain) : 0;

    if (r < 0)
        return r;
    settings_update_config(&change->settings, &config);
    r = engine_reconfigure_ask(executor->engine, &config, timeout_ms * UINT64_C(1000000), &text);
    if (r < 0)
        return reconfigure_explain_engine(executor, r, text, &nothing, explain);
    executor->reconfiguring = RECONFIGURING_ASKED;
    return 0;
}

/* All workers stand. */
static int reconfigure_make(struct executor *executor, const struct settings_change *change,
                            struct explain *explain)
{
    struct engine_config config = *engine_get_config(executor->engine);
    /* the engine makes copies */
    const struct topology_plan *plan = topology_get_plan(executor->topology);
    bool note = change->replan || change->settings.workers != executor->settings.workers;
    uint8_t *distances;

    settings_update_config(&change->settings, &config);
    if (change->replan) {
        int r = reconfigure_plan_places(executor, &change->settings, explain);

        if (r < 0) { /* it was possible when it was asked for */
            reconfigure_give_up(executor);
            return r;
        }
    }
    config.cpus = plan->cpus;
    config.nodes = plan->nodes;
    distances = topology_make_distances(executor->topology);
    if (distances)
        config.distances = distances; /* else: as they were */
    engine_reconfigure_make(executor->engine, &config);
    free(distances);
    engine_set_waiting(executor->engine, config.waiting_bytes, config.waiting_quota_bytes,
                       config.waiting_quota_ns);
    reconfigure_take(executor, &change->settings);
    executor->change = *change;
    executor->reconfiguring = RECONFIGURING_MADE;
    post_rate_update(executor);
    executor_publish_mode(executor);
    if (note)
        topology_log_notes(executor->topology, (unsigned)executor->settings.workers);
    return 0;
}

static int reconfigure_look(struct executor *executor, const struct settings_change *change,
                            struct explain *explain)
{
    struct engine_change stuck = { 0 };
    const char *text = NULL;
    int r = engine_reconfigure_look(executor->engine, &stuck.stuck, &text);

    if (r == -EINPROGRESS)
        return EXECUTOR_LATER;
    if (r == 0)
        return reconfigure_make(executor, change, explain);
    executor->reconfiguring = RECONFIGURING_NONE;
    return reconfigure_explain_engine(executor, r, text, &stuck, explain);
}

/* Until all have stood and go on. */
static int reconfigure_go_on(struct executor *executor, const struct settings_change *change,
                             struct engine_change *ret_done, struct explain *explain)
{
    int r = 0;

    if (executor->reconfiguring == RECONFIGURING_ASKED)
        r = reconfigure_look(executor, change, explain);
    if (r == 0)
        r = engine_reconfigure_end(executor->engine, ret_done) == -EINPROGRESS ? EXECUTOR_LATER : 0;
    if (r == 0)
        executor->reconfiguring = RECONFIGURING_NONE;
    return r;
}

int reconfigure_places(struct executor *executor)
{
    struct settings_change same = { .settings = executor->settings };
    struct engine_change nobody_asks;
    struct explain nobody_reads_it;
    int r = 0;

    explain_init(&nobody_reads_it);
    if (executor->reconfiguring == RECONFIGURING_NONE)
        r = reconfigure_ask(executor, &same, 0, &nobody_reads_it);
    return r == 0 ? reconfigure_go_on(executor, &same, &nobody_asks, &nobody_reads_it) : r;
}

int reconfigure(struct executor *executor, const struct settings_change *change,
                struct engine_change *ret_done, struct explain *explain)
{
    struct engine_config config = *engine_get_config(executor->engine);
    int r = 0;

    memset(ret_done, 0, sizeof(*ret_done));
    settings_update_config(&change->settings, &config);
    if (!executor->is_first || executor->reconfiguring == RECONFIGURING_NONE) {
        if (reconfigure_is_for_no_worker(&executor->settings, change)) {
            engine_set_stall_limits(executor->engine, config.stall_warn_ns, config.stall_kill_ns);
            engine_set_waiting(executor->engine, config.waiting_bytes, config.waiting_quota_bytes,
                               config.waiting_quota_ns);
            reconfigure_take(executor, &change->settings);
            return 0;
        }
        if (!executor->is_first)
            return EXECUTOR_LATER;
        r = reconfigure_ask(executor, change, RECONFIGURE_TIMEOUT_MS, explain);
    }
    return r == 0 ? reconfigure_go_on(executor, change, ret_done, explain) : r;
}

bool reconfigure_is_under_way(const struct executor *executor)
{
    return executor->reconfiguring != RECONFIGURING_NONE;
}

void reconfigure_give_up(struct executor *executor)
{
    if (executor->reconfiguring != RECONFIGURING_NONE)
        engine_reconfigure_cancel(executor->engine);
    executor->reconfiguring = RECONFIGURING_NONE;
}
