/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/ports/port_later.h"

#include "daemon/engine/asks/monitor.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/ports/port_record.h"
#include "daemon/engine/timers/timers.h"

/* What is to be sent at a time to come, or to be told of an end (timer_posted.h). */
struct port_later {
    uint32_t id;
    const uint8_t *at;
    const struct envelope *h;
    uint64_t correlation; /* of an end, or a refusal */
};
static void port_later_copy(struct envelope *message, const struct worker *w,
                            const struct timer_request *request, uint64_t timer)
{
    const struct port_later *later = request->data;
    (void)timer;
    port_record_copy(w->engine, later->id, later->at, later->h, message);
}

static void port_later_commit(struct worker *w, const struct timer_request *request)
{
    const struct port_later *later = request->data;
    POINT(port_later, w);
    w->batch.cursor += envelope_record_size(later->h);
    commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, w->outbox.length, 0, 0);
}

/* The rest of the request is the same for both. */
static enum envelope_reason port_later_arm(struct worker *w, const struct port *port,
                                           const struct port_later *later,
                                           struct timer_request request)
{
    uint64_t timer;
    request.commit = port_later_commit;
    request.data = later;
    request.owner = w->engine->segment.ports[later->id].ref;
    request.posted = TIMER_POSTED | w->engine->budget.accounts[port->account].user;
    return timers_arm_checked(w, &request, &timer) == 0 ? REASON_NONE : REASON_TIMERS_FULL;
}

/* A record whose timer has been armed, or that is refused. */
static enum port_broken port_later_end(struct worker *w, const struct port_later *later,
                                       enum envelope_reason reason)
{
    if (reason != REASON_NONE) {
        w->batch.cursor += envelope_record_size(later->h);
        port_record_refuse(w, later->id, later->h, later->correlation, reason);
    }
    w->flush.n_later += reason == REASON_NONE;
    return PORT_OK;
}

enum port_broken port_later_route(struct worker *w, uint32_t id, struct port *port,
                                  const struct envelope *h)
{
    struct engine *e = w->engine;
    const uint8_t *at = port_record_at(port, w->batch.cursor);
    enum envelope_reason reason = port_record_reason(e, port, h, port_record_key(e, h->to));
    if (h->flags) /* no answer comes later, nor anything that is urgent */
        return PORT_BROKEN_HEADER;
    if (reason == REASON_NONE && h->type < MESSAGE_TYPE_FIRST_PLAIN)
        reason = REASON_NOT_ACCEPTED;
    struct port_later later = { .id = id, .at = at, .h = h };
    if (reason == REASON_NONE)
        reason = port_later_arm(w, port, &later,
                                (struct timer_request){
                                    .to = h->to,
                                    .fill = port_later_copy,
                                    .size = h->length - envelope_prefix_bytes(PREFIX_AFTER),
                                });
    if (reason != REASON_NONE)
        later.correlation = port_record_correlation(at, h);
    return port_later_end(w, &later, reason);
}

static void port_later_monitor_write(struct envelope *message, const struct worker *w,
                                     const struct timer_request *request, uint64_t timer)
{
    const struct port_later *later = request->data;
    (void)w, (void)timer;
    monitor_down_write(message, request->to,
                       &(struct down){ .ref = request->watched, .monitor = later->correlation });
}

/* Why nobody can be watched by such a record: it is a correlation id and nothing else. */
static enum envelope_reason port_later_monitor_reason(const struct port_later *later)
{
    const struct envelope *h = later->h;
    if (actor_ref_executor(h->to) != ACTOR_REF_EXECUTOR || actor_ref_generation(h->to) == 0)
        return REASON_NO_SUCH_ACTOR;
    if (h->flags)
        return REASON_NOT_ACCEPTED;
    return later->correlation && envelope_payload_size(h) == 0 ? REASON_NONE : REASON_BAD_SIZE;
}

/* The same words name it that began it. */
static enum envelope_reason port_later_give_up(struct worker *w, const struct port_later *later)
{
    const struct timer_request request = { .owner = w->engine->segment.ports[later->id].ref,
                                           .watched = later->h->to,
                                           .commit = port_later_commit,
                                           .data = later };
    return timers_give_up_posted(w, &request, later->correlation) == 0 ? REASON_NONE
                                                                       : REASON_NO_SUCH_MONITOR;
}

enum port_broken port_later_monitor(struct worker *w, uint32_t id, const struct port *port,
                                    const struct envelope *h)
{
    const uint8_t *at = port_record_at(port, w->batch.cursor);
    const struct port_later later = {
        .id = id, .at = at, .h = h, .correlation = port_record_correlation(at, h)
    };
    enum envelope_reason reason = port_later_monitor_reason(&later);
    if (h->type == MESSAGE_TYPE_PORT_DEMONITOR) {
        if (reason == REASON_NONE)
            reason = port_later_give_up(w, &later);
        return port_later_end(w, &later, reason);
    }
    if (reason == REASON_NONE)
        reason = port_later_arm(w, port, &later,
                                (struct timer_request){
                                    .to = w->engine->segment.ports[id].ref,
                                    .watched = h->to,
                                    .fill = port_later_monitor_write,
                                    .size = sizeof(struct down),
                                });
    if (reason == REASON_NONE)
        stat_add(w, STAT_monitors, 1);
    return port_later_end(w, &later, reason);
}
