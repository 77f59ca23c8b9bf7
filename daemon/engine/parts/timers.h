/* SPDX-License-Identifier: Apache-2.0 */
/* Timers as the process knows them: what is free, and what is due next (timers/). All of it is made
 * anew by each start, from the segment's table. */
#pragma once

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/lock.h"
#include "daemon/engine/parts/types.h"
#include "proto/reference.h"
#include "proto/segment_layout.h"

/* When a timer is looked at, and which it is; in the order of `due_ns`, then of `sequence`. */
struct timer_node {
    uint64_t due_ns, sequence;
    uint32_t timer;
};
struct timer_heap {
    struct timer_node *nodes;
    uint32_t *place_of; /* by timer: its node + 1, 0: it has none */
    uint32_t n;
};

/* Numbers that are free: those given back, the one that has waited longest first, then those that
 * were never used. */
struct timer_stock {
    uint32_t *ring; /* [n_max] */
    uint32_t n_max, first, n, fresh;
    uint32_t rests; /* so many given back wait while there are fresh ones */
};

/* The timers of a slot's actor, and the next and the last one of each (timers/timer_owners.h). */
struct timer_owner {
    actor_ref owner; /* 0: nobody's */
    uint32_t first;  /* + 1 */
    uint32_t n;
    /* Of those that are put off: bytes of their places. Of an actor's timers: how many the start
     * has found (timers_count_in()). */
    uint64_t weight;
    actor_ref left; /* who of this slot has ended last, and left some */
};
struct timer_link {
    uint32_t next, prev;
};
struct timer_owners {
    struct timer_owner *of;   /* by slot */
    struct timer_link *links; /* by timer */
    uint64_t of_bytes, links_bytes;
    uint32_t orphans;           /* + 1 */
    _Atomic uint32_t *attached; /* by slot: how many hang at it, those of other tables included */
};

/* All ids are to be seen with nothing in their outboxes that was there when it began
 * (watches.W4). */
struct watch_round {
    uint64_t begun, over; /* numbers, from 1 on */
    struct quiesce quiesce;
};

/* Of a watch: the round that it waits for, 0: none; does it hang at its slot? */
struct watch_mark {
    uint64_t round;
    bool hangs;
};

/* Recovery's: no watch that lives is outside of these numbers. */
struct watch_range {
    uint32_t first, behind;
};

/* What waits for clients of each user (timers/timer_users.h); 0: those whom no quota binds. */
enum { TIMER_USERS_MAX = 1024 };
struct timer_user {
    uint32_t user, n;
    uint64_t bytes;
};
struct timer_users {
    uint32_t n;
    struct timer_user of[TIMER_USERS_MAX];
};

/* Timers that one turn of a worker id has armed, and that were due before its commit
 * (timers/timer_put_off.h): chains, of numbers + 1. */
struct timer_put_off_turn {
    uint64_t count, since_ns; /* since when it is waited for, by CLOCK_MONOTONIC */
    uint32_t first;
};
struct timer_put_off {
    struct timer_put_off_turn *of; /* by id */
    uint32_t *next;                /* by timer */
};

/* Who is in a group (timers/members.h). */
struct member_place {
    actor_ref who;
    uint64_t sequence;
    uint32_t timer;  /* the membership + 1; 0: it is nobody's place */
    bool is_settled; /* no look at the table will find another thing (member_look.h) */
};
struct member_group {
    actor_ref group;
    struct member_place *places; /* [n_max] */
    uint32_t n_max, high, n;
    uint32_t lowest; /* no place below it is nobody's */
};
struct members {
    uint32_t block; /* places of one */
    uint32_t n_groups;
    uint16_t *of_slot; /* by a group's slot: which one it is; 0: nobody has joined it */
    struct member_group of[ODEON_GROUPS_MAX + 1]; /* the first one is nobody's, and stays empty */
    struct timer_owners joined;                   /* memberships, by who has joined */
};

/* Clients' watches by their words (timers/watch_index.h); numbers + 1. */
struct watch_index {
    uint64_t key;
    uint32_t n_chains;        /* a power of two */
    uint32_t *first;          /* by hash */
    struct timer_link *links; /* by timer */
};

