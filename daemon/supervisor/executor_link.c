/* SPDX-License-Identifier: Apache-2.0 */
/* The executor as a partner; the interface is in executor_link.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/executor_link.h"
#include "daemon/supervisor/turns.h"

enum { HANG_TIMEOUT_MS = 5000, AGAIN_MS = 20 };

static void executor_link_request_free(struct link_request *request)
{
    odeon__request__free_unpacked(request->request, NULL);
    if (request->fd >= 0)
        close(request->fd);
    free(request);
}

static void executor_link_finish(struct executor_link *executor, struct link_request *request,
                                 Odeon__Reply *reply)
{
    check("executor_link.E1", executor->n_requests > 0);
    executor->n_requests--;
    request->done(executor->userdata, request, reply);
    executor_link_request_free(request);
}

static void executor_link_finish_with_error(struct executor_link *executor,
                                            struct link_request *request, int error,
                                            const char *text)
{
    Odeon__Reply reply = ODEON__REPLY__INIT;

    reply.error = error;
    reply.text = (char *)text;
    executor_link_finish(executor, request, &reply);
}

static struct link_request *executor_link_take_sent(struct executor_link *executor, uint64_t id)
{
    for (struct link_request **at = &executor->sent; *at; at = &(*at)->next) {
        struct link_request *request = *at;

        if (request->id != id)
            continue;
        *at = request->next;
        if (!*at)
            executor->sent_end = at;
        if (id > executor->answered_id)
            executor->answered_id = id;
        return request;
    }
    return NULL;
}

static void executor_link_fail_sent(struct executor_link *executor, int error, const char *text)
{
    struct link_request *request = executor->sent, *next;

    /* detached first: `done` may ask again */
    executor->sent = NULL;
    executor->sent_end = &executor->sent;
    for (; request; request = next) {
        next = request->next;
        executor_link_finish_with_error(executor, request, error, text);
    }
}

static void executor_link_on_frame(void *userdata, struct frame *frame)
{
    struct executor_link *executor = userdata;
    Odeon__Report *report;
    struct link_request *request;

    turns_begin_piece("what the executor reports");
    report = odeon__report__unpack(NULL, frame->size, frame->data);
    if (!report) {
        log_error("the executor sent a report that cannot be read (%zu bytes): it is stopped and "
                  "started again",
                  frame->size);
        executor_link_kill(executor);
        return;
    }
    request = report->id ? executor_link_take_sent(executor, report->id) : NULL;
    if (!request)
        executor->ops->report(executor->userdata, report);
    else if (report->body_case == ODEON__REPORT__BODY_REPLY && report->reply)
        executor_link_finish(executor, request, report->reply);
    else
        executor_link_finish_with_error(executor, request,
                                        report->error < 0 ? report->error : -EPROTO, report->text);
    odeon__report__free_unpacked(report, NULL);
}

static void executor_link_on_hang(uv_timer_t *timer)
{
    struct executor_link *executor = timer->data;

    log_error("the executor has closed its connection and does not end: it is killed");
    executor_link_kill(executor);
}

/* How the kernel tells that the peer has gone, where not by the end of file: it depends on what lay
 * unread, and says nothing of why. */
static bool executor_link_is_end(int error)
{
    return error == -ECONNRESET || error == -EPIPE;
}

static void executor_link_on_error(void *userdata, int error)
{
    struct executor_link *executor = userdata;

    executor->ended = true;
    if (error < 0 && !executor_link_is_end(error)) {
        log_error("connection to the executor: %s: it is stopped and started again",
                  strerror(-error));
        executor_link_kill(executor);
    }
    /* normally its end follows at once */
    if (executor->child.pid)
        uv_timer_start(&executor->hang_timer, executor_link_on_hang, HANG_TIMEOUT_MS, 0);
}

static void executor_link_send_waiting(struct executor_link *executor);

/* What the channel keeps for later is said here, too. */
static void executor_link_look_at_channel(struct executor_link *executor)
{
    int lacks = channel_lacks(executor->channel);

    if (lacks < 0)
        executor_link_try_later(executor, lacks);
}

static void executor_link_on_again(uv_timer_t *timer)
{
    struct executor_link *executor = timer->data;

    if (!executor->channel)
        return;
    executor->ops->again(executor->userdata);
    if (executor->state == LINK_READY)
        executor_link_send_waiting(executor);
    executor_link_look_at_channel(executor);
    if (!uv_is_active((const uv_handle_t *)timer) && executor->short_of_means) {
        executor->short_of_means = false;
        log_notice("everything for the executor has been sent");
    }
}

