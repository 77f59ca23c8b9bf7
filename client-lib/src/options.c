/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of options; see options.h. */
#include "client-lib/src/options.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "client-lib/src/error.h"

enum { OPTIONS_SIZE_MAX = 4096 };

int options_take(const char *call, const void *options, size_t least, size_t size, void *ret)
{
    const unsigned char *bytes = options;
    uint32_t struct_size;

    memset(ret, 0, size);
    if (!options)
        return 0;
    memcpy(&struct_size, options, sizeof(struct_size));
    if (struct_size < least)
        return error_set(-EINVAL,
                         "%s: options.struct_size is %u, the struct's size was expected, %zu here",
                         call, struct_size, size);
    if (struct_size > OPTIONS_SIZE_MAX)
        return error_set(-EINVAL, "%s: options.struct_size has not been set", call);
    for (size_t i = size; i < struct_size; i++)
        if (bytes[i] != 0)
            return error_set(-E2BIG,
                             "%s: an option is set that this version of the library does not know",
                             call);
    memcpy(ret, options, struct_size < size ? struct_size : size);
    return 0;
}
