/* SPDX-License-Identifier: Apache-2.0 */
/* A client without the library: it says on the control connection what it likes, and maps the
 * memory of its port itself.
 *
 * One thread.  What must work (connecting, sending) fails the test when it does not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/common/frame.h"
#include "proto/control.pb-c.h"
#include "proto/envelope.h"
#include "proto/port_layout.h"
#include "tests/system/harness.h"

struct raw {
    int fd;
    uint64_t last_id;
};

struct raw_answer {
    Odeon__Reply *reply;
    struct frame frame; /* its descriptors */
};

struct raw raw_connect(const struct service *service);
void raw_hello(struct raw *raw);
/* Connects and says hello, where the service may refuse that: 0, or a negative errno. */
int raw_try(struct raw *raw, const struct service *service);
void raw_close(struct raw *raw);

/* Gives the request the next id. */
void raw_send(struct raw *raw, Odeon__Request *request, const int *fds, size_t n_fds);
void raw_send_bytes(struct raw *raw, const void *data, size_t size);
/* 1: a record; 0: the service has closed the connection. Nothing within the test's patience fails
 * the test. */
int raw_receive(struct raw *raw, struct raw_answer *answer);
/* Sends, and waits for the answer, which is the caller's: 0. Otherwise there is none: the error
 * that was answered, or that of a connection that has been ended. Events are passed over. */
int raw_ask(struct raw *raw, Odeon__Request *request, struct raw_answer *ret_answer);
void raw_answer_fini(struct raw_answer *answer);
/* The answer to the last request has this error, and `text` is in its text. */
void raw_expect_error(struct raw *raw, uint64_t id, int error, const char *text);
void raw_expect_end(struct raw *raw);
void raw_expect_alive(struct raw *raw); /* Status is answered */

/* A port, mapped by hand. */
struct raw_port {
    struct raw raw;
    uint32_t id;
    uint64_t ref;
    int client_memory, executor_memory, doorbell, pipe; /* pipe -1: none */
    struct port_client *mine;
    struct port_executor *theirs;
    uint8_t *submission; /* mapped twice */
    const uint8_t *delivery;
    uint64_t size;  /* of either ring */
    uint64_t tail;  /* written, not necessarily published */
    uint64_t taken; /* of the delivery ring */
};

void raw_port_open(struct raw_port *port, const struct service *service, uint64_t ring_bytes);
void raw_port_open_with_pipe(struct raw_port *port, const struct service *service,
                             uint64_t ring_bytes);
/* 0, or a negative errno: the service refuses it, or has ended the connection. */
int raw_port_try(struct raw_port *port, const struct service *service, uint64_t ring_bytes);
void raw_port_close(struct raw_port *port); /* with its connection */
/* A record as it is given, `bytes` of payload of its length. */
void raw_port_put(struct raw_port *port, const struct envelope *envelope, const void *payload);
/* Publishes and rings, whether that was asked for or not. */
void raw_port_publish(struct raw_port *port, uint64_t tail);
void raw_port_ring(struct raw_port *port);
/* The next delivery, copied; NULL payload: not wanted. */
void raw_port_receive(struct raw_port *port, struct envelope *envelope, void *payload, size_t size);
