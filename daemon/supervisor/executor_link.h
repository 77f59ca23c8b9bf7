/* SPDX-License-Identifier: Apache-2.0 */
/* The executor as a partner: its process, the control connection, and the requests that wait for
 * its answers.
 *
 * Owned by the supervisor; event loop thread only. What to send at a start and when to start again
 * is boot.c's.
 *
 * executor_link.E1  Every request ends in exactly one call of its `done`: with the executor's
 *     answer; with -ECONNRESET when the executor died after it had been sent; with -ESHUTDOWN at
 *     the end of the service.
 * executor_link.E2  A request that has not been sent when the executor dies waits for the next one.
 * executor_link.E3  Command ids are never used twice, also over restarts: a late answer cannot be
 *     taken for another one's.
 * executor_link.E5  Where there are no means to send now, no memory or no descriptors, nobody is to
 *     blame: requests wait, and of the supervisor's own commands `again` says when to try those
 *     that were not sent.
 * executor_link.E6  A user that quotas bind may have half of what the others leave of all requests
 *     but the reserve, so that each is left something, however many ask.  What a start itself asks
 *     for (`now`) takes nobody's place: those who wait are waiting for its end.
 * executor_link.E4  There is one process at a time, and one connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/supervisor/channel.h"
#include "daemon/supervisor/child.h"
#include "proto/control.pb-c.h"

/* Requests at a time; those of them that are for whom quotas do not bind; and so many that nobody
 * counts whose they are. */
enum { LINK_REQUESTS_MAX = 1024, LINK_REQUESTS_RESERVE = 64, LINK_REQUESTS_FREE = 64 };

enum link_state {
    LINK_DOWN,
    LINK_STARTING, /* the process is there, and not ready */
    LINK_READY,
};

/* Who asks; all zero: the supervisor itself. */
struct link_asker {
    uint64_t client_id;
    uint32_t uid;
    bool bound;        /* by its user's quotas */
    bool may_register; /* it has the role */
};

struct link_request {
    struct link_request *next;
    uint64_t id; /* of the command; 0: not sent */
    uint64_t sent_ns;
    struct link_asker asker;
    uint64_t tag;  /* the asker's: a client's request id */
    void *context; /* likewise */
    Odeon__Request *request;
    int fd; /* -1: none */
    /* May take `fd` (and set it to -1) and change `reply`; both are freed afterwards. */
    void (*done)(void *userdata, struct link_request *request, Odeon__Reply *reply);
};

struct link_ops {
    /* A report that answers no request. */
    void (*report)(void *userdata, const Odeon__Report *report);
    /* The process has ended; what it had reported before was handed over, and what is left of its
     * requests is about to be told so. NULL: nobody wants to know. */
    void (*ended)(void *userdata, int wait_status);
    /* ... and has been. */
    void (*exited)(void *userdata, int wait_status);
    /* What could not be sent may be sent now (executor_link.E5). */
    void (*again)(void *userdata);
};

struct executor_link {
    uv_loop_t *loop;
    enum link_state state;
    struct child child;
    bool killed; /* by us, if it has not ended by itself before */
    bool ended;  /* its connection: what it had sent before may still come */
    struct channel *channel;
    uv_timer_t hang_timer;  /* the connection has ended: so must the process */
    uv_timer_t again_timer; /* executor_link.E5 */
    bool short_of_means;    /* and it was said */
    uint64_t last_id;
    uint64_t answered_id; /* the greatest that an executor has answered a request under */
    uint32_t n_requests;
    struct link_request *sent, **sent_end;       /* oldest first */
    struct link_request *waiting, **waiting_end; /* in the order of arrival */
    const struct link_ops *ops;
    void *userdata;
};

void executor_link_init(struct executor_link *executor, uv_loop_t *loop, const struct link_ops *ops,
                        void *userdata);
/* Ends every request with -ESHUTDOWN and closes the handles; the process must have ended. */
void executor_link_fini(struct executor_link *executor);

/* The one of this kind, of those that clients have asked for, that was sent first, or else one that
 * waits; NULL: there is none. */
const struct link_request *executor_link_find_clients(const struct executor_link *executor,
                                                      Odeon__Request__BodyCase body);
/* Ends one that was sent, before the executor has answered (executor_link.E1). */
void executor_link_fail(struct executor_link *executor, uint64_t id, int error, const char *text);

/* Starts the process, which is to log down to `level`.  0 or negative errno. */
int executor_link_start(struct executor_link *executor, const char *program, const char *level);
/* Readiness was reported: requests that waited are sent. */
void executor_link_set_ready(struct executor_link *executor);
void executor_link_kill(struct executor_link *executor);
/* Whether that is what the process has died of. */
bool executor_link_was_killed(const struct executor_link *executor, int wait_status);

/* There were no means for something that is to be sent: `again` will come (executor_link.E5). */
void executor_link_try_later(struct executor_link *executor, int error);

/* Sends a command of the supervisor's own.  Its id, or 0: it could not be sent: the executor ends,
 * or `again` will come. */
uint64_t executor_link_send(struct executor_link *executor, Odeon__Command *command, const int *fds,
                            size_t n_fds);

/* Asks, now or as soon as the executor is ready (`now`: although it is not). Takes `request` and
 * `fd` in any case. 0; -EBUSY: too many wait already, of all or of its user, but not with `now`;
 * -ENOMEM; -EMSGSIZE: does not fit into a frame; with `now` one of channel_is_short(), and `again`
 * will come. */
struct link_ask {
    struct link_asker asker;
    uint64_t tag;
    void *context;
    Odeon__Request *request;
    int fd;
    bool now;
    void (*done)(void *userdata, struct link_request *request, Odeon__Reply *reply);
};
int executor_link_ask(struct executor_link *executor, const struct link_ask *ask);
/* How many of its requests have no answer yet. */
uint32_t executor_link_count_requests(const struct executor_link *executor, uint32_t uid);
