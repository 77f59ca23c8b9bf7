/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: state of reader is to be aligned to more than 16 bytes
 * Nobody keeps what it asks for. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_STATE(reader, { _Alignas(16) float v[8]; });
#else
ODEON_STATE(reader, { _Alignas(32) float v[8]; });
#endif
