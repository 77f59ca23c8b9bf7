/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/send/compose.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/tag.h"
#include "daemon/engine/send/overflow.h"
#include "daemon/engine/send/place.h"

int compose_at_limit(struct worker *w, actor_ref to, uint64_t meta, uint32_t destination,
                     uint64_t size)
{
    if (outbox_fits(w, size))
        return overflow_send(w, to, (uint16_t)meta, destination);
    w->place.n_failed++;
    return -ENOBUFS;
}

static inline struct envelope *compose_begin(struct envelope *at, const struct compose *what,
                                             uint64_t meta)
{
    uint64_t *words = envelope_words(at);
    words[0] = what->to;
    words[1] = what->from;
    words[2] = meta;
    return at;
}

/* A dead letter at once, whatever waits anywhere: a queue that would only pass it on can be full.
 * Its sender is an actor, and is sent no refusal. */
static struct envelope *compose_to_nobody(struct worker *w, const struct compose *what,
                                          uint64_t meta, uint64_t size, int *ret_error)
{
    if (!outbox_fits(w, size)) {
        w->place.n_failed++;
        *ret_error = -ENOBUFS;
        return NULL;
    }
    struct envelope *out =
        compose_begin(outbox_append(w, w->engine->segment.dead_letters, size), what, meta);
    out->behaviour = REASON_NO_SUCH_ACTOR;
    stat_add(w, STAT_dead_letters, 1);
    return out;
}

/* The queue of a receiver. Of one that has ended, where that is found out and told: the running
 * actor's. */
static uint32_t compose_destination(const struct worker *w, const struct compose *what)
{
    const struct actor *actors = w->engine->actors.table;
    uint32_t destination =
        actor_key_destination(load_relaxed(&actors[actor_ref_slot(what->to)].key));
    return destination == NO_DESTINATION && what->tells
               ? actor_key_destination(load_relaxed(&actors[actor_ref_slot(w->ctx.self)].key))
               : destination;
}

/* Where a record of `size` bytes goes, its header written; NULL and *ret_error, which is 0 if it is
 * dropped. */
static struct envelope *compose_place(struct worker *w, const struct compose *what, uint64_t meta,
                                      uint64_t size, int *ret_error)
{
    if (unlikely(actor_ref_slot(what->to) >= w->engine->config.actors_max ||
                 actor_ref_generation(what->to) == 0)) {
        *ret_error = -ESRCH;
        return NULL;
    }
    uint32_t destination = compose_destination(w, what);
    if (unlikely(destination == NO_DESTINATION))
        return compose_to_nobody(w, what, meta, size, ret_error);
    if (unlikely(!place_has_room(w, destination, size)) &&
        (*ret_error = compose_at_limit(w, what->to, meta, destination, size)) <= 0)
        return NULL;
    return compose_begin(place_record(w, destination, size), what, meta);
}

int compose_send(struct worker *w, const struct compose *what)
{
    if (unlikely(what->head_size > ODEON_PAYLOAD_MAX ||
                 what->tail_size > ODEON_PAYLOAD_MAX - what->head_size))
        return -EMSGSIZE;
    if (unlikely((uint16_t)what->meta == MESSAGE_TYPE_NONE))
        return -EINVAL;
    unsigned prefix = (what->correlation ? PREFIX_CORRELATION : 0) |
                      (what->hops ? PREFIX_ACCEPTED : 0) | tag_prefix(w);
    size_t words = prefix == PREFIX_CORRELATION ? sizeof(uint64_t) : envelope_prefix_bytes(prefix),
           length = words + what->head_size + what->tail_size;
    /* the third word by one store: who reads it soon reads it as one */
    uint64_t meta =
        what->meta | length << 16 | (uint64_t)what->flags << 40 | (uint64_t)prefix << 56;
    int r = 0;
    struct envelope *out = compose_place(w, what, meta, envelope_size(length), &r);
    if (unlikely(!out))
        return r;
    if (length) /* padding carries nothing of what lay here before */
        ((uint64_t *)(out + 1))[(length - 1) / 8] = 0;
    if (what->correlation)
        *(uint64_t *)(out + 1) = what->correlation; /* the first one of them */
    if (unlikely(prefix & PREFIX_TRACE))
        tag_put(w, out, what->hops);
    else if (what->hops)
        envelope_word_put(out, PREFIX_ACCEPTED, envelope_accepted(0, what->hops));
    uint8_t *payload = (uint8_t *)(out + 1) + words;
    if (what->head_size)
        memcpy(payload, what->head, what->head_size);
    if (what->tail_size)
        memcpy(payload + what->head_size, what->tail, what->tail_size);
    return 0;
}
