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
    snprintf(text, ODEON_REF_TEXT, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, actor_ref_executor(ref),
             actor_ref_number(ref), actor_ref_generation(ref));
    return text;
}

/* Decimal digits only, at least one, up to UINT32_MAX. */
static bool ref_parse_part(const char **at, uint64_t *ret_number)
{
    const char *begin = *at;

    for (*ret_number = 0; **at >= '0' && **at <= '9'; ++*at) {
        *ret_number = *ret_number * 10 + (uint64_t)(**at - '0');
        if (*ret_number > UINT32_MAX)
            return false;
    }
    return *at > begin;
}

/* Two parts or three: without the first one it is this executor. */
static bool ref_parse_parts(const char *at, uint64_t part[3])
{
    if (!ref_parse_part(&at, &part[1]) || *at++ != '.' || !ref_parse_part(&at, &part[2]))
        return false;
    part[0] = ACTOR_REF_EXECUTOR;
    if (*at == '.') {
        at++;
        part[0] = part[1];
        part[1] = part[2];
        if (!ref_parse_part(&at, &part[2]))
            return false;
    }
    return *at == '\0' && part[0] <= UINT8_MAX && part[1] <= UINT32_MAX >> 8;
}

int odeon_ref_parse(const char *text, odeon_ref *ret_ref)
{
    uint64_t part[3];

    if (!text || !ret_ref || !ref_parse_parts(text, part))
        return error_set(-EINVAL,
                         "'%.63s' is not a reference. Write EXECUTOR.SLOT.GENERATION; without "
                         "EXECUTOR it is 1",
                         text ? text : "");
    *ret_ref = actor_ref_of((uint32_t)part[0], (uint32_t)part[1], (uint32_t)part[2]);
    return 0;
}
