/* SPDX-License-Identifier: Apache-2.0 */
/* References as people write them; <odeon/codec.h>.  No state. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <odeon/codec.h>

#include "client-lib/src/error.h"
#include "proto/fields_fill.h"
#include "proto/reference.h"

char *odeon_ref_format(odeon_ref ref, char text[ODEON_REF_TEXT])
{
    snprintf(text, ODEON_REF_TEXT, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, actor_ref_executor(ref),
             actor_ref_number(ref), actor_ref_generation(ref));
    return text;
}

int odeon_ref_parse(const char *text, odeon_ref *ret_ref)
{
    if (!text || !ret_ref || fields_parse_ref(text, ret_ref) < 0)
        return error_set(-EINVAL,
                         "'%.63s' is not a reference. Write EXECUTOR.SLOT.GENERATION; without "
                         "EXECUTOR it is 1",
                         text ? text : "");
    return 0;
}
