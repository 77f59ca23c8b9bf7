/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people write them (number.h). */
#include "client-lib/ctl/number.h"

bool ctl_number_parse(const char *text, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
            return false;
    }
    *ret_number = number;
    return true;
}
