/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: message sample is to be aligned to more than 8 bytes
 * Its handler would read it by instructions that fault. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_MESSAGE(sample, 1, { float v[4]; });
#else
ODEON_MESSAGE(sample, 1, { _Alignas(16) float v[4]; });
#endif
ODEON_INTERFACE(reader, sample);
