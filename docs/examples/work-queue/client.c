/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the work queue:
 *
 *     odeon-work put QUEUE TEXT...    puts a job for each text, prints their numbers
 *     odeon-work take QUEUE N         takes N jobs, one at a time, prints them: they are done
 *     odeon-work hold QUEUE N         takes N jobs at once, prints them, and does not finish them
 *     odeon-work wait QUEUE           until no job waits and none is leased
 *     odeon-work look QUEUE           what there is
 *     odeon-work kick QUEUE NUMBER    has a job that was put away tried again
 *
 * Where the service is, $ODEON_SOCKET says. Exit status: 0; 1: the queue refuses, or does not
 * answer; 2: usage; 3: no service, or no such queue. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <odeon/client.h>

#include "work.h"

#define PATIENCE_NS (INT64_C(60) * 1000000000)

struct session {
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref queue;
};

static int fail(const char *what)
{
    fprintf(stderr, "odeon-work: %s: %s\n", what, odeon_error_text());
    return 3;
}

/* The number that the service has given a message's type. */
static uint32_t id_of(struct session *s, const struct odeon_message_type *type)
{
    uint32_t id;

    if (odeon_message_id(s->client, type, &id) < 0)
        exit(fail(type->name));
    return id;
}

/* A call whose answer is to be of this type and size: copied to `answer`. */
static int call_within(struct session *s, int64_t time_ns,
                       const struct odeon_message_type *question, const void *bytes, size_t size,
                       const struct odeon_message_type *answer_type, void *answer,
                       size_t answer_size)
{
    uint32_t type = id_of(s, question), expected = id_of(s, answer_type);
    struct odeon_delivery reply;
    int outcome = odeon_port_call(s->port, s->queue, type, bytes, size, time_ns, &reply), r = 0;

    if (outcome == ODEON_CALL_REPLY && reply.type == expected && reply.size == answer_size)
        memcpy(answer, reply.data, answer_size);
    else
        r = 1;
    if (r)
        fprintf(stderr, "odeon-work: no answer: %s\n", odeon_outcome_name(outcome));
    odeon_port_release(s->port);
    return r;
}

static int call(struct session *s, const struct odeon_message_type *question, const void *bytes,
                size_t size, const struct odeon_message_type *answer_type, void *answer,
                size_t answer_size)
{
    return call_within(s, PATIENCE_NS, question, bytes, size, answer_type, answer, answer_size);
}

static int print_taken(const struct work_taken *taken)
{
    static const char *const texts[] = { [WORK_OK] = "taken",
                                         [WORK_FULL] = "the queue is full",
                                         [WORK_TOO_LARGE] = "too large",
                                         [WORK_BUSY] = "busy: try again",
                                         [WORK_LATE] = "late",
                                         [WORK_NO_SUCH] = "no such job is put away" };

    if (taken->outcome == WORK_OK)
        printf("%" PRIu64 "\n", taken->number);
    else
        fprintf(stderr, "odeon-work: %s\n",
                taken->outcome <= WORK_NO_SUCH ? texts[taken->outcome] : "?");
    return taken->outcome != WORK_OK;
}

static int put(struct session *s, const char *text)
{
    size_t size = sizeof(struct work_put) + strlen(text);
    char message[sizeof(struct work_put) + WORK_BYTES_MAX + 1] = { 0 };
    struct work_taken taken;

    if (size > sizeof(message))
        size = sizeof(message); /* the queue refuses it */
    memcpy(message + sizeof(struct work_put), text, size - sizeof(struct work_put));
    return call(s, odeon_message_of(work_put), message, size, odeon_message_of(work_taken), &taken,
                sizeof(taken)) ||
           print_taken(&taken);
}

/* To the queue: so many at a time from now on. */
static void say_ready(struct session *s, uint32_t window)
{
    struct work_ready ready = { .window = window };

    if (odeon_port_post_wait(s->port, s->queue, id_of(s, odeon_message_of(work_ready)), &ready,
                             sizeof(ready), PATIENCE_NS) < 0)
        exit(fail("work_ready"));
}

/* True: it was a job, which has been printed, and is done if it is to be. Before the last one is
 * done no further one is wanted: it would be lent to somebody who has gone. */
static bool take_one(struct session *s, const struct odeon_delivery *delivery, bool finish,
                     bool last)
{
    struct work_job job;
    struct work_done done;

    if (delivery->type != id_of(s, odeon_message_of(work_job)) || delivery->size < sizeof(job))
        return false;
    memcpy(&job, delivery->data, sizeof(job));
    printf("%" PRIu64 " (%" PRIu32 "): %.*s\n", job.number, job.attempt,
           (int)(delivery->size - sizeof(job)), (const char *)delivery->data + sizeof(job));
    fflush(stdout);
    done.attempt = job.attempt;
    if (finish && last)
        say_ready(s, 0);
    if (finish &&
        odeon_port_post_wait(s->port, delivery->from, id_of(s, odeon_message_of(work_done)), &done,
                             sizeof(done), PATIENCE_NS) < 0)
        exit(fail("work_done"));
    return true;
}

