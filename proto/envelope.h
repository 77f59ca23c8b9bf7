/* SPDX-License-Identifier: Apache-2.0 */
/* The envelope: one message as it lies in a queue, an outbox, a dead-letter queue or a port's ring.
 *
 * Records are contiguous, 8-byte aligned and of variable length: this header, then the optional
 * words that `prefix` names, then the payload, then padding to 8. Nothing here allocates or calls
 * the system.
 *
 * envelope.E1  A record's size is envelope_size(length) and never exceeds ENVELOPE_SIZE_MAX.
 *     `length` counts the optional words, too: whoever only carries a record need not know them.
 * envelope.E2  A header of 24 zero bytes is never valid (length and type 0 belong to no message): a
 *     hole punched into a ring by its client is told from a record.
 * envelope.E3  `from` is written by the executor alone; what a client writes there is ignored.
 * envelope.E4  Each bit of `prefix` stands for a word of 8 bytes, in the order of the bits, those
 *     that have no name yet included: so a record is walked, carried and delivered by who does not
 *     know them. A port refuses them.
 * envelope.E5  Where the payload is, envelope_payload() says, and nobody else; how long it is,
 *     envelope_payload_size().
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "bounds.h"
#include "reference.h"

enum envelope_flags {
    ENVELOPE_REPLY = 1 << 1, /* it repeats the correlation id of what it answers */
    /* was in flight at a crash: its earlier run left no effect in the system */
    ENVELOPE_REDELIVERED = 1 << 2,
    /* an init record; or a message with which its receiver's init has faulted last */
    ENVELOPE_INIT = 1 << 3,
    /* its queue's runner has left it out (policy drop-oldest); not in what anybody sends */
    ENVELOPE_DROPPED = 1 << 4,
    ENVELOPE_URGENT = 1 << 5, /* in a port's ring: for its receiver's urgent lane; nowhere else */
    /* it was running when the executor died, and nothing explains that (engine/run/suspect.h):
     * `behaviour` says how often */
    ENVELOPE_SUSPECT = 1 << 6,
    ENVELOPE_RESERVED = 0xc1, /* must be zero in what a client posts */
    ENVELOPE_CLIENT_MAY_SET = ENVELOPE_REPLY | ENVELOPE_URGENT,
};

/* Optional words between header and payload (envelope.E4). */
enum envelope_prefix {
    PREFIX_CORRELATION = 1 << 0, /* an id that a reply repeats */
    PREFIX_TRACE = 1 << 1,       /* a trace's id, which what this message causes has as well */
    PREFIX_ACCEPTED = 1 << 2,    /* stamp of its acceptance, and hops since */
    PREFIX_KIND = 1 << 3,        /* what the service says of it: timer, DOWN, no answer, group */
    PREFIX_AFTER = 1 << 4,       /* in a port's ring alone: when it is to be sent */
    PREFIX_UNTIL = 1 << 5, /* of a publication under way: until which membership (asks/group.h) */
    PREFIX_KNOWN = 0x3f,
    PREFIX_WORDS_MAX = 8, /* bits */
    /* the others are the service's own */
    PREFIX_CLIENT_MAY_SET = PREFIX_CORRELATION | PREFIX_TRACE | PREFIX_AFTER,
};

struct envelope {
    actor_ref to;
    actor_ref from;
    uint16_t type;   /* interned message type; below MESSAGE_TYPE_FIRST_USER: system messages */
    uint16_t length; /* bytes behind the header: optional words and payload */
    /* the sender's idea of the receiver's behaviour index; checked against `type`. Of a dead
     * letter: enum envelope_reason; with ENVELOPE_SUSPECT: deaths */
    uint8_t behaviour;
    uint8_t flags;
    uint8_t attempts; /* faults so far while this record was handled */
    uint8_t prefix;   /* enum envelope_prefix */
};
static_assert(sizeof(struct envelope) == 24 && offsetof(struct envelope, type) == 16,
              "layout of the envelope");

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the third word is read as one");

/* The third word of a plain envelope: no flags, no attempts, no optional words. */
static inline uint64_t envelope_meta(uint16_t type, uint64_t length, uint32_t behaviour)
{
    return type | length << 16 | (uint64_t)behaviour << 32;
}
static inline uint64_t *envelope_words(struct envelope *e)
{
    return (uint64_t *)e;
}

#define ENVELOPE_SIZE_MAX (sizeof(struct envelope) + 8 * PREFIX_WORDS_MAX + ODEON_PAYLOAD_MAX)
static_assert(8 * PREFIX_WORDS_MAX + ODEON_PAYLOAD_MAX <= UINT16_MAX, "a length has 16 bits");

