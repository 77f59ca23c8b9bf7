/* SPDX-License-Identifier: Apache-2.0 */
/* Requests from their bytes, within bounds.
 *
 * A record says how much is made of it: a field of two bytes that nobody knows is kept as fifty,
 * and each time that a message comes again in a message the list that both have is copied anew, so
 * work grows with the square of the record's size. So what is allocated for one is bounded, by what
 * has been given back as well.
 *
 * No state; any thread.
 *
 * unpack.P1  For a record of n bytes no more than UNPACK_BASE + UNPACK_TIMES * n are ever
 *     allocated, one after the other or together.
 */
#pragma once

#include <stddef.h>

#include "daemon/common/frame.h"
#include "proto/control.pb-c.h"

/* What is made of the requests of libodeon is below half of it (unit/supervisor_unpack). */
enum { UNPACK_BASE = 65536, UNPACK_TIMES = 4 };

enum unpack_end {
    UNPACK_DONE,
    UNPACK_SENSELESS,  /* no request */
    UNPACK_TOO_COSTLY, /* unpack.P1 */
    UNPACK_NO_MEMORY
};

/* The caller's, to be freed with odeon__request__free_unpacked(); NULL: `*ret_end` says why. What
 * was allocated for it in `*ret_bytes`. */
Odeon__Request *unpack_request(const struct frame *frame, enum unpack_end *ret_end,
                               size_t *ret_bytes);
