/* SPDX-License-Identifier: Apache-2.0 */
/* Every fixed bound of the system, once. What is configurable has its default here and its key in
 * docs/man. */
#pragma once

enum {
    /* envelopes */
    /* bytes of an inline payload; larger ones are refused with -EMSGSIZE */
    ODEON_PAYLOAD_MAX = 32768,
    /* bytes of spawn arguments, kept with the actor for re-initialisation */
    ODEON_SPAWN_ARGS_MAX = 232,
    /* faults of a handler on one message before it becomes a dead letter */
    ODEON_ATTEMPTS_DEFAULT = 3,
    ODEON_SUSPECT_DEATHS_DEFAULT = 10,

    /* names */
    /* bytes of an actor, type, message or plugin name, without the final NUL */
    ODEON_NAME_MAX = 63,
    ODEON_FIELDS_MAX = 447, /* bytes of a message's field description */

    /* tables (per engine segment) */
    /* worker threads and detached actors together; ids go one further: the control thread appends,
     * too */
    ODEON_WORKERS_MAX = 1152, /* 1,024 cores, and actors with threads of their own */
    /* ordinary message queues of all workers together; the others are bounded by what they stand
     * for */
    ODEON_QUEUES_MAX = 8192,
    ODEON_FOLLOW_QUEUES = 64, /* queues of actors that run where they are sent to */
    ODEON_PORTS_MAX = 256,
    ODEON_ACTORS_DEFAULT = 1 << 20,
    ODEON_ACTORS_MAX = 1 << 24, /* a slot has 24 bits in a reference (reference.h) */
    ODEON_MESSAGE_TYPES_MAX = 4096,
    ODEON_ACTOR_TYPES_MAX = 1024,
    ODEON_BEHAVIOURS_MAX = 255, /* behaviours of one actor type: the index travels in one byte */
    ODEON_PHASES_MAX = 1024,    /* sets of behaviours of all actor types that have several */
    ODEON_TYPE_PHASES_MAX = 32, /* ... of one of them, but for the first one */
    ODEON_NAMES_MAX = 16384,    /* actors registered by name */
    ODEON_GROUPS_MAX = 1024,    /* groups that actors have joined, for the life of the segment */
    ODEON_KEPT_MAX = 256,       /* copies of publications that wait for one member to have room */
    ODEON_PLUGINS_MAX = 256,
    ODEON_PLUGIN_TYPES_MAX = 256, /* actor types of one plugin */
    /* entries of its list of messages, which has each once for each source file */
    ODEON_PLUGIN_LISTED_MAX = 1 << 18,
    ODEON_STATE_MAX = 1 << 20, /* bytes of an actor's state */
    ODEON_DURABLE_MAX = 4096,  /* bytes of a state that is kept over crashes */
    ODEON_DURABLE_DEFAULT = 512,
    ODEON_TIMERS_DEFAULT = 1 << 16, /* armed at a time */
    ODEON_TIMERS_MAX = 1 << 20,
    ODEON_STASH_DEFAULT = 64, /* messages that one actor may have put off */
    ODEON_STASH_MAX = 1024,
    ODEON_STASH_BYTES = 256 << 10, /* ... and bytes of their places */

    /* ports */
    ODEON_RING_MIN = 65536, /* holds the largest record */
    ODEON_RING_DEFAULT = 1 << 20,
    ODEON_RING_MAX = 1 << 26,
    ODEON_PORTS_PER_CLIENT_MAX = 32,
    /* of ODEON_PORTS_MAX, for those whom no quota binds */
    ODEON_PORTS_RESERVED = 16,

    /* control protocol */
    ODEON_CONTROL_FRAME_MAX = 65536, /* one SOCK_SEQPACKET record */
    ODEON_CLIENTS_MAX = 1024,
    /* of them, for those whom no quota binds: who looks after the service gets in */
    ODEON_CLIENTS_RESERVED = 16,
    ODEON_PAGE_ROWS_MAX = 256,   /* rows of one page of a listing */
    ODEON_PROTOCOL_VERSION = 1,  /* between clients and odeond */
    ODEON_EXECUTOR_PROTOCOL = 5, /* between odeond and its executor; at first none */
};

/* what a commit record can count (segment_layout.h) */
#define ODEON_OUTBOX_BYTES_MAX (UINT64_C(1) << 30)
#define ODEON_WINDOW_BYTES_MAX (UINT64_C(1) << 35) /* a queue's limit and all outboxes */

/* until a message that waits for its time is due, and of a period: a hundred years */
#define ODEON_DELAY_MAX_NS (UINT64_C(100) * 365 * 86400 * 1000000000)

/* of messages that wait for their time, together */
#define ODEON_TIMER_BYTES_DEFAULT (UINT64_C(64) << 20)
#define ODEON_TIMER_BYTES_MAX     (UINT64_C(4) << 30)

#define ODEON_LIMIT_BYTES_DEFAULT (UINT64_C(256) << 20) /* soft limit of one queue */
/* of a queue's urgent lane, and at most its limit */
#define ODEON_URGENT_BYTES         (UINT64_C(64) << 10)
#define ODEON_OUTBOX_BYTES_DEFAULT (UINT64_C(64) << 20) /* window of one worker's outbox */
/* deliveries that wait behind a full ring, per port */
#define ODEON_BACKLOG_BYTES_DEFAULT (UINT64_C(16) << 20)
#define ODEON_BACKLOG_BYTES_MIN     (UINT64_C(128) << 10) /* two of the largest records */
#define ODEON_DLQ_BYTES_DEFAULT     (UINT64_C(16) << 20)  /* dead letters that are kept */
