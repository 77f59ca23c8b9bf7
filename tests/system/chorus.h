/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin of test_groups.c takes and tells. */
#pragma once

#include <odeon/message.h>

/* A singer joins the group of its type, and tells that to the port. */
ODEON_MESSAGE(chorus_begin, 1, {
    odeon_ref port;
    uint64_t singer;
});
ODEON_MESSAGE(chorus_leave, 1, { uint64_t unused; });
/* Published, numbered from 1 on; with the last one each singer tells what it has had. Of those that
 * wait for room the one with number 0 tells it with each. */
ODEON_MESSAGE(chorus_song, 1, { uint64_t number, last; });
/* Does nothing until there is a file of this name. */
ODEON_MESSAGE(chorus_hold, 1, { char path[120]; });
/* `wrong` is 0, or the line of chorus.c that found something wrong. */
ODEON_MESSAGE(chorus_heard, 1, { uint64_t singer, number, wrong; });
/* Publishes the songs from `first` on, a few each turn, and sends itself the rest. */
ODEON_MESSAGE(chorus_conduct, 1, { uint64_t first, last; });

ODEON_INTERFACE(chorus_kept, chorus_begin, chorus_leave, chorus_song);
ODEON_INTERFACE(chorus_plain, chorus_begin, chorus_leave, chorus_song);
ODEON_INTERFACE(chorus_waiting, chorus_begin, chorus_hold, chorus_song);
ODEON_INTERFACE(chorus_conductor, chorus_conduct);
