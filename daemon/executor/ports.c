/* SPDX-License-Identifier: Apache-2.0 */
/* See ports.h.
 *
 * A removal is asked of the engine once and answered when its event comes. A port that comes with
 * `closing` set (its client had died while the previous executor drained it) is removed as soon as
 * workers run; that is reported with the PortAdd's id, unless a PortRemove for it comes first,
 * which then gets the answer. At once where the former executor had removed it, and died before
 * that was heard. */
#include "daemon/executor/ports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/executor/actor_quota.h"
#include "daemon/executor/command_later.h"
#include "daemon/executor/loud_ports.h"
#include "daemon/executor/post_rate.h"
#include "daemon/executor/turns.h"
#include "daemon/executor/unbegun.h"
#include "proto/port_layout.h"

/* Until the next look at ports that have ended and that a worker may still look at: it has lost its
 * processor, or is between two messages. Each look that finds it so doubles the time. */
enum { AGAIN_FIRST_MS = 1, AGAIN_LAST_MS = 64 };
#define OVER_TELL_AGAIN_NS UINT64_C(1000000000)

static struct executor_removal *ports_removal_find(struct executor *executor, uint32_t port,
                                                   uint32_t generation)
{
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++) {
        struct executor_removal *removal = &executor->removals[i];

        if (removal->active && removal->port == port && removal->generation == generation)
            return removal;
    }
    return NULL;
}

static struct executor_removal *ports_removal_add(struct executor *executor, uint32_t port,
                                                  uint32_t generation, uint64_t command)
{
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++) {
        struct executor_removal *removal = &executor->removals[i];

        if (removal->active)
            continue;
        *removal = (struct executor_removal){
            .port = port, .generation = generation, .command = command, .active = true
        };
        return removal;
    }
    return NULL;
}

static void ports_report_removed(struct executor *executor, uint64_t command)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;

    report.id = command;
    report.port_removed = &ok;
    report.body_case = ODEON__REPORT__BODY_PORT_REMOVED;
    control_send(executor->control, &report);
}

static void ports_removal_ask(struct executor *executor, struct executor_removal *removal)
{
    int r = engine_port_remove(executor->engine, removal->port, removal->generation);

    if (r == 0) {
        removal->asked = true;
        return;
    }
    removal->active = false;
    executor_report_error(executor, removal->command, r,
                          r == -ENOENT ? "there is no such port of this generation"
                                       : "the port cannot be removed");
}

/* The descriptors by their place in the frame; the pipe comes last and only when the command says
 * so. */
static int port_info_init(struct engine_port_info *info, const Odeon__PortAdd *add,
                          struct frame *frame)
{
    *info = (struct engine_port_info){
        .id = add->port_id,
        .generation = add->generation,
        .client = add->client_id,
        .submission_bytes = add->submission_bytes,
        .delivery_bytes = add->delivery_bytes,
        .overflow = add->overflow,
        .closing = add->closing,
        .client_fd = frame_take_fd(frame, 0),
        .executor_fd = frame_take_fd(frame, 1),
        .doorbell_fd = frame_take_fd(frame, 2),
        .pipe_fd = add->pipe ? frame_take_fd(frame, 3) : -1,
    };
    return info->client_fd < 0 || info->executor_fd < 0 || info->doorbell_fd < 0 ||
                   (add->pipe && info->pipe_fd < 0)
               ? -EBADF
               : 0;
}

static void port_info_fini(struct engine_port_info *info)
{
    const int fds[] = { info->client_fd, info->executor_fd, info->doorbell_fd, info->pipe_fd };

    for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static void ports_report_port(struct executor *executor, uint64_t command, actor_ref ref)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__RefReply body = ODEON__REF_REPLY__INIT;

    body.ref = ref;
    body.actors_max = (uint32_t)executor->settings.actors;
    report.id = command;
    report.port = &body;
    report.body_case = ODEON__REPORT__BODY_PORT;
    control_send(executor->control, &report);
}

