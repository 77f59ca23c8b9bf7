/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/send/refuse.h"

#include <string.h>

#include "daemon/engine/commit/outbox.h"

void refuse_no_answer_write(struct envelope *at, const struct worker *w, actor_ref asker,
                            actor_ref asked, uint64_t token, enum envelope_reason reason)
{
    unsigned trace = tag_later_prefix(w);
    const struct no_answer no_answer = { .token = token, .reason = (uint32_t)reason };
    *at = (struct envelope){
        .to = asker,
        .from = asked,
        .type = MESSAGE_TYPE_NO_ANSWER,
        .length = (uint16_t)refuse_no_answer_length(w),
        .behaviour = BEHAVIOUR_NONE,
        .flags = ENVELOPE_REPLY,
        .prefix = (uint8_t)(PREFIX_CORRELATION | trace),
    };
    envelope_word_put(at, PREFIX_CORRELATION, token);
    if (trace)
        envelope_word_put(at, PREFIX_TRACE, tag_of(w));
    memcpy(envelope_payload(at), &no_answer, sizeof(no_answer));
}

/* It asks something of an actor that lives. An answer that has been put off asks nothing. */
static bool refuse_question(struct worker *w, const struct envelope *question, uint64_t key,
                            enum envelope_reason reason)
{
    uint64_t token = envelope_correlation(question);
    if (question->flags & ENVELOPE_REPLY || token == 0 || !actor_key_lives(key) ||
        envelope_is_taken_answer(question))
        return false;
    uint64_t size = envelope_size(refuse_no_answer_length(w));
    refuse_no_answer_write(outbox_append(w, actor_key_destination(key), size), w, question->from,
                           question->to, token, reason);
    return true;
}

/* Who has sent it, if that is still there. */
static uint64_t refuse_sender_key(const struct engine *e, actor_ref from)
{
    uint32_t slot = actor_ref_slot(from);
    if (from == 0 || slot >= e->config.actors_max)
        return ACTOR_FREE;
    uint64_t key = load_relaxed(&e->actors.table[slot].key);
    return actor_key_generation(key) == actor_ref_generation(from) ? key : ACTOR_FREE;
}

struct envelope *refuse_write(struct worker *w, const struct envelope *record,
                              enum envelope_reason reason)
{
    struct engine *e = w->engine;
    uint64_t key = refuse_sender_key(e, record->from);
    if (actor_key_kind(key) == ACTOR_PORT) {
        outbox_refuse(w, actor_key_destination(key), record->from, record,
                      envelope_correlation(record), reason);
        return NULL;
    }
    if (refuse_question(w, record, key, reason))
        return NULL;
    uint64_t size = envelope_record_size(record);
    struct envelope *out = outbox_append(w, e->segment.dead_letters, size);
    memcpy(out, record, size);
    uint64_t *kind = envelope_word(out, PREFIX_KIND);
    if (kind) /* no timer's any more, whatever becomes of that: people may want it run */
        *kind &= ~KIND_TAG;
    out->flags &= (uint8_t)~ENVELOPE_SUSPECT; /* the byte is the reason from here on */
    out->behaviour = (uint8_t)reason;
    return out;
}
