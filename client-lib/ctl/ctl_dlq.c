/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl dlq: the dead letters. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <odeon/codec.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_MAX = 1024 };

static struct cell ctl_dlq_sender(odeon_ref from)
{
    return from == ODEON_NOBODY ? CELL_NONE : CELL_REF(from);
}

/* Hexadecimal bytes; to be freed; NULL: no memory. */
static char *ctl_dlq_payload_text(const uint8_t *bytes, size_t n)
{
    char *text = malloc(3 * n + 1), *at = text;

    if (!text)
        return NULL;
    *at = '\0';
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%s%02x", i == 0 ? "" : " ", bytes[i]);
    return text;
}

/* The payload by its fields; both NULL when they are not known: it is nobody's message type, or one
 * whose fields nobody can name. */
struct ctl_dlq_fields {
    char *words, *json;
};

static void ctl_dlq_fields_free(struct ctl_dlq_fields *fields)
{
    odeon_payload_free(fields->words);
    odeon_payload_free(fields->json);
    *fields = (struct ctl_dlq_fields){ 0 };
}

static struct ctl_dlq_fields ctl_dlq_fields_of(struct ctl *ctl,
                                               const struct odeon_dead_letter_detail *d)
{
    struct ctl_dlq_fields fields = { 0 };
    struct odeon_message_info *info = NULL;
    struct odeon_layout *layout = NULL;
    /* a name alone, of an older service, may have become another version's */
    int r = d->letter.message_id ? odeon_message_show(ctl->client, d->letter.message_id, &info)
                                 : odeon_message_find(ctl->client, d->letter.message, 0, &info);

    if (r < 0)
        return fields;
    if (odeon_layout_parse(info->fields, &layout) < 0 ||
        odeon_layout_check(layout, info->size, info->has_tail) < 0 ||
        odeon_payload_print(layout, d->payload, d->letter.size, ODEON_PAYLOAD_WORDS,
                            &fields.words) < 0 ||
        odeon_payload_print(layout, d->payload, d->letter.size, ODEON_PAYLOAD_JSON, &fields.json) <
            0)
        ctl_dlq_fields_free(&fields);
    odeon_layout_free(layout);
    odeon_result_free(info);
    return fields;
}

static void ctl_dlq_add_payload(struct properties *p, const struct odeon_dead_letter_detail *d)
{
    struct ctl_dlq_fields fields = ctl_dlq_fields_of(p->ctl, d);
    char *bytes = ctl_dlq_payload_text(d->payload, d->letter.size);

    if (fields.words || p->ctl->json)
        properties_add(p, "Fields", "fields",
                       fields.words ? CELL_OBJECT(fields.words, fields.json) : CELL_NONE);
    if (!fields.words || p->ctl->json || p->ctl->option[OPTION_HEX])
        properties_add(p, "Payload", "payload", bytes ? CELL_TEXT(bytes) : CELL_NONE);
    free(bytes);
    ctl_dlq_fields_free(&fields);
}

int ctl_dlq_show(struct ctl *ctl)
{
    struct odeon_dead_letter_detail *d = NULL;
    struct properties p;
    char when[OUTPUT_TIME_TEXT];
    uint64_t id;
    int r, code;

    if (!ctl_number_parse(ctl->words[0], &id))
        return ctl_fail(ctl, CTL_USAGE,
                        "'%s' is not the number of a dead letter. See odeonctl dlq list",
                        ctl->words[0]);
    code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_dead_letter_show(ctl->client, id, &d);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot show dead letter %s", ctl->words[0]);
    properties_begin(&p, ctl, "dead_letter");
    properties_add(&p, "Number", "id", CELL_NUMBER(d->letter.id));
    properties_add(&p, "Time", "time", CELL_TEXT(output_format_time(d->letter.time_ns, when)));
    properties_add(&p, "To", "to", CELL_REF(d->letter.to));
    properties_add(&p, "Type", "type", CELL_TEXT(d->letter.type));
    properties_add(&p, "From", "from", ctl_dlq_sender(d->letter.from));
    properties_add(&p, "Message", "message", CELL_TEXT(d->letter.message));
    properties_add(&p, "Version", "version", CELL_VERSION(d->letter.message_version));
    properties_add(&p, "Reason", "reason", CELL_TEXT(d->letter.reason));
    properties_add(&p, "Attempts", "attempts", CELL_NUMBER(d->letter.attempts));
    properties_add(&p, "Bytes", "bytes", CELL_NUMBER(d->letter.size));
    ctl_dlq_add_payload(&p, d);
    code = properties_end(&p);
    odeon_result_free(d);
    return code;
}

/* "all", or numbers.  0, or the exit code, after a message. */
static int ctl_dlq_parse_ids(struct ctl *ctl, uint64_t ids[static IDS_MAX], size_t *ret_n)
{
    *ret_n = 0;
    if (ctl->n_words == 1 && strcmp(ctl->words[0], "all") == 0)
        return 0;
    if (ctl->n_words > IDS_MAX)
        return ctl_fail(ctl, CTL_USAGE, "%zu dead letters at once: at most %d are possible",
                        ctl->n_words, IDS_MAX);
    for (size_t i = 0; i < ctl->n_words; i++)
        if (!ctl_number_parse(ctl->words[i], &ids[(*ret_n)++]))
            return ctl_fail(ctl, CTL_USAGE,
                            "'%s' is not the number of a dead letter. Write numbers, or 'all' "
                            "alone; see odeonctl dlq list",
                            ctl->words[i]);
    return 0;
}

static int ctl_dlq_print_done(struct ctl *ctl, const char *what,
                              const struct odeon_dead_letters_done *done)
{
    struct json json;

    if (ctl->json) {
        json_begin_document(&json, ctl->out);
        json_uint(&json, "done", done->done);
        json_uint(&json, "gone", done->gone);
        json_uint(&json, "full", done->full);
        json_end_document(&json);
        return CTL_DONE;
    }
    fprintf(ctl->out, "%" PRIu64 " %s\n", done->done, what);
    if (done->gone)
        fprintf(ctl->err, "%" PRIu64 " stay: their receivers have ended (--to names another one)\n",
                done->gone);
    if (done->full)
        fprintf(ctl->err,
                "%" PRIu64 " stay: their receivers' queues are at their limit, try again later\n",
                done->full);
    return CTL_DONE;
}

int ctl_dlq_replay(struct ctl *ctl)
{
    struct odeon_dead_letters_done done = { .struct_size = sizeof(done) };
    odeon_ref to = ODEON_NOBODY;
    uint64_t ids[IDS_MAX];
    size_t n;
    int code = ctl_dlq_parse_ids(ctl, ids, &n), r;

    if (code == 0)
        code = ctl_connect(ctl);
    if (code == 0 && ctl->option[OPTION_TO])
        code = ctl_ref_find(ctl, ctl->option[OPTION_TO], &to);
    if (code)
        return code;
    r = odeon_dead_letter_replay(ctl->client, ids, n, to, &done);
    return r < 0 ? ctl_refuse(ctl, r, "cannot replay") : ctl_dlq_print_done(ctl, "replayed", &done);
}

int ctl_dlq_purge(struct ctl *ctl)
{
    struct odeon_dead_letters_done done = { .struct_size = sizeof(done) };
    uint64_t ids[IDS_MAX];
    size_t n;
    int code = ctl_dlq_parse_ids(ctl, ids, &n), r;

    if (code == 0)
        code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_dead_letter_purge(ctl->client, ids, n, &done);
    return r < 0 ? ctl_refuse(ctl, r, "cannot purge") : ctl_dlq_print_done(ctl, "purged", &done);
}
