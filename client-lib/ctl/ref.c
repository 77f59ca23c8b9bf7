/* SPDX-License-Identifier: Apache-2.0 */
/* References and numbers as people write them (ref.h). */
#include "client-lib/ctl/ref.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ctl_ref_format(odeon_ref ref, char text[static CTL_REF_TEXT])
{
    snprintf(text, CTL_REF_TEXT, "%" PRIu32 ".%" PRIu32, (uint32_t)ref, (uint32_t)(ref >> 32));
}

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

bool ctl_ref_parse(const char *text, odeon_ref *ret_ref)
{
    const char *dot = strchr(text, '.');
    uint64_t slot, generation;
    char head[12];

    if (!dot || (size_t)(dot - text) >= sizeof(head))
        return false;
    memcpy(head, text, (size_t)(dot - text));
    head[dot - text] = '\0';
    if (!ctl_number_parse(head, &slot) || !ctl_number_parse(dot + 1, &generation) ||
        slot > UINT32_MAX || generation > UINT32_MAX)
        return false;
    *ret_ref = generation << 32 | slot;
    return true;
}
