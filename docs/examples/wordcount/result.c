/* SPDX-License-Identifier: Apache-2.0 */
/* The result of odeon-wordcount: asked for, checked, printed. */
#include "client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int top_add(struct wordcount *wordcount, const struct word_entry *entry)
{
    if (wordcount->n_top == wordcount->top_size) {
        uint32_t size = wordcount->top_size != 0 ? 2 * wordcount->top_size : 256;
        struct word_entry *top = realloc(wordcount->top, size * sizeof(top[0]));
        if (top == NULL)
            return wordcount_error(WORDCOUNT_FAILED, "no memory for the result");
        wordcount->top = top;
        wordcount->top_size = size;
    }
    wordcount->top[wordcount->n_top++] = *entry;
    return 0;
}

/* Keeps a copy of the page: the delivery's room is given back. */
int wordcount_take_page(struct wordcount *wordcount, const struct odeon_delivery *delivery)
{
    struct word_page head;
    char **pages = realloc(wordcount->pages, (wordcount->n_pages + 1) * sizeof(pages[0]));
    char *page = malloc(delivery->size);
    if (pages != NULL)
        wordcount->pages = pages;
    if (pages == NULL || page == NULL) {
        free(page);
        return wordcount_error(WORDCOUNT_FAILED, "no memory for the result");
    }
    wordcount->pages[wordcount->n_pages++] = page;
    memcpy(page, delivery->data, delivery->size);
    memcpy(&head, page, sizeof(head));

    const char *at = page + sizeof(head), *end = page + delivery->size;
    for (uint32_t i = 0; i < head.n; i++) {
        struct word_entry entry;
        at = word_entry_unpack(at, end, &entry);
        if (at == NULL)
            return wordcount_error(WORDCOUNT_FAILED, "a page of the result is damaged");
        int r = top_add(wordcount, &entry);
        if (r != 0)
            return r;
    }
    return 0;
}

/* The client's own words come among those of the counters. */
static int merge_long_words(struct wordcount *wordcount)
{
    uint32_t n;
    struct word_entry *own = word_table_top(&wordcount->long_words, wordcount->options->top, &n);
    int r = own == NULL && wordcount->long_words.used > 0
                ? wordcount_error(WORDCOUNT_FAILED, "no memory for the result")
                : 0;
    for (uint32_t i = 0; i < n && r == 0; i++)
        r = top_add(wordcount, &own[i]);
    free(own);
    if (wordcount->n_top > 0)
        qsort(wordcount->top, wordcount->n_top, sizeof(wordcount->top[0]), word_entry_compare);
    if (wordcount->n_top > wordcount->options->top)
        wordcount->n_top = wordcount->options->top;
    return r;
}

int wordcount_collect(struct wordcount *wordcount)
{
    const struct word_collect collect = { .client = odeon_port_ref(wordcount->port),
                                          .top = wordcount->options->top,
                                          .counters = wordcount->n_counters };
    const struct word_report report = { .topk = wordcount->topk, .top = wordcount->options->top };

    int r = wordcount_post(wordcount, wordcount->topk, wordcount->id_collect, &collect,
                           sizeof(collect));
    for (uint32_t i = 0; i < wordcount->n_counters && r == 0; i++)
        r = wordcount_post(wordcount, wordcount->counters[i], wordcount->id_report, &report,
                           sizeof(report));
    while (r == 0 && !wordcount->ended)
        r = wordcount_wait(wordcount);
    if (r != 0)
        return r;
    if (wordcount->end.error != 0)
        return wordcount_error(WORDCOUNT_FAILED,
                               "the collector could not answer (error %" PRId64
                               "): use a smaller --top",
                               wordcount->end.error);
    if (wordcount->end.words != wordcount->words_split)
        return wordcount_error(WORDCOUNT_INCOMPLETE,
                               "the result is incomplete: the counters know of %" PRIu64
                               " of %" PRIu64 " words; the executor has been started again "
                               "meanwhile, and with it went what they had in "
                               "memory: run this again",
                               wordcount->end.words, wordcount->words_split);
    return merge_long_words(wordcount);
}

static void print_json(const struct wordcount *wordcount, double seconds)
{
    printf("{\"version\":1,\"bytes\":%" PRIu64 ",\"words\":%" PRIu64 ",\"distinct\":%" PRIu64
           ",\"seconds\":%.6f,\"chunks\":%" PRIu64 ",\"counters\":%u,\"splitters\":%u,\"top\":[",
           wordcount->bytes, wordcount->end.words + wordcount->long_words.words,
           wordcount->end.distinct + wordcount->long_words.used, seconds, wordcount->next,
           wordcount->n_counters, wordcount->n_splitters);
    for (uint32_t i = 0; i < wordcount->n_top; i++) {
        const struct word_entry *entry = &wordcount->top[i];
        printf("%s{\"word\":\"%.*s\",\"count\":%" PRIu64 "}", i > 0 ? "," : "", (int)entry->length,
               entry->text, entry->count);
    }
    puts("]}");
}

int wordcount_print(const struct wordcount *wordcount)
{
    double seconds = (double)(wordcount->end_ns - wordcount->begin_ns) / 1e9;
    if (wordcount->options->json) {
        print_json(wordcount, seconds);
    } else {
        for (uint32_t i = 0; i < wordcount->n_top; i++) {
            const struct word_entry *entry = &wordcount->top[i];
            printf("%7" PRIu64 " %.*s\n", entry->count, (int)entry->length, entry->text);
        }
        fprintf(stderr,
                "%" PRIu64 " words, %" PRIu64 " different, %" PRIu64
                " bytes in %.3f s (%.1f MB/s), %u splitters, %u counters\n",
                wordcount->end.words + wordcount->long_words.words,
                wordcount->end.distinct + wordcount->long_words.used, wordcount->bytes, seconds,
                (double)wordcount->bytes / 1e6 / (seconds > 0 ? seconds : 1),
                wordcount->n_splitters, wordcount->n_counters);
    }
    return fflush(stdout) == 0 && !ferror(stdout)
               ? 0
               : wordcount_error(WORDCOUNT_FAILED, "cannot write the result");
}