static const char *ports_add_error_text(int error)
{
    switch (error) {
    case -EBADF:
        return "a port needs the descriptors of client memory, executor memory and doorbell, and "
               "of the pipe if it has "
               "one";
    case -EBADFD:
        return "a descriptor of the port is no sealed memory of the port's size";
    case -EEXIST:
        return "a port of this number is open already";
    case -EMFILE:
        return "the executor has no room for its descriptors (LimitNOFILE=): plugins have them";
    case -ENOSPC:
        return "the table of ports or of actors is full";
    default:
        return strerror(-error);
    }
}

/* Recovery forgets what the segment has of a port that is not there, and with it how far its
 * client's records have been taken. */
static void ports_end_without_port(const Odeon__PortAdd *add, int error)
{
    log_error("port %" PRIu64 " of client %" PRIu64
              " cannot be mapped (%s): the executor ends before it recovers, "
              "its segment stays as it is",
              add->port_id, add->client_id, strerror(-error));
    _exit(EXIT_FAILURE);
}

static bool ports_is_shortage(int error)
{
    return error == -ENOMEM || error == -EMFILE || error == -ENFILE || error == -ENOSPC;
}

void ports_add(struct executor *executor, uint64_t command, const Odeon__PortAdd *add,
               struct frame *frame)
{
    struct engine_port_info info;
    actor_ref ref = 0;
    int r;

    r = port_info_init(&info, add, frame);
    if (frame->fds_lost)
        r = -EMFILE;
    info.backlog_bytes = add->backlog_bytes;
    info.may_not_stop = add->may_not_stop;
    info.user = add->bound ? actor_account_of(add->uid) : 0;
    info.rated = add->bound && post_rate_is_set(executor);
    if (r == 0 && executor->state != EXECUTOR_PORTS && executor->state != EXECUTOR_RUNNING)
        r = -EAGAIN;
    if (r == 0)
        r = engine_port_add(executor->engine, &info, &ref);
    port_info_fini(&info); /* the engine has its own */
    if (executor->state == EXECUTOR_PORTS && ports_is_shortage(r))
        ports_end_without_port(add, r);
    if (r == 0) {
        if (add->bound)
            post_rate_add(executor, &info, add->uid);
        ports_report_port(executor, command, ref);
    } else if (r == -ENOENT && add->closing) {
        ports_report_removed(executor, command);
    } else {
        log_error("port %" PRIu64 " of client %" PRIu64 " cannot be opened: %s", add->port_id,
                  add->client_id, ports_add_error_text(r));
        executor_report_error(executor, command, r, ports_add_error_text(r));
    }
    if (r == 0 && add->closing) {
        struct executor_removal *removal =
            ports_removal_add(executor, add->port_id, add->generation, command);

        if (removal && executor->state == EXECUTOR_RUNNING)
            ports_removal_ask(executor, removal);
    }
}

void ports_remove(struct executor *executor, uint64_t command, const Odeon__PortRemove *remove)
{
    struct executor_removal *removal =
        ports_removal_find(executor, remove->port_id, remove->generation);

    if (executor->state < EXECUTOR_PORTS) {
        executor_report_error(executor, command, -EAGAIN, "the executor has not been started");
        return;
    }
    if (removal) {
        removal->command = command; /* on its way already */
        return;
    }
    removal = ports_removal_add(executor, remove->port_id, remove->generation, command);
    if (!removal)
        executor_report_error(executor, command, -ENOSPC, "too many ports are being removed");
    else if (executor->state == EXECUTOR_RUNNING)
        ports_removal_ask(executor, removal);
}

static void ports_on_port_removed(struct executor *executor, const struct engine_event *event)
{
    struct executor_removal *removal = ports_removal_find(executor, event->id, event->generation);

    post_rate_remove(executor, event->id, event->generation);
    loud_ports_remove(executor, event->id, event->generation);
    if (!removal)
        return;
    removal->active = false;
    ports_report_removed(executor, removal->command);
}

