/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the configuration again (SIGHUP): all of it is applied, or nothing and the log says why.
 * Event loop thread only. */
#pragma once

#include <stdbool.h>

struct config;
struct options;
struct seat;

struct reload_ops {
    void (*applied)(void *userdata); /* the configuration is another one */
    void (*ended)(void *userdata);   /* either way */
};

struct reload {
    struct config *config; /* what is replaced */
    const struct options *options;
    const struct reload_ops *ops;
    void *userdata;
    bool running;
    bool again;            /* it was asked for while one ran: that one may have read too early */
    struct config *wanted; /* waits for the executor's verdict */
    struct seat *seat;     /* of the one that runs */
};

void reload_init(struct reload *reload, struct config *config, const struct options *options,
                 const struct reload_ops *ops, void *userdata);
/* While one runs: `again` is set, and who is told that it has ended begins once more. */
void reload_begin(struct reload *reload, struct seat *seat);
void reload_fini(struct reload *reload);
