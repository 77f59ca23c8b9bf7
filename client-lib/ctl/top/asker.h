/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that takes looks, so that a service which answers late never keeps the keys waiting.
 *
 * Functions are called by one thread, the program's. None of them blocks but asker_stop(), for a
 * moment.
 *
 * asker.K1  While it is paused, or nobody has taken the look before, no look is taken.
 */
#pragma once

#include "client-lib/ctl/top/look.h"

#include <stdbool.h>

struct asker;
struct ctl;

/* Takes over the connection of `ctl`, and looks every so many seconds. NULL: no memory, or no
 * thread. */
struct asker *asker_start(struct ctl *ctl, double seconds, enum view_id view);
/* What is shown from now on. Another view is listed at once. */
void asker_wish(struct asker *asker, enum view_id view, bool paused);
/* Readable: there is a look to be taken. */
int asker_fd(const struct asker *asker);
/* The caller frees it; NULL: there is none. */
struct look *asker_take(struct asker *asker);
/* Ends the thread; when it waits for the service just then, it ends with the process. Returns
 * NULL. */
struct asker *asker_stop(struct asker *asker);
