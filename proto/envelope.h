/* SPDX-License-Identifier: Apache-2.0 */
/* The envelope: one message as it lies in a queue, an outbox, a dead-letter queue or a port's ring.
 *
 * Records are contiguous, 8-byte aligned and of variable length: this header, then the payload,
 * then padding to 8. Nothing here allocates or calls the system.
 *
 * E1  A record's size is envelope_size(length) and never exceeds ENVELOPE_SIZE_MAX.
 * E2  A header of 24 zero bytes is never valid (length and type 0 belong to no message): a hole
 *     punched into a ring by its client is told from a record.
 * E3  `from` is written by the executor alone; what a client writes there is ignored.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "bounds.h"

/* slot in the low half, generation in the high half; 0 = nobody (generations start at 1) */
typedef uint64_t actor_ref;

static inline uint32_t actor_ref_slot(actor_ref ref)
{
    return (uint32_t)ref;
}
static inline uint32_t actor_ref_generation(actor_ref ref)
{
    return (uint32_t)(ref >> 32);
}
static inline actor_ref actor_ref_make(uint32_t slot, uint32_t generation)
{
    return (uint64_t)generation << 32 | slot;
}

enum envelope_flags {
    /* the payload begins with a uint64_t correlation id, which a reply repeats */
    ENVELOPE_CORRELATED = 1 << 0,
    ENVELOPE_REPLY = 1 << 1, /* ... and this is the reply */
    /* was in flight at a crash: its earlier run left no effect in the system */
    ENVELOPE_REDELIVERED = 1 << 2,
    /* an init record; or a message with which its receiver's init has faulted last */
    ENVELOPE_INIT = 1 << 3,
    /* its queue's runner has left it out (policy drop-oldest); not in what anybody sends */
    ENVELOPE_DROPPED = 1 << 4,
    ENVELOPE_URGENT = 1 << 5, /* in a port's ring: for its receiver's urgent lane; nowhere else */
    ENVELOPE_RESERVED = 0xc0, /* must be zero in what a client posts */
    ENVELOPE_CLIENT_MAY_SET = ENVELOPE_CORRELATED | ENVELOPE_REPLY | ENVELOPE_URGENT,
};

struct envelope {
    actor_ref to;
    actor_ref from;
    uint16_t type;   /* interned message type; below MESSAGE_TYPE_FIRST_USER: system messages */
    uint16_t length; /* bytes of payload */
    /* the sender's idea of the receiver's behaviour index; checked against `type` */
    uint8_t behaviour;
    uint8_t flags;
    uint8_t attempts; /* faults so far while this record was handled */
    uint8_t reserved;
};
static_assert(sizeof(struct envelope) == 24 && offsetof(struct envelope, type) == 16,
              "layout of the envelope");

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the third word is read as one");

/* The third word of a plain envelope: no flags, no attempts. */
static inline uint64_t envelope_meta(uint16_t type, uint64_t length, uint32_t behaviour)
{
    return type | length << 16 | (uint64_t)behaviour << 32;
}
static inline uint64_t *envelope_words(struct envelope *e)
{
    return (uint64_t *)e;
}

#define ENVELOPE_SIZE_MAX (sizeof(struct envelope) + ODEON_PAYLOAD_MAX + 8)

static inline uint64_t envelope_size(uint64_t length)
{
    return sizeof(struct envelope) + ((length + 7) & ~UINT64_C(7));
}
static inline uint64_t envelope_record_size(const struct envelope *e)
{
    return envelope_size(e->length);
}
static inline void *envelope_payload(const struct envelope *e)
{
    return (void *)(e + 1);
}

/* Message types that exist without being registered. */
enum message_type_system {
    MESSAGE_TYPE_NONE = 0, /* never sent; E2 */
    MESSAGE_TYPE_INIT = 1,
    MESSAGE_TYPE_POISON_DELETE = 2,
    MESSAGE_TYPE_POISON_DESTROY = 3,
    MESSAGE_TYPE_POISON_FINISHED = 4,
    MESSAGE_TYPE_REFUSAL = 5, /* to a port: a posted record was refused; payload struct refusal */
    MESSAGE_TYPE_FIRST_USER = 16,
};

/* Why a record ended otherwise than in a handler.  Texts: envelope_reason_name(). */
enum envelope_reason {
    REASON_NONE = 0,
    REASON_NO_SUCH_ACTOR,   /* the slot never existed or the actor has ended */
    REASON_NOT_ACCEPTED,    /* the receiver has no behaviour for this type */
    REASON_BAD_SIZE,        /* payload does not fit the registered type */
    REASON_QUEUE_FULL,      /* the receiver's queue is at its limit */
    REASON_ATTEMPTS,        /* handler faulted as often as is allowed */
    REASON_TYPE_NOT_LOADED, /* the receiver's plugin is not there (any more) */
    REASON_INIT_FAILED,     /* the receiver could not be initialised */
    REASON_CLIENT_GONE,     /* the receiving port has been closed */
    REASON_BACKLOG_FULL,    /* the receiving port's backlog is at its limit */
    REASON_QUARANTINED,     /* the receiver's type has crashed too often and is not run */
    REASON_N,
};

static inline const char *envelope_reason_name(unsigned reason)
{
    static const char *const names[REASON_N] = {
        [REASON_NONE] = "none",
        [REASON_NO_SUCH_ACTOR] = "no-such-actor",
        [REASON_NOT_ACCEPTED] = "not-accepted",
        [REASON_BAD_SIZE] = "bad-size",
        [REASON_QUEUE_FULL] = "queue-full",
        [REASON_ATTEMPTS] = "attempts-exhausted",
        [REASON_TYPE_NOT_LOADED] = "type-not-loaded",
        [REASON_INIT_FAILED] = "init-failed",
        [REASON_CLIENT_GONE] = "client-gone",
        [REASON_BACKLOG_FULL] = "backlog-full",
        [REASON_QUARANTINED] = "quarantined",
    };
    return reason < REASON_N ? names[reason] : "unknown";
}

/* Payload of MESSAGE_TYPE_REFUSAL.  `correlation` is that of the refused record, 0 if it had
 * none. */
struct refusal {
    uint64_t correlation;
    actor_ref to;
    uint16_t type;
    uint16_t reason;
    uint32_t reserved;
};
static_assert(sizeof(struct refusal) == 24, "layout of a refusal");
