/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: message padded has padding before its tail, or does not end in bytes
 * A tail of a name of its own that does not begin where the struct ends: refused where it is
 * declared. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_MESSAGE_TAIL(padded, 1, bytes, {
    uint64_t at;
    uint8_t kind, filler[7], bytes[];
});
#else
ODEON_MESSAGE_TAIL(padded, 1, bytes, {
    uint64_t at;
    uint8_t kind, bytes[];
});
#endif
