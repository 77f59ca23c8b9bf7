/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the configuration again (SIGHUP): all of it is applied, or nothing and the log says why.
 * Event loop thread only. */
#pragma once

#include <stdbool.h>

struct supervisor;
struct config;

struct reload {
    bool running;
    struct config *wanted; /* waits for the executor's verdict */
};

void reload_begin(struct supervisor *supervisor);
void reload_fini(struct supervisor *supervisor);
