/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the word counter, for its plugin and its client.
 *
 *     client ── word_chunk ──► splitter ── word_batch ──► counter
 *        ▲────── word_split ──────┘                          │
 *        ▲────── word_counted ───────────────────────────────┘
 *
 *     client ── word_report ──► counters ── word_entries, word_total ──► topk
 *        ▲────── word_page ..., word_end ─────────────────────────────────┘
 *
 * The splitter chooses one of several counters by the word's hash. The replies of the first drawing
 * are for flow control: a chunk is done when all of its batches are counted.
 *
 * A word is a run of ASCII letters, in lower case, as long as possible. A chunk holds whole words
 * only.
 */
#ifndef WORDCOUNT_H
#define WORDCOUNT_H

#include <string.h>

#include <odeon/message.h>

enum {
    /* bytes of text in a chunk; a word that is longer is the client's own business */
    WORD_CHUNK_MAX = 24576,
    WORD_COUNTERS_MAX = 28, /* so that their references fit into spawn arguments */
    WORD_TOP_MAX = 100000,  /* words of a report */
};

/* ---- Counting. ---- */

ODEON_MESSAGE(word_chunk, 1, {
    uint64_t sequence;
    char text[];
});
/* Words of one chunk for one counter, each with a zero byte behind it. */
ODEON_MESSAGE(word_batch, 1, {
    odeon_ref client;
    uint64_t sequence;
    uint64_t words;
    char text[];
});
/* To the client: the chunk has become so many batches. error: a negative errno, the batches are not
 * complete. */
ODEON_MESSAGE(word_split, 1, {
    uint64_t sequence, words;
    uint32_t batches;
    int32_t error;
});
ODEON_MESSAGE(word_counted, 1, { uint64_t sequence, words; });

/* ---- The result. ---- */

ODEON_MESSAGE(word_collect, 1, {
    odeon_ref client;
    uint32_t top, counters;
});
ODEON_MESSAGE(word_report, 1, {
    odeon_ref topk;
    uint32_t top, reserved;
});
ODEON_MESSAGE(word_entries, 1, {
    uint32_t n, reserved;
    char text[];
}); /* packed entries, see below */
/* of one counter; follows its entries */
ODEON_MESSAGE(word_total, 1, { uint64_t words, distinct; });
ODEON_MESSAGE(word_page, 1, {
    uint32_t n, reserved;
    char text[];
}); /* packed entries, in the final order */
ODEON_MESSAGE(word_end, 1, {
    uint64_t words, distinct;
    int64_t error;
});

ODEON_SIGNAL(word_quit, 1); /* ends the actor */

ODEON_INTERFACE(word_counter, word_batch, word_report, word_quit);
ODEON_INTERFACE(word_splitter, word_chunk, word_quit);
ODEON_INTERFACE(word_topk, word_collect, word_entries, word_total, word_quit);

/* How a splitter is spawned. */
struct word_splitter_args {
    uint32_t n_counters, reserved;
    odeon_ref counters[WORD_COUNTERS_MAX];
};
_Static_assert(sizeof(struct word_splitter_args) <= 232, "spawn arguments");

/* An entry of a page: count, length, letters, without padding. */
struct word_entry {
    uint64_t count;
    const char *text;
    uint32_t length;
};

static inline size_t word_entry_size(const struct word_entry *entry)
{
    return sizeof(entry->count) + sizeof(entry->length) + entry->length;
}

static inline char *word_entry_pack(const struct word_entry *entry, char *to)
{
    memcpy(to, &entry->count, sizeof(entry->count));
    memcpy(to + sizeof(entry->count), &entry->length, sizeof(entry->length));
    memcpy(to + sizeof(entry->count) + sizeof(entry->length), entry->text, entry->length);
    return to + word_entry_size(entry);
}

/* The next entry of a page, whose text stays where it is; NULL: `from` to `end` is none. */
static inline const char *word_entry_unpack(const char *from, const char *end,
                                            struct word_entry *ret)
{
    const size_t head = sizeof(ret->count) + sizeof(ret->length);
    if ((size_t)(end - from) < head)
        return NULL;
    memcpy(&ret->count, from, sizeof(ret->count));
    memcpy(&ret->length, from + sizeof(ret->count), sizeof(ret->length));
    if ((size_t)(end - from) - head < ret->length)
        return NULL;
    ret->text = from + head;
    return ret->text + ret->length;
}

/* The order of the result: more first, then by the letters. */
static inline int word_entry_compare(const void *a, const void *b)
{
    const struct word_entry *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    uint32_t n = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, n);
    return order != 0 ? order : x->length < y->length ? -1 : x->length > y->length;
}

static inline uint32_t word_hash_begin(void)
{
    return 2166136261u;
}

static inline uint32_t word_hash_add(uint32_t hash, unsigned char letter)
{
    return (hash ^ letter) * 16777619u;
}

/* The letters are few and alike: mix the high bits down before some of them are taken. */
static inline uint32_t word_hash_end(uint32_t hash)
{
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    return hash ^ hash >> 16;
}

/* Lower case, or 0: not a letter. */
static inline unsigned char word_letter(unsigned char c)
{
    unsigned char lower = c | 0x20;
    return lower >= 'a' && lower <= 'z' ? lower : 0;
}

#endif
