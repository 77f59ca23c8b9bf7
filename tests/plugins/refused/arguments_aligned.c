/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: arguments reader_args are to be aligned to more than 8 bytes
 * They lie where the service keeps them. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_ARGUMENTS(reader_args, { double v[2]; });
#else
ODEON_ARGUMENTS(reader_args, { _Alignas(16) double v[2]; });
#endif