static void ports_on_port_broken(struct executor *executor, const struct engine_event *event)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__PortFault fault = ODEON__PORT_FAULT__INIT;

    /* who did not receive may do so as often as it likes: odeond knows who that is, and tells */
    if (event->why == PORT_BROKEN_SLOW)
        log_debug("port %u has been closed for what its client did not receive", event->id);
    else
        log_warning("port %u has been closed for what its client wrote: %s", event->id,
                    port_broken_name(event->why));
    fault.port_id = event->id;
    fault.generation = event->generation;
    fault.why = event->why;
    report.port_fault = &fault;
    report.body_case = ODEON__REPORT__BODY_PORT_FAULT;
    control_send(executor->control, &report);
}

/* The supervisor knows who it is, and how often to say so. */
static void ports_on_over(struct executor *executor, const struct engine_event *event)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__QuotaHit hit = ODEON__QUOTA_HIT__INIT;
    uint32_t user = engine_port_user(executor->engine, event->id);
    uint64_t now = uv_hrtime();

    if (now - executor->over_told_ns < OVER_TELL_AGAIN_NS)
        return;
    executor->over_told_ns = now;
    hit.client_id = engine_port_client(executor->engine, event->id);
    hit.quota = (char *)(event->why ? "waiting-ms" : "waiting-bytes");
    hit.held = event->why ? engine_user_waiting_ns(executor->engine, user) / 1000000
                          : engine_user_waiting_bytes(executor->engine, user);
    hit.limit =
        event->why ? executor->settings.quota_waiting_ms : executor->settings.quota_waiting_bytes;
    report.quota_hit = &hit;
    report.body_case = ODEON__REPORT__BODY_QUOTA_HIT;
    control_send(executor->control, &report);
}

static void ports_take_events(struct executor *executor)
{
    struct engine_event event;

    turns_begin_piece(executor, "port events");
    while (engine_event_next(executor->engine, &event)) {
        if (event.kind == ENGINE_EVENT_PORT_REMOVED)
            ports_on_port_removed(executor, &event);
        else if (event.kind == ENGINE_EVENT_PORT_BROKEN)
            ports_on_port_broken(executor, &event);
        else if (event.kind == ENGINE_EVENT_PORT_SPENT)
            post_rate_on_spent(executor, &event);
        else if (event.kind == ENGINE_EVENT_PORT_LOUD)
            loud_ports_on_loud(executor, &event);
        else if (event.kind == ENGINE_EVENT_PORT_OVER)
            ports_on_over(executor, &event);
        else if (event.kind == ENGINE_EVENT_TYPE_UNBEGUN)
            unbegun_on_event(executor, &event);
    }
}

static void ports_on_again(uv_timer_t *timer);

static void ports_look_again(struct executor *executor, unsigned after_ms)
{
    if (!engine_ports_are_going(executor->engine))
        return;
    executor->again_ms = after_ms;
    uv_timer_start(&executor->again_timer, ports_on_again, after_ms, 0);
}

static void ports_on_again(uv_timer_t *timer)
{
    struct executor *executor = timer->data;
    unsigned next_ms = 2 * executor->again_ms;

    ports_take_events(executor);
    ports_look_again(executor, next_ms < AGAIN_LAST_MS ? next_ms : AGAIN_LAST_MS);
}

static void ports_on_events(uv_poll_t *poll, int status, int events)
{
    struct executor *executor = poll->data;

    (void)status;
    (void)events;
    ports_take_events(executor);
    ports_look_again(executor, AGAIN_FIRST_MS);
    command_later_look(executor); /* a worker that has come to the barrier rings, too */
}

int ports_start(struct executor *executor)
{
    int r = uv_poll_init(&executor->loop, &executor->events, engine_event_fd(executor->engine));

    if (r < 0)
        return r;
    executor->events.data = executor;
    executor->events_open = true;
    r = uv_poll_start(&executor->events, UV_READABLE, ports_on_events);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++)
        if (executor->removals[i].active && !executor->removals[i].asked)
            ports_removal_ask(executor, &executor->removals[i]);
    return 0;
}
