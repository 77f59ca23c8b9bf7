/* SPDX-License-Identifier: Apache-2.0 */
/* `odeonctl top` on a terminal: a loop over keys, looks and signals.
 *
 * One call a process, by its first thread.
 */
#pragma once

#include "client-lib/ctl/top/view.h"

#include <stdbool.h>

struct ctl;

struct program_options {
    enum view_id view;
    enum odeon_observe_by by;
    double seconds; /* between looks */
};

/* Whether `out` and standard input are a terminal that can be written all over. */
bool program_can_run(const struct ctl *ctl);
/* Until the user ends it. The exit code, after a message; a signal that ends it ends the process,
 * too, once the terminal is as it was. `ctl` is connected. */
int program_run(struct ctl *ctl, const struct program_options *options);
