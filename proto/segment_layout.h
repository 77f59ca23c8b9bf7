/* SPDX-License-Identifier: Apache-2.0 */
/* The engine segment: everything that survives the death of an executor. docs/shared-memory.md
 * draws it.
 *
 * One memfd, mapped shared by the executor alone. Inside, everything is an offset or an index. What
 * is not here (ready masks, free lists, pointers to code and state), or is here and means nothing
 * to recovery (owner words), is made anew by each start.
 *
 * Writers: a queue's words by whoever holds its lock or runs its batch; a worker's block by that
 * worker; the tables of types and names by the control thread or under the engine's mutex; a port's
 * cursors by whoever runs or locks the port.
 *
 * segment_layout.L1  No batch present (sel) => the inactive len is 0, cursor and wrap are 0.
 * segment_layout.L2  len[active] and sel change only under `lock` (sel also by the running worker
 *     while a batch is present).
 * segment_layout.L3  While a commit record names a queue, the record's cursor and tail are the
 *     truth, not the queue's.
 * segment_layout.L4  Journal, fault, undo and an actor's spawn tag carry the commit count at which
 *     they were written, and are valid only while it equals the worker's count (the valid record's
 *     high + low part).
 */
#pragma once

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bounds.h"
#include "envelope.h"

#define SEGMENT_MAGIC UINT64_C(0x6f64656f6e736731) /* "odeonsg1" */
/* Layout 2.  Layout 1, of trees before 0.1.0, had numbers up to 5; 6 had no timers, 7 no questions,
 * 8 no watches, 9 no groups and phases. */
#define SEGMENT_VERSION           11
#define SEGMENT_VERSION_TIMERLESS 6
#define SEGMENT_VERSION_LAYOUT    2 /* what people call it */

/* A table that begins somewhere in the segment and has so many entries; 0, 0: there is none. */
struct segment_table {
    uint64_t offset, count;
};
/* What the layout has a place for: timers; the others, which no build makes yet, are 0, 0. */
struct segment_tables {
    struct segment_table timers, asks, watchers, groups, stashes, blocks;
};

struct segment_header {
    _Atomic uint64_t magic; /* stored last when formatting */
    uint32_t version;
    uint32_t n_ids; /* workers, detached actors and the control thread, in this order */
    uint64_t layout_hash;
    uint64_t size;
    /* message queues, two a mailbox; the table has ODEON_PORTS_MAX backlogs and the dead letters
     * behind them */
    uint32_t n_queues;
    uint32_t actors_max;
    /* room: how many of the workers run is not the segment's business */
    uint32_t workers_max, queues_per_worker, detached_max;
    uint32_t n_mailboxes; /* what actors are in and workers run */
    uint64_t limit_bytes, outbox_bytes, backlog_bytes, dlq_bytes;
    uint64_t window_bytes;  /* of one buffer of a message queue */
    uint64_t durable_bytes; /* largest state that is kept, 0: none is */
    uint64_t state_stride, undo_stride;
    uint64_t timer_bytes; /* of messages that wait for their time, and of each of their classes */
    uint64_t workers_offset, queues_offset, actors_offset, args_offset, message_types_offset,
        actor_types_offset, names_offset, ports_offset;
    uint64_t outboxes_offset, windows_offset, backlogs_offset, dlq_offset, states_offset,
        undos_offset, timer_messages_offset, phases_offset;
    struct segment_tables coming;
    _Atomic uint64_t boots;
    _Atomic uint32_t clean; /* 1: stopped in order, nothing is attached */
    _Atomic uint32_t n_message_types, n_actor_types;
    _Atomic uint32_t slots_high;  /* no slot from here on was ever used; raised before one is */
    _Atomic uint32_t timers_high; /* the same of timers */
    _Atomic uint32_t n_phases;
    /* what actors keep of a question that they answer later is signed with it; made once */
    uint64_t answer_key[2];
};

/* Ids of queues, and of destinations of records:
 *   [0, M)          mailboxes, by the queue of their ordinary lane: W * K ordinary ones, K a
 *                   worker; W pinned ones, one a worker; 64 follow
 *                   queues; W aside queues, one a worker; one a detached actor
 *   [M, Q), Q = 2 M the queues of their urgent lanes (urgent.h): that of mailbox id - M
 *   [Q, Q + P)      as a queue: the backlog of port id - Q; as a destination: that port (ring or
 *                   backlog, decided under the lock)
 *   Q + P           the dead letters
 * Ids of sources beyond queues, in a commit record: Q + P + 1 + p, the submission ring of port
 * p. */

