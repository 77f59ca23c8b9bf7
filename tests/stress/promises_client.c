/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the torture of promises: posts numbers to two scribes, and asks its own, by posts
 * that are correlated and by calls; what it has been told, it notes in a log of its own. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/history/history.h"
#include "tests/stress/promises.h"

enum { WINDOW = 16, RING_BYTES = 1 << 16, TARGETS = 2, RECORDS = 8 << 20 };

struct promises_life {
    struct promises_shared *shared;
    struct promises_book *book;
    unsigned index;
    uint64_t seed, me;
    struct odeon_client *client;
    struct odeon_port *port;
    uint32_t post, question, unwanted, answer;
    struct history_log *log;
    uint64_t posted[TARGETS], asked, under_way; /* correlated questions */
};

static bool __attribute__((format(printf, 2, 3)))
wrong(struct promises_life *l, const char *format, ...)
{
    va_list args;
    if (!l->book->wrong[0]) {
        va_start(args, format);
        vsnprintf(l->book->wrong, sizeof(l->book->wrong), format, args);
        va_end(args);
    }
    atomic_store(&l->shared->broken, true);
    return false;
}

/* Calls again what fails because nobody serves at the moment. */
#define TRY(what_, call_)                                                                          \
    __extension__({                                                                                \
        int64_t try_end_ = time_ns() + SECONDS(l->shared->patience_s);                             \
        int try_r_;                                                                                \
        while ((try_r_ = (call_)) < 0 && time_ns() < try_end_ && !atomic_load(&l->shared->broken)) \
            pause_briefly();                                                                       \
        if (try_r_ < 0)                                                                            \
            wrong(l, "%s: %s", what_, odeon_error_text());                                         \
        try_r_ >= 0;                                                                               \
    })

static void note(struct promises_life *l, enum history_kind kind, uint64_t number)
{
    history_log_note(l->log, &(struct history_record){ .sender = l->me,
                                                       .at_ns = (uint64_t)time_ns(),
                                                       .sequence = number,
                                                       .kind = (uint8_t)kind });
}

static bool begin(struct promises_life *l)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = RING_BYTES,
                                          .delivery_bytes = RING_BYTES };
    char path[96];
    snprintf(path, sizeof(path), "%s/client-%u", l->shared->directory, l->index);
    l->log = history_log_open(path, RECORDS);
    if (!l->log)
        return wrong(l, "%s: %s", path, strerror(errno));
    return TRY("connecting", odeon_client_connect(l->shared->socket, "promises", &l->client)) &&
           TRY("message type",
               odeon_message_id(l->client, odeon_message_of(scribe_post), &l->post)) &&
           TRY("message type",
               odeon_message_id(l->client, odeon_message_of(scribe_question), &l->question)) &&
           TRY("message type",
               odeon_message_id(l->client, odeon_message_of(scribe_unwanted), &l->unwanted)) &&
           TRY("message type",
               odeon_message_id(l->client, odeon_message_of(scribe_answer), &l->answer)) &&
           TRY("opening a port", odeon_port_open(l->client, &options, &l->port));
}

/* ---- what is told ---- */

/* The outcome of a question; those that nobody takes are of an odd number that is told so. */
static bool take_outcome(struct promises_life *l, const struct odeon_delivery *delivery,
                         uint64_t number)
{
    const struct odeon_refusal *refusal = delivery->data;
    const struct scribe_answer *answer = delivery->data;
    bool refused = delivery->type == ODEON_MSG_REFUSAL;
    if (refused ? refusal->reason != ODEON_REASON_NOT_ACCEPTED || refusal->type != l->unwanted
                : delivery->type != l->answer || answer->number != number)
        return wrong(l, "question %" PRIu64 ": a delivery of type %u, %u bytes, reason %u", number,
                     delivery->type, delivery->size, refused ? (unsigned)refusal->reason : 0U);
    note(l, refused ? HISTORY_UNANSWERED : HISTORY_ANSWERED, number);
    atomic_fetch_add(&l->book->came, 1);
    return true;
}

static bool receive(struct promises_life *l, int64_t timeout_ns)
{
    struct odeon_delivery delivery;
    int r = odeon_port_receive_wait(l->port, &delivery, timeout_ns);
    for (; r == 1; r = odeon_port_receive(l->port, &delivery)) {
        const struct odeon_refusal *refusal = delivery.data;
        uint64_t number =
            delivery.type == ODEON_MSG_REFUSAL ? refusal->correlation : delivery.correlation;
        if (!take_outcome(l, &delivery, number))
            return false;
        l->under_way--; /* of one too many the history tells */
    }
    odeon_port_release(l->port);
    return r >= 0 || r == -ETIMEDOUT || wrong(l, "receiving: %s", odeon_error_text());
}

