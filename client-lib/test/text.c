/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/test/text.h"

#include <odeon/codec.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES_SHOWN = 32 };

/* NULL: the fields are none that the codec knows. */
static char *text_fields(const struct world_type *type, const void *payload, size_t size)
{
    struct odeon_layout *layout;
    char *text = NULL;

    if (odeon_layout_parse(type->fields, &layout) < 0)
        return NULL;
    if (odeon_layout_check(layout, type->size, type->has_tail != 0) < 0 ||
        odeon_payload_print(layout, payload, size, ODEON_PAYLOAD_WORDS, &text) < 0)
        text = NULL;
    odeon_layout_free(layout);
    return text;
}

static void text_bytes(const void *payload, size_t size, char *text, size_t room)
{
    int n = snprintf(text, room, "%zu bytes", size);

    for (size_t i = 0; i < size && i < TEXT_BYTES_SHOWN && n > 0 && (size_t)n < room; i++)
        n += snprintf(text + n, room - (size_t)n, "%s%02x", i % 8 == 0 ? " " : "",
                      ((const uint8_t *)payload)[i]);
}

static const char *text_of_refusal(const void *payload, size_t size, char text[TEXT_MAX])
{
    static const char *const reasons[] = {
        [ODEON_REASON_NO_SUCH_ACTOR] = "no such actor",
        [ODEON_REASON_NOT_ACCEPTED] = "not accepted by its receiver",
        [ODEON_REASON_BAD_SIZE] = "bad size",
        [ODEON_REASON_QUEUE_FULL] = "queue full",
        [ODEON_REASON_ATTEMPTS] = "attempts exhausted",
        [ODEON_REASON_TYPE_NOT_LOADED] = "type not loaded",
        [ODEON_REASON_INIT_FAILED] = "init failed",
    };
    struct odeon_refusal refusal;
    char ref[ODEON_REF_TEXT];

    if (size != sizeof(refusal))
        return "a refusal";
    memcpy(&refusal, payload, sizeof(refusal));
    snprintf(text, TEXT_MAX, "a refusal (%s, reason %u) of what was sent to %s",
             refusal.reason < sizeof(reasons) / sizeof(reasons[0]) && reasons[refusal.reason]
                 ? reasons[refusal.reason]
                 : "see enum odeon_reason",
             refusal.reason, odeon_ref_format(refusal.to, ref));
    return text;
}

const char *text_of(const struct world_type *type, uint16_t id, const void *payload, size_t size,
                    char text[TEXT_MAX])
{
    char *fields;
    int n;

    if (!type && id == ODEON_MSG_REFUSAL)
        return text_of_refusal(payload, size, text);
    if (!type) {
        snprintf(text, TEXT_MAX, "a message of type %u", id);
        return text;
    }
    n = snprintf(text, TEXT_MAX, "%s%s", type->name, size > 0 ? " " : "");
    fields = size > 0 ? text_fields(type, payload, size) : NULL;
    if (fields)
        snprintf(text + n, TEXT_MAX - (size_t)n, "%s", fields);
    else if (size > 0)
        text_bytes(payload, size, text + n, TEXT_MAX - (size_t)n);
    odeon_payload_free(fields);
    return text;
}

bool text_same(const struct world_type *type, const void *one, size_t one_size, const void *other,
               size_t other_size)
{
    char *text, *other_text;
    bool same;

    if (one_size != other_size)
        return false;
    if (one_size == 0 || memcmp(one, other, one_size) == 0)
        return true;
    text = text_fields(type, one, one_size);
    other_text = text_fields(type, other, other_size);
    same = text && other_text && strcmp(text, other_text) == 0;
    odeon_payload_free(text);
    odeon_payload_free(other_text);
    return same;
}
