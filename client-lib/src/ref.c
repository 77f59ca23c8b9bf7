/* SPDX-License-Identifier: Apache-2.0 */
/* References as people write them; <odeon/codec.h>.  No state. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include <odeon/codec.h>

#include "client-lib/src/error.h"
#include "proto/envelope.h"

char *odeon_ref_format(odeon_ref ref, char text[ODEON_REF_TEXT])
{
    snprintf(text, ODEON_REF_TEXT, "%" PRIu32 ".%" PRIu32, actor_ref_slot(ref),
             actor_ref_generation(ref));
    return text;
}

/* Decimal digits only, at least one, up to UINT32_MAX. */
static bool ref_parse_half(const char **at, uint64_t *ret_number)
{
    const char *begin = *at;

    for (*ret_number = 0; **at >= '0' && **at <= '9'; ++*at) {
        *ret_number = *ret_number * 10 + (uint64_t)(**at - '0');
        if (*ret_number > UINT32_MAX)
            return false;
    }
    return *at > begin;
}

int odeon_ref_parse(const char *text, odeon_ref *ret_ref)
{
    const char *at = text;
    uint64_t slot, generation;

    if (!text || !ret_ref || !ref_parse_half(&at, &slot) || *at++ != '.' ||
        !ref_parse_half(&at, &generation) || *at != '\0')
        return error_set(-EINVAL, "'%.63s' is not a reference. Write SLOT.GENERATION",
                         text ? text : "");
    *ret_ref = actor_ref_make((uint32_t)slot, (uint32_t)generation);
    return 0;
}