/* Whether a job is over for this consumer: closed, or, as it was late, done by somebody else, so
 * that its actor has ended. */
static bool is_closed(struct session *s, const struct odeon_delivery *delivery)
{
    struct odeon_refusal refusal;

    if (delivery->type != ODEON_MSG_REFUSAL)
        return delivery->type == id_of(s, odeon_message_of(work_closed));
    memcpy(&refusal, delivery->data, sizeof(refusal));
    return refusal.type == id_of(s, odeon_message_of(work_done)) &&
           refusal.reason == ODEON_REASON_NO_SUCH_ACTOR;
}

/* With `finish` it is done when the last one has been closed: a late one was somebody else's. */
static int take(struct session *s, unsigned long n, bool finish)
{
    struct odeon_delivery delivery;
    unsigned long lent = 0, closed = 0;

    say_ready(s, finish ? 1 : (uint32_t)n);
    while ((finish ? closed : lent) < n) {
        int r = odeon_port_receive_wait(s->port, &delivery, -1);

        if (r < 0)
            return fail("receive");
        if (take_one(s, &delivery, finish && lent < n, lent + 1 == n))
            lent++;
        else if (is_closed(s, &delivery))
            closed++;
        else
            return fputs("odeon-work: the queue refuses\n", stderr), 1;
        odeon_port_release(s->port);
    }
    if (!finish)
        for (;;)
            pause(); /* until it is killed */
    return 0;
}

static int look(struct session *s, bool wait)
{
    struct work_books books;
    struct work_empty empty;

    if (wait) {
        if (call_within(s, -1, odeon_message_of(work_wait), NULL, 0, odeon_message_of(work_empty),
                        &empty, sizeof(empty))) /* however long it takes */
            return 1;
        printf("done %" PRIu64 ", put away %" PRIu64 ", lost %" PRIu64 "\n", empty.done,
               empty.buried, empty.lost);
        return 0;
    }
    if (call(s, odeon_message_of(work_look), NULL, 0, odeon_message_of(work_books), &books,
             sizeof(books)))
        return 1;
    printf("waiting %" PRIu64 ", leased %" PRIu64 ", returned %" PRIu64 ", done %" PRIu64
           ", put away %" PRIu64 ", lost %" PRIu64 "; consumers %" PRIu32 ", window %" PRIu32 "\n",
           books.waiting, books.leased, books.returned, books.done, books.buried, books.lost,
           books.consumers, books.window);
    return 0;
}

static int kick(struct session *s, const char *number)
{
    struct work_kick message = { .number = strtoull(number, NULL, 10) };
    struct work_taken taken;

    return call(s, odeon_message_of(work_kick), &message, sizeof(message),
                odeon_message_of(work_taken), &taken, sizeof(taken)) ||
           print_taken(&taken);
}

static int usage(void)
{
    fputs("usage: odeon-work put QUEUE TEXT... | take QUEUE N | hold QUEUE N | wait QUEUE\n"
          "       | look QUEUE | kick QUEUE NUMBER\n",
          stderr);
    return 2;
}

static int run(struct session *s, int argc, char **argv)
{
    const char *verb = argv[1];
    int r = 0;

    if (argc >= 4 && strcmp(verb, "put") == 0) {
        for (int i = 3; i < argc && r == 0; i++)
            r = put(s, argv[i]);
        return r;
    }
    if (argc == 4 && (strcmp(verb, "take") == 0 || strcmp(verb, "hold") == 0))
        return take(s, strtoul(argv[3], NULL, 10), *verb == 't');
    if (argc == 3 && (strcmp(verb, "wait") == 0 || strcmp(verb, "look") == 0))
        return look(s, *verb == 'w');
    return argc == 4 && strcmp(verb, "kick") == 0 ? kick(s, argv[3]) : usage();
}

int main(int argc, char **argv)
{
    struct session s = { 0 };
    int code;

    if (argc < 3)
        return usage();
    if (odeon_client_connect(NULL, "odeon-work", &s.client) < 0)
        return fail("connect");
    if (odeon_actor_find(s.client, argv[2], &s.queue) < 0)
        code = fail(argv[2]);
    else if (odeon_port_open(s.client, NULL, &s.port) < 0)
        code = fail("port");
    else
        code = run(&s, argc, argv);
    odeon_client_disconnect(s.client); /* closes the port */
    return code;
}