enum { SEL_ACTIVE = 1 << 0, SEL_BATCH = 1 << 1 };
#define LOCK_WAITERS UINT32_C(0x80000000)

struct segment_queue {
    alignas(128) _Atomic uint32_t lock; /* 0, or worker id + 1, and LOCK_WAITERS */
    _Atomic uint32_t sel;
    _Atomic uint64_t len[2];
    /* The batch while no record names the queue. Without a wrap: [cursor, len[inactive]). With one,
     * the batch has gone on at the beginning of its buffer: [cursor, wrap), then [0,
     * len[inactive]). */
    _Atomic uint64_t cursor, wrap;
    /* of a message queue: which of all windows its buffers are (set_aside.h exchanges them) */
    _Atomic uint32_t window[2];
    /* up to here appends extend the batch before they go on at the beginning; means nothing to
     * recovery */
    _Atomic uint64_t ring;
    /* of a mailbox's ordinary queue: its owner word (engine/segment/owner.h), here for the sake of
     * the cache line; each start stores it anew, and it means nothing to recovery */
    _Atomic uint64_t own;
};
static_assert(offsetof(struct segment_queue, own) + 8 <= 64,
              "what an append, and what a gulp touches is one cache line");

/* One of a worker's two commit records. The first two words are what a message changes, and are
 * written by one store of 16 bytes: commits of one batch follow each other in the same record. What
 * names the source or an actor's end goes into the other record, whose first two words make it the
 * valid one: that of the two with the greater count. `what` 0: being written, not valid. */
struct segment_commit {
    /* {tail : 32, cursor : 32}, in units of 8 bytes, from `base` on */
    alignas(64) _Atomic uint64_t where;
    /* {committed length of the outbox in units of 8 bytes : 27, low part of the count : 37} */
    _Atomic uint64_t what;
    _Atomic uint64_t high; /* of the count: a multiple of 2^37 */
    uint64_t base;         /* of a ring's cursors, which run freely; 0 for a queue */
    uint32_t source;       /* id + 1; 0: attached to nothing */
    uint32_t redo_how;
    uint64_t
        redo; /* actor to end, 0: none (how: commit_end_how()); COMMIT_DIRECT: the port's cursor */
    uint64_t wrap; /* as a queue's */
    /* COMMIT_DIRECT; of COMMIT_ASIDE: units of 8 bytes in the queue's new buffer, {that one, the
     * record's} */
    uint32_t port, port_generation;
};
/* redo_how of a record that was taken from a port straight into a batch of its own: port's cursor
 * and batch become true together. */
#define COMMIT_DIRECT UINT32_C(0xff)
/* ... of the control thread's, when it has taken dead letters out: redo - 1 is their active
 * buffer. */
#define COMMIT_LETTERS UINT32_C(0xfc)
/* ... of an actor that has ended and begins anew in its place, under the same reference (its slot's
 * `incarnation` is one more).  No build writes it yet, and recovery refuses it. */
#define COMMIT_IN_PLACE UINT32_C(0xfb)
/* ... of the control thread's, when a timer has fired: `redo` is its id; `port` and
 * `port_generation` are the halves of its next deadline, 0: it has none. */
#define COMMIT_TIMER UINT32_C(0xfa)
/* redo_how of a batch that an aside queue was given: `redo` is the queue that it was taken from. */
#define COMMIT_ASIDE UINT32_C(0xfe)
/* ... of a batch that recovery wrote anew, with what waited behind it: the active buffer is in it
 * and has become empty. */
#define COMMIT_POSTPONED UINT32_C(0xfd)

/* ... of an actor that has ended: what becomes of its state, and why. */
static inline uint32_t commit_end_how(uint32_t how, enum envelope_reason reason)
{
    return how | (uint32_t)reason << 8;
}
static inline enum envelope_reason commit_end_reason(const struct segment_commit *slot)
{
    return (enum envelope_reason)(slot->redo_how >> 8);
}

/* Is `redo` an actor, which has ended with the message? */
static inline bool commit_ends_actor(const struct segment_commit *slot)
{
    return slot->redo && slot->redo_how != COMMIT_DIRECT && slot->redo_how != COMMIT_ASIDE &&
           slot->redo_how != COMMIT_POSTPONED && slot->redo_how != COMMIT_LETTERS &&
           slot->redo_how != COMMIT_TIMER;
}

