/* SPDX-License-Identifier: Apache-2.0 */
/* libodeon: posting to actors, receiving from them, calling them.
 *
 * Threads: a `struct odeon_client` may be shared; each of its calls is a blocking round trip on its
 * control connection, one at a time (a mutex), as long as the service takes. A `struct odeon_port`
 * has one thread that posts and one that receives at a time, which may be the same, and which share
 * no lock; what does both (odeon_port_call(), odeon_port_arm_room()) wants them to be the same, and
 * so does closing it. Several threads may post through one that was opened for them (`posters`);
 * faster is a port for each. fork(): neither survives into a
 * child; calls there return -ECHILD. odeon_client_disconnect() there frees memory and descriptors
 * and tells the service nothing. The client is the process that connected: when that ends, so does
 * the client, and its ports are closed, though a child may hold copies of the connection. So a
 * program that becomes a daemon connects after the fork; one that connects before it and ends ends
 * its own client. Signals: blocking calls are restarted; use their timeouts. pthread_cancel() takes
 * effect behind a call, never within it. Errors: 0, or a negative errno; odeon_error_text() says
 * more about the calling thread's last failed call. Times are in nanoseconds (CLOCK_MONOTONIC); a
 * timeout below 0 waits for ever, 0 does not wait.
 *
 * Restarts are not an end. When the executor is started again, ports live on, posting and receiving
 * go on, and what is in flight meanwhile takes longer. The same holds when odeond itself is killed,
 * restarted or upgraded under a service manager that keeps its descriptors (systemd): nothing
 * posted is lost, nothing delivered is repeated, and the library connects again by itself, in
 * whatever call looks or waits next. Posting goes on until the ring is full; waiting calls wait, up
 * to their own timeouts; requests (odeon_actor_spawn() and the like) wait as long as
 * odeon_client_set_patience() and odeon_client_set_timeout() say. A request that was under way at
 * that moment is repeated when that does no harm; one that changes something (odeon_actor_spawn(),
 * loading plugins, stopping actors, settings) returns -ECONNRESET with a text that says so: look
 * whether it was carried out.
 *
 * The end: when the service turns the client out, or what comes back is a service that has nothing
 * of what this client had (it was stopped and started, or runs without a service manager), every
 * later request returns -ECONNRESET and every port of the client is closed (-EPIPE). A port that
 * waits notices within a second at most, one that only posts by -EPIPE of odeon_port_post() and
 * odeon_port_commit(): the next one, where the service has closed the port; where nobody was left
 * to do that (all of it was killed), when the ring is full at the latest. What was delivered before
 * the end can still be received. -EPROTO from a port means that its memory is in a state that
 * cannot be, because of the service, or because two threads use the port at once, which the text
 * says where it can be told; the port is closed then.
 *
 * What a call may return beside what stands there; the text says which of the reasons it is.
 *
 *   -EINVAL         an argument that cannot be: NULL, a name, a size, a setting's key
 *   -E2BIG, -EMSGSIZE, -ENAMETOOLONG, -ERANGE   one that is too large, too long, out of its bounds
 *   -ENOENT, -ESRCH, -ENODEV   no such thing; no actor of this reference; no such worker or node
 *   -EEXIST, -EALREADY         it is there, or done, already
 *   -EBADMSG        a type is known with another size or other fields
 *   -EACCES         not allowed: the socket, a role, a file of a plugin
 *   -EDQUOT         a quota of the user is used up
 *   -EMFILE         too many descriptors in this process, or in the service's; or this client has
 *                   32 ports, the most
 *   -ENFILE         the service has 256 ports, the most, or no descriptor left; a user whom quotas
 *                   bind gets -EDQUOT before
 *   -EUSERS         the service has 1,024 clients, the most; 1,008 of users whom quotas bind
 *   -ENOSPC, -ENOBUFS, -ENOMEM   a table, room set aside, or memory is used up, here or there
 *   -EAGAIN         the ring is full, or the service is just starting: try again
 *   -EBUSY          in use; or as many requests wait as can
 *   -EIO            the service manager has lost what was to be kept: try again
 *   -ETIMEDOUT      the time that was given is over
 *   -EHOSTDOWN      the executor is down; or the actor's plugin is not loaded
 *   -ESHUTDOWN      the service is stopping
 *   -ECONNREFUSED, -ECONNRESET, -EPIPE   no service; the connection, the port is gone
 *   -ECONNABORTED   an administrator has turned this client out
 *   -ECANCELED      a helper (<odeon/helper.h>) was freed before it came to it
 *   -ECHILD         the client, or port, is that of the parent of this process
 *   -EPROTO, -ENOSYS   the service speaks another protocol, or wrongly; does not know the request
 *   -ENOTSUP, -EOPNOTSUPP      not of a port without a pipe, or that several threads post through;
 *                   not of this kind of actor
 *   -ENOEXEC, -EISDIR, -EFBIG, -ELOOP, -EBADF   a plugin's file is none, or cannot be read
 *
 * Another one is the kernel's, of a file that was named (-ENOTDIR), or of a call that failed.
 * odeon_strerror() has these in words, for a program that keeps numbers.
 */
