/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about dead letters. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <odeon/names.h>

#include "daemon/common/log.h"
#include "daemon/executor/command.h"
#include "daemon/executor/ref_text.h"

static int letter_row(const struct executor *executor, const struct engine_dead_letter *letter,
                      struct reply *reply, Odeon__DeadLetter *row)
{
    struct engine_message_type message;
    struct engine_actor_type_view type;

    odeon__dead_letter__init(row);
    row->id = letter->id;
    row->to = letter->to;
    row->from = letter->from;
    row->size = letter->size;
    row->reason = reply_string(odeon_reason_name(letter->reason));
    row->attempts = letter->attempts;
    row->time_ns = letter->time_ns;
    row->message_id = letter->message_type;
    if (engine_message_type_get(executor->engine, (uint16_t)letter->message_type, &message) == 0) {
        row->message = reply_string(message.name);
        row->message_version = message.version;
    } else {
        row->message = reply_string(letter->message_type == MESSAGE_TYPE_INIT ? "init" : "poison");
    }
    if (letter->actor_type &&
        engine_actor_type_get(executor->engine, letter->actor_type, &type) == 0)
        row->type = reply_strdup(reply, type.name);
    return row->type ? 0 : -ENOMEM;
}

/* `after`: the first id to look at. */
int command_dead_letter_list(struct executor *executor, const Odeon__Request *request,
                             struct frame *frame, struct reply *reply)
{
    const Odeon__Page *page = request->dead_letter_list->page;
    size_t n_rows = reply_page_rows(page), n;
    Odeon__DeadLetterListReply *body = reply_alloc(reply, sizeof(*body));
    struct engine_dead_letter *letters = reply_alloc(reply, (n_rows + 1) * sizeof(*letters));
    Odeon__DeadLetter **rows = reply_alloc(reply, (n_rows + 1) * sizeof(*rows));
    Odeon__DeadLetter *storage = reply_alloc(reply, (n_rows + 1) * sizeof(*storage));
    bool more;

    (void)frame;
    if (!body || !letters || !rows || !storage)
        return -ENOMEM;
    odeon__dead_letter_list_reply__init(body);
    body->letters = rows;
    n = engine_dead_letters_list(executor->engine, page ? page->after : 0, letters, n_rows, &more);
    for (size_t i = 0; i < n && !body->more; i++) {
        if (letter_row(executor, &letters[i], reply, &storage[i]) < 0)
            return -ENOMEM;
        body->more = !reply_row_fits(reply, &storage[i].base);
        if (!body->more)
            rows[body->n_letters++] = &storage[i];
    }
    body->more = body->more || more;
    reply->message.dead_letter_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_DEAD_LETTER_LIST;
    return 0;
}

int command_dead_letter_show(struct executor *executor, const Odeon__Request *request,
                             struct frame *frame, struct reply *reply)
{
    Odeon__DeadLetter *body = reply_alloc(reply, sizeof(*body));
    uint8_t *payload = reply_alloc(reply, ODEON_PAYLOAD_MAX);
    uint64_t id = request->dead_letter_show->id;
    struct engine_dead_letter letter;

    (void)frame;
    if (!body || !payload)
        return -ENOMEM;
    if (engine_dead_letter_get(executor->engine, id, &letter, payload) < 0)
        return explain_set(&reply->explain, -ENOENT,
                           "there is no dead letter %" PRIu64 ": 'dlq list' shows those that are",
                           id);
    if (letter_row(executor, &letter, reply, body) < 0)
        return -ENOMEM;
    body->payload.data = payload;
    body->payload.len = letter.size;
    reply->message.dead_letter = body;
    reply->message.body_case = ODEON__REPLY__BODY_DEAD_LETTER;
    return 0;
}

static int command_dead_letter_answer_done(struct reply *reply,
                                           const struct engine_dead_letters_done *done)
{
    Odeon__DeadLettersDone *body = reply_alloc(reply, sizeof(*body));

    if (!body)
        return -ENOMEM;
    odeon__dead_letters_done__init(body);
    body->done = done->done;
    body->gone = done->gone;
    body->full = done->full;
    reply->message.dead_letters_done = body;
    reply->message.body_case = ODEON__REPLY__BODY_DEAD_LETTERS_DONE;
    return 0;
}

static int command_dead_letter_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* In their order, for one pass. */
static int command_dead_letter_check_ids(const struct executor *executor, uint64_t *ids, size_t n,
                                         struct explain *explain)
{
    uint64_t missing;

    if (n > 0)
        qsort(ids, n, sizeof(*ids), command_dead_letter_compare);
    if (engine_dead_letters_exist(executor->engine, ids, n, &missing))
        return 0;
    return explain_set(explain, -ENOENT,
                       "there is no dead letter %" PRIu64
                       ": nothing has been done, 'dlq list' shows those that are",
                       missing);
}

int command_dead_letter_replay(struct executor *executor, const Odeon__Request *request,
                               struct frame *frame, struct reply *reply)
{
    const Odeon__DeadLetterReplay *replay = request->dead_letter_replay;
    struct engine_dead_letters_done done, sum = { 0 };
    struct engine_actor_view actor;
    int r;

    (void)frame;
    r = command_dead_letter_check_ids(executor, replay->ids, replay->n_ids, &reply->explain);
    if (r < 0)
        return r;
    if (replay->to &&
        (engine_actor_get(executor->engine, replay->to, &actor) < 0 || actor.type == 0))
        return explain_set(&reply->explain, -ESRCH,
                           "there is no actor " REF_FORMAT ": it has ended or never was",
                           REF_ARGS(replay->to));
    do {
        engine_dead_letters_replay(executor->engine, replay->ids, replay->n_ids, replay->to, &done);
        sum = (struct engine_dead_letters_done){ .done = sum.done + done.done,
                                                 .gone = done.gone,
                                                 .full = done.full };
    } while (done.more && done.done > 0);
    log_notice("%" PRIu64 " dead letters have been replayed", sum.done);
    return command_dead_letter_answer_done(reply, &sum);
}

int command_dead_letter_purge(struct executor *executor, const Odeon__Request *request,
                              struct frame *frame, struct reply *reply)
{
    const Odeon__DeadLetterPurge *purge = request->dead_letter_purge;
    struct engine_dead_letters_done done;
    int r;

    (void)frame;
    r = command_dead_letter_check_ids(executor, purge->ids, purge->n_ids, &reply->explain);
    if (r < 0)
        return r;
    engine_dead_letters_purge(executor->engine, purge->ids, purge->n_ids, &done);
    log_notice("%" PRIu64 " dead letters have been purged", done.done);
    return command_dead_letter_answer_done(reply, &done);
}