#define COMMIT_LOW_BITS   37
#define COMMIT_LOW_MASK   (UINT64_MAX >> (64 - COMMIT_LOW_BITS))
#define COMMIT_OUT_MAX    (UINT64_C(1) << (64 - COMMIT_LOW_BITS + 3)) /* bytes of an outbox */
#define COMMIT_WINDOW_MAX (UINT64_C(1) << 35)                         /* bytes of a window */
static_assert(COMMIT_OUT_MAX == ODEON_OUTBOX_BYTES_MAX &&
                  COMMIT_WINDOW_MAX == ODEON_WINDOW_BYTES_MAX,
              "bounds of the commit record");

static inline uint64_t commit_where(uint64_t cursor, uint64_t tail)
{
    return cursor >> 3 | tail << 29;
}
static inline uint64_t commit_what(uint64_t out, uint64_t low)
{
    return out << (COMMIT_LOW_BITS - 3) | low;
}
static inline uint64_t commit_cursor(const struct segment_commit *slot)
{
    return slot->base +
           ((atomic_load_explicit(&slot->where, memory_order_relaxed) & UINT32_MAX) << 3);
}
static inline uint64_t commit_tail(const struct segment_commit *slot)
{
    /* of a queue's batch; a ring's is nobody's business */
    return atomic_load_explicit(&slot->where, memory_order_relaxed) >> 32 << 3;
}
static inline uint64_t commit_out(const struct segment_commit *slot)
{
    return atomic_load_explicit(&slot->what, memory_order_relaxed) >> COMMIT_LOW_BITS << 3;
}

/* the entry's length is a port's dtail, not its backlog's len */
#define JOURNAL_RING UINT32_C(0x80000000)
struct segment_journal_entry {
    uint32_t destination;
    uint32_t reserved;
    uint64_t length;
};

/* How a handler ended the executor. */
enum segment_fault_kind {
    FAULT_SIGNAL,       /* by a signal that its own code raised */
    FAULT_STALLED,      /* it did not return */
    FAULT_EXIT,         /* it called exit() or one like it */
    FAULT_THREAD_ENDED, /* it ended its thread */
};
enum { FAULT_BUILD_ID = 44, FAULT_TRACE = 1024 };
/* What a record is still owed: to be told of, and counted for quarantine. */
enum {
    FAULT_OWED = 1,
    FAULT_COUNTED = 2, /* and n more: its type has crashed n times with this one */
};

struct segment_fault {
    uint64_t tag; /* valid while it equals count */
    uint32_t signal, attempts;
    uint64_t address, instruction;
    actor_ref actor;
    uint32_t message_type, actor_type;
    uint32_t in_init; /* 1: the actor had not been initialised yet */
    uint32_t kind;    /* enum segment_fault_kind */
    /* Text, NUL-terminated, "" when it cannot be told: the build id of the code that failed; where
     * it was, frame by frame, innermost first: MODULE+0xOFFSET, separated by blanks. Stored behind
     * the tag: getting it may itself fault. */
    char build_id[FAULT_BUILD_ID], trace[FAULT_TRACE];
    /* Stored by the recovery that blames it, before its tag is void, and 0 when all of it is done.
     * Earlier builds of this layout leave 0. */
    uint32_t owed;
};

/* A message that is run when the executor dies without a word (engine/run/suspect.h). It was
 * padding in earlier builds of this layout, all 0, which do not look here. */
enum segment_trial {
    TRIAL_NONE,
    TRIAL_INIT, /* a suspect's turn: its receiver is being initialised, or about to be run */
    TRIAL_RUN,  /* ... its behaviour is being run */
};
enum segment_verdict {
    VERDICT_NONE,      /* no recovery is under way, and nothing is known of what comes */
    VERDICT_EXPLAINED, /* something explains the last death: no message is suspected of it */
    VERDICT_COUNTS,
};
struct segment_suspicion {
    uint64_t tag;             /* segment_layout.L4; of `deaths` */
    uint32_t deaths;          /* of the message at the cursor, the last one included */
    _Atomic uint32_t trial;   /* enum segment_trial */
    _Atomic uint32_t verdict; /* enum segment_verdict; the control thread's block alone */
    uint32_t reserved;
};

struct segment_worker {
    /* the pair begins at a multiple of its size: one bit of the address tells them apart */
    alignas(128) struct segment_commit slot[2];
    alignas(64) _Atomic uint64_t turn; /* 1: the attached batch's handlers are being run */
    alignas(64) _Atomic uint64_t arm;  /* {count : 48, step : 16} */
    struct segment_journal_entry entry[2];
    struct segment_suspicion suspicion;
    alignas(64) struct segment_fault fault;
};
static_assert(offsetof(struct segment_worker, fault) == 256, "suspicion fits where nothing was");
static_assert(sizeof(struct segment_commit) == 64, "commit record: a line each, found by a shift");

