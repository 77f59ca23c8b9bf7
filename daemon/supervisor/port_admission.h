/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a client may have one more port, of what its user has and others leave.
 *
 * Nothing is taken and nobody is told: who asks does both. Event loop thread only.
 *
 * port_admission.A1  What is refused says whose bound it is, its value, and who has how much of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/supervisor/account.h"
#include "daemon/supervisor/client.h"

struct seat;
struct seat_port;

enum { PORT_REFUSAL_TEXT_MAX = 384 };

/* Why there is no port. */
struct port_refusal {
    int error;
    bool may_pass; /* when ports of the user that are ending have ended (port_waits.h) */
    char text[PORT_REFUSAL_TEXT_MAX];
    char blame[96]; /* what its user is named for in the log; empty: nothing */
};

/* Fills it, and is `error`. */
int port_refusal_set(struct port_refusal *refusal, int error, bool may_pass, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

/* The most that one client may have, and what rings of so many bytes take of its user's account,
 * which goes to `ret_want`. */
int port_admission_judge(struct seat *seat, const struct client *client, uint64_t ring_bytes,
                         struct holding *ret_want, struct port_refusal *ret_refusal);
/* Nothing is opened for who does not read: what its clients have asked for, and left (client.K10,
 * account.Q5). `wants` descriptors come with the answer, for `what`. */
int port_admission_judge_descriptors(struct seat *seat, const struct client *client,
                                     const char *what, unsigned wants,
                                     struct port_refusal *ret_refusal);