/* ---- what is posted ---- */

/* Another scribe than the last one's; `target` 0 is its own. */
static bool post(struct promises_life *l, unsigned target)
{
    unsigned scribe = (l->index + target * 3) % SCRIBES;
    struct scribe_post message = { .client = l->me, .number = l->posted[target] + 1 };
    struct history_record record = {
        .sender = l->me, .receiver = scribe + 1, .sequence = message.number, .kind = HISTORY_BEGUN
    };
    history_log_note(l->log, &record);
    int r =
        odeon_port_post(l->port, l->shared->scribes[scribe], l->post, &message, sizeof(message));
    if (r == -EAGAIN)
        return true;
    if (r < 0)
        return wrong(l, "posting: %s", odeon_error_text());
    record.kind = HISTORY_SENT;
    history_log_note(l->log, &record);
    l->posted[target]++;
    return true;
}

static struct scribe_question question_of(struct promises_life *l, uint64_t number)
{
    return (struct scribe_question){
        .number = number,
        .how = promises_draw(&l->seed, 2) ? SCRIBE_AT_ONCE : SCRIBE_LATER,
        .hops = (uint32_t)(promises_draw(&l->seed, 2) * promises_draw(&l->seed, 6))
    };
}

static bool ask(struct promises_life *l)
{
    struct scribe_question question = question_of(l, l->asked + 1);
    bool unwanted = promises_draw(&l->seed, 8) == 0;
    int r = odeon_port_post_correlated(
        l->port, l->shared->scribes[l->index], unwanted ? l->unwanted : l->question,
        question.number, &question, unwanted ? sizeof(struct scribe_unwanted) : sizeof(question));
    if (r == -EAGAIN)
        return true;
    if (r < 0)
        return wrong(l, "asking: %s", odeon_error_text());
    note(l, HISTORY_ASKED, ++l->asked);
    l->under_way++;
    return true;
}

static bool call(struct promises_life *l)
{
    struct scribe_question question = question_of(l, l->asked + 1);
    struct odeon_delivery answer;
    note(l, HISTORY_ASKED, ++l->asked);
    int outcome = odeon_port_call(l->port, l->shared->scribes[l->index], l->question, &question,
                                  sizeof(question), SECONDS(l->shared->patience_s), &answer);
    if (outcome != ODEON_CALL_REPLY)
        return wrong(l, "call %" PRIu64 ": %s: %s", question.number, odeon_outcome_name(outcome),
                     odeon_error_text());
    bool well = take_outcome(l, &answer, question.number);
    odeon_port_release(l->port);
    return well;
}

static bool post_some(struct promises_life *l)
{
    for (uint64_t n = promises_draw(&l->seed, 4); n > 0; n--)
        if (!post(l, (unsigned)promises_draw(&l->seed, TARGETS)))
            return false;
    for (uint64_t n = promises_draw(&l->seed, 4); n > 0 && l->under_way < WINDOW; n--)
        if (!ask(l))
            return false;
    return promises_draw(&l->seed, 8) != 0 || call(l);
}

/* Until the stop, and all has come. */
static bool run(struct promises_life *l)
{
    uint64_t seen = 0;
    int64_t since = time_ns();
    while (!atomic_load(&l->shared->broken)) {
        bool stop = atomic_load(&l->shared->stop);
        if (stop && l->under_way == 0)
            return true;
        if ((!stop && !post_some(l)) || !receive(l, (int64_t)promises_draw(&l->seed, 4) * 1000000))
            return false;
        uint64_t came = atomic_load(&l->book->came);
        if (came != seen || l->under_way == 0)
            since = time_ns();
        seen = came;
        if (time_ns() - since > SECONDS(l->shared->patience_s))
            return wrong(l,
                         "%" PRIu64 " questions are open and no outcome has come for %" PRId64 " s",
                         l->under_way, l->shared->patience_s);
    }
    return true;
}

int promises_client(struct promises_shared *shared, unsigned index)
{
    static struct promises_life life;
    life = (struct promises_life){ .shared = shared,
                                   .book = &shared->books[index],
                                   .index = index,
                                   .me = SCRIBE_CLIENTS + index,
                                   .seed = shared->seed ^ scribe_mix(index + 1) };
    bool well = begin(&life) && run(&life);
    odeon_client_disconnect(life.client);
    if (life.log)
        history_log_close(life.log);
    return well ? 0 : 1;
}
