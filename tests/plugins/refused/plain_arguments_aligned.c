/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: arguments of reader are to be aligned to more than 8 bytes
 * A struct that no macro has declared lies where all arguments do. */
#include <odeon/plugin.h>

struct reader_args {
#ifdef CORRECT
    double v[2];
#else
    _Alignas(16) double v[2];
#endif
};
ODEON_STATE(reader, { double sum; });

ODEON_INIT(reader, struct reader_args)
{
    self->sum = args->v[0] + args->v[1];
    return 0;
}