void executor_link_try_later(struct executor_link *executor, int error)
{
    if (!executor->short_of_means)
        log_warning("the executor cannot be sent something now: %s; it is tried again until it "
                    "can",
                    strerror(-error));
    executor->short_of_means = true;
    if (!uv_is_active((const uv_handle_t *)&executor->again_timer))
        uv_timer_start(&executor->again_timer, executor_link_on_again, AGAIN_MS, 0);
}

static void executor_link_on_exit_of_child(void *userdata, int wait_status)
{
    struct executor_link *executor = userdata;

    uv_timer_stop(&executor->hang_timer);
    uv_timer_stop(&executor->again_timer);
    if (executor->channel) {
        channel_receive_rest(executor->channel);
        channel_free(executor->channel, NULL);
        executor->channel = NULL;
    }
    executor->state = LINK_DOWN;
    if (executor->ops->ended)
        executor->ops->ended(executor->userdata, wait_status);
    executor_link_fail_sent(
        executor, -ECONNRESET,
        "the executor was restarted while the request was running; whether it was carried "
        "out is not known: "
        "look, then ask again");
    executor->ops->exited(executor->userdata, wait_status);
}

void executor_link_init(struct executor_link *executor, uv_loop_t *loop, const struct link_ops *ops,
                        void *userdata)
{
    *executor = (struct executor_link){ .loop = loop, .ops = ops, .userdata = userdata };
    executor->sent_end = &executor->sent;
    executor->waiting_end = &executor->waiting;
    executor->child.pidfd = -1;
    executor->child.on_exit = executor_link_on_exit_of_child;
    executor->child.userdata = executor;
    uv_timer_init(loop, &executor->hang_timer);
    uv_timer_init(loop, &executor->again_timer);
    executor->hang_timer.data = executor->again_timer.data = executor;
}

static void executor_link_fail_waiting(struct executor_link *executor, int error, const char *text)
{
    struct link_request *request = executor->waiting, *next;

    executor->waiting = NULL;
    executor->waiting_end = &executor->waiting;
    for (; request; request = next) {
        next = request->next;
        executor_link_finish_with_error(executor, request, error, text);
    }
}

void executor_link_fini(struct executor_link *executor)
{
    executor_link_fail_sent(executor, -ESHUTDOWN, "the service has stopped");
    executor_link_fail_waiting(executor, -ESHUTDOWN, "the service has stopped");
    check("executor_link.E1", executor->n_requests == 0);
    channel_free(executor->channel, NULL);
    executor->channel = NULL;
    uv_close((uv_handle_t *)&executor->hang_timer, NULL);
    uv_close((uv_handle_t *)&executor->again_timer, NULL);
}