#ifndef ODEON_CLIENT_H
#define ODEON_CLIENT_H

#include <odeon/message.h>
#include <odeon/names.h>
#include <odeon/version.h>

#ifdef __cplusplus
extern "C" {
#endif

struct odeon_client;
struct odeon_port;

#define ODEON_SOCKET_DEFAULT "/run/odeon/control.sock" /* $ODEON_SOCKET goes before it */

/* Connects and says hello. `path` NULL: $ODEON_SOCKET, else the default; a relative one is resolved
 * here, chdir() later does no harm. `name`: for people, may be NULL. -ECONNREFUSED, -ENOENT: no
 * service; -EACCES: not allowed; -EPROTO: the service speaks another protocol. Does not try again:
 * a service that is just starting is an error that says so. `name` NULL shows the program's
 * name. */
ODEON_API int odeon_client_connect(const char *path, const char *name,
                                   struct odeon_client **ret_client);
/* The same, waiting for a service that is not there yet, or just starting, up to the timeout: below
 * 0 for ever, 0 not at all; the last try's greeting may take a second longer. What waiting does not
 * help (-EACCES, -EPROTO, -EINVAL, ...) is returned at once; else the last error that there was,
 * with a text that says how long it waited. A socket that is there and does not answer is waited
 * for as long. */
ODEON_API int odeon_client_connect_wait(const char *path, const char *name, int64_t timeout_ns,
                                        struct odeon_client **ret_client);
/* Closes the connection and all ports still open, whose pointers are dead then; no other thread may
 * be using them. NULL is fine. Returns NULL. */
ODEON_API struct odeon_client *odeon_client_disconnect(struct odeon_client *client);

/* How long requests, and the connection at all, outlast a service that is not there: -1 (the
 * default) for ever, 0 not at all. After that it is the end, as above. Of no concern where the
 * service's state ends with odeond: that is the end at once. */
ODEON_API int odeon_client_set_patience(struct odeon_client *client, int64_t timeout_ns);
/* How long a request, odeon_client_connect() and odeon_port_close() included, waits for its turn
 * behind those that other threads have under way, and for the service, be it there or not: -1 for
 * ever; by default a minute, or what $ODEON_TIMEOUT_MS says when the client connects. Then it is
 * -ETIMEDOUT: whether the request is carried out is not known unless the text says so; the client
 * and its ports go on. A port that is opened too late is closed again. Setting a time waits for
 * nobody, and is about requests that begin later. */
ODEON_API int odeon_client_set_timeout(struct odeon_client *client, int64_t timeout_ns);
/* How often odeond has been started on the state that this client uses: grows when the client has
 * come back after a restart. Looks for events on the connection. */
ODEON_API uint64_t odeon_client_epoch(struct odeon_client *client);

/* The last failed call's explanation, for the calling thread; never NULL; valid until its next
 * call. A call that succeeds leaves it alone: look at it only after an error. */
ODEON_API const char *odeon_error_text(void);

/* The service's id of a message type; registers it when nobody has yet. -EBADMSG: known with
 * another size or fields. The first call for a type is a round trip, later ones are a look into a
 * table that goes by the description's address and what it says. Ids stay valid as long as the
 * service's segment lives, over restarts of the executor, too. */
ODEON_API int odeon_message_id(struct odeon_client *client, const struct odeon_message_type *type,
                               uint32_t *ret_id);
/* The other way: the description for which odeon_message_id() of this client has given that id, as
 * it was given (the last one, if several were), for who receives. NULL: none has. A look into a
 * table. The description is the caller's: one whose shared object has been unloaded is gone. What
 * types of others are: odeon_message_show(), <odeon/admin.h>. */
ODEON_API const struct odeon_message_type *odeon_message_type(struct odeon_client *client,
                                                              uint32_t id);
/* The actor that is registered under a name.  0, -ENOENT. */
ODEON_API int odeon_actor_find(struct odeon_client *client, const char *name, odeon_ref *ret_ref);
/* Makes an actor; once this has returned it exists, also for whoever looks its name up. `name`
 * NULL: unnamed; `ret_ref` NULL: not wanted. -ENOENT: no such actor type; -EEXIST: the name is
 * taken; -E2BIG: more than 232 bytes of args. */
ODEON_API int odeon_actor_spawn(struct odeon_client *client, const char *type, const char *name,
                                const void *args, size_t args_size, odeon_ref *ret_ref);

/* What becomes of deliveries that the port has no room for any more, neither in its ring nor behind
 * it (setting backlog-bytes). Senders are never held up. */
enum odeon_port_overflow {
    ODEON_PORT_DROP_NEWEST = 0, /* they are dropped */
    /* what has waited longest is dropped, behind what is in the ring already */
    ODEON_PORT_DROP_OLDEST = 1,
    ODEON_PORT_DISCONNECT = 2, /* the port is closed (-EPIPE), once what it has posted is taken */
};

struct odeon_port_options {
    uint32_t struct_size;      /* sizeof, as compiled */
    uint32_t pipe;             /* 1: make odeon_port_fd() work */
    uint64_t submission_bytes; /* powers of two; 0: default */
    uint64_t delivery_bytes;
    /* enum odeon_port_overflow; a program compiled without it gets DROP_NEWEST */
    uint32_t overflow;
    /* 1: several threads may post through the port at once: they take turns, behind a lock.
     * odeon_port_reserve(), odeon_port_commit(), odeon_port_call() and odeon_port_arm_room() are
     * -ENOTSUP then. 0: one thread posts at a time, and nothing is locked. */
    uint32_t posters;
};

/* `options` NULL: defaults. A port takes two mappings of its rings' sizes, twice each in address
 * space, and one or two descriptors. -EMFILE: this process or the executor has too many files
 * open, or this client as many ports as one can have. -EDQUOT: a quota of its user's, or its share
 * of what all users have. -ENFILE: the service has as many ports, or descriptors in unread answers,
 * as it can. -EIO, -EBUSY: the service manager has not kept what the port is made of, or takes
 * nothing at the moment; try again. The text says which. */
ODEON_API int odeon_port_open(struct odeon_client *client, const struct odeon_port_options *options,
                              struct odeon_port **ret_port);
/* What has been posted is still processed; what is reserved and not committed, and what has not
 * been received, is dropped. Pointers from odeon_port_reserve() and odeon_port_receive() are dead
 * then. NULL is fine. Returns NULL. */
ODEON_API struct odeon_port *odeon_port_close(struct odeon_port *port);
/* The port as a receiver: actors can send to it. */
ODEON_API odeon_ref odeon_port_ref(const struct odeon_port *port);
/* Registers the port under a name, by which odeon_actor_find() and actors (odeon_lookup_any())
 * find it as long as it is open, over restarts, too. A name that somebody has is never taken from
 * it. 0, also when the port has this name already; -EEXIST: the name is taken; -EALREADY: the port
 * has another one; -EINVAL: it is no name; -ENOSPC, -EDQUOT: all names, or all of this user, are in
 * use; -EACCES: this needs the role register. A request: it waits for the service. */
ODEON_API int odeon_port_register(struct odeon_port *port, const char *name);
/* Deliveries to this port that were dropped because it did not receive, since it was opened. A look
 * into shared memory. NULL: 0. */
ODEON_API uint64_t odeon_port_dropped(const struct odeon_port *port);
/* How full a port's rings are, and what has gone through them since it was opened. Bytes are those
 * of records: a header of 24, 8 for each of correlation id and time, the payload, filled up to
 * 8; what is reserved and not committed is not among them. */
struct odeon_port_figures {
    uint32_t struct_size;      /* sizeof, as compiled; the caller's */
    uint32_t backlog;          /* 1: deliveries wait behind the ring, or did a moment ago */
    uint64_t submission_bytes; /* size of the ring */
    uint64_t submission_used;  /* of it: what the service has not taken yet */
    uint64_t delivery_bytes;   /* size of the ring */
    uint64_t delivery_waiting; /* of it: what has not been received yet */
    uint64_t delivery_held;    /* of it: received, and not released */
    uint64_t kept_bytes;       /* beside it: what came during calls, and waits */
    uint64_t awaited;          /* posts with a deadline that have no outcome yet */
    uint64_t posted_bytes;     /* counts: what has been posted, */
    uint64_t received_bytes;   /* ... what has been received, late replies included, */
    uint64_t dropped;          /* ... odeon_port_dropped(), */
    uint64_t expired;          /* ... deadlines that have passed before their outcome, */
    uint64_t full;             /* ... posts that found no room and returned so, */
    uint64_t room_waits;       /* ... sleeps and armings for want of room, */
    uint64_t delivery_waits;   /* ... sleeps and armings for want of a delivery, */
    uint64_t doorbells;        /* ... system calls that woke the service for a post */
};
/* A look into memory, for either of the port's threads: figures of the other's side are those of a
 * moment ago. 0; -EINVAL: no port, or struct_size is not set. */
ODEON_API int odeon_port_figures(struct odeon_port *port, struct odeon_port_figures *ret_figures);
/* Becomes readable after odeon_port_arm() when there is something to receive, and when the service
 * closes the port: until odeon_port_arm() has said so. Behind that, and where all of the service
 * was killed, it hangs up (POLLHUP). Only for poll(): the port owns it, and odeon_port_arm() reads
 * it. -ENOTSUP: opened without a pipe. */
ODEON_API int odeon_port_fd(const struct odeon_port *port);
/* Call before each poll(): 0: armed, poll now; 1: there is something to receive already; -EPIPE:
 * the port has been closed. Drains the pipe. Arming holds for one wake-up, and until a call that
 * waits for deliveries (odeon_port_receive_wait(), odeon_port_call()). */
ODEON_API int odeon_port_arm(struct odeon_port *port);
/* What odeon_port_arm_room() has found. */
enum odeon_port_ready {
    ODEON_PORT_HAS_DELIVERY = 1 << 0,
    ODEON_PORT_HAS_ROOM = 1 << 1,
};
/* As odeon_port_arm(), and for room in a submission ring that is full: for one message of `size`
 * bytes of payload, with whatever options. 0: armed for both, poll now; else the sum of what is
 * there already (enum odeon_port_ready), and nothing is armed. Behind a wake-up, ask again: it does
 * not say for which of the two it was. Publishes what has been reserved, which would never make
 * room. Arming for room holds until the next arming of either kind, or a call that waits for room.
 * -EMSGSIZE: such a message never fits; -ENOSYS: the port was opened at a service that is older
 * than this; else as odeon_port_arm(). Arm it only where a post has found no room: the service
 * wakes whoever is armed, once an arming. */
ODEON_API int odeon_port_arm_room(struct odeon_port *port, size_t size);
/* 0, or -EPIPE: the service has closed the port (odeon_error_text() says why). Looks for events on
 * the connection: a system call. 0 also while the service is not there, as long as it may come
 * back. */
ODEON_API int odeon_port_check(struct odeon_port *port);

/* Why a port is closed: what a program may act on; odeon_error_text() of what failed with -EPIPE or
 * -EPROTO says more, to people. */
enum odeon_closed {
    ODEON_CLOSED_NOT = 0,      /* it is open, as far as is known */
    ODEON_CLOSED_BY_SERVICE,   /* it is stopping, has lost the port, or ends the connection */
    ODEON_CLOSED_TURNED_OUT,   /* an administrator has turned the client out */
    ODEON_CLOSED_TOO_SLOW,     /* it did not receive, and asked for ODEON_PORT_DISCONNECT */
    ODEON_CLOSED_BAD_RECORD,   /* this process has written into the ring what no record can be */
    ODEON_CLOSED_SERVICE_GONE, /* the service, or all it had of this client, is gone for good */
    ODEON_CLOSED_IMPOSSIBLE,   /* -EPROTO: a fault of the service, or two threads use the port */
};
/* Which of them it is; -EINVAL: no port. Looks for events on the connection, as odeon_port_check().
 * A later version of the service may have further reasons, which are ODEON_CLOSED_BY_SERVICE
 * here. */
ODEON_API int odeon_port_closed(struct odeon_port *port);
/* It in a word, "open", "turned-out", ...; "unknown"; never NULL. */
ODEON_API const char *odeon_port_closed_name(int why);

/* Posts a copy. Never blocks, makes no system call unless the service sleeps or the ring is full.
 * 0: accepted, will not be lost by any process's death; -EAGAIN: the ring is full; -EMSGSIZE:
 * payload too large, for the service (32,768 bytes) or for this port's ring; -ESRCH: no actor can
 * have this reference; -EINVAL: no message type can have this id; -EPIPE: the port has been closed.
 * Whether the receiver lives and accepts the type is found out later: a refusal comes as a delivery
 * of type ODEON_MSG_REFUSAL. Records arrive in the order in which they were posted or reserved;
 * posting publishes what has been reserved before. */
ODEON_API int odeon_port_post(struct odeon_port *port, odeon_ref to, uint32_t type,
                              const void *data, size_t size);
/* The same, waiting for room up to the timeout: -ETIMEDOUT, and nothing was posted. Publishes what
 * has been reserved before, also when it times out: unpublished records would never make room. */
ODEON_API int odeon_port_post_wait(struct odeon_port *port, odeon_ref to, uint32_t type,
                                   const void *data, size_t size, int64_t timeout_ns);
/* As odeon_port_post(), through the receiver's urgent lane: once the service has taken the message
 * from this ring (it takes them in order), it overtakes all that waits for the receiver, but for
 * other urgent messages. It does not interrupt a behaviour that runs. For what is small and rare:
 * the lane of a queue takes 64 KiB (or the queue's limit, if that is less), what comes then is
 * refused. */
ODEON_API int odeon_port_post_urgent(struct odeon_port *port, odeon_ref to, uint32_t type,
                                     const void *data, size_t size);
/* As odeon_port_post(), for later: the message is sent to its receiver `delay_ns` from now, up to a
 * hundred years, by CLOCK_MONOTONIC, or by CLOCK_BOOTTIME as ODEON_BOOT_TIME(ns). 0: accepted; it
 * is sent once, in the order of the times that clients and actors have asked for, whatever dies or
 * is closed meanwhile, this port and its client included. It takes no room in the receiver's queue
 * until then. `correlation` not 0: as of odeon_port_post_correlated(). Not all is known at once: a
 * refusal with ODEON_REASON_TIMERS_FULL says that as many messages wait for their time as may
 * (settings timers, timer-bytes), or half of what the others leave are this user's;
 * ODEON_REASON_NO_SUCH_ACTOR, now or at its time, that the receiver has ended. There is no taking
 * back. -ENOSYS: the port was opened at a service that is older than this; -ERANGE: beyond a
 * hundred years; else as odeon_port_post(). A behaviour sees it as sent by a timer
 * (odeon_is_timer()). */
ODEON_API int odeon_port_post_after(struct odeon_port *port, odeon_ref to, uint32_t type,
                                    uint64_t correlation, const void *data, size_t size,
                                    uint64_t delay_ns);
/* How a message is posted: what the forms above and below have one by one, in any mixture that
 * means something. Fields that are not named are 0, which asks for nothing:
 *
 *     odeon_port_post_with(port, to, type, &message, sizeof(message),
 *                          ODEON_POST_OPTIONS(.correlation = 7, .within_ns = 50000000));
 */
struct odeon_post_options {
    uint32_t struct_size; /* sizeof, as compiled */
    uint32_t urgent;      /* 1: as odeon_port_post_urgent(); not with after_ns */
    uint64_t correlation; /* as odeon_port_post_correlated(); 0: none */
    uint64_t after_ns;    /* as odeon_port_post_after(), ODEON_BOOT_TIME(ns) included; 0: now */
    /* For room in the ring: 0: not at all, below 0: for ever; as odeon_port_post_wait(). */
    int64_t wait_ns;
    /* The deadline of a correlated post, from its acceptance on; 0: none. Exactly one outcome comes
     * then, with the id, from odeon_port_receive(): the reply, a refusal, or, when the time is over
     * and neither has come, a refusal by the library with ODEON_REASON_DEADLINE; a reply or refusal
     * that comes later is dropped. A reply that had come when the port was looked at goes first,
     * however late that look was. The -EPIPE (-EPROTO) with which odeon_port_receive() says that
     * the port has ended is the outcome of all that have none yet: none comes behind it. Who was
     * asked is not told, and may still work on it. Waiting calls wake for it; with a descriptor,
     * see odeon_port_timeout(). A port has at most 16,384 without an outcome (-ENOBUFS); the same
     * id may be used for several. */
    int64_t within_ns;
    /* A trace's id, of the caller's choice: all that this message causes has it, too, and can be
     * followed (odeonctl trace --id, odeon_observe_traced()); 0: none. Messages that have one are
     * run one by one, and cost more. -ENOSYS: the service does not know them. */
    uint64_t trace;
};

#ifndef __cplusplus
#define ODEON_POST_OPTIONS(...)                                                                    \
    (&(const struct odeon_post_options){ .struct_size = sizeof(struct odeon_post_options),         \
                                         __VA_ARGS__ })
#endif

/* Posts a copy. `options` NULL: as odeon_port_post(). 0: accepted; errors as of the forms whose
 * options are used; -EINVAL also: options that contradict each other, which the text names;
 * -ENOBUFS: see within_ns; -ENOMEM: there was no memory for the port's first post with a deadline.
 * Where it fails nothing was posted, and no outcome comes. */
ODEON_API int odeon_port_post_with(struct odeon_port *port, odeon_ref to, uint32_t type,
                                   const void *data, size_t size,
                                   const struct odeon_post_options *options);
/* In place: room for `size` bytes of payload to fill, 8-byte aligned; NULL and errno as for
 * odeon_port_post(). Several records may be reserved one after the other; odeon_port_commit()
 * publishes all of them with one store. A record that was reserved and not committed vanishes with
 * the process. There is no taking back: a reserved record is published with the next commit or
 * post, as it is then. When the ring is full of reserved records (EAGAIN), commit: nothing else
 * makes room. */
ODEON_API void *odeon_port_reserve(struct odeon_port *port, odeon_ref to, uint32_t type,
                                   size_t size);
/* The same with options, all but `wait_ns`, which is 0 here (EINVAL): waiting for room would
 * publish what is reserved. The time of `after_ns` and `within_ns` begins here. */
ODEON_API void *odeon_port_reserve_with(struct odeon_port *port, odeon_ref to, uint32_t type,
                                        size_t size, const struct odeon_post_options *options);
/* 0; -EPIPE: the port has been closed, and nothing more of it is taken. */
ODEON_API int odeon_port_commit(struct odeon_port *port);

/* One delivery. The pointer leads into the ring (read-only) and is valid until
 * odeon_port_release(). */
struct odeon_delivery {
    odeon_ref from;
    /* Of a reply to, or the refusal of, a call or a correlated post; 0: none. Not a reply, and
     * not 0: an actor asks, and odeon_port_answer() answers. */
    uint64_t correlation;
    uint32_t type;
    uint32_t size;  /* bytes of data */
    uint32_t flags; /* bit 0: reply */
    uint32_t reserved;
    const void *data; /* 8-byte aligned */
};

/* 1: got one; 0: there is none; -EPIPE: the port has been closed, and all that was delivered before
 * has been received. Takes the next one even when earlier ones have not been released. */
ODEON_API int odeon_port_receive(struct odeon_port *port, struct odeon_delivery *ret_delivery);
ODEON_API int odeon_port_receive_wait(struct odeon_port *port, struct odeon_delivery *ret_delivery,
                                      int64_t timeout_ns);
/* As many as there are, up to `n`: how many, 0: none, or an error as of odeon_port_receive(). An
 * error behind the first of them is returned by the next call. */
ODEON_API int odeon_port_receive_many(struct odeon_port *port,
                                      struct odeon_delivery *ret_deliveries, size_t n);
/* Gives back the room of all deliveries received so far. Until then they hold room in the ring, and
 * a full ring makes the service set deliveries aside up to the port's limit; what comes then is the
 * port's policy (enum odeon_port_overflow). */
ODEON_API void odeon_port_release(struct odeon_port *port);
/* Gives back the room of the deliveries received up to `last`, it included, in the order in which
 * they were received; later ones stay the caller's. `last` or a copy of it: its `data` and `size`
 * are looked at. 0; -EINVAL: it is none that is held (a delivery that was released before may be
 * taken for one that is). */
ODEON_API int odeon_port_release_until(struct odeon_port *port, const struct odeon_delivery *last);

/* How a call ended: exactly one of these. */
enum odeon_outcome {
    ODEON_CALL_REPLY = 0,
    ODEON_CALL_REFUSED = 1, /* ret_delivery->data is struct odeon_refusal */
    ODEON_CALL_EXPIRED = 2, /* a reply that comes later is dropped */
    /* the port or the service is gone for good; whether the request was processed is not known */
    ODEON_CALL_CLOSED = 3,
};
/* What odeon_port_call() has returned, in words: "reply", "refused", "expired", "closed", or what
 * odeon_strerror() says of a negative one. */
ODEON_API const char *odeon_outcome_name(int outcome);
/* Sends and waits for the reply, also over restarts of executor and odeond, which keep the request.
 * Other deliveries that arrive meanwhile are kept (copied) and returned by odeon_port_receive() in
 * order. Returns an outcome, or a negative errno when nothing was sent (as odeon_port_post_wait()).
 * The reply is released by odeon_port_release(), like any delivery; release earlier ones before the
 * call, since the room that they hold is not there for the reply. Kept deliveries take at most 16
 * MiB: a caller that never receives gets -ENOBUFS, or ODEON_CALL_EXPIRED when it happens during the
 * call. A timeout below 0 waits for ever, but where deliveries to the port have been dropped since
 * the call began, and its reply may be one of them, no longer than a request
 * (odeon_client_set_timeout()): then it is ODEON_CALL_EXPIRED. How long a call took, and its
 * outcome, is counted for who asks the service for this client's traffic (odeon_client_list()), as
 * it is of posts with a deadline. */
ODEON_API int odeon_port_call(struct odeon_port *port, odeon_ref to, uint32_t type,
                              const void *data, size_t size, int64_t timeout_ns,
                              struct odeon_delivery *ret_reply);
/* The same with options, of which a call has `urgent` and `trace` alone: its correlation id and its
 * time are its own (-EINVAL). NULL: as odeon_port_call(). */
ODEON_API int odeon_port_call_with(struct odeon_port *port, odeon_ref to, uint32_t type,
                                   const void *data, size_t size, int64_t timeout_ns,
                                   const struct odeon_post_options *options,
                                   struct odeon_delivery *ret_reply);
/* Asynchronous form: posts with a correlation id of the caller's (not 0, highest bit not set: those
 * are the library's own, -EINVAL); pick the reply up with odeon_port_receive(). */
ODEON_API int odeon_port_post_correlated(struct odeon_port *port, odeon_ref to, uint32_t type,
                                         uint64_t correlation, const void *data, size_t size);
/* Takes back the wait for what was posted under this id with a deadline (`within_ns`): no outcome
 * comes any more, a reply that comes is dropped. The message itself is on its way, and is not taken
 * back. How many posts that were; 0: none waits under this id. For the thread that receives. */
ODEON_API int odeon_port_forget(struct odeon_port *port, uint64_t correlation);
/* How long until the next deadline of what was posted with one: nanoseconds, 0: it has passed, and
 * odeon_port_receive() has something; -1: there is none. For poll() beside odeon_port_fd(), which
 * does not tell of deadlines, rounded up to milliseconds; odeon_port_arm() returns 1 when one has
 * passed. For the thread that receives. */
ODEON_API int64_t odeon_port_timeout(struct odeon_port *port);
/* Has this port told when `ref`, an actor or a client's port, ends: exactly one delivery of type
 * ODEON_MSG_DOWN comes, from `ref`, with struct odeon_down (<odeon/monitor.h>): who has ended,
 * `monitor`, which is `correlation`, and why. It comes behind everything that `ref` has sent to
 * this port; also if `ref` has ended before, or never was (ODEON_REASON_NO_SUCH_ACTOR), and over
 * kills of executor and service. Its own `correlation` is 0: it is no question. Each call has a
 * word of its own, whatever ids it is given. It ends with the port, to which nothing comes any more
 * then, nor to a later one; or is given up (odeon_port_demonitor()).
 *
 * Posts a record, as odeon_port_post() does: it never blocks, publishes what has been reserved, and
 * is for the thread that posts, or several (`posters`). 0: accepted. `correlation`: not 0, highest
 * bit not set (-EINVAL). -ENOSYS: the port was opened at a service that is older than this; else
 * errors of odeon_port_post(). Instead of the word a refusal may come (ODEON_MSG_REFUSAL), with the
 * id: ODEON_REASON_TIMERS_FULL: a monitor counts as what is posted for later, and as much waits as
 * may. The word is a delivery like others: where the port does not receive, it may be dropped
 * (odeon_port_dropped()). `odeonctl monitor list` shows who watches whom. */
ODEON_API int odeon_port_monitor(struct odeon_port *port, odeon_ref ref, uint64_t correlation);
/* Gives up what odeon_port_monitor() began at this port with the same two words: one of those that
 * have them, if there are several. Posts a record, which comes in the order of what is posted. When
 * the service has taken it, one of two things has happened, whatever is killed:
 *  - the monitor was there: nothing is told of it, now or later, and it counts no longer;
 *  - it had been told, or never was, or is another port's: a refusal comes (ODEON_MSG_REFUSAL), of
 *    type ODEON_MSG_DEMONITOR with the id and ODEON_REASON_NO_SUCH_MONITOR.
 * So a word that is under way when this is called may still come. If it does, the refusal comes as
 * well, before or behind it; and if the refusal has come, and there was such a monitor, its word
 * has come, or comes. Who wants to know when an id is free again posts something to answer behind
 * it: no refusal by then, no word will come. 0: accepted; errors of odeon_port_monitor(). -ENOSYS:
 * the port was opened at a service that is older than this. */
ODEON_API int odeon_port_demonitor(struct odeon_port *port, odeon_ref ref, uint64_t correlation);
/* Posts the answer to what an actor has asked this port (odeon_ask()): `question` is the delivery,
 * or a copy of it, which need not be held until then. The actor takes the first one that comes
 * before its deadline; a later one is dropped, without a word to who sent it. Errors as of
 * odeon_port_post(); -EINVAL: the delivery is no question. */
ODEON_API int odeon_port_answer(struct odeon_port *port, const struct odeon_delivery *question,
                                uint32_t type, const void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif
