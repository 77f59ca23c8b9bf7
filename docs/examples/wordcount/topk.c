/* SPDX-License-Identifier: Apache-2.0 */
/* The collector: puts the counters' reports together and tells the client the most frequent words;
 * and the plugin's descriptor.
 *
 * Messages of one sender arrive in order, so a counter's total comes behind its entries; what the
 * client sends may come before or after either. The result is ready when the client has said what
 * it wants and all counters have told their totals.
 */
#include "wordcount.h"

#include <odeon/plugin.h>
#include <stdlib.h>

ODEON_STATE(word_topk, {
    struct word_entry *entries; /* [used], their texts are allocated one by one */
    uint32_t used, size;
    uint32_t top, counters, reported;
    int32_t error;
    odeon_ref client;
    uint64_t words, distinct;
});

ODEON_FINI(word_topk)
{
    for (uint32_t i = 0; i < self->used; i++)
        free((char *)(uintptr_t)self->entries[i].text);
    free(self->entries);
}

static int topk_add(struct word_topk_state *self, const struct word_entry *entry)
{
    if (self->used == self->size) {
        uint32_t size = self->size != 0 ? 2 * self->size : 256;
        struct word_entry *entries = realloc(self->entries, size * sizeof(entries[0]));
        if (entries == NULL)
            return -ENOMEM;
        self->entries = entries;
        self->size = size;
    }
    char *text = malloc(entry->length);
    if (text == NULL)
        return -ENOMEM;
    memcpy(text, entry->text, entry->length);
    self->entries[self->used++] = (struct word_entry){ entry->count, text, entry->length };
    return 0;
}

/* Tells the client, in as many pages as it takes. */
static void topk_answer(struct word_topk_state *self, struct odeon_context *ctx)
{
    char page[WORD_CHUNK_MAX + 64];
    uint32_t n = self->used < self->top ? self->used : self->top, sent = 0;
    int r = self->error;

    if (self->used > 0)
        qsort(self->entries, self->used, sizeof(self->entries[0]), word_entry_compare);
    while (r == 0 && sent < n) {
        char *at = page;
        uint32_t on_page = 0;
        while (sent + on_page < n && word_entry_size(&self->entries[sent + on_page]) <=
                                         sizeof(page) - (size_t)(at - page))
            at = word_entry_pack(&self->entries[sent + on_page++], at);
        r = odeon_send_tail_any(ctx, self->client, word_page, page, (size_t)(at - page),
                                .n = on_page);
        sent += on_page;
    }
    odeon_send_any(ctx, self->client, word_end, .words = self->words, .distinct = self->distinct,
                   .error = r);
}

static void topk_look(struct word_topk_state *self, struct odeon_context *ctx)
{
    if (self->counters > 0 && self->reported == self->counters)
        topk_answer(self, ctx);
}

ODEON_RECEIVE(word_topk, word_collect)
{
    self->client = msg->client;
    self->top = msg->top;
    self->counters = msg->counters;
    topk_look(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(word_topk, word_entries)
{
    const char *at = msg->text, *end = msg->text + odeon_tail_size(ctx, msg);
    struct word_entry entry;
    for (uint32_t i = 0; i < msg->n && self->error == 0; i++) {
        at = word_entry_unpack(at, end, &entry);
        self->error = at == NULL ? -EBADMSG : topk_add(self, &entry);
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(word_topk, word_total)
{
    self->words += msg->words;
    self->distinct += msg->distinct;
    self->reported++;
    topk_look(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(word_topk, word_quit)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(word_topk, ODEON_ON(word_topk, word_collect), ODEON_ON(word_topk, word_entries),
               ODEON_ON(word_topk, word_total), ODEON_ON(word_topk, word_quit));
ODEON_ACTOR_TYPE(word_topk);

ODEON_PLUGIN("wordcount", "1.0.0", ODEON_TYPE(word_splitter), ODEON_TYPE(word_counter),
             ODEON_TYPE(word_topk));
