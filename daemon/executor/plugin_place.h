/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that are loaded where they lie, for who writes them: debuggers and profilers then know
 * the file by its name, and its lines. The copy that odeond has made is checked, and not loaded.
 *
 * No state.
 */
#pragma once

#include "daemon/executor/explain.h"

/* Whether the file may be loaded from there: it is this user's or root's, and nobody else may write
 * it. 0; -EACCES, or a negative errno of looking at it. */
int plugin_place_check(const char *path, struct explain *explain);