static inline uint64_t envelope_size(uint64_t length)
{
    return sizeof(struct envelope) + ((length + 7) & ~UINT64_C(7));
}
static inline uint64_t envelope_record_size(const struct envelope *e)
{
    return envelope_size(e->length);
}
/* Bytes of the optional words. Bits, counted by a table of sixteen: not every processor does it. */
static inline uint32_t envelope_prefix_bytes(unsigned prefix)
{
    const uint64_t bits = UINT64_C(0x4332322132212110);
    return 8 * (uint32_t)((bits >> (prefix & 15) * 4 & 15) + (bits >> (prefix >> 4 & 15) * 4 & 15));
}
/* envelope.E5.  `prefix`: the record's, where it is known without a look. */
static inline void *envelope_payload_behind(const struct envelope *e, unsigned prefix)
{
    return (uint8_t *)(uintptr_t)(e + 1) + envelope_prefix_bytes(prefix);
}
static inline void *envelope_payload(const struct envelope *e)
{
    return envelope_payload_behind(e, e->prefix);
}
/* Are the optional words all there?  Of a record in this process's hands. */
static inline bool envelope_prefix_fits(const struct envelope *e)
{
    return e->length >= envelope_prefix_bytes(e->prefix);
}
static inline uint32_t envelope_payload_size(const struct envelope *e)
{
    return e->length - envelope_prefix_bytes(e->prefix);
}
/* The optional word of one bit, NULL: it has none. */
static inline uint64_t *envelope_word(const struct envelope *e, enum envelope_prefix bit)
{
    if (!(e->prefix & bit) || !envelope_prefix_fits(e))
        return NULL;
    return (uint64_t *)(uintptr_t)envelope_payload_behind(e, e->prefix & (bit - 1u));
}
/* Of a record whose prefix has the bit, and which is being written. */
static inline void envelope_word_put(struct envelope *e, enum envelope_prefix bit, uint64_t word)
{
    *(uint64_t *)envelope_payload_behind(e, e->prefix & (bit - 1u)) = word;
}
/* ... of the correlation id, 0 if it has none. */
static inline uint64_t envelope_correlation(const struct envelope *e)
{
    const uint64_t *word = envelope_word(e, PREFIX_CORRELATION);
    return word ? *word : 0;
}

/* ... of the trace's id, 0 if it has none. */
static inline uint64_t envelope_trace(const struct envelope *e)
{
    const uint64_t *word = envelope_word(e, PREFIX_TRACE);
    return word ? *word : 0;
}

/* The word of PREFIX_ACCEPTED: {stamp : 56, hops : 8}. The stamp: nanoseconds of CLOCK_MONOTONIC,
 * when it was sent; 0: nobody took one. Hops: so often has a receiver passed it on. */
static inline uint64_t envelope_accepted(uint64_t now_ns, unsigned hops)
{
    return now_ns << 8 | hops;
}
static inline uint64_t envelope_sent_ns(const struct envelope *e)
{
    const uint64_t *word = envelope_word(e, PREFIX_ACCEPTED);
    return word ? *word >> 8 : 0;
}
static inline unsigned envelope_hops(const struct envelope *e)
{
    const uint64_t *word = envelope_word(e, PREFIX_ACCEPTED);
    return word ? (unsigned)(*word & 0xff) : 0;
}

/* The word of PREFIX_KIND: {what : 8, timer : 24, of it : 32}; `timer`: of what a periodic one has
 * sent, which (timers.h), else 0. KIND_ANSWER is in the context of what answers a question
 * (ENVELOPE_REPLY), and in a record only of what has been taken as the answer, and put off
 * (asks/stash.h). */
enum envelope_kind { KIND_NONE, KIND_TIMER, KIND_ANSWER, KIND_DOWN, KIND_GROUP };
#define KIND_TAG UINT64_C(0x00ffffff00000000)
static inline uint32_t envelope_kind_tag(uint64_t kind)
{
    return (uint32_t)((kind & KIND_TAG) >> 32);
}
/* Of what a timer has sent; `missed`: so many of its times went by before it could. */
static inline uint64_t envelope_kind_timer(uint64_t missed)
{
    return (uint64_t)KIND_TIMER << 56 | (missed < UINT32_MAX ? missed : UINT32_MAX);
}

