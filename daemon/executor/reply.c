/* SPDX-License-Identifier: Apache-2.0 */
/* See reply.h. */
#include "daemon/executor/reply.h"

#include <errno.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/bounds.h"

/* Rows of a page that does not say how many, and what the frames around the rows need at most. */
enum { PAGE_ROWS_DEFAULT = 64, FRAME_OVERHEAD = 512, ROW_OVERHEAD = 8 };

struct reply_chunk {
    struct reply_chunk *next;
    alignas(max_align_t) unsigned char data[];
};

void reply_init(struct reply *reply, uint64_t id)
{
    odeon__reply__init(&reply->message);
    reply->message.id = id;
    explain_init(&reply->explain);
    reply->chunks = NULL;
    reply->rows_size = 0;
}

void reply_fini(struct reply *reply)
{
    struct reply_chunk *next;

    for (struct reply_chunk *c = reply->chunks; c; c = next) {
        next = c->next;
        free(c);
    }
    reply->chunks = NULL;
}

void *reply_alloc(struct reply *reply, size_t size)
{
    struct reply_chunk *chunk = calloc(1, sizeof(*chunk) + size);

    if (!chunk)
        return NULL;
    chunk->next = reply->chunks;
    reply->chunks = chunk;
    return chunk->data;
}

char *reply_strdup(struct reply *reply, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = reply_alloc(reply, size);

    return copy ? memcpy(copy, text, size) : NULL;
}

void reply_refuse(struct reply *reply, int error)
{
    if (reply->explain.length == 0)
        explain_set(&reply->explain, error, "%s", strerror(-error));
    reply->message.error = error;
    reply->message.text = reply->explain.text;
    reply->message.body_case = ODEON__REPLY__BODY__NOT_SET;
}

size_t reply_page_rows(const Odeon__Page *page)
{
    size_t rows = page ? page->rows : 0;

    return rows == 0 ? PAGE_ROWS_DEFAULT : rows > ODEON_PAGE_ROWS_MAX ? ODEON_PAGE_ROWS_MAX : rows;
}

bool reply_row_fits(struct reply *reply, const ProtobufCMessage *row)
{
    size_t size = protobuf_c_message_get_packed_size(row) + ROW_OVERHEAD;

    if (reply->rows_size + size > ODEON_CONTROL_FRAME_MAX - FRAME_OVERHEAD)
        return false;
    reply->rows_size += size;
    return true;
}

char *reply_string(const char *text)
{
    return (char *)(uintptr_t)(text ? text : "");
}

int reply_ok(struct reply *reply)
{
    Odeon__Ok *ok = reply_alloc(reply, sizeof(*ok));

    if (!ok)
        return -ENOMEM;
    odeon__ok__init(ok);
    reply->message.ok = ok;
    reply->message.body_case = ODEON__REPLY__BODY_OK;
    return 0;
}

int reply_ref(struct reply *reply, uint64_t ref)
{
    Odeon__RefReply *body = reply_alloc(reply, sizeof(*body));

    if (!body)
        return -ENOMEM;
    odeon__ref_reply__init(body);
    body->ref = ref;
    reply->message.ref = body;
    reply->message.body_case = ODEON__REPLY__BODY_REF;
    return 0;
}