/* What was published, and waits for members to have room (timers/kept.h). */
enum { KEPT_SENT_MAX = 512 };
struct kept_sent {
    actor_ref group, to;
    uint32_t destination;
};
struct kept_copies {
    struct timer_owners of; /* by who is to get them */
    _Atomic uint32_t n;     /* those that were sent, and are not in their queue yet, included */
    _Atomic uint32_t any;   /* 1: there has been one in this process */
    uint32_t n_sent;        /* by the look that goes on */
    struct kept_sent sent[KEPT_SENT_MAX];
    bool *behind; /* by queue: one has been appended to it since a group there has looked */
};

/* Questions that have not waited for long, by worker (timers/shelf.h). */
enum { SHELF_SLOTS = 64 };
struct shelf_slot {
    _Atomic uint64_t state; /* enum shelf_state, or since when its question is open */
    uint64_t token;         /* its worker alone, as the next one */
    actor_ref asker;
    uint32_t timer;
};
struct shelf {
    alignas(128) struct shelf_slot slots[SHELF_SLOTS];
    /* Its worker alone: slots that nothing is open in, the one that was claimed last behind all
     * others. */
    uint8_t free[SHELF_SLOTS];
    uint32_t n_free;
    uint64_t n_asked;
    uint64_t ticks, ticks_good, now_ns; /* it was `now_ns` at `ticks`, and is for so many more */
};
struct shelves {
    struct shelf *of;            /* by worker */
    _Atomic uint32_t *slot_of;   /* by timer: its slot + 1, of all workers' in a row; 0: in none */
    uint32_t n_slots;            /* of each, 0: there are no shelves, timers are too few */
    uint32_t n_used;             /* no worker from this one on has ever had a number */
    uint64_t sparse_ns;          /* who asks at greater distances asks without */
    _Atomic uint64_t look_at_ns; /* when the control thread looks at them, 0: not at all */
};

/* Init records that are being sent (timers/owed.h). */
struct owed {
    uint64_t due_ns; /* when to go on, 0: there are none */
    uint32_t slot;   /* where */
    bool again;      /* somebody before it had no room */
    bool is_later;   /* a pass for those that had none in the one before */
    uint64_t full[ODEON_QUEUES_MAX / 64], former[ODEON_QUEUES_MAX / 64]; /* queues without room */
    bool types[ODEON_ACTOR_TYPES_MAX]; /* ... to actors of these */
};

/* Of the engine. Everything under the mutex, by whoever arms or cancels, and by the control
 * thread. */
struct timers {
    alignas(64) struct lock mutex; /* in a line of its own: others look at it meanwhile */
    alignas(64) int fd;            /* timerfd for the earliest one, by CLOCK_BOOTTIME */
    uint64_t fd_ns;                /* ... which is set to this, 0: to nothing */
    /* CLOCK_BOOTTIME less CLOCK_MONOTONIC, as the control thread has last read them: not more than
     * it is, and perhaps some nanoseconds below 0 */
    uint64_t suspended_ns;
    uint64_t sequence;                 /* of the last one that was armed */
    uint64_t sequence_at_start;        /* ... when this process had not armed any */
    struct timer_heap heap, boot_heap; /* by what they count by */
    struct timer_stock numbers, places[TIMER_CLASSES];
    struct timer_stock
        cancelled;      /* a queue: of those whose cancel has perhaps not been committed */
    uint64_t bytes;     /* of the messages' places that are taken */
    uint32_t n;         /* armed, those that are being cancelled included */
    uint32_t n_watches; /* ... of which wait for no time: watches and memberships */
    uint32_t n_stashed; /* ... and messages that actors have put off (asks/stash.h) */
    struct timer_owners owners, stashed; /* the latter: what each actor has put off */
    /* Watches (timers/watches.h): those that hang at each slot; slots whose actors have ended, and
     * that have not been given back. */
    struct timer_owners watched;
    struct timer_stock ending;
    _Atomic uint32_t *attached; /* by slot: timers of its actor, and what watches it */
    bool unlooked;              /* some have been armed since the last barrier */
    struct watch_round round;   /* ... and may have come too late */
    struct watch_mark *marks;   /* by timer */
    struct watch_range found;
    struct timer_users users;
    struct timer_put_off put_off;
    struct members members;
    struct kept_copies kept;
    struct watch_index watch_index;
    struct shelves shelves; /* ... but for what is said there */
    struct owed owed;
};
