/* SPDX-License-Identifier: Apache-2.0 */
/* Whether ncurses can write all over this terminal: asked before it takes hold of one, since it
 * gives back nothing of what it has begun with when it cannot. The program's thread. */
#pragma once

#include <stdbool.h>

bool terminfo_suffices(void);
