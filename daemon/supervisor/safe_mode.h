/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that end the executor while they are loaded at its start: after SAFE_MODE_CRASHES in a
 * row one is left out, so that the service comes up without it. Event loop thread only.
 *
 * safe_mode.SM1  The executor says in the statistics file which of the plugins of its start it is
 *      loading, and takes it back when it has; whoever is still named when the executor has ended
 *      is to blame.
 * safe_mode.SM2  What is left out stays in the store, and is left out until odeond starts anew.
 *      Its actors live on; what is sent to them becomes dead letters (type-not-loaded), which can
 *      be replayed when the plugin has been loaded by hand, which takes its place in the store.
 */
#pragma once

#include <stdbool.h>

struct seat;

enum { SAFE_MODE_CRASHES = 3 };

/* Not to `blame`: the executor has stopped itself over a rule of its own. True: a plugin is blamed,
 * as may happen so often and no more. */
bool safe_mode_on_exit(struct seat *seat, bool blame);
void safe_mode_on_ready(struct seat *seat);
