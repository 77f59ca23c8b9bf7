/* SPDX-License-Identifier: Apache-2.0 */
/* The splitter: cuts chunks of text into words, and sends each counter its words of a chunk in one
 * message.
 *
 * splitter.S1  Between two messages all buffers are empty, so a splitter that is initialised again
 *     after a crash has lost nothing: the chunk that was running is run again, and what the broken
 *     run had sent was never sent.
 * splitter.S2  A chunk's words and their zero bytes are no longer than the chunk and one byte: one
 *     buffer of that size for each counter is always enough.
 */
#include "wordcount.h"

#include <odeon/plugin.h>
#include <stdlib.h>

enum { BUFFER_SIZE = WORD_CHUNK_MAX + 1 };

struct splitter_buffer {
    word_counter_ref counter;
    uint32_t used, words;
    char text[BUFFER_SIZE];
};

ODEON_STATE(word_splitter, {
    struct splitter_buffer *buffers; /* one for each counter */
    uint32_t n;
});

ODEON_INIT(word_splitter, struct word_splitter_args)
{
    if (args->n_counters == 0 || args->n_counters > WORD_COUNTERS_MAX)
        return -EINVAL;
    self->buffers = calloc(args->n_counters, sizeof(self->buffers[0]));
    if (self->buffers == NULL)
        return -ENOMEM;
    self->n = args->n_counters;
    for (uint32_t i = 0; i < self->n; i++)
        self->buffers[i].counter.ref = args->counters[i];
    return 0;
}

ODEON_FINI(word_splitter)
{
    free(self->buffers);
}

/* Puts the chunk's words into the buffers; returns how many there are. */
static uint64_t splitter_cut(struct word_splitter_state *self, const char *text, size_t size)
{
    char word[WORD_CHUNK_MAX];
    uint64_t words = 0;
    size_t i = 0;

    while (i < size) {
        uint32_t hash = word_hash_begin(), length = 0;
        for (unsigned char letter; i < size && (letter = word_letter((unsigned char)text[i])) != 0;
             i++) {
            word[length++] = (char)letter;
            hash = word_hash_add(hash, letter);
        }
        if (length == 0) {
            i++;
            continue;
        }
        /* the upper half of the hash chooses the counter, the lower one the place in its table */
        uint32_t index = (uint32_t)((uint64_t)word_hash_end(hash) * self->n >> 32);
        struct splitter_buffer *buffer = &self->buffers[index];
        memcpy(buffer->text + buffer->used, word, length);
        buffer->used += length;
        buffer->text[buffer->used++] = '\0';
        buffer->words++;
        words++;
    }
    return words;
}

/* Sends what the buffers hold, and empties them also where that fails (splitter.S1). */
static int splitter_flush(struct word_splitter_state *self, struct odeon_context *ctx,
                          uint64_t sequence, uint32_t *ret_batches)
{
    int error = 0;
    *ret_batches = 0;
    for (uint32_t i = 0; i < self->n; i++) {
        struct splitter_buffer *buffer = &self->buffers[i];
        if (buffer->used == 0)
            continue;
        int r =
            odeon_send_tail(ctx, buffer->counter, word_batch, buffer->text, buffer->used,
                            .client = ctx->sender, .sequence = sequence, .words = buffer->words);
        if (r == 0)
            ++*ret_batches;
        else if (error == 0)
            error = r;
        buffer->used = buffer->words = 0;
    }
    return error;
}

ODEON_RECEIVE(word_splitter, word_chunk)
{
    size_t size = odeon_tail_size(ctx, msg);
    uint32_t batches = 0;
    uint64_t words = 0;
    int error = -EMSGSIZE;
    if (size <= WORD_CHUNK_MAX) {
        words = splitter_cut(self, msg->text, size);
        error = splitter_flush(self, ctx, msg->sequence, &batches);
    }
    odeon_reply(ctx, word_split, .sequence = msg->sequence, .words = words, .batches = batches,
                .error = error);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(word_splitter, word_quit)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(word_splitter, ODEON_ON(word_splitter, word_chunk),
               ODEON_ON(word_splitter, word_quit));
ODEON_ACTOR_TYPE(word_splitter);
