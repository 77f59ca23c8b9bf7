/* SPDX-License-Identifier: Apache-2.0 */
/* The clients: one object a control connection.  Event loop thread only.
 *
 * A client is identified by what the kernel says about its end of the socket; its name is for
 * people. It ends with its connection or with its process, whichever comes first (client.K9); while
 * no odeond runs, with its process (persist.R2).
 *
 * client.K1  A client's queue of answers is bounded; one that does not read is disconnected, nobody
 *     waits for it.
 * client.K2  A client with CLIENT_REQUESTS_MAX unanswered requests, or for whose unanswered
 *     requests CLIENT_REQUEST_BYTES or more were allocated, is not read from until some are
 *     answered.
 * client.K3  Ids are not used twice in the life of the service's state.
 * client.K4  A client that another odeond has left has no connection until it comes back; nothing
 *     is sent to it.
 * client.K5  After client_drop() the object lives until the event loop's next turn; `dropped` says
 *     so.
 * client.K6  A client of a user whose clients ask for more than quota-requests a second
 *     (account.Q8) is not read from until the second allows it; its socket is full then, and it
 *     waits in its own send(). Each of them has one request taken before any of them waits again.
 * client.K13  What it costs the loop to serve a client counts, in processor time: for its user's
 *     bucket (client.K6), and for its user's share of a turn (turn_share.H1).
 * client.K7  A client whose process offends again and again is not read from until its hold is over
 *     (offenders.h).  Its end is noticed all the same, so that who comes back at once cannot fill
 *     the service with connections that it has left.
 * client.K8  A client has the ports that it was given and that were not taken from it, those that
 *     the executor still drains included.
 * client.K9  The process that connected is the client: its end is the client's, whoever else holds
 *     the connection (a child that it forked has a copy of the socket, and would keep its ports).
 *     What it had sent is still taken, up to a record that channel.C5 has wait. One that hands
 *     its connection over on purpose, by forking and ending itself (daemon()), ends there, too: the
 *     child connects by itself. A process that the kernel does not let be watched ends with its
 *     connection alone.
 * client.K10  Descriptors on their way to a client are on its user's account from the request that
 *     asks for them until they have been read, whatever becomes of the client meanwhile
 *     (unread.U1). Nothing is opened for one who has as many as it may.
 * client.K11  The memory of answers that wait for a client to read is on its user's account; one
 *     that has no room for an answer is disconnected.
 * client.K12  What a user can have said in the log by coming back again and again is said once a
 *     minute, for each of the ways there are to part (told.T1). Offences, which their holds keep
 *     rare, are said one by one until too many processes of the user commit them (offenders.F2).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <uv.h>

#include "daemon/supervisor/access.h"
#include "daemon/supervisor/account.h"
#include "daemon/supervisor/channel.h"
#include "daemon/supervisor/offenders.h"
#include "daemon/supervisor/told.h"
#include "daemon/supervisor/unread.h"
#include "proto/bounds.h"
#include "proto/control.pb-c.h"

enum {
    CLIENT_REQUESTS_MAX = 64,
    CLIENT_REQUEST_BYTES = 1 << 16,
    CLIENT_QUEUE_BYTES = 1 << 20,
    CLIENT_TOKEN_BYTES = 16
};

/* Ends, of a connection and of a port, that a client can bring about as often as it likes, for they
 * are no offences; and those that are. */
enum client_parting {
    CLIENT_PART_VERSION, /* it speaks another version of the protocol */
    CLIENT_PART_RESUME,  /* it is not who it claims to be */
    CLIENT_PART_LOST,    /* its connection is broken */
    CLIENT_PART_DEAF,    /* it does not read its answers */
    CLIENT_PART_PROCESS, /* its process has ended, and its connection has not */
    CLIENT_PART_SILENT,  /* it says no hello */
    CLIENT_PART_PORT,    /* one of its ports did not receive, and was to be closed then */
    CLIENT_PART_OFFENCE, /* it, or one of its ports, has said what no client can say */
    CLIENT_PART_N
};

struct clients;
struct config;
struct registry_client;
struct registry_file;

struct client {
    struct client *next;
    struct clients *clients;
    /* NULL: it was connected to the former odeond, and has not come back yet */
    struct channel *channel;
    uv_poll_t *end; /* of its process; NULL: it cannot be watched */
    int pidfd;      /* what `end` looks at, unless that is the peer's; -1: none of its own */
    uint64_t id;
    pid_t pid;
    uid_t uid;
    struct peer peer; /* of one without a connection: what the registry had of it */
    unsigned roles;   /* a set (access.h) */
    uint8_t token[CLIENT_TOKEN_BYTES]; /* proves it to the next odeond */
    char name[ODEON_NAME_MAX + 1];
    char library[32];
    bool said_hello, dropped;
    bool stored;           /* its pidfd was sent to the store, when ... */
    uint64_t stored_lost;  /* ... line_lost() was this */
    uint64_t connected_ns; /* CLOCK_MONOTONIC */
    uint64_t listened_ns;  /* likewise: since when it has been read from, or the same */
    uint32_t n_fds_due;    /* in answers that are not ready (client.K10) */
    struct unread *unread; /* for what it may leave; NULL: it has no connection */
    uint32_t n_ports;      /* also those that the executor still drains */
    uint32_t n_broken_ports;
    uint32_t n_requests;  /* unanswered ones */
    size_t request_bytes; /* ... and what was allocated for them, roughly: each goes as the mean */
    size_t read_bytes;    /* the same of the one that was read last */
    struct holding held;  /* of its user's account, by itself and by its ports */
    uint64_t held_until_ns; /* client.K7; 0: it is not held back */
    uint32_t n_audited;     /* lines of the log about what it has done by hand (audit.AU2) */
    bool throttled;         /* client.K6, client.K7 */
};

