/* SPDX-License-Identifier: Apache-2.0 */
/* libodeon: posting to actors, receiving from them, calling them.
 *
 * Threads: a `struct odeon_client` may be shared; each of its calls is a blocking round trip on its control connection,
 * one at a time (a mutex).  A `struct odeon_port` belongs to one thread at a time: open one per thread that posts.
 * fork(): neither survives into a child; calls there return -ECHILD.
 * Signals: blocking calls are restarted; use their timeouts.
 * Errors: 0, or a negative errno; odeon_error_text() says more about the calling thread's last failed call.
 * Times are in nanoseconds; a timeout below 0 waits for ever, 0 does not wait.
 */
#ifndef ODEON_CLIENT_H
#define ODEON_CLIENT_H

#ifdef ODEON_PLUGIN_MACROS_H
#error "a plugin includes <odeon/plugin.h>, a client <odeon/client.h>; what both include, <odeon/message.h> alone"
#endif

#include <odeon/message.h>
#include <odeon/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ODEON_API __attribute__((visibility("default")))

struct odeon_client;
struct odeon_port;

#define ODEON_SOCKET_DEFAULT "/run/odeon/control.sock" /* $ODEON_SOCKET goes before it */

/* Connects and says hello.  `path` NULL: $ODEON_SOCKET, else the default.  `name`: for people, may be NULL.
 * -ECONNREFUSED, -ENOENT: no service; -EACCES: not allowed; -EPROTO: the service speaks another protocol. */
ODEON_API int odeon_connect(const char *path, const char *name, struct odeon_client **ret_client);
/* Closes the connection and all ports still open.  NULL is fine. Returns NULL. */
ODEON_API struct odeon_client *odeon_disconnect(struct odeon_client *client);

/* The last failed call's explanation, for the calling thread; never NULL; valid until its next call. */
ODEON_API const char *odeon_error_text(void);

/* The service's id of a message type; registers it when nobody has yet.  -EBADMSG: known with another size or fields.  The
 * first call for a type is a round trip, later ones are a look into a table. */
ODEON_API int odeon_message_id(struct odeon_client *client, const struct odeon_message_type *type, uint32_t *ret_id);
/* 0, -ENOENT. */
ODEON_API int odeon_lookup(struct odeon_client *client, const char *name, odeon_ref *ret_ref);
/* -ENOENT: no such actor type; -EEXIST: the name is taken; -E2BIG: more than 232 bytes of args. */
ODEON_API int odeon_spawn(struct odeon_client *client, const char *type, const char *name, const void *args, size_t args_size,
                          odeon_ref *ret_ref);
/* Asks the service to load the plugin at `path` (absolute).  Refusals: -EINVAL and a text with field, theirs, ours. */
ODEON_API int odeon_plugin_load(struct odeon_client *client, const char *path);

struct odeon_port_options {
    uint32_t struct_size;
    uint32_t pipe;             /* 1: make odeon_port_fd() work */
    uint64_t submission_bytes; /* powers of two; 0: default */
    uint64_t delivery_bytes;
};

ODEON_API int odeon_port_open(struct odeon_client *client, const struct odeon_port_options *options, struct odeon_port **ret_port);
/* What has been posted is still processed; what has not been received is dropped.  Returns NULL. */
ODEON_API struct odeon_port *odeon_port_close(struct odeon_port *port);
/* The port as a receiver: actors can send to it. */
ODEON_API odeon_ref odeon_port_ref(const struct odeon_port *port);
/* Becomes readable after odeon_port_arm() when there is something to receive.  -ENOTSUP: opened without a pipe. */
ODEON_API int odeon_port_fd(const struct odeon_port *port);
/* Call before poll(): 0: armed, poll now; 1: there is something to receive already.  Drains the pipe. */
ODEON_API int odeon_port_arm(struct odeon_port *port);
/* 0, or -EPIPE: the service has closed the port (odeon_error_text() says why). */
ODEON_API int odeon_port_check(struct odeon_port *port);

/* Posts a copy.  Never blocks, makes no system call unless the service sleeps.  0: accepted, will not be lost by any
 * process's death; -EAGAIN: the ring is full; -EMSGSIZE: payload too large; -EPIPE: the port has been closed. */
ODEON_API int odeon_post(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data, size_t size);
/* The same, waiting for room up to the timeout: -ETIMEDOUT. */
ODEON_API int odeon_post_wait(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data, size_t size, int64_t timeout_ns);
/* In place: room for `size` bytes of payload to fill, 8-byte aligned; NULL and errno as for odeon_post().  Several records
 * may be reserved one after the other; odeon_commit() publishes all of them with one store.  A record that was reserved
 * and not committed vanishes with the process. */
ODEON_API void *odeon_reserve(struct odeon_port *port, odeon_ref to, uint32_t type, size_t size);
ODEON_API void odeon_commit(struct odeon_port *port);

/* One delivery.  The pointer leads into the ring and is valid until odeon_release(). */
struct odeon_delivery {
    odeon_ref from;
    uint64_t correlation; /* of a reply to a call or a correlated post; 0: none */
    uint32_t type;
    uint32_t size;        /* bytes of data */
    uint32_t flags;       /* bit 0: reply */
    uint32_t reserved;
    const void *data;     /* 8-byte aligned */
};

/* 1: got one; 0: there is none; -EPIPE: the port has been closed.  Takes the next one even when earlier ones have not been
 * released. */
ODEON_API int odeon_receive(struct odeon_port *port, struct odeon_delivery *ret_delivery);
ODEON_API int odeon_receive_wait(struct odeon_port *port, struct odeon_delivery *ret_delivery, int64_t timeout_ns);
/* Gives back the room of all deliveries received so far. */
ODEON_API void odeon_release(struct odeon_port *port);

/* How a call ended: exactly one of these. */
enum odeon_outcome {
    ODEON_CALL_REPLY = 0,
    ODEON_CALL_REFUSED = 1,   /* ret_delivery->data is struct odeon_refusal */
    ODEON_CALL_EXPIRED = 2,   /* a reply that comes later is dropped */
    ODEON_CALL_CLOSED = 3,    /* the port or the service is gone; whether the request was processed is not known */
};
/* Sends and waits for the reply.  Other deliveries that arrive meanwhile are kept and returned by odeon_receive() in order.
 * Returns an outcome, or a negative errno when nothing was sent (as odeon_post_wait()). */
ODEON_API int odeon_call(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data, size_t size, int64_t timeout_ns,
                         struct odeon_delivery *ret_reply);
/* Asynchronous form: posts with a correlation id of the caller's (not 0); pick the reply up with odeon_receive(). */
ODEON_API int odeon_post_correlated(struct odeon_port *port, odeon_ref to, uint32_t type, uint64_t correlation, const void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif
