/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes in: listening sockets, and the connections that libmicrohttpd is given.
 *
 * One thread.
 *
 * door.D1  Whoever comes is let in. Where there is no place, the connection is ended that has been
 *     silent longest, of the address that has most of them: connections that say nothing cost those
 *     who ask nothing.
 * door.D2  A connection has so long to ask, and so long to read what is answered, however slowly it
 *     does it; then it is ended.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "client-lib/exporter/tally.h"

enum {
    DOOR_CONNECTIONS = 256,
    DOOR_LISTENERS = 8,
    DOOR_AT_ONCE = 16, /* connections that are let in between two turns of those that are in */
    DOOR_ASK_S = 10,
    DOOR_READ_S = 30,
    DOOR_IDLE_S = 120, /* between two requests */
};

enum door_phase { DOOR_FREE, DOOR_ASKING, DOOR_ANSWERED };

struct door_connection {
    enum door_phase phase;
    int fd; /* libmicrohttpd's */
    uint64_t since_ns, until_ns;
    struct in6_addr address; /* of IPv4 in its mapped form */
    bool ended;
};

struct door {
    struct MHD_Daemon *daemon;
    struct tally *tally;
    int listeners[DOOR_LISTENERS];
    size_t n_listeners;
    struct door_connection connections[DOOR_CONNECTIONS];
    struct door_connection *adding;
};

void door_init(struct door *door, struct tally *tally);
/* The listening sockets; connections are libmicrohttpd's. */
void door_fini(struct door *door);
/* Listens on "127.0.0.1:9464" or "[::1]:9464"; 0, or negative errno with a text of why. */
int door_listen(struct door *door, const char *where, char *why, size_t why_size);
/* Sockets that the service manager passes: how many, or negative errno with a text of why. */
int door_inherit(struct door *door, char *why, size_t why_size);
/* Lets in who waits at the listener. */
void door_accept(struct door *door, size_t listener);
/* Ends those whose time is over; when the next one's will be (CLOCK_MONOTONIC), UINT64_MAX:
 * never. */
uint64_t door_end_late(struct door *door);
/* Ends who has been reading an answer longest, once the caller has returned to libmicrohttpd;
 * false: nobody does. */
bool door_end_reader(struct door *door);
/* What MHD_OPTION_NOTIFY_CONNECTION wants; `cls`: the door. */
void door_notify(void *cls, struct MHD_Connection *connection, void **socket_context,
                 enum MHD_ConnectionNotificationCode what);
/* The connection's request has been answered; its answer has been read. */
void door_answered(struct MHD_Connection *connection);
void door_completed(struct MHD_Connection *connection);
/* "127.0.0.1:9464", as the kernel has it. */
enum { DOOR_WHERE = INET6_ADDRSTRLEN + 16 };
const char *door_where(const struct door *door, size_t listener, char text[static DOOR_WHERE]);
