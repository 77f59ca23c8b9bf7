/* SPDX-License-Identifier: Apache-2.0 */
/* Root in a siege: it connects, looks, kicks, makes and stops, and everything is answered; and the
 * base line that the service has to be back at. */
#pragma once

#include "tests/siege/siege.h"

struct root {
    struct service *service;
    uint64_t rounds, requests, kicked, random;
};

/* A round of requests on a connection of its own; each that is not answered as it should be fails
 * the test. */
void root_round(struct root *root);
/* Throws out all clients of attackers; how many. */
unsigned root_kick_all(struct root *root);
/* Ends the actors that attackers have left: all but the n that are kept; how many. */
unsigned root_stop_actors(struct root *root, const odeon_ref *kept, unsigned n);
/* Some messages through each queue: what one held in a burst is given back when some runs in a row
 * have needed less, and one that nobody sends to keeps it. */
void root_use_queues(struct root *root);

struct base_line {
    unsigned descriptors[2]; /* odeond, executor */
    unsigned long anonymous_kib[2], shared_kib;
    unsigned long long group_bytes;
    uint32_t clients, ports, workers;
    uint64_t actors;
};
struct base_line base_line_take(struct service *service);
void base_line_print(const char *when, const struct base_line *line);
/* Fails the test unless the service comes back there. */
void base_line_expect(struct service *service, const struct base_line *before);
/* None of the attackers has anything of any quota, and the innocent one was never refused. */
void base_line_expect_accounts(struct service *service);
