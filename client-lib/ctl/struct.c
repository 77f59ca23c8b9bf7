/* SPDX-License-Identifier: Apache-2.0 */
/* Structs from a command's words of the form FIELD=VALUE, and back: messages, spawn arguments. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A word names no field: which field may be meant. NULL: none looks like it. */
static const char *struct_find_near_field(const struct odeon_layout *layout, const char *word)
{
    struct odeon_field field = { .struct_size = sizeof(field) };
    struct suggestion near;
    char name[ODEON_LAYOUT_NAME_MAX + 2];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    suggestion_init(&near, name);
    for (size_t i = 0; odeon_layout_field(layout, i, &field) == 0; i++) {
        if (strcmp(field.name, name) == 0)
            return NULL;
        suggestion_offer(&near, field.name);
    }
    return near.best;
}

/* Why the words make no struct. */
static int struct_fail_words(struct ctl *ctl, const struct ctl_struct *s,
                             const struct odeon_layout *layout, int error)
{
    const char *near = NULL;
    char why[1024];

    snprintf(why, sizeof(why), "%s", odeon_error_text());
    for (size_t i = s->first_word; error == -ENOENT && !near && i < ctl->n_words; i++)
        near = struct_find_near_field(layout, ctl->words[i]);
    return ctl_fail(ctl, CTL_USAGE, "cannot write %s: %s%s%s%s", s->what, why,
                    near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
}

int ctl_struct_fill(struct ctl *ctl, const struct ctl_struct *s, void **ret_bytes, size_t *ret_size)
{
    struct odeon_layout *layout = NULL;
    int r, code = 0;

    r = odeon_layout_parse(s->fields, &layout);
    if (!r)
        r = odeon_layout_check(layout, s->size, s->has_tail);
    if (r < 0) {
        odeon_layout_free(layout);
        return ctl_fail(ctl, CTL_REFUSED, "cannot write %s: %s", s->what, odeon_error_text());
    }
    r = odeon_payload_fill(layout, ctl->words + s->first_word, ctl->n_words - s->first_word,
                           s->size, ret_bytes, ret_size);
    if (r < 0)
        code = struct_fail_words(ctl, s, layout, r);
    odeon_layout_free(layout);
    return code;
}

char *ctl_struct_describe(const struct odeon_message_info *info, const void *data, size_t size,
                          enum odeon_payload_form form)
{
    struct odeon_layout *layout = NULL;
    char *text = NULL;

    if (odeon_layout_parse(info->fields, &layout) < 0 ||
        odeon_layout_check(layout, info->size, info->has_tail) < 0 ||
        odeon_payload_print(layout, data, size, form, &text) < 0)
        text = NULL;
    odeon_layout_free(layout);
    return text;
}

void ctl_struct_print(struct ctl *ctl, const char *name, const char *fields, size_t size)
{
    for (; *name; name++) /* ctl.C2; the fields are printable */
        fputc(*name > ' ' && *name < 127 ? *name : '?', ctl->out);
    if (!fields)
        fprintf(ctl->out, " (%zu bytes)\n", size);
    else
        fprintf(ctl->out, "%s%s\n", *fields ? " " : "", fields);
}