#define JOURNAL_STEP_BITS 16
#define JOURNAL_STEP_MASK UINT64_C(0xffff)

/* An outbox is a log of runs: where to, then envelopes one after the other. `bytes` is stored when
 * the next run begins; the last run reaches to the committed length. */
struct outbox_run {
    uint32_t destination;
    uint32_t bytes;
};

/* In front of each record of the dead letters' window. */
struct segment_dead_letter {
    uint64_t id;         /* rising; the last one is the queue's cursor */
    uint64_t time_ns;    /* CLOCK_REALTIME */
    uint32_t actor_type; /* the receiver's, 0: it had ended */
    uint32_t reserved;
};

/* Slots below ODEON_PORTS_MAX stand for ports, slot p for port p; actors come behind them. */
enum actor_slot_state {
    ACTOR_SLOT_FREE = 0,
    ACTOR_SLOT_LIVE = 1,
    ACTOR_SLOT_PORT = 2,
    ACTOR_SLOT_SPENT = 3, /* its last generation has ended: nobody is in it again */
};
/* {generation : 32, type : 16, unused : 8, state : 8}. A free slot's generation is the next
 * actor's. */
struct segment_actor {
    _Atomic uint64_t word;
    /* spawn tag: not committed while worker `spawn_worker` still has this count */
    uint64_t spawn_count;
    uint32_t spawn_worker;
    uint16_t queue; /* destination id, for life */
    uint16_t args_size;
    actor_ref spawned_by;
    uint32_t name;    /* index + 1 */
    uint32_t account; /* user + 1 of the client that asked for it, 0: an actor did */
    /* Its phase (engine/actors/phases.h): {generation : 32, the set of behaviours : 16, that before
     * : 16}, numbers in the table of phases, 0: the type's first one; of another generation: the
     * first one, too. While that worker still has this count, the one before. */
    _Atomic uint64_t phase, phase_count;
    _Atomic uint32_t phase_worker;
    uint32_t reserved; /* 0 */
};
static_assert(sizeof(struct segment_actor) == 64, "actor slot");

/* The kept state of the actor in a slot (durable.h): a table of them, `state_stride` bytes each. */
struct segment_state {
    _Atomic uint64_t generation; /* of the actor that has been initialised with it */
    uint64_t reserved;
    alignas(16) uint8_t bytes[]; /* up to durable_bytes */
};
/* What a kept state was before the turn that is running: one for each worker id, `undo_stride`
 * bytes each. */
struct segment_undo {
    alignas(64) _Atomic uint64_t tag;
    uint32_t slot, size;
    uint64_t generation;
    uint64_t reserved;
    uint8_t bytes[];
};

/* A timer: when, and which of the messages that wait for their time is its own. {generation : 32,
 * unused : 24, state : 8}; a free one's generation is that of the next timer there. */
enum segment_timer_state { TIMER_FREE = 0, TIMER_LIVE = 1, TIMER_SPENT = 3 };
/* What a timer's deadline counts by: CLOCK_BOOTTIME goes on while the machine is suspended. */
enum segment_timer_clock { TIMER_CLOCK_MONOTONIC, TIMER_CLOCK_BOOT, TIMER_CLOCKS };
/* Is it put off by its actor (engine/asks/stash.h), or a group's copy for a member that has no room
 * (engine/timers/kept.h)? */