int executor_link_start(struct executor_link *executor, const char *program, const char *level)
{
    static const struct channel_ops ops = { .on_frame = executor_link_on_frame,
                                            .on_error = executor_link_on_error };
    char *const argv[] = { (char *)program, (char *)"--log-level", (char *)level, NULL };
    int sockets[2], r;

    check("executor_link.E4", executor->child.pid == 0 && !executor->channel);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return -errno;
    r = fcntl(sockets[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
    if (r == 0)
        r = child_start(&executor->child, executor->loop, argv, sockets[1]);
    close(sockets[1]);
    if (r < 0) {
        close(sockets[0]);
        return r;
    }
    executor->state = LINK_STARTING;
    executor->killed = executor->ended = false;
    /* What queues up here is bounded by the numbers of requests and of ports. */
    executor->channel = channel_new(executor->loop, sockets[0], SIZE_MAX, &ops, executor);
    if (!executor->channel) { /* its end is reported like any other */
        close(sockets[0]);
        executor_link_kill(executor);
    }
    return 0;
}

void executor_link_kill(struct executor_link *executor)
{
    executor->killed = true;
    child_kill(&executor->child, SIGKILL);
}

bool executor_link_was_killed(const struct executor_link *executor, int wait_status)
{
    return executor->killed && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
}

static int executor_link_send_command(struct executor_link *executor, Odeon__Command *command,
                                      const int *fds, size_t n_fds)
{
    int r;

    if (!executor->channel)
        return -EPIPE;
    command->id = ++executor->last_id;
    check("executor_link.E3", command->id > executor->answered_id);
    r = channel_send(executor->channel, &command->base, fds, n_fds);
    if (r == 0)
        executor_link_look_at_channel(executor);
    return r;
}

uint64_t executor_link_send(struct executor_link *executor, Odeon__Command *command, const int *fds,
                            size_t n_fds)
{
    int r = executor_link_send_command(executor, command, fds, n_fds);

    if (r == 0)
        return command->id;
    if (channel_is_short(r)) {
        executor_link_try_later(executor, r);
        return 0;
    }
    /* A broken connection is the executor's end, which is reported by itself; anything else would
     * leave it half informed. */
    if (!executor_link_is_end(r)) {
        log_error("a command to the executor cannot be sent: %s: it is stopped and started again",
                  strerror(-r));
        executor_link_kill(executor);
    }
    return 0;
}

static int executor_link_send_request(struct executor_link *executor, struct link_request *request)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    int r;

    command.body_case = ODEON__COMMAND__BODY_REQUEST;
    command.request = request->request;
    command.client_id = request->asker.client_id;
    command.uid = request->asker.uid;
    command.bound = request->asker.bound;
    command.may_register = request->asker.may_register;
    r = executor_link_send_command(executor, &command, &request->fd, request->fd >= 0 ? 1 : 0);
    if (r < 0)
        return r;
    request->id = command.id;
    request->sent_ns = uv_hrtime();
    request->next = NULL;
    *executor->sent_end = request;
    executor->sent_end = &request->next;
    return 0;
}

const struct link_request *executor_link_find_clients(const struct executor_link *executor,
                                                      Odeon__Request__BodyCase body)
{
    const struct link_request *const lists[] = { executor->sent, executor->waiting };

    for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (const struct link_request *request = lists[i]; request; request = request->next)
            if (request->request->body_case == body && request->asker.client_id != 0)
                return request;
    return NULL;
}

void executor_link_fail(struct executor_link *executor, uint64_t id, int error, const char *text)
{
    struct link_request *request = executor_link_take_sent(executor, id);

    if (request)
        executor_link_finish_with_error(executor, request, error, text);
}

static void executor_link_append_waiting(struct executor_link *executor,
                                         struct link_request *request)
{
    request->next = NULL;
    *executor->waiting_end = request;
    executor->waiting_end = &request->next;
}

static void executor_link_send_waiting(struct executor_link *executor)
{
    while (executor->waiting) {
        struct link_request *request = executor->waiting;
        int r;

        check("executor_link.E2", request->id == 0);
        executor->waiting = request->next;
        if (!executor->waiting)
            executor->waiting_end = &executor->waiting;
        r = executor_link_send_request(executor, request);
        /* gone again, or there are no means: back to the head */
        if (executor_link_is_end(r) || channel_is_short(r)) {
            if (channel_is_short(r))
                executor_link_try_later(executor, r);
            request->next = executor->waiting;
            if (!executor->waiting)
                executor->waiting_end = &request->next;
            executor->waiting = request;
            return;
        }
        if (r < 0)
            executor_link_finish_with_error(executor, request, r,
                                            "the request could not be sent to the executor");
    }
}

void executor_link_set_ready(struct executor_link *executor)
{
    check("executor_link.E4", executor->state == LINK_STARTING);
    executor->state = LINK_READY;
    executor_link_send_waiting(executor);
}

static uint32_t executor_link_count_in(const struct link_request *list, uint32_t uid)
{
    uint32_t n = 0;

    for (; list; list = list->next)
        n += list->asker.uid == uid && list->asker.client_id != 0;
    return n;
}

uint32_t executor_link_count_requests(const struct executor_link *executor, uint32_t uid)
{
    return executor_link_count_in(executor->sent, uid) +
           executor_link_count_in(executor->waiting, uid);
}

/* executor_link.E6 */
static bool executor_link_has_room(const struct executor_link *executor,
                                   const struct link_asker *asker)
{
    enum { MOST = LINK_REQUESTS_MAX - LINK_REQUESTS_RESERVE };

    if (!asker->bound)
        return executor->n_requests < LINK_REQUESTS_MAX;
    return executor->n_requests < LINK_REQUESTS_FREE ||
           (executor->n_requests < MOST &&
            executor_link_count_requests(executor, asker->uid) < MOST - executor->n_requests);
}

int executor_link_ask(struct executor_link *executor, const struct link_ask *ask)
{
    bool room = ask->now || executor_link_has_room(executor, &ask->asker);
    struct link_request *request = room ? malloc(sizeof(*request)) : NULL;
    int r;

    if (!request) {
        odeon__request__free_unpacked(ask->request, NULL);
        if (ask->fd >= 0)
            close(ask->fd);
        return room ? -ENOMEM : -EBUSY;
    }
    *request = (struct link_request){ .asker = ask->asker,
                                      .tag = ask->tag,
                                      .context = ask->context,
                                      .request = ask->request,
                                      .fd = ask->fd,
                                      .done = ask->done };
    if (ask->now || (executor->state == LINK_READY && !executor->waiting))
        r = executor_link_send_request(executor, request);
    else
        r = -EPIPE;
    if (channel_is_short(r))
        executor_link_try_later(executor, r);
    /* what belongs to this start is no concern of the next one's */
    if (!ask->now && (executor_link_is_end(r) || channel_is_short(r))) {
        executor_link_append_waiting(executor, request);
    } else if (r < 0) {
        executor_link_request_free(request);
        return r;
    }
    executor->n_requests++;
    return 0;
}
