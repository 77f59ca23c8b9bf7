/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin needs. A plugin is a shared object with actor types; it links to nothing of
 * Odeon's: the host hands it a table of functions, reached through the context that every behaviour
 * gets.
 *
 * This file is the plain layer, usable from C and C++; <odeon/plugin_macros.h> (included below for
 * C) is the short spelling on top of it. docs/plugins.md shows both.
 *
 * Structs grow at their end, and say how large they are. A plugin's may be shorter than the host's,
 * down to `reserved` (what it lacks is 0), or longer, if nothing but zeros is behind what the host
 * knows. Words called reserved are 0.
 *
 * Threads: behaviours of one actor never run at the same time, but may run on different threads one
 * after the other. Every function of the host table may be called only from within a behaviour, an
 * actor's init or fini, or a plugin's start, with the context handed to it, on its thread. None of
 * them blocks. In a start, which is nobody's, those that need an actor refuse.
 */
#ifndef ODEON_PLUGIN_H
#define ODEON_PLUGIN_H

#include <odeon/message.h>
#include <odeon/names.h>
#include <odeon/version.h>

#ifdef __cplusplus
extern "C" {
#endif

struct odeon_context;

/* Where an actor lives, for life. */
enum odeon_placement {
    /* the next queue, round robin; where a type has many actors, so many that are made in a row
     * share one: a bet that those talk to each other */
    ODEON_PLACE_SPREAD = 0,
    ODEON_PLACE_HERE = 1,   /* the queue of the actor that spawns; SPREAD if that one is detached */
    ODEON_PLACE_NODE = 2,   /* round robin over the workers of memory node `place` */
    ODEON_PLACE_PINNED = 3, /* the next worker; no other one runs it */
    ODEON_PLACE_PINNED_TO = 4, /* the same, worker `place` */
    /* run by whoever sends to it while it is idle: for actors that many talk to */
    ODEON_PLACE_FOLLOW = 5,
    ODEON_PLACE_DETACHED = 6, /* a thread of its own: its behaviours may block */
    /* the next queue, one by one, however many there are: for a lot of work that is to spread;
     * -EINVAL from a service that is older than this */
    ODEON_PLACE_EACH = 7,
};

enum odeon_log_level {
    ODEON_LOG_ERROR = 3,
    ODEON_LOG_WARNING = 4,
    ODEON_LOG_NOTICE = 5,
    ODEON_LOG_INFO = 6,
    ODEON_LOG_DEBUG = 7
};

/* a sender that does not know the receiver's type passes this as behaviour index */
#define ODEON_BEHAVIOUR_UNKNOWN 255u

struct odeon_spawn_options {
    uint32_t struct_size;
    uint32_t placement; /* enum odeon_placement */
    const char *name;   /* registered name, or NULL */
    const void *args;   /* copied; kept for re-initialisation after a crash */
    uint64_t args_size; /* at most 232 bytes */
    uint32_t place;     /* node or worker, as `placement` says */
    /* (ABI 2.3) 1: it ends when the actor that spawns it ends, or begins anew; not in a plugin's
     * start */
    uint8_t link;
    /* (ABI 2.3) 1: if an actor of this type has the name already, that one is meant, with 0, and
     * nothing else of these is looked at; -EAGAIN: somebody is about to have the name */
    uint8_t find;
    uint16_t reserved; /* 0 */
};

/* What cancels a timer; 0 is none. Never the same twice in a service's life. */
typedef uint64_t odeon_timer;

enum odeon_timer_flags {
    /* The time that the machine is suspended counts: CLOCK_BOOTTIME. One that is due meanwhile
     * comes when the machine goes on; it does not wake it. A service that is older than this:
     * -EINVAL. */
    ODEON_TIMER_BOOT = 1 << 0,
};
struct odeon_timer_options {
    uint32_t struct_size;
    uint32_t flags;     /* enum odeon_timer_flags; others: -EINVAL */
    uint64_t delay_ns;  /* until the first time, up to 100 years; 0: as soon as can be */
    uint64_t period_ns; /* from each time to the next, 100,000 or more; 0: there is only one */
};

/* A question that is answered later: a plain value, for a state or for a message. Signed by the
 * service (SipHash, some 20 ns each time): one that it has not given is refused. */
struct odeon_promise {
    odeon_ref to;         /* who has asked */
    uint64_t correlation; /* of the call, or the question; 0: it was neither */
    uint64_t signature;
};

/* A message object: storage for a message that is filled first and sent (copied) later, perhaps
 * several times. */
struct odeon_message_object {
    const struct odeon_message_type *type;
    uint32_t allocation; /* enum odeon_allocation: looked at when it has been sent */
    uint32_t sent;
    void (*fini)(void *payload); /* run by ODEON_DELETE and ODEON_DESTROY; may be NULL */
    void *payload;
};

/* The functions that the host offers. Grows at its end: test struct_size before using one that your
 * ABI minor lacks. */
struct odeon_host {
    uint32_t struct_size;
    uint32_t minor;
    /* Queues a copy of `size` bytes for `to`. 0; -ENOBUFS: this worker's outbox is full; -EAGAIN:
     * the receiver's queue is at its limit; -EMSGSIZE: more than 32,768 bytes; -ESRCH: no actor can
     * have this reference; -EINVAL: `type` is 0, that of a message which its plugin does not list,
     * so that the service has given it no number; whatever else sends says so, too. An actor that
     * has ended is not an error here: the message becomes a dead letter. Takes effect when the
     * behaviour has returned (turn commit). */
    int (*send)(struct odeon_context *ctx, odeon_ref to, uint32_t type, uint32_t behaviour,
                const void *data, size_t size);
    /* The same in two pieces: the struct up to its tail, and the tail. */
    int (*send_tail)(struct odeon_context *ctx, odeon_ref to, uint32_t type, uint32_t behaviour,
                     const void *head, size_t head_size, const void *tail, size_t tail_size);
    /* Sends to the sender of the running message, repeating its correlation id. -ENOTCONN: it had
     * no sender. */
    int (*reply)(struct odeon_context *ctx, uint32_t type, const void *data, size_t size);
    int (*reply_tail)(struct odeon_context *ctx, uint32_t type, const void *head, size_t head_size,
                      const void *tail, size_t tail_size);
    /* Makes an actor. It exists once the behaviour has returned; its init runs before its first
     * message. If it cannot begin, this actor is told by an odeon_down (<odeon/monitor.h>), if it
     * has a behaviour for that. `type` is an id (struct odeon_actor_type.id, or from find_type).
     * -ESRCH: no such type; -ENOSPC: the actor table is full; -EEXIST: the name is taken; -E2BIG:
     * args too large; -ENOBUFS, -EAGAIN as for send; -EINVAL: options that make no sense; -ENODEV:
     * no worker runs there. DETACHED: -ENOSPC: all threads for such actors (setting `detached`) are
     * taken; -EAGAIN: no thread to be had. */
    int (*spawn)(struct odeon_context *ctx, uint32_t type,
                 const struct odeon_spawn_options *options, odeon_ref *ret_ref);
    /* 0, -ENOENT */
    int (*find_type)(struct odeon_context *ctx, const char *name, uint32_t *ret_type);
    /* Sends the poison message that belongs to `how` (ODEON_DELETE, _DESTROY, _FINISHED); pending
     * messages come first. */
    int (*stop)(struct odeon_context *ctx, odeon_ref ref, uint32_t how);
    int (*lookup)(struct odeon_context *ctx, const char *name, odeon_ref *ret_ref); /* 0, -ENOENT */
    void (*log)(struct odeon_context *ctx, uint32_t level, const char *text);
    /* Message objects. new: zeroed payload of the type's size (+ tail bytes). NULL, with errno:
     * ENOMEM: no memory; EINVAL: no type that the service knows, or a tail for one that has none;
     * EMSGSIZE: a size or a tail of more than 32,768 bytes. send: as send, the first `size` bytes
     * of its payload; also -ESTALE: it is done with (ODEON_FINISHED); -EMSGSIZE: more than its
     * payload has; -EINVAL: its allocation is none. An object that is freed, or left, without ever
     * having been sent is reported. */
    struct odeon_message_object *(*message_new)(struct odeon_context *ctx,
                                                const struct odeon_message_type *type,
                                                size_t tail_size);
    int (*message_send)(struct odeon_context *ctx, odeon_ref to, uint32_t behaviour,
                        struct odeon_message_object *object, size_t size);
    void (*message_free)(struct odeon_context *ctx, struct odeon_message_object *object);
    uint64_t (*now_ns)(struct odeon_context *ctx); /* CLOCK_MONOTONIC */
    /* As send, for a message without payload, and for one of exactly 8 bytes; `kind`
     * is type | behaviour << 32. */
    int (*signal)(struct odeon_context *ctx, odeon_ref to, uint64_t kind);
    int (*send_word)(struct odeon_context *ctx, odeon_ref to, uint64_t kind, uint64_t word);
    /* As send, through the receiver's urgent lane: the message overtakes all that
     * waits for the receiver, but for other urgent ones, which it follows in the order of sending;
     * it does not interrupt a behaviour that runs. For what is small and rare, like "stop", "how
     * far are you?": the lane of a queue takes 64 KiB (or its limit, if that is less), then -EAGAIN
     * whatever the type's overflow policy is. To a client: the same as send. */
    int (*send_urgent)(struct odeon_context *ctx, odeon_ref to, uint32_t type, uint32_t behaviour,
                       const void *data, size_t size);
    /* (ABI 2.1) As send, later: once `options` says, by CLOCK_MONOTONIC if its flags say no other
     * clock. Armed when the
     * behaviour has returned, as all that it does; it outlives executor and odeond, if the actor
     * does: the timers of one that begins anew after a crash are gone before its init. The message
     * comes from this actor, in the order of the deadlines, and with `kind` in its context. A
     * receiver whose queue is full gets it later; one that has ended does not, nor does any when
     * this actor has ended. Times of a period that go by unsent are counted, not made up for. 0;
     * -EAGAIN: as many timers wait as may (settings timers, timer-bytes), or half of what the
     * others leave are this actor's; -ERANGE: a time that cannot be; -EMSGSIZE, -ESRCH as send;
     * -EINVAL: options; -EPERM: outside a behaviour, an init or a fini. */
    int (*send_after)(struct odeon_context *ctx, odeon_ref to, uint32_t type, uint32_t behaviour,
                      const void *data, size_t size, const struct odeon_timer_options *options,
                      odeon_timer *ret_timer);
    /* (ABI 2.1) 0: it will not come (again), once this behaviour has returned, nor what a periodic
     * one has sent and still waits; -ENOENT: it has been sent for the last time, or cancelled;
     * -EPERM: another actor has armed it. */
    int (*timer_cancel)(struct odeon_context *ctx, odeon_timer timer);
    /* (ABI 2.2) As send, and asks: exactly one outcome comes back as a message, an answer or
     * odeon_no_answer, at the latest `timeout_ns` from now (0: 30 s), counted by CLOCK_MONOTONIC.
     * Asked when the behaviour has returned; the question outlives executor and odeond, if the
     * actor does. In either's context *ret_token, never 0, is `correlation`, and odeon_is_answer()
     * holds. An answer that waits in this actor's queue comes before the deadline's message; what
     * comes later is dropped and counted. A question counts as one of the actor's timers: -EAGAIN
     * and -ERANGE are as of send_after. -EOPNOTSUPP: this actor has no
     * behaviour for odeon_no_answer; -ENOBUFS, -EAGAIN, -EMSGSIZE, -ESRCH as of send; -EPERM:
     * outside a behaviour, an init or a fini. */
    int (*ask)(struct odeon_context *ctx, odeon_ref to, uint32_t type, uint32_t behaviour,
               const void *data, size_t size, uint64_t timeout_ns, uint64_t *ret_token);
    /* (ABI 2.2) 0: no outcome comes, once this behaviour has returned; -ENOENT: one has come, or it
     * was withdrawn, or nobody has asked that; -EPERM: another actor's. */
    int (*ask_cancel)(struct odeon_context *ctx, uint64_t token);
    /* (ABI 2.2) What answers the running message in another turn; -ENOTCONN: it had no sender. */
    int (*reply_later)(struct odeon_context *ctx, struct odeon_promise *ret_promise);
    /* (ABI 2.2) As reply, to what the promise was given for; any actor may, any number of times:
     * who has asked takes the first answer. -EPERM: the service has given nobody such a promise;
     * -ESTALE: an actor has asked, and it is known already that its question is over. */
    int (*answer)(struct odeon_context *ctx, const struct odeon_promise *promise, uint32_t type,
                  const void *data, size_t size);
    /* (ABI 2.2) Sends the running message on, with its sender and correlation id, so that what the
     * receiver replies goes to who has sent it first; so does the refusal, if it does not take it.
     * `message` is what the behaviour was handed. -ELOOP: it has been sent on 64 times; -EPERM:
     * there is no message; -ENOBUFS, -EAGAIN, -ESRCH as of send. */
    int (*forward)(struct odeon_context *ctx, odeon_ref to, const void *message);
    /* (ABI 2.3) When `ref`, an actor or a client, ends, this actor is told by one odeon_down
     * (<odeon/monitor.h>): behind everything that it has sent this one, and why it ended. Begins
     * with the return of this behaviour, and outlives executor and odeond, if this actor does. One
     * that has ended already is told of soon. *ret_monitor, never 0 and never the same twice, is in
     * that message, and what ends the monitor before. Counts as one of the actor's timers: -EAGAIN
     * as of send_after. -EOPNOTSUPP: this actor has no behaviour for odeon_down; -ESRCH: no actor
     * can have this reference; -EPERM: outside a behaviour, an init or a fini. */
    int (*monitor)(struct odeon_context *ctx, odeon_ref ref, uint64_t *ret_monitor);
    /* (ABI 2.3) 0: nothing comes of it, once this behaviour has returned; -ENOENT: it has been
     * sent, or given up before, or never was; -EPERM: another actor's. */
    int (*demonitor)(struct odeon_context *ctx, uint64_t monitor);
    /* (ABI 2.4) From the next message on this actor runs the behaviours of another one of its
     * type's sets, by name (struct odeon_behaviour_set); from within init, from its first message
     * on. Becomes true with the return of this behaviour, and outlives executor and odeond with a
     * kept state; an actor that begins anew begins with the first set. What its state has, whom it
     * monitors, its timers and questions stay. 0, also if it is that already; -ENOENT: its type has
     * no such set; -EINVAL: no name; -EPERM: outside a behaviour, an init or a fini. */
    int (*become)(struct odeon_context *ctx, const char *name);
    /* (ABI 2.4) Puts the running message off: it is this actor's, with its sender, correlation id
     * and kind, until unstash hands it to the actor again. `message` is what the behaviour was
     * handed. Done when the behaviour has returned; outlives executor and odeond, if the actor's
     * state does. When the actor ends, or begins anew, it is refused with ODEON_REASON_STASHED: to
     * its client, to the actor that has asked, else it is a dead letter. 0; -EALREADY: this turn
     * has done so; -ENOBUFS: the actor has put off as many as one may (setting stash), or 256 KiB;
     * -EAGAIN: as of send_after, whose table it shares; -EPERM: there is no message. */
    int (*stash)(struct odeon_context *ctx, const void *message);
    /* (ABI 2.4) What was put off first comes again, in that order, `most` of them at most, 0: all:
     * when the behaviour has returned, and before what waits for this actor (behind what has come
     * to it as urgent). It may be put off once more, and is then behind the others. How many, 0 or
     * more; -ENOBUFS: this worker's outbox has no room for them; -EAGAIN: the urgent lane of the
     * actor's queue is at its limit: none of them comes; -EPERM: outside a behaviour, an init or a
     * fini. */
    int (*unstash)(struct odeon_context *ctx, uint32_t most);
    /* (ABI 2.5) This actor is a member of the group of this name, which is made if there is none:
     * what is published there comes to it as what is sent comes, from whoever has published. It
     * joins when the behaviour has returned, and is a member until it leaves, ends, or begins anew;
     * one whose state is kept stays one. A name is a group's or an actor's. Counts as one of the
     * actor's timers. -EALREADY: it is one; -EAGAIN: another behaviour is about to give an actor
     * the name, or as of send_after, or a queue has no room for a new group; -EEXIST: an actor has
     * it; -EINVAL: it is no name; -ENOSPC: there are 1,024 groups, or there is no room for another
     * actor or name; -EPERM: outside a behaviour, an init or a fini. */
    int (*join)(struct odeon_context *ctx, const char *group);
    /* (ABI 2.5) No publication that the group begins with behind this turn comes; one that has been
     * begun with may. -ENOENT: it is no member, or there is no such group; -EAGAIN, -EEXIST, -EPERM
     * as of join. */
    int (*leave)(struct odeon_context *ctx, const char *group);
    /* (ABI 2.5) Sends a copy to each who is a member when the group begins with it: this costs the
     * sender one message, however many they are. A member whose queue is full is left out, unless
     * its type drops; what has been published before comes before. -ENOENT: there is no such group,
     * as nobody has ever joined it; -EEXIST: an actor has the name; -EAGAIN: the group's own queue
     * is at its limit; -ENOBUFS, -EMSGSIZE as of send. */
    int (*publish)(struct odeon_context *ctx, const char *group, uint32_t type, const void *head,
                   size_t head_size, const void *tail, size_t tail_size);
};

/* For sending without a call of the host: where a record for an actor of the same worker goes. What
 * is in it, and how it is used, is its version's; there is no version yet that opens it, so that
 * `tail_limit` is 0, which closes it at any time. */
struct odeon_inline_block {
    uint32_t version; /* 1 */
    uint32_t
        executor_bits; /* what the lower half of a reference of this executor has above the slot */
    uint64_t tail;     /* where the next record goes */
    uint64_t tail_limit; /* records must stay below; 0: closed, call the host */
    const void *blocks;  /* table of blocks, NULL: there is none */
    uint64_t n_blocks;
    uint64_t reserved[4];
};

/* What a behaviour is handed.  The fields are for reading, valid until it returns. */
struct odeon_context {
    const struct odeon_host *host;
    odeon_ref self;
    odeon_ref sender;      /* ODEON_NOBODY: none */
    uint16_t message_type; /* id */
    uint16_t message_size; /* bytes of the payload, tail included */
    uint32_t reserved;
    uint64_t correlation; /* of a call, 0: none */
    /* 1: was running when the executor died; that run left no effect in the system */
    uint32_t redelivered;
    uint32_t attempts; /* faults of earlier runs */
    uint32_t worker;   /* id of the worker that runs this */
    uint32_t reserved_32;
    const struct odeon_inline_block *inline_block;
    /* (ABI 2.1) what the service says of the message: odeon_is_timer(), ...; 0: nothing */
    uint64_t kind;
    uint64_t hops; /* (ABI 2.2) so often has the message been sent on by forward */
    /* (ABI 2.6) the id of the trace that the message is in, which all that is sent meanwhile has,
     * too: odeon_trace_id(); 0: it is in none */
    uint64_t trace;
    uint64_t reserved_words[5];
};

/* enum odeon_allocation */
typedef int (*odeon_behaviour_fn)(void *self, const void *message, struct odeon_context *ctx);
/* 0, negative errno. In its context the sender is whoever has spawned the actor, and there is no
 * message: a reply answers no question. */
typedef int (*odeon_init_fn)(void *self, const void *args, size_t args_size,
                             struct odeon_context *ctx);
/* The last part of the message that ends the actor: its context is the actor's own, and what it
 * sends leaves with that message. */
typedef void (*odeon_fini_fn)(void *self, struct odeon_context *ctx);

struct odeon_behaviour {
    struct odeon_message_type *message;
    odeon_behaviour_fn run;
    uint64_t reserved[2];
};

/* (ABI 2.4) What an actor does with its messages while it is in a phase of its life: a behaviour
 * for each message of the type's `behaviours`, in the same order. A set has a name of its own. */
struct odeon_behaviour_set {
    uint32_t struct_size;
    uint32_t n_behaviours; /* as many as the type has */
    const char *name;
    const struct odeon_behaviour *behaviours; /* of the type's behaviour_size */
    uint64_t reserved[2];
};

enum odeon_restart {
    /* after a crash: zeroed state, init with the spawn arguments, before the next message */
    ODEON_RESTART_INIT = 0,
    ODEON_RESTART_STOP = 1, /* after a crash: the actor has ended */
    /* After a crash: the actor goes on with its state as of the last message that it finished, init
     * is not called again. What a behaviour changes in the state becomes true together with the
     * messages that it sent, and is undone when it crashes. The state lies in shared memory at
     * another address in every process: no pointers in it, all of it flat, at most setting
     * durable-bytes (512; up to 4096). It is also kept over the next load of the plugin, which must
     * have the same state_size. Costs a copy of the state a message. */
    ODEON_RESTART_KEEP = 2,
};

/* What becomes of a message for an actor whose queue is at its limit (setting limit-bytes). A queue
 * is shared by many actors: the policy is that of the receiver's type, the limit that of the
 * queue. */
enum odeon_overflow {
    /* the sender is told: -EAGAIN to a behaviour, a refusal to a client */
    ODEON_OVERFLOW_REJECT = 0,
    ODEON_OVERFLOW_DROP_NEWEST = 1, /* it is dropped, the send succeeds */
    /* it is taken, and what such actors have waiting longest is dropped; above twice the limit as
     * DROP_NEWEST */
    ODEON_OVERFLOW_DROP_OLDEST = 2,
    /* a client's waits in its port, and everything behind it; -EAGAIN to a behaviour; what a group
     * has for it is kept until there is room, and the group goes on */
    ODEON_OVERFLOW_STALL = 3,
};

struct odeon_actor_type {
    uint32_t struct_size;
    uint32_t version;
    const char *name;
    uint32_t state_size;
    uint32_t restart; /* enum odeon_restart */
    uint32_t n_behaviours;
    uint32_t behaviour_size; /* sizeof (struct odeon_behaviour), as compiled */
    const struct odeon_behaviour *behaviours;
    odeon_init_fn init; /* may be NULL */
    odeon_fini_fn fini; /* may be NULL */
    uint32_t id;        /* filled in by the host at load */
    uint32_t overflow;  /* enum odeon_overflow */
    /* The spawn arguments, described as a message's fields are: the struct's body as written, and
     * its size. NULL, 0: not described, whoever spawns has to know. */
    const char *args_fields;
    uint32_t args_size;
    uint32_t reserved_32;
    /* The name of the set of behaviours that `behaviours` is, "" or NULL: "initial". Its actors
     * begin with it. */
    const char *behaviours_name;
    /* (ABI 2.4) Further sets, [n_phases], at most 32, which actors become by name. A kept state
     * says by name which set its actor had: a plugin that comes back without that one is
     * refused. */
    const struct odeon_behaviour_set *const *phases;
    uint32_t n_phases;
    uint32_t reserved_phases;
    uint64_t reserved[4];
};

/* The one exported symbol: `odeon_plugin_descriptor`. */
struct odeon_plugin {
    uint32_t struct_size;
    uint16_t abi_major, abi_minor;
    uint32_t context_size;      /* sizeof (struct odeon_context), as compiled */
    uint32_t message_type_size; /* sizeof (struct odeon_message_type), as compiled */
    const char *name;
    const char *version;
    uint32_t n_types;
    uint32_t n_messages;
    struct odeon_actor_type *const *types;
    /* every message that it sends or receives: [n_messages], or ... */
    struct odeon_message_type *const *messages;
    /* ... up to here (n_messages = 0), as the macros do */
    struct odeon_message_type *const *messages_end;
    /* called once after loading, before anything of it can be seen; may be NULL; not 0: refused */
    int (*init)(const struct odeon_host *host);
    /* before unloading, may be NULL; without a context, which none of the host table's functions
     * can do without: one that was kept is another's */
    void (*fini)(void);
    /* Called when the plugin's types can be spawned: after each load, at each start of the executor
     * again; may be NULL. With a context of nobody's, on the control thread. It may send, look up
     * and log, and spawn actors that have a name: -EEXIST then says that the actor has outlived the
     * start before. What it returns is logged if it is not 0; what it has done stays. At a start of
     * the executor none is called before all plugins have been loaded, or gone without; they come
     * in the order of the configuration's lines, then those that were loaded by hand, in the order
     * of their loads. A line that is new beside such comes last, once. */
    int (*start)(struct odeon_context *ctx);
    uint64_t reserved[6];
};

#define ODEON_PLUGIN_SYMBOL "odeon_plugin_descriptor"

#ifndef __cplusplus
#include <odeon/plugin_macros.h>

#include <odeon/ask_macros.h>

#include <odeon/monitor_macros.h>

#include <odeon/group_macros.h>

#include <odeon/phase_macros.h>
#endif

#ifdef __cplusplus
}
#endif

#endif
