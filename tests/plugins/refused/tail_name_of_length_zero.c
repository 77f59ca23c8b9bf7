/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: message picture does not end in an array without a length
 * A tail of a name of its own that is told as a field of no bytes: refused where it is declared. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_MESSAGE_TAIL(picture, 1, pixels, {
    uint64_t at;
    uint8_t pixels[];
});
#else
ODEON_MESSAGE_TAIL(picture, 1, pixels, {
    uint64_t at;
    uint8_t pixels[0];
});
#endif
