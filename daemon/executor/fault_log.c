/* SPDX-License-Identifier: Apache-2.0 */
/* See fault_log.h. */
#include "daemon/executor/fault_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/executor/ref_text.h"
#include "proto/segment_layout.h"

void fault_log_recovery(const struct engine_recovery *r)
{
    log_info("start %" PRIu64 ", recovered in %" PRIu64 " us: running handlers %" PRIu64
             ", unflushed outboxes %" PRIu64 ", armed journals %" PRIu64 ", held locks %" PRIu64
             ", parked batches %" PRIu64 ", attached batches %" PRIu64 ", ports attached %" PRIu64
             ", spawns undone %" PRIu64 ", states undone %" PRIu64 ", redeliveries %" PRIu64
             ", faults %" PRIu64,
             r->boots, r->duration_ns / 1000, r->running_handlers, r->unflushed_outboxes,
             r->armed_journals, r->held_locks, r->parked_batches, r->attached_batches,
             r->ports_attached, r->spawns_undone, r->states_undone, r->redeliveries, r->faults);
}

/* "crashed", or what it did instead of returning. */
static const char *fault_log_what_it_did(const struct engine_fault *f)
{
    switch ((enum segment_fault_kind)f->kind) {
    case FAULT_STALLED:
        return "did not return";
    case FAULT_EXIT:
        return "ended the process";
    case FAULT_THREAD_ENDED:
        return "ended its thread";
    case FAULT_SIGNAL:
        break;
    }
    return "crashed";
}

static void fault_log_one(const struct engine_fault *f, uint32_t attempts_max)
{
    char plugin[ODEON_NAME_MAX + 32], type[ODEON_NAME_MAX + 32], actor[64],
        message[ODEON_NAME_MAX + 32];
    char build[ENGINE_BUILD_ID_MAX + 32], trace[ENGINE_TRACE_MAX + 32];
    const char *const fields[] = {
        CATALOGUE_HANDLER_CRASHED, plugin, type, actor, message, build, trace, NULL
    };
    const char *signal_name = f->signal ? sigabbrev_np((int)f->signal) : NULL;
    char where[96] = "", number[16];

    snprintf(plugin, sizeof(plugin), "ODEON_PLUGIN=%s", f->plugin);
    snprintf(type, sizeof(type), "ODEON_ACTOR_TYPE=%s", f->actor_type);
    snprintf(actor, sizeof(actor), "ODEON_ACTOR=" REF_FORMAT, REF_ARGS(f->actor));
    snprintf(message, sizeof(message), "ODEON_MESSAGE=%s", f->message);
    snprintf(number, sizeof(number), "%u", f->signal);
    snprintf(build, sizeof(build), "ODEON_BUILD_ID=%s", f->build_id);
    snprintf(trace, sizeof(trace), "ODEON_BACKTRACE=%s", f->trace);
    if (f->signal)
        snprintf(where, sizeof(where),
                 ", signal %s%s, address 0x%" PRIx64 ", instruction 0x%" PRIx64,
                 signal_name ? "SIG" : "", signal_name ? signal_name : number, f->address,
                 f->instruction);
    log_fields(LOG_LEVEL_WARNING, fields,
               "plugin %s %s: actor type %s, actor " REF_FORMAT
               ", message %s, worker %u%s, attempt %u of %u%s",
               f->plugin, fault_log_what_it_did(f), f->actor_type, REF_ARGS(f->actor), f->message,
               f->worker, where, f->attempts, attempts_max,
               f->attempts >= attempts_max ? ": the message is a dead letter now"
                                           : ": it will be tried again");
}

static void fault_log_quarantine_log(const struct engine_fault *f, const struct settings *settings)
{
    char plugin[ODEON_NAME_MAX + 32], type[ODEON_NAME_MAX + 32];
    const char *const fields[] = { CATALOGUE_TYPE_QUARANTINED, plugin, type, NULL };

    snprintf(plugin, sizeof(plugin), "ODEON_PLUGIN=%s", f->plugin);
    snprintf(type, sizeof(type), "ODEON_ACTOR_TYPE=%s", f->actor_type);
    log_fields(LOG_LEVEL_ERROR, fields,
               "actor type %s of plugin %s has crashed the executor %" PRIu64
               " times within %" PRIu64 " s: it is not run any more, its messages become dead "
               "letters until 'odeonctl type release %s'",
               f->actor_type, f->plugin, settings->quarantine_crashes,
               settings->quarantine_window_s, f->actor_type);
}

void fault_log_faults(struct engine *engine, const struct settings *settings)
{
    const struct engine_config *config = engine_get_config(engine);
    struct engine_fault fault;

    for (unsigned i = 0; engine_fault_get(engine, i, &fault) == 0; i++) {
        fault_log_one(&fault, config->attempts_max);
        if (engine_fault_count(engine, i, uv_hrtime(),
                               settings->quarantine_window_s * UINT64_C(1000000000),
                               (uint32_t)settings->quarantine_crashes)) {
            fault_log_quarantine_log(&fault, settings);
            engine_type_quarantined(engine, fault.type);
        }
        engine_fault_done(engine, i);
    }
}

static void fault_log_suspect(const struct engine_suspect *s, uint32_t deaths_max)
{
    char plugin[ODEON_NAME_MAX + 32], type[ODEON_NAME_MAX + 32], actor[64],
        message[ODEON_NAME_MAX + 32], from[64] = "nobody", end[96];
    const char *const fields[] = {
        CATALOGUE_MESSAGE_SUSPECTED, plugin, type, actor, message, NULL
    };

    snprintf(plugin, sizeof(plugin), "ODEON_PLUGIN=%s", s->plugin);
    snprintf(type, sizeof(type), "ODEON_ACTOR_TYPE=%s", s->actor_type);
    snprintf(actor, sizeof(actor), "ODEON_ACTOR=" REF_FORMAT, REF_ARGS(s->actor));
    snprintf(message, sizeof(message), "ODEON_MESSAGE=%s", s->message);
    if (s->from)
        snprintf(from, sizeof(from), REF_FORMAT, REF_ARGS(s->from));
    if (s->deaths >= deaths_max)
        snprintf(end, sizeof(end), "it is given up (suspect-deaths = %u)", deaths_max);
    else
        snprintf(end, sizeof(end), "it is tried again, %u of %u", s->deaths, deaths_max);
    log_fields(LOG_LEVEL_WARNING, fields,
               "a message is suspected: it was running at %u deaths of the executor that nothing "
               "explains: plugin %s, actor type %s, actor " REF_FORMAT
               ", message %s, sent by %s: %s",
               s->deaths, s->plugin, s->actor_type, REF_ARGS(s->actor), s->message, from, end);
}

void fault_log_suspects(struct engine *engine)
{
    struct engine_suspect suspect;

    for (unsigned i = 0; engine_suspect_get(engine, i, &suspect) == 0; i++)
        fault_log_suspect(&suspect, engine_get_config(engine)->suspect_deaths);
}
