/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the service, of which one is taken after the other: from its statistics file, from the
 * file of what actors do, and for some views by requests.
 *
 * Owned by one thread at a time, which may have to wait: for a request, some seconds at most.
 *
 * source.U1  odeond is asked for nothing but what the view needs that is shown (requests.Q1); for
 *     what nobody looks at, and without `may_ask`, nothing is asked.
 * source.U2  A service that is gone and one that comes back are no failures: looks say so.
 */
#pragma once

#include "client-lib/ctl/top/look.h"

#include <stdbool.h>

struct ctl;
struct source;

/* Takes over the connection of `ctl`, whose options stay where they are. NULL: no memory. */
struct source *source_new(struct ctl *ctl);
struct source *source_free(struct source *source); /* NULL is fine; returns it */

/* `fresh`: figures are read anew; else those of the look before, for another view. NULL: no
 * memory. */
struct look *source_look(struct source *source, enum view_id view, bool fresh, bool may_ask);
