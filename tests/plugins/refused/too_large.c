/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: message page exceeds 32,768 bytes
 * A message that can never be sent. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_MESSAGE(page, 1, { uint8_t bytes[32768]; });
#else
ODEON_MESSAGE(page, 1, { uint8_t bytes[32769]; });
#endif
ODEON_INTERFACE(reader, page);
