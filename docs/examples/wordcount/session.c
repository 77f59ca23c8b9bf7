/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of odeon-wordcount, its actors, and what comes back from them. */
#include "client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <odeon/admin.h>

#define SECOND_NS INT64_C(1000000000)
/* Without any sign of life: behind each of these seconds a line says so, behind the last one it is
 * over. A machine may be busy, and the service alive. */
enum { SILENCE_S = 10, SILENCES = 30, FAREWELL_S = 3 };

uint64_t wordcount_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int wordcount_error(int code, const char *format, ...)
{
    va_list ap;
    fputs("odeon-wordcount: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return code;
}

static int find_messages(struct wordcount *wordcount)
{
    const struct {
        const struct odeon_message_type *type;
        uint32_t *id;
    } messages[] = {
        { odeon_message_of(word_chunk), &wordcount->id_chunk },
        { odeon_message_of(word_split), &wordcount->id_split },
        { odeon_message_of(word_counted), &wordcount->id_counted },
        { odeon_message_of(word_collect), &wordcount->id_collect },
        { odeon_message_of(word_report), &wordcount->id_report },
        { odeon_message_of(word_page), &wordcount->id_page },
        { odeon_message_of(word_end), &wordcount->id_end },
        { odeon_message_of(word_quit), &wordcount->id_quit },
    };
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
        if (odeon_message_id(wordcount->client, messages[i].type, messages[i].id) < 0)
            return wordcount_error(WORDCOUNT_FAILED, "message %s: %s", messages[i].type->name,
                                   odeon_error_text());
    return 0;
}

/* Loads the plugin when the service does not know the type. */
static int spawn(struct wordcount *wordcount, const char *type, const void *args, size_t size,
                 odeon_ref *ret_ref)
{
    int r = odeon_actor_spawn(wordcount->client, type, NULL, args, size, ret_ref);
    if (r == -ENOENT) {
        if (odeon_plugin_load(wordcount->client, wordcount->options->plugin) < 0)
            return wordcount_error(WORDCOUNT_FAILED, "cannot load the plugin %s: %s",
                                   wordcount->options->plugin, odeon_error_text());
        r = odeon_actor_spawn(wordcount->client, type, NULL, args, size, ret_ref);
    }
    if (r < 0)
        return wordcount_error(WORDCOUNT_FAILED, "cannot spawn a %s: %s", type, odeon_error_text());
    return 0;
}

static int spawn_actors(struct wordcount *wordcount)
{
    const struct wordcount_options *options = wordcount->options;
    struct word_splitter_args args = { .n_counters = options->counters };
    int r = spawn(wordcount, "word_topk", NULL, 0, &wordcount->topk);

    for (uint32_t i = 0; i < options->counters && r == 0; i++) {
        r = spawn(wordcount, "word_counter", NULL, 0, &wordcount->counters[i]);
        args.counters[i] = wordcount->counters[i];
        wordcount->n_counters += r == 0;
    }
    for (uint32_t i = 0; i < options->splitters && r == 0; i++) {
        r = spawn(wordcount, "word_splitter", &args, sizeof(args), &wordcount->splitters[i]);
        wordcount->n_splitters += r == 0;
    }
    return r;
}

int wordcount_open(struct wordcount *wordcount)
{
    wordcount->slots = calloc(wordcount->options->window, sizeof(wordcount->slots[0]));
    if (wordcount->slots == NULL)
        return wordcount_error(WORDCOUNT_FAILED, "no memory");
    if (odeon_client_connect(wordcount->options->socket, "odeon-wordcount", &wordcount->client) < 0)
        return wordcount_error(WORDCOUNT_UNREACHABLE, "%s", odeon_error_text());
    if (odeon_port_open(wordcount->client, NULL, &wordcount->port) < 0)
        return wordcount_error(WORDCOUNT_FAILED, "cannot open a port: %s", odeon_error_text());
    int r = find_messages(wordcount);
    return r != 0 ? r : spawn_actors(wordcount);
}

void wordcount_close(struct wordcount *wordcount)
{
    /* Splitters first: nothing is to be sent to counters that have ended. */
    for (uint32_t i = 0; i < wordcount->n_splitters; i++)
        (void)odeon_port_post_wait(wordcount->port, wordcount->splitters[i], wordcount->id_quit,
                                   NULL, 0, FAREWELL_S * SECOND_NS);
    for (uint32_t i = 0; i < wordcount->n_counters; i++)
        (void)odeon_port_post_wait(wordcount->port, wordcount->counters[i], wordcount->id_quit,
                                   NULL, 0, FAREWELL_S * SECOND_NS);
    if (wordcount->topk != ODEON_NOBODY)
        (void)odeon_port_post_wait(wordcount->port, wordcount->topk, wordcount->id_quit, NULL, 0,
                                   FAREWELL_S * SECOND_NS);
    if (wordcount->port != NULL)
        wordcount->port = odeon_port_close(wordcount->port);
    wordcount->client = odeon_client_disconnect(wordcount->client);

    for (uint32_t i = 0; i < wordcount->n_pages; i++)
        free(wordcount->pages[i]);
    free(wordcount->pages);
    free(wordcount->top);
    free(wordcount->slots);
    word_table_fini(&wordcount->long_words);
}

int wordcount_post(struct wordcount *wordcount, odeon_ref to, uint32_t type, const void *data,
                   size_t size)
{
    int r = odeon_port_post_wait(wordcount->port, to, type, data, size,
                                 SILENCES * SILENCE_S * SECOND_NS);
    return r < 0 ? wordcount_error(WORDCOUNT_FAILED, "cannot post: %s", odeon_error_text()) : 0;
}

/* The slot of a chunk that is on its way, or NULL. */
static struct wordcount_slot *find_slot(struct wordcount *wordcount, uint64_t sequence)
{
    struct wordcount_slot *slot = &wordcount->slots[sequence % wordcount->options->window];
    return slot->busy && slot->sequence == sequence ? slot : NULL;
}

static void slot_finish(struct wordcount *wordcount, struct wordcount_slot *slot)
{
    if (!slot->split || slot->batches != 0)
        return;
    slot->busy = false;
    wordcount->in_flight--;
}

static int take_split(struct wordcount *wordcount, const struct odeon_delivery *delivery)
{
    struct word_split split;
    memcpy(&split, delivery->data, sizeof(split));
    struct wordcount_slot *slot = find_slot(wordcount, split.sequence);
    if (slot == NULL || slot->split)
        return wordcount_error(WORDCOUNT_FAILED, "chunk %" PRIu64 " was split twice",
                               split.sequence);
    if (split.error != 0)
        return wordcount_error(
            WORDCOUNT_FAILED,
            "a splitter could not pass on its words (error %d): use a smaller --window",
            split.error);
    slot->split = true;
    slot->batches += split.batches;
    wordcount->words_split += split.words;
    slot_finish(wordcount, slot);
    return 0;
}

static int take_counted(struct wordcount *wordcount, const struct odeon_delivery *delivery)
{
    struct word_counted counted;
    memcpy(&counted, delivery->data, sizeof(counted));
    struct wordcount_slot *slot = find_slot(wordcount, counted.sequence);
    if (slot == NULL)
        return wordcount_error(WORDCOUNT_FAILED, "a batch of chunk %" PRIu64 " was counted twice",
                               counted.sequence);
    slot->batches--;
    wordcount->words_counted += counted.words;
    slot_finish(wordcount, slot);
    return 0;
}

static int take_refusal(const struct odeon_delivery *delivery)
{
    struct odeon_refusal refusal;
    memcpy(&refusal, delivery->data, sizeof(refusal));
    return wordcount_error(WORDCOUNT_FAILED, "the service refused a message: %s",
                           odeon_reason_name(refusal.reason));
}

static int take(struct wordcount *wordcount, const struct odeon_delivery *delivery)
{
    if (delivery->type == wordcount->id_counted && delivery->size == sizeof(struct word_counted))
        return take_counted(wordcount, delivery);
    if (delivery->type == wordcount->id_split && delivery->size == sizeof(struct word_split))
        return take_split(wordcount, delivery);
    if (delivery->type == wordcount->id_page && delivery->size >= sizeof(struct word_page))
        return wordcount_take_page(wordcount, delivery);
    if (delivery->type == wordcount->id_end && delivery->size == sizeof(struct word_end)) {
        memcpy(&wordcount->end, delivery->data, sizeof(wordcount->end));
        wordcount->ended = true;
        return 0;
    }
    if (delivery->type == ODEON_MSG_REFUSAL && delivery->size >= sizeof(struct odeon_refusal))
        return take_refusal(delivery);
    return wordcount_error(WORDCOUNT_FAILED, "an unexpected message of type %u, %u bytes",
                           delivery->type, delivery->size);
}

int wordcount_wait(struct wordcount *wordcount)
{
    struct odeon_delivery delivery;
    int r = 0;
    for (int silent = 1; r == 0 && silent <= SILENCES; silent++) {
        r = odeon_port_receive_wait(wordcount->port, &delivery, SILENCE_S * SECOND_NS);
        r = r == -ETIMEDOUT ? 0 : r;
        if (r == 0)
            (void)wordcount_error(WORDCOUNT_FAILED,
                                  "nothing heard for %d seconds, %" PRIu64
                                  " chunks are on their way: see odeonctl status",
                                  silent * SILENCE_S, wordcount->in_flight);
    }
    if (r == 0)
        return WORDCOUNT_FAILED;
    if (r < 0)
        return wordcount_error(WORDCOUNT_FAILED, "%s", odeon_error_text());
    do
        r = take(wordcount, &delivery);
    while (r == 0 && odeon_port_receive(wordcount->port, &delivery) == 1);
    odeon_port_release(wordcount->port);
    return r;
}
