/* SPDX-License-Identifier: Apache-2.0 */
/* The codec's inside: what its files share (payload_layout.c: `fields` to a layout, payload_fill.c:
 * words to bytes, payload_print.c: bytes to text). <odeon/codec.h> is the contract.
 *
 * Owned by its caller, no global state.
 *
 * payload.PL1  A layout whose size is not the one the message is registered with fills and prints
 *      nothing: callers ask odeon_layout_check().
 */
#pragma once

#include <odeon/codec.h>

#include "proto/fields.h"

struct odeon_layout {
    struct fields list;
};