/* What those above the clients do when something happens to one. */
struct clients_ops {
    void (*frame)(void *userdata, struct client *client, struct frame *frame); /* a record of it */
    void (*gone)(void *userdata, struct client *client); /* its ports close, it is forgotten */
    void (*changed)(void *userdata);                     /* how many there are */
    void (*held)(void *userdata);                        /* one is held back (client.K7) */
};

/* What they stand in.  All of it lives longer than they do. */
struct clients_world {
    uv_loop_t *loop;
    const struct config *config;
    struct accounts *accounts;
    struct registry_file *registry;
    const struct clients_ops *ops;
    void *userdata;
};

struct clients {
    struct clients_world world;
    struct client *first, **end; /* by id */
    uint32_t n;
    uint64_t last_id;
    uint32_t n_absent; /* without a connection */
    uv_timer_t refill; /* runs while somebody is throttled */
    uv_timer_t look;   /* while descriptors lie unread */
    struct unreads unreads;
    struct offenders offenders;
    struct told parted[CLIENT_PART_N]; /* client.K12 */
};

void clients_init(struct clients *clients, const struct clients_world *world);
void clients_start(struct clients *clients); /* the event loop is there */
void clients_drop_all(struct clients *clients);
struct client *clients_find(struct clients *clients, uint64_t id);
/* To everybody who has said hello. */
void clients_tell(struct clients *clients, Odeon__Event *event);

/* The configuration says otherwise who may do what: what clients have already stays, what they ask
 * for from now on is judged anew. */
void clients_update_roles(struct clients *clients);

/* Takes `fd` and what the peer has.  0 or negative errno (then they are released). */
int client_add(struct clients *clients, int fd, struct peer *peer);
/* One that another odeond has left. Takes `pidfd` when it succeeds; its end is the end of the
 * process. */
int client_restore(struct clients *clients, const struct registry_client *entry, int pidfd);
/* `client` becomes what `former`, which goes, was. */
void client_adopt(struct client *client, struct client *former);
/* A port of it, with what that takes of its user's account; the account itself is the caller's. */
void client_take_port(struct client *client, const struct holding *held);
void client_give_port(struct client *client, const struct holding *held);
/* A descriptor of the client's process, or negative errno. */
int client_open_pidfd(const struct client *client);
/* "client 7 (wordcount, process 1234)" */
const char *client_describe(const struct client *client, char *text, size_t size);
void client_set_hello(struct client *client, const char *name, const char *library);
/* The connection ends, its ports are drained. */
void client_drop(struct client *client, const char *why);
/* So it does for what its user may do again and again (client.K12). */
void client_part(struct client *client, enum client_parting how, const char *why);
/* Whether the log is to be told of such an end now, and of how many more since it last was. */
bool clients_tell_of(struct clients *clients, enum client_parting how, uid_t uid,
                     uint64_t *ret_more);
/* So it does for something that no client does by mistake: an offence. */
void client_throw_out(struct client *client, const char *why);
/* A process has committed an offence; its connections, if it has any, may have to wait
 * (client.K7). */
void clients_note_offence(struct clients *clients, pid_t pid, uid_t uid);

/* Sends an answer or an event; a client that cannot take it is dropped. 0, or why another answer
 * was sent in its place: that there is no memory, or no descriptor, for this one. */
int client_send(struct client *client, Odeon__Reply *reply, const int *fds, size_t n_fds);
void client_refuse(struct client *client, uint64_t request_id, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void client_tell(struct client *client, Odeon__Event *event);
/* Descriptors will be sent, are sent or will not be (client.K10); 0 counts what it has not read. */
void client_expect_descriptors(struct client *client, int n);
/* Counts again what clients of this user, and those that have gone, have not read; once a
 * millisecond, for who is refused can ask often. */
void clients_count_descriptors(struct clients *clients, struct account *account);
/* Whether its user's quotas are enforced. */
bool client_is_bound(const struct client *client);
/* It has been refused something for its user's quota, or slowed down: said in the log, not too
 * often. */
void client_blame(struct client *client, const char *what);
/* A request goes on its way, or has been answered (client.K2). */
void client_begin_request(struct client *client);
void client_end_request(struct client *client);
