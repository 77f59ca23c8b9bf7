/* SPDX-License-Identifier: Apache-2.0 */
/* The counter: counts the words of its share, in a table in ordinary memory.
 *
 * That memory is gone when the executor dies. The counter is then initialised again, empty, and the
 * messages that were not yet handled are; the client finds out, because the counters' sums are then
 * smaller than the number of words it has seen acknowledged.
 */
#include "word_table.h"

#include <odeon/plugin.h>
#include <stdlib.h>

ODEON_STATE(word_counter, { struct word_table table; });

ODEON_FINI(word_counter)
{
    word_table_fini(&self->table);
}

/* Counts a batch; returns how many words that were. A word for which there is no memory is not
 * counted, which shows in the sums. */
static uint64_t counter_count(struct word_counter_state *self, const char *text, size_t size)
{
    uint64_t words = 0;
    const char *end = text + size;
    for (const char *word = text; word < end;) {
        uint32_t hash = word_hash_begin();
        const char *at = word;
        for (; at < end && *at != '\0'; at++)
            hash = word_hash_add(hash, (unsigned char)*at);
        if (at > word &&
            word_table_add(&self->table, word_hash_end(hash), word, (uint32_t)(at - word), 1) == 0)
            words++;
        word = at + 1;
    }
    return words;
}

ODEON_RECEIVE(word_counter, word_batch)
{
    uint64_t words = counter_count(self, msg->text, odeon_tail_size(ctx, msg));
    if (words != msg->words)
        odeon_logf(ctx, ODEON_LOG_WARNING,
                   "%llu of %llu words of a batch are not counted: no memory",
                   (unsigned long long)(msg->words - words), (unsigned long long)msg->words);
    odeon_send_any(ctx, msg->client, word_counted, .sequence = msg->sequence, .words = words);
    return ODEON_NODELETE;
}

/* Sends entries in as many messages as it takes. Returns how many entries were not sent: 0, or all
 * from a failure on.
 */
static uint32_t counter_send(struct odeon_context *ctx, word_topk_ref topk,
                             const struct word_entry *entries, uint32_t n)
{
    char page[WORD_CHUNK_MAX + 64];
    uint32_t sent = 0;
    while (sent < n) {
        char *at = page;
        uint32_t on_page = 0;
        while (sent + on_page < n &&
               word_entry_size(&entries[sent + on_page]) <= sizeof(page) - (size_t)(at - page))
            at = word_entry_pack(&entries[sent + on_page++], at);
        if (on_page == 0 ||
            odeon_send_tail(ctx, topk, word_entries, page, (size_t)(at - page), .n = on_page) < 0)
            break;
        sent += on_page;
    }
    return n - sent;
}

ODEON_RECEIVE(word_counter, word_report)
{
    word_topk_ref topk = odeon_as(word_topk, msg->topk);
    uint32_t n = 0;
    struct word_entry *entries = word_table_top(&self->table, msg->top, &n);
    uint32_t unsent = counter_send(ctx, topk, entries, n);
    uint64_t words = self->table.words;
    if (unsent > 0 || (entries == NULL && self->table.used > 0)) {
        odeon_log(ctx, ODEON_LOG_ERROR,
                  "the report is not complete: no memory, or too much at a time");
        words = 0; /* no sum will fit it */
    }
    odeon_send(ctx, topk, word_total, .words = words, .distinct = self->table.used);
    free(entries);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(word_counter, word_quit)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(word_counter, ODEON_ON(word_counter, word_batch),
               ODEON_ON(word_counter, word_report), ODEON_ON(word_counter, word_quit));
ODEON_ACTOR_TYPE(word_counter);