enum segment_timer_stashed { TIMER_NOT_STASHED, TIMER_STASHED, TIMER_KEPT };
#define TIMER_POSTED (UINT64_C(1) << 32)
struct segment_timer {
    alignas(64) _Atomic uint64_t word;
    uint64_t deadline_ns; /* by its clock */
    uint64_t period_ns;   /* 0: once */
    uint64_t sequence;    /* of two that are due at once the smaller one is first */
    actor_ref owner;      /* who has armed it */
    /* tags (segment_layout.L4): it has not been armed, not been cancelled, while that worker still
     * has this count; claim_count 0: nobody has cancelled it */
    uint64_t arm_count, claim_count;
    uint32_t arm_worker, claim_worker;
    alignas(64) uint32_t class; /* its message has up to TIMER_CLASS_BYTES(class) ... */
    uint32_t place;             /* ... and is the place-th one there */
    uint64_t boot;              /* the header's boots when it was armed */
    /* of a watch (engine/timers/watches.h): whose end it waits for, 0: it is none; and enum
     * envelope_reason, REASON_NONE: nobody knows of that end so far */
    actor_ref watched;
    uint32_t end;
    /* of a membership (engine/timers/members.h): its place in its group; 0: it is none */
    uint32_t member_place;
    actor_ref group;
    uint64_t stashed; /* enum segment_timer_stashed */
    /* one that a client has posted, a watch that it has begun, or a copy of what it has published:
     * its user, and TIMER_POSTED; 0: an actor's */
    uint64_t posted;
    uint64_t clock; /* enum segment_timer_clock */
};
static_assert(sizeof(struct segment_timer) == 128, "a timer is two lines");
enum { TIMER_CLASSES = 11 };
#define TIMER_CLASS_BYTES(class) (UINT64_C(64) << (class))
static_assert(TIMER_CLASS_BYTES(TIMER_CLASSES - 1) >= ENVELOPE_SIZE_MAX, "the largest message");

struct segment_message_type {
    uint32_t version, size, has_tail;
    uint32_t account; /* user + 1 of the client that made it known; 0: nobody's */
    char name[ODEON_NAME_MAX + 1];
    char fields[ODEON_FIELDS_MAX + 1];
};
struct segment_actor_type {
    uint32_t version, state_size, restart;
    _Atomic uint32_t overflow; /* what becomes of messages for a full queue */
    char name[ODEON_NAME_MAX + 1];
    char plugin[ODEON_NAME_MAX + 1];
    /* CLOCK_MONOTONIC; when the first of those counted here was blamed */
    uint64_t crashes_since_ns;
    uint32_t crashes;
    _Atomic uint32_t quarantined; /* 1: not run; control thread, read by workers */
    uint32_t first_phase;         /* what set 0 is called, as a phase; 0: "initial" */
    /* 1: actors that have not begun are owed an init record (timers/owed.h); 0 in segments of
     * before */
    _Atomic uint32_t owed;
};
/* A set of behaviours of an actor type, by name: entries from 1 on, for the segment's life. */
struct segment_phase {
    uint32_t type, reserved;
    char name[ODEON_NAME_MAX + 1];
};
struct segment_name {
    _Atomic uint64_t ref; /* 0: never used; of an ended actor: free for another */
    char name[ODEON_NAME_MAX + 1];
};

struct segment_port {
    alignas(64) _Atomic uint32_t generation; /* 0: free; else the supervisor's, stored last */
    uint32_t reserved;
    uint64_t client;
    actor_ref ref;
    _Atomic uint64_t pcur;  /* committed cursor in the submission ring while no record names it */
    _Atomic uint64_t dtail; /* tail of the delivery ring */
    uint64_t submission_bytes, delivery_bytes;
};

/* A segment's parts begin with pages of its machine: windows are bound to memory nodes and given
 * back by themselves. So a layout is one of its page size; that of pages of 4 KiB is what it was
 * before there were others. */
enum { SEGMENT_PAGE_LEAST = 4096, SEGMENT_PAGE_MOST = 65536 };
#define SEGMENT_LAYOUT_HASH                                                                        \
    (SEGMENT_VERSION * UINT64_C(1000003) ^ sizeof(struct segment_header) << 1 ^                    \
     sizeof(struct segment_queue) << 8 ^ sizeof(struct segment_worker) << 16 ^                     \
     sizeof(struct segment_actor) << 24 ^ sizeof(struct segment_port) << 32 ^                      \
     sizeof(struct segment_name) << 40 ^ sizeof(struct segment_timer) << 20 ^                      \
     sizeof(struct segment_undo) << 44 ^ sizeof(struct segment_phase) << 12 ^                      \
     (uint64_t)(sizeof(struct segment_message_type) + sizeof(struct segment_actor_type)) << 48)

static inline uint64_t segment_layout_hash(uint64_t page_bytes)
{
    return SEGMENT_LAYOUT_HASH ^ (page_bytes - SEGMENT_PAGE_LEAST);
}

/* The page size of a layout that is this build's but for that; 0: it is another one. */
static inline uint64_t segment_layout_page(uint64_t layout_hash)
{
    for (uint64_t page = SEGMENT_PAGE_LEAST; page <= SEGMENT_PAGE_MOST; page *= 2)
        if (layout_hash == segment_layout_hash(page))
            return page;
    return 0;
}
