/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and references: what plugins and clients share.
 *
 * A message type is a plain C struct with a name and a version. Its declaration is put into a
 * header that whoever sends or receives it includes:
 *
 *     ODEON_MESSAGE(counter_add, 1, { int64_t amount, weight; });
 *     ODEON_SIGNAL(counter_get, 1);
 *     ODEON_MESSAGE(line, 1, { uint32_t number; char text[]; });     ends in a tail of bytes
 *
 * It gives `struct counter_add` and a description of the type, one per shared object, that the
 * service compares by name, version, size and fields: these by what they mean, so that spacing, or
 * `int64_t a, b;` for `int64_t a; int64_t b;`, makes no difference. The macros are for C; other
 * languages fill struct odeon_message_type themselves.
 */
#ifndef ODEON_MESSAGE_H
#define ODEON_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ODEON_API __attribute__((visibility("default"))) /* what libodeon exports */

/* An actor, or a client's port, as the service knows it: {generation 32, executor 8, slot 24 bits};
 * there is one executor, with number 1. 0 is nobody. A reference stays valid in meaning for ever:
 * once its actor has ended, what is sent to it becomes a dead letter. */
typedef uint64_t odeon_ref;

#define ODEON_NOBODY ((odeon_ref)0)

/* The parts of a reference, for whoever shows it. */
#define ODEON_REF_SLOT_BITS     24
#define ODEON_REF_EXECUTOR_BITS 8
#define ODEON_EXECUTOR          1u /* the only one there is */

static inline uint32_t odeon_ref_generation(odeon_ref ref)
{
    return (uint32_t)(ref >> 32);
}
static inline uint32_t odeon_ref_executor(odeon_ref ref)
{
    return (uint32_t)ref >> ODEON_REF_SLOT_BITS;
}
static inline uint32_t odeon_ref_slot(odeon_ref ref)
{
    return (uint32_t)ref & ((1u << ODEON_REF_SLOT_BITS) - 1);
}
static inline odeon_ref odeon_ref_make(uint32_t executor, uint32_t slot, uint32_t generation)
{
    return (uint64_t)generation << 32 | executor << ODEON_REF_SLOT_BITS | slot;
}

/* What becomes of an actor when a behaviour returns, or of a message object when it has been sent
 * (thesis, "Actor Behaviours"). */
enum odeon_allocation {
    ODEON_NODELETE = 0, /* goes on */
    ODEON_DELETE = 1,   /* run fini, free */
    ODEON_DESTROY = 2,  /* run fini, keep the storage for the next of its kind */
    ODEON_FINISHED = 3, /* mark as done: neither fini nor free */
};

/* Describes a message type.  Lives as long as the shared object that holds it. */
struct odeon_message_type {
    uint32_t struct_size; /* of this struct, as compiled */
    uint32_t version;
    const char *name;
    const char *fields;   /* the struct's body as written, "" for a signal */
    uint32_t size;        /* sizeof the struct; 0 for a signal */
    uint32_t has_tail;    /* 1: a tail of bytes follows the struct */
    uint32_t tail_offset; /* where it begins */
    /* plugins: filled in by the host at load; clients: unused, see odeon_message_id() */
    uint32_t id;
    uint64_t reserved[4]; /* 0 */
};

/* Built-in messages. */
enum odeon_builtin_message {
    /* end the receiver as if its behaviour had returned ODEON_DELETE */
    ODEON_MSG_POISON_DELETE = 2,
    ODEON_MSG_POISON_DESTROY = 3,
    ODEON_MSG_POISON_FINISHED = 4,
    ODEON_MSG_REFUSAL = 5, /* to a port: struct odeon_refusal */
    /* to a port that has asked for it (odeon_port_monitor()): struct odeon_down of
     * <odeon/monitor.h> */
    ODEON_MSG_DOWN = 6,
    ODEON_MSG_DEMONITOR = 8, /* the type that a refusal of odeon_port_demonitor() names */
};

/* In the place of a delay or a period: the same, by CLOCK_BOOTTIME, which goes on while the machine
 * is suspended. */
#define ODEON_BOOT_TIME(ns_) ((uint64_t)(ns_) | ODEON_BOOT_TIME_BIT_)
#define ODEON_BOOT_TIME_BIT_ (UINT64_C(1) << 63)

/* Why a record was refused or became a dead letter. */
enum odeon_reason {
    ODEON_REASON_NONE = 0,
    ODEON_REASON_NO_SUCH_ACTOR,
    ODEON_REASON_NOT_ACCEPTED,
    ODEON_REASON_BAD_SIZE,
    ODEON_REASON_QUEUE_FULL,
    ODEON_REASON_ATTEMPTS,
    ODEON_REASON_TYPE_NOT_LOADED,
    ODEON_REASON_INIT_FAILED,
    ODEON_REASON_CLIENT_GONE,
    ODEON_REASON_BACKLOG_FULL,
    ODEON_REASON_QUARANTINED, /* the receiver's type has crashed too often and is not run */
    ODEON_REASON_USER_FULL,   /* as much waits for the sender's user as may: quota-waiting-bytes */
    ODEON_REASON_MEMORY_FULL, /* as much waits as there is memory for: waiting-bytes */
    ODEON_REASON_SUSPECTED,   /* it was running at too many deaths that nothing explains */
    /* what waits for the sender's user takes as long as it may: quota-waiting-ms */
    ODEON_REASON_USER_SLOW,
    /* of odeon_no_answer, and of a client's post with a deadline: nobody has answered in time */
    ODEON_REASON_DEADLINE,
    /* of odeon_down: */
    ODEON_REASON_FINISHED,    /* its own behaviour ended it */
    ODEON_REASON_STOPPED,     /* somebody else did: odeon_stop(), odeonctl actor stop, ... */
    ODEON_REASON_BEGUN_ANEW,  /* its state was lost with an executor; it begins again */
    ODEON_REASON_NOT_RESUMED, /* ... and it does not: ODEON_RESTART_STOP */
    /* of odeon_port_post_after(), odeon_port_monitor(): as many messages wait for their time as may
     * (timers, timer-bytes), or half of what others leave are the sender's user's; of what was
     * posted to a group: a member that had no room was left out for that, all others have it */
    ODEON_REASON_TIMERS_FULL,
    /* its receiver had stashed it, and has ended, or begun anew */
    ODEON_REASON_STASHED,
    /* of odeon_port_demonitor(): this port has no such monitor, or it has been told */
    ODEON_REASON_NO_SUCH_MONITOR,
};

/* Payload of ODEON_MSG_REFUSAL. */
struct odeon_refusal {
    uint64_t correlation; /* of the refused record, 0 if it had none */
    odeon_ref to;
    uint16_t type;
    uint16_t reason; /* enum odeon_reason */
    uint32_t reserved;
};

#ifndef __cplusplus
#include <odeon/message_macros.h>
#endif

#ifdef __cplusplus
}
#endif

#endif
