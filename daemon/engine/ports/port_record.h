/* SPDX-License-Identifier: Apache-2.0 */
/* Records in a port's submission ring, which their client may change while they are looked at:
 * fetched, checked, copied, refused. The rules are port.h's, port.R1 above all.
 *
 * Threads: who runs the port; whoever counts what has been published.
 */
#pragma once

#include <string.h>

#include "daemon/engine/base/client_load.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/core.h"

static inline uint64_t port_published_tail(struct port *port)
{
    CLIENT_LOAD(WORD, &port->client_words->submission_tail);
    return load_acquire(&port->client_words->submission_tail); /* port_layout.P2 */
}

static inline const uint8_t *port_record_at(const struct port *port, uint64_t cursor)
{
    return port->submission + (cursor & (port->submission_bytes - 1));
}

/* port.R1: three loads of a header that its writer may change meanwhile. */
static inline struct envelope port_record_fetch(const uint8_t *at)
{
    const volatile uint64_t *words = (const volatile uint64_t *)at;
    union {
        uint64_t word[3];
        struct envelope envelope;
    } copy;
    for (unsigned i = 0; i < 3; i++) {
        CLIENT_LOAD(HEADER, &words[i]);
        copy.word[i] = words[i];
    }
    return copy.envelope;
}

static inline enum port_broken port_record_check(const struct engine *e, const struct envelope *h,
                                                 uint64_t available)
{
    if (h->type == MESSAGE_TYPE_NONE)
        return PORT_BROKEN_HEADER;
    if (h->length > ODEON_PAYLOAD_MAX + envelope_prefix_bytes(h->prefix) ||
        envelope_record_size(h) > available)
        return PORT_BROKEN_LENGTH;
    if ((h->flags & ~(unsigned)ENVELOPE_CLIENT_MAY_SET) || h->attempts ||
        (h->prefix & ~(unsigned)PREFIX_CLIENT_MAY_SET))
        return PORT_BROKEN_HEADER;
    /* nobody, and another executor's actors, are refused record by record */
    if (actor_ref_executor(h->to) == ACTOR_REF_EXECUTOR &&
        actor_ref_slot(h->to) >= e->segment.header->actors_max)
        return PORT_BROKEN_SLOT;
    return PORT_OK;
}

/* Of a record that port_record_check() has let through. */
static inline uint64_t port_record_key(const struct engine *e, actor_ref to)
{
    uint32_t slot = actor_ref_slot(to);
    return likely(slot < e->segment.header->actors_max) ? load_relaxed(&e->actors.table[slot].key)
                                                        : 0;
}

/* Nothing else is looked at of a record that is refused. */
static inline uint64_t port_record_correlation(const uint8_t *at, const struct envelope *h)
{
    if (!(h->prefix & PREFIX_CORRELATION) || !envelope_prefix_fits(h))
        return 0;
    /* the first of the optional words, which port_record_check() has seen in the header's copy */
    const volatile uint64_t *word = envelope_payload_behind((const struct envelope *)at, 0);
    CLIENT_LOAD(PAYLOAD, word);
    return *word;
}

static inline void port_record_refuse(struct worker *w, uint32_t id, const struct envelope *h,
                                      uint64_t correlation, enum envelope_reason reason)
{
    outbox_refuse(w, segment_port_destination(&w->engine->segment, id),
                  w->engine->segment.ports[id].ref, h, correlation, reason);
}

/* Why a record cannot go to its receiver. */
static inline enum envelope_reason port_record_reason(const struct engine *e,
                                                      const struct port *port,
                                                      const struct envelope *h, uint64_t key)
{
    bool built_in = h->type >= MESSAGE_TYPE_POISON_DELETE &&
                    h->type <= MESSAGE_TYPE_POISON_FINISHED && !port->may_not_stop;
    if (actor_key_generation(key) != actor_ref_generation(h->to) ||
        actor_key_kind(key) == ACTOR_FREE)
        return REASON_NO_SUCH_ACTOR;
    if (actor_key_kind(key) == ACTOR_PORT || (h->type < MESSAGE_TYPE_FIRST_PLAIN && !built_in) ||
        h->type >= load_relaxed(&e->segment.header->n_message_types))
        return REASON_NOT_ACCEPTED;
    return envelope_prefix_fits(h) ? REASON_NONE : REASON_BAD_SIZE;
}

/* A record's copy as its receiver gets it; `h` is its header as it was checked. */
static inline void port_record_copy(const struct engine *e, uint32_t id, const uint8_t *at,
                                    const struct envelope *h, struct envelope *out)
{
    *out = *h;
    out->from = e->segment.ports[id].ref;    /* envelope.E3 */
    out->flags &= (uint8_t)~ENVELOPE_URGENT; /* it says so where it lies */
    /* with the optional words */
    const void *behind = envelope_payload_behind((const struct envelope *)at, 0);
    CLIENT_LOAD(PAYLOAD, behind);
    if (h->length)
        memcpy(envelope_payload_behind(out, 0), behind, envelope_record_size(h) - sizeof(*h));
}