/* Of a publication under way: the place from which on its group's members are still to get it. */
static inline uint64_t envelope_kind_group(uint32_t place)
{
    return (uint64_t)KIND_GROUP << 56 | place;
}

/* An outcome that its asker has been handed, and has put off: it ends no question. */
static inline int envelope_is_taken_answer(const struct envelope *e)
{
    const uint64_t *kind = envelope_word(e, PREFIX_KIND);
    return kind != NULL && *kind >> 56 == KIND_ANSWER;
}

/* The word of PREFIX_AFTER: {1: a moment of CLOCK_BOOTTIME, 0: of CLOCK_MONOTONIC : 1, ns : 63}. In
 * the timer's message its place is that of PREFIX_KIND. */
#define ENVELOPE_AFTER_BOOT (UINT64_C(1) << 63)
static_assert((PREFIX_CLIENT_MAY_SET & (PREFIX_AFTER - 1)) < PREFIX_KIND,
              "with either bit the same words come before");

/* Message types that exist without being registered. */
enum message_type_system {
    MESSAGE_TYPE_NONE = 0, /* never sent; envelope.E2 */
    MESSAGE_TYPE_INIT = 1,
    MESSAGE_TYPE_POISON_DELETE = 2,
    MESSAGE_TYPE_POISON_DESTROY = 3,
    MESSAGE_TYPE_POISON_FINISHED = 4,
    MESSAGE_TYPE_REFUSAL = 5, /* to a port: a posted record was refused; payload struct refusal */
    /* in a port's ring: its client wants to be told of the receiver's end, by a correlation id and
     * no payload; to a port: that end has come; payload struct down */
    MESSAGE_TYPE_PORT_DOWN = 6,
    /* in a port's ring: ... not any more, by the same words */
    MESSAGE_TYPE_PORT_DEMONITOR = 8,
    MESSAGE_TYPE_FIRST_USER = 16, /* from here on they have an entry in the table of types */
    /* the service's own word for a question that stays without an answer: struct no_answer */
    MESSAGE_TYPE_NO_ANSWER = 16,
    MESSAGE_TYPE_DOWN = 17,        /* ... for the end of an actor that is watched: struct down */
    MESSAGE_TYPE_FIRST_PLAIN = 18, /* these anybody may send */
};

/* Why a record ended otherwise than in a handler: enum odeon_reason of <odeon/message.h>, number by
 * number. */
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
    REASON_USER_FULL,       /* as much waits for the sender's user as may: quota-waiting-bytes */
    REASON_MEMORY_FULL,     /* as much waits as there is memory for: waiting-bytes */
    REASON_SUSPECTED,       /* it was running at as many unexplained deaths as are allowed */
    REASON_USER_SLOW,       /* what waits for the sender's user takes as long as it may:
                               quota-waiting-ms */
    REASON_DEADLINE,        /* the asker waited for its answer as long as it wanted to */
    /* the following are ends of actors, and of no record */
    REASON_FINISHED,    /* its behaviour said so */
    REASON_STOPPED,     /* somebody else asked it to end */
    REASON_BEGUN_ANEW,  /* its state was lost with the executor; it begins again */
    REASON_NOT_RESUMED, /* ... and its type does not */
    /* and this one of records again */
    REASON_TIMERS_FULL,     /* as many messages wait for their time as may, or for its user */
    REASON_STASHED,         /* its receiver had put it off, and has ended or begun anew */
    REASON_NO_SUCH_MONITOR, /* what a client gives up is none of its port's, or has been told */
    REASON_N,
};

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

/* Payload of MESSAGE_TYPE_NO_ANSWER, and the text that describes it. */
struct no_answer {
    uint64_t token;
    uint32_t reason;
    uint32_t reserved;
};
static_assert(sizeof(struct no_answer) == 16, "layout of what no answer is");
#define NO_ANSWER_NAME   "odeon_no_answer"
#define NO_ANSWER_FIELDS "{ uint64_t token; uint32_t reason; uint32_t reserved; }"

/* Payload of MESSAGE_TYPE_DOWN: who has ended, the watch that says so, and why. Of
 * MESSAGE_TYPE_PORT_DOWN: `monitor` is the correlation id. */
struct down {
    actor_ref ref;
    uint64_t monitor;
    uint32_t reason;
    uint32_t reserved;
};
static_assert(sizeof(struct down) == 24, "layout of an end that is told");
#define DOWN_NAME   "odeon_down"
#define DOWN_FIELDS "{ odeon_ref ref; uint64_t monitor; uint32_t reason; uint32_t reserved; }"
