/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of odeon-wordcount share.  One thread. */
#ifndef WORDCOUNT_CLIENT_H
#define WORDCOUNT_CLIENT_H

#include <stdbool.h>

#include <odeon/client.h>

#include "word_table.h"

enum { SPLITTERS_MAX = 64, WINDOW_MAX = 4096 };

enum wordcount_exit {
    WORDCOUNT_DONE = 0,
    WORDCOUNT_FAILED = 1,
    WORDCOUNT_USAGE = 2,
    WORDCOUNT_UNREACHABLE = 3,
    WORDCOUNT_INCOMPLETE = 5, /* counters lost what they had counted */
    WORDCOUNT_DIFFERS = 6,    /* --check */
};

struct wordcount_options {
    const char *file, *socket, *plugin;
    uint32_t top, counters, splitters, window;
    bool json, check;
};

/* A chunk on its way: done when it has been split and all its batches have been counted, whatever
 * of that is heard first. */
struct wordcount_slot {
    uint64_t sequence;
    int64_t batches; /* announced - counted */
    bool busy, split;
};

struct wordcount {
    const struct wordcount_options *options;
    struct odeon_client *client;
    struct odeon_port *port;
    uint32_t id_chunk, id_split, id_counted, id_collect, id_report, id_page, id_end, id_quit;
    odeon_ref counters[WORD_COUNTERS_MAX], splitters[SPLITTERS_MAX], topk;
    uint32_t n_counters, n_splitters; /* so many have been spawned */

    struct wordcount_slot *slots; /* [window], a chunk's slot is its sequence modulo the window */
    uint64_t next, in_flight;     /* chunks */
    uint64_t bytes, total_bytes;  /* read; of the file, 0: not known */
    uint64_t words_split, words_counted, begin_ns, end_ns;
    struct word_table long_words; /* that fit into no chunk */

    struct word_entry *top; /* [n_top], in `pages` or `long_words` */
    uint32_t n_top, top_size;
    char **pages;
    uint32_t n_pages;
    struct word_end end;
    bool ended;
};

/* All return 0, or an exit code after having said why. */
int wordcount_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
int wordcount_open(struct wordcount *wordcount);
void wordcount_close(struct wordcount *wordcount); /* ends its actors; also after a failure */
int wordcount_stream(struct wordcount *wordcount);
/* Waits for one delivery and does what it says. */
int wordcount_wait(struct wordcount *wordcount);
int wordcount_post(struct wordcount *wordcount, odeon_ref to, uint32_t type, const void *data,
                   size_t size);
int wordcount_collect(struct wordcount *wordcount);
int wordcount_take_page(struct wordcount *wordcount, const struct odeon_delivery *delivery);
int wordcount_print(const struct wordcount *wordcount);
int wordcount_check(const struct wordcount *wordcount);
uint64_t wordcount_now_ns(void);

#endif
