/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file and posts it in chunks that end between two words.
 *
 * At most `window` chunks are on their way, so no queue ever holds more than that, however fast the
 * file is read. A word that is as long as a chunk or longer is counted here, exactly like all
 * others.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRESS_NS = 100000000 };

struct reader {
    int fd;
    bool at_end;
    size_t have;          /* bytes of text that are in the chunk */
    uint64_t progress_ns; /* when progress was shown last; 0: not at all */
    char *long_word;
    size_t long_length, long_size;
    union {
        struct word_chunk chunk;
        char room[sizeof(struct word_chunk) + WORD_CHUNK_MAX];
    };
};

static char *reader_text(struct reader *reader)
{
    return reader->room + sizeof(struct word_chunk);
}

static void show_progress(struct wordcount *wordcount, struct reader *reader, bool last)
{
    uint64_t now_ns = wordcount_now_ns();
    if (reader->progress_ns == 0 || (!last && now_ns - reader->progress_ns < PROGRESS_NS))
        return;
    reader->progress_ns = now_ns;
    double mb = (double)wordcount->bytes / 1e6,
           seconds = (double)(now_ns - wordcount->begin_ns) / 1e9;
    fprintf(stderr, "\r%9.1f MB", mb);
    if (wordcount->total_bytes > 0)
        fprintf(stderr, " %3.0f %%",
                100.0 * (double)wordcount->bytes / (double)wordcount->total_bytes);
    fprintf(stderr, " %8.1f MB/s%s", mb / (seconds > 0 ? seconds : 1), last ? "\n" : "");
}

/* Fills the chunk up. */
static int reader_fill(struct wordcount *wordcount, struct reader *reader)
{
    while (reader->have < WORD_CHUNK_MAX && !reader->at_end) {
        ssize_t n =
            read(reader->fd, reader_text(reader) + reader->have, WORD_CHUNK_MAX - reader->have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return wordcount_error(WORDCOUNT_FAILED, "cannot read %s: %s", wordcount->options->file,
                                   strerror(errno));
        reader->at_end = n == 0;
        reader->have += (size_t)n;
        wordcount->bytes += (uint64_t)n;
    }
    return 0;
}

static bool is_letter(char c)
{
    return word_letter((unsigned char)c) != 0;
}

/* Where the chunk can be cut: behind its last byte that is no letter; 0: there is none. */
static size_t reader_cut(struct reader *reader)
{
    size_t cut = reader->have;
    if (reader->at_end)
        return cut;
    while (cut > 0 && is_letter(reader_text(reader)[cut - 1]))
        cut--;
    return cut;
}

/* Takes the letters at the chunk's beginning to the long word, and counts it when it ends there. */
static int reader_take_long(struct wordcount *wordcount, struct reader *reader)
{
    const char *text = reader_text(reader);
    size_t n = 0;
    while (n < reader->have && is_letter(text[n]))
        n++;
    if (reader->long_length + n > UINT32_MAX / 2)
        return wordcount_error(WORDCOUNT_FAILED, "a word of more than 2 GB");
    if (reader->long_size - reader->long_length < n) {
        size_t size = 2 * (reader->long_length + n);
        char *longer = realloc(reader->long_word, size);
        if (longer == NULL)
            return wordcount_error(WORDCOUNT_FAILED, "no memory for a word of %zu letters",
                                   reader->long_length + n);
        reader->long_word = longer;
        reader->long_size = size;
    }
    for (size_t i = 0; i < n; i++)
        reader->long_word[reader->long_length++] = (char)word_letter((unsigned char)text[i]);
    bool ends = n < reader->have || reader->at_end;
    reader->have -= n;
    memmove(reader_text(reader), text + n, reader->have);
    if (!ends || reader->long_length == 0)
        return 0;

    uint32_t hash = word_hash_begin();
    for (size_t i = 0; i < reader->long_length; i++)
        hash = word_hash_add(hash, (unsigned char)reader->long_word[i]);
    int r = word_table_add(&wordcount->long_words, word_hash_end(hash), reader->long_word,
                           (uint32_t)reader->long_length, 1);
    reader->long_length = 0;
    return r < 0 ? wordcount_error(WORDCOUNT_FAILED, "no memory for a long word") : 0;
}

/* Posts the first `size` bytes of the chunk, when it is their turn. */
static int reader_post(struct wordcount *wordcount, struct reader *reader, size_t size)
{
    struct wordcount_slot *slot = &wordcount->slots[wordcount->next % wordcount->options->window];
    int r = 0;
    while (slot->busy && r == 0) {
        r = wordcount_wait(wordcount);
        show_progress(wordcount, reader, false);
    }
    if (r != 0)
        return r;
    *slot = (struct wordcount_slot){ .sequence = wordcount->next, .busy = true };
    reader->chunk.sequence = wordcount->next;
    r = wordcount_post(wordcount, wordcount->splitters[wordcount->next % wordcount->n_splitters],
                       wordcount->id_chunk, &reader->chunk, sizeof(reader->chunk) + size);
    if (r != 0)
        return r;
    wordcount->next++;
    wordcount->in_flight++;
    show_progress(wordcount, reader, false);
    return 0;
}

static int reader_run(struct wordcount *wordcount, struct reader *reader)
{
    int r = 0;
    while (r == 0 && (!reader->at_end || reader->have > 0)) {
        r = reader_fill(wordcount, reader);
        if (r != 0)
            break;
        size_t cut = reader->long_length > 0 ? 0 : reader_cut(reader);
        if (cut == 0) {
            r = reader_take_long(wordcount, reader);
            continue;
        }
        r = reader_post(wordcount, reader, cut);
        reader->have -= cut;
        memmove(reader_text(reader), reader_text(reader) + cut, reader->have);
    }
    while (r == 0 && wordcount->in_flight > 0) {
        r = wordcount_wait(wordcount);
        show_progress(wordcount, reader, false);
    }
    return r;
}

int wordcount_stream(struct wordcount *wordcount)
{
    const char *file = wordcount->options->file;
    struct stat st;
    struct reader *reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return wordcount_error(WORDCOUNT_FAILED, "no memory");

    reader->fd = strcmp(file, "-") == 0 ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
    int r = reader->fd < 0
                ? wordcount_error(WORDCOUNT_FAILED, "cannot open %s: %s", file, strerror(errno))
                : 0;
    if (r == 0) {
        if (fstat(reader->fd, &st) == 0 && S_ISREG(st.st_mode))
            wordcount->total_bytes = (uint64_t)st.st_size;
        wordcount->begin_ns = wordcount_now_ns();
        reader->progress_ns = isatty(STDERR_FILENO) ? wordcount->begin_ns : 0;
        r = reader_run(wordcount, reader);
        wordcount->end_ns = wordcount_now_ns();
        show_progress(wordcount, reader, true);
    }
    if (reader->fd > STDIN_FILENO)
        close(reader->fd);
    free(reader->long_word);
    free(reader);
    return r;
}
