/* SPDX-License-Identifier: Apache-2.0 */
/* A client for any event loop: makes a counter, adds so many ones, asks for the sum. It never
 * blocks: whoever runs it polls its descriptors, no longer than it says, and gives it a turn.
 *
 * One thread, that of the loop. */
#ifndef SUMMER_H
#define SUMMER_H

#include <stdbool.h>
#include <stdint.h>

#include <odeon/client.h>
#include <odeon/helper.h>

struct summer {
    const char *socket, *plugin; /* where the service is; what has the counter, if it has not */
    uint64_t numbers, posted;    /* how many there are; how many have gone out */
    struct odeon_helper *helper;
    struct odeon_client *client;
    struct odeon_port *port;
    bool open; /* client, port and all that may be looked at: the helper has made them */
    odeon_ref counter;
    uint32_t add, get;
    bool asked, over;
    int result;    /* 0, or the negative errno that ended it */
    int64_t total; /* what came out */
};

/* `summer` with socket, plugin and numbers filled in, the rest 0. 0 or a negative errno. */
int summer_begin(struct summer *summer);
/* The two descriptors, to be polled for reading; that of the port is -1 until it is open. */
int summer_helper_fd(const struct summer *summer);
int summer_port_fd(const struct summer *summer);
/* How long to sleep at most, in milliseconds; -1: as long as nothing is readable. */
int summer_timeout(struct summer *summer);
/* Does what there is to do, whatever has woken the loop. True: it is over. */
bool summer_turn(struct summer *summer);
/* Behind the loop: stops the counter, frees what there is, prints the sum. The program's status. */
int summer_end(struct summer *summer);

#endif
