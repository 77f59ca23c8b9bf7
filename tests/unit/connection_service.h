/* SPDX-License-Identifier: Apache-2.0 */
/* The service's side of one control connection, played by a test: a socket in a folder of its own,
 * answers as odeond would give them, and, if told so, otherwise than well.
 *
 * A thread of its own answers; the test sets what is to go wrong before it connects, but for what
 * is atomic.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>

#include <odeon/client.h>

#include "proto/control.pb-c.h"
#include "tests/unit/clientlib_fake.h"

enum { TYPE = 20 };

struct service {
    char directory[64], path[128];
    int listener;
    _Atomic int connection;
    pthread_t thread;
    bool threaded;
    struct fake fake;
    /* what it does otherwise than well */
    uint32_t protocol;
    _Atomic int hello_error;
    unsigned port_fds;
    bool event_before_reply, close_instead, garbage_instead, strange_id, oversized, wrong_body;
    bool knows_nothing; /* any request but a greeting is -ENOSYS */
    _Atomic bool holds; /* what comes waits for its answer until this is false */
    /* not 0: when a connection ends it takes the next one, as this service, once more */
    uint64_t instance;
    _Atomic unsigned ends; /* so many requests end the connection, a greeting not */
    /* what it saw */
    _Atomic unsigned greetings, requests, interns, port_closes, held;
    char client_name[64];
    Odeon__Spawn spawn;
};

/* For cmocka: *state becomes a struct service. */
int connection_service_setup(void **state);
int connection_service_teardown(void **state);
/* Starts the thread and connects: what odeon_client_connect() returns. */
int connection_service_connect(struct service *s, const char *name,
                               struct odeon_client **ret_client);
/* The same, and a port; both fail the test when it cannot be had. */
struct odeon_client *connection_service_client(struct service *s);
struct odeon_port *connection_service_port(struct odeon_client *client);
/* An event that says that the port has been found to be broken. */
void connection_service_tell_broken(struct service *s, char *reason);
