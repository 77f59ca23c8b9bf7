/* SPDX-License-Identifier: Apache-2.0 */
/* The engine as its process sees it: one segment, its workers, types, actors and ports.
 *
 * Order of a start (there is no other way to start than recovery; a first start recovers an empty
 * segment):
 *     engine_open -> engine_port_add for every port that lives -> engine_recover -> types are
 *     registered -> engine_start -> ... -> engine_drain -> engine_stop -> engine_close
 *
 * Threads: all functions here belong to one thread, the control thread, unless they say otherwise.
 * It appends with a worker id of its own (the one after the last worker and the last detached
 * actor).
 *
 * Errors: 0 or a positive documented value; negative errno otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/bounds.h"
#include "proto/envelope.h"

struct engine;

enum steal_policy_id {
    STEAL_NONE,
    STEAL_RANDOM,
    STEAL_ROUND_ROBIN,
    STEAL_LONGEST_VICTIM,
    STEAL_FULLEST,
    STEAL_LOCALITY,
    STEAL_SHARE,
    STEAL_N
};
/* What becomes of a stolen source: the thief's, or back to its home after one run (soft
 * pinning). */
enum steal_mode { STEAL_KEEP, STEAL_VISIT, STEAL_MODE_N };

/* 0, or -EINVAL for a name that is none: "none", "random", "round-robin", "longest-victim",
 * "fullest", "locality", "share". */
int steal_policy_parse(const char *name, enum steal_policy_id *ret_id);
const char *steal_policy_name(enum steal_policy_id id);
/* "keep", "visit" */
int steal_mode_parse(const char *name, enum steal_mode *ret_mode);
const char *steal_mode_name(enum steal_mode mode);

/* How far two workers are from each other: what they share. */
enum engine_distance {
    DISTANCE_SELF,
    DISTANCE_CORE,
    DISTANCE_L2,
    DISTANCE_L3,
    DISTANCE_NODE,
    DISTANCE_MACHINE,
    DISTANCE_N
};

/* What a behaviour is handed. The public plugin header declares the same layout under its own name;
 * the executor asserts that the two are one. */
struct engine_context {
    const void *host;
    actor_ref self;
    actor_ref sender;
    union { /* the third word of the envelope: one store */
        uint64_t meta;
        struct {
            uint16_t message_type, message_size;
            uint32_t reserved;
        };
    };
    uint64_t correlation;
    uint32_t redelivered;
    uint32_t attempts;
    uint32_t worker;
    uint32_t reserved_end;
    const void *inline_block; /* engine_config's */
    uint64_t kind;            /* the envelope's word of PREFIX_KIND, 0: none */
    uint64_t hops;            /* so often has the message been passed on */
    uint64_t trace;           /* the id that the message has, and gives to what is sent; 0: none */
    uint64_t reserved_words[5];
};

enum engine_allocation {
    ALLOCATION_NODELETE,
    ALLOCATION_DELETE,
    ALLOCATION_DESTROY,
    ALLOCATION_FINISHED
};

typedef int (*engine_behaviour_fn)(void *self, const void *message, struct engine_context *ctx);
typedef int (*engine_init_fn)(void *self, const void *args, size_t args_size,
                              struct engine_context *ctx);
typedef void (*engine_fini_fn)(void *self, struct engine_context *ctx);

struct engine_behaviour {
    uint16_t message_type; /* interned id */
    uint16_t size;         /* least payload; the exact one unless has_tail */
    uint32_t has_tail;
    engine_behaviour_fn run;
};

/* A named set of functions for the messages of a type, in the order of its behaviours. */
struct engine_behaviour_set {
    const char *name;
    const engine_behaviour_fn *run;
};

/* What becomes of an actor when the executor has died.
 * INIT  zeroed state, init again with the spawn arguments
 * STOP  it has ended
 * KEEP  it goes on with its state as of its last committed message; at most durable_bytes of it,
 *       and no pointers in it */
enum engine_restart { RESTART_INIT, RESTART_STOP, RESTART_KEEP };

/* What becomes of a message for an actor whose queue is at its limit.
 * REJECT       the sender is told: -EAGAIN to a handler, a refusal to a client
 * DROP_NEWEST  it is forgotten
 * DROP_OLDEST  it is taken; what has waited longest is forgotten instead.  Above twice the limit as
 *     DROP_NEWEST
 * STALL        a client's waits in its ring, with all behind it; -EAGAIN to a handler
 * "reject", "drop-newest", "drop-oldest", "stall" */
enum engine_overflow {
    OVERFLOW_POLICY_REJECT,
    OVERFLOW_POLICY_DROP_NEWEST,
    OVERFLOW_POLICY_DROP_OLDEST,
    OVERFLOW_POLICY_STALL,
    OVERFLOW_POLICY_N
};
const char *engine_overflow_name(enum engine_overflow policy);

/* A type as its plugin brings it. The engine copies it; functions must stay until
 * engine_actor_type_retire() has said 0. */
struct engine_actor_type_info {
    const char *name;
    const char *plugin;
    uint32_t version;
    uint32_t state_size;
    enum engine_restart restart;
    enum engine_overflow overflow;
    uint32_t n_behaviours;
    const struct engine_behaviour *behaviours;
    const char *phase; /* what these are called as a set; NULL, "": "initial" */
    /* further ones, of other names, with a function for each of these; at most
     * ODEON_TYPE_PHASES_MAX */
    uint32_t n_others;
    const struct engine_behaviour_set *others;
    engine_init_fn init;
    engine_fini_fn fini;
    bool is_group; /* engine_groups_open() alone */
};

enum { ENGINE_BUILD_ID_MAX = 44, ENGINE_TRACE_MAX = 1024 }; /* of a fault's report */

struct observed_header;

struct engine_config {
    uint32_t n_workers;
    uint32_t queues_per_worker;
    uint32_t actors_max;
    uint32_t page_bytes;    /* of the segment; 0: the machine's */
    uint64_t limit_bytes;   /* soft limit of a queue */
    uint64_t outbox_bytes;  /* window of a worker's outbox */
    uint64_t backlog_bytes; /* limit of a port's backlog */
    uint64_t dlq_bytes;
    /* memory of all that waits in queues and backlogs, 0: without a bound; and of that, what one
     * user may have, 0: as much as others leave free */
    uint64_t waiting_bytes, waiting_quota_bytes;
    /* what waits for one user may take so long in one queue, and in all of them so long for each
     * worker; 0: without a bound */
    uint64_t waiting_quota_ns;
    /* largest state of an actor that is kept over crashes, at most ODEON_DURABLE_MAX; 0: there are
     * none */
    uint64_t durable_bytes;
    uint32_t timers_max;    /* timers that are armed at a time; 0: there are none */
    uint64_t timer_bytes;   /* of their messages together */
    uint32_t stash_max;     /* messages that one actor may have put off; 0: none */
    uint32_t throughput;    /* messages of a bounded gulp */
    uint64_t names_seed;    /* nobody's guess: where names of actors are kept (name_index.h) */
    uint64_t answer_key[2]; /* the same: of a new segment, for life (answer.h) */
    uint32_t attempts_max;
    uint32_t suspect_deaths; /* unexplained deaths that make a message a dead letter; 0: never */
    bool death_explained;    /* of the executor before this one: no message is suspected of it */
    enum steal_policy_id stealing;
    enum steal_mode mode;
    /* at most so many sources a steal, and at most half of the victim's; 0 is 1 */
    uint32_t steal_sources;
    bool packing; /* may workers rest, where fewer are faster? */
    /* Idle: looks without a pause for spin_ns, then moderate_sleeps parks of at most moderate_ns
     * each, then parks of at most relaxed_ns, 0: until woken. Wake-ups end all of them at once. */
    uint64_t spin_ns;
    uint32_t moderate_sleeps;
    uint64_t moderate_ns, relaxed_ns;
    /* Handlers that do not return: told after the first, ended with the executor after the second;
     * 0: never. */
    uint64_t stall_warn_ns, stall_kill_ns;
    /* Placement, as data. All arrays have workers_max elements; NULL: unbound, one node, all at the
     * same distance. */
    uint32_t workers_max;  /* room for workers that come later; 0: n_workers */
    uint32_t detached_max; /* room for actors with a thread of their own */
    const int *cpus;  /* CPU to bind to, -1 none.  Bound by `bind` on the worker's own thread */
    const int *nodes; /* memory node of each, -1 unknown */
    const uint8_t *distances; /* [workers_max][workers_max], enum engine_distance */
    /* Called on its own thread; ids from workers_max on are detached actors': anywhere the service
     * may run. 0; may be NULL */
    int (*bind)(void *userdata, unsigned worker);
    /* Binds memory that a worker of this node (-1: unknown) uses most; negative errno is counted,
     * not fatal; may be NULL */
    int (*bind_memory)(void *userdata, void *address, uint64_t bytes, int node);
    /* Is this code that a handler consists of? Called from a signal's handler. NULL: nobody can be
     * set aside */
    bool (*is_handler)(void *userdata, const void *pc);
    void *userdata;
    struct observed_header *observed; /* proto/observed_layout.h; NULL: nothing is observed */
    const void *host;                 /* goes into every context, and so does */
    const void *inline_block;         /* ... this one */
    /* Where a fault happened, as text (segment_layout.h); called in the signal handler of the
     * thread that failed, whose stack may be in ruins. `instruction` 0: where the caller is. May be
     * NULL */
    void (*trace)(uint64_t instruction, char build_id[ENGINE_BUILD_ID_MAX],
                  char trace[ENGINE_TRACE_MAX]);
};

/* Opens the segment behind `segment_fd`: formats it when its first page is zero and extends the
 * file to its size unless it is sealed, else checks magic, version, layout hash and the table sizes
 * against `config`.
 * -EPROTO: a segment of another layout (left untouched; *reterr_text says both); the caller keeps
 * its descriptors. */
int engine_open(const struct engine_config *config, int segment_fd, int stats_fd,
                struct engine **ret_engine, const char **reterr_text);
struct engine *engine_close(struct engine *engine);
/* A child that a handler forks does not inherit the segment: should it go on as if it were the
 * executor, it ends at its first commit. */
void engine_hide_from_children(struct engine *engine);
/* Bytes that a segment for `config` needs: what the supervisor makes the memfd, before sealing
 * it. */
uint64_t engine_segment_size(const struct engine_config *config);
/* `wanted` with the sizes that the segment was laid out for, a size as it is wanted where that lays
 * out the same. False: nobody has used it, or it is of another layout, or damaged, which
 * engine_open() says. */
bool engine_segment_config(int segment_fd, const struct engine_config *wanted,
                           struct engine_config *ret_config);
/* Bytes of addresses that each of a queue's two buffers has in it. */
uint64_t engine_window_size(const struct engine_config *config);

enum { ENGINE_DAMAGE_MAX = 160 };

/* What recovery found.  The totals since the segment was made are in the statistics segment. */
struct engine_recovery {
    uint64_t boots, running_handlers, unflushed_outboxes, armed_journals, held_locks,
        parked_batches, attached_batches, ports_attached, spawns_undone, states_undone,
        redeliveries, faults, duration_ns, timers_undone;
    char damage[ENGINE_DAMAGE_MAX];
};
/* What a fault record of the previous run says (0 workers: none).  Text for the log. */
struct engine_fault {
    uint32_t worker, signal, attempts, message_type, type, kind; /* kind: enum segment_fault_kind */
    uint64_t address, instruction;
    actor_ref actor;
    char actor_type[ODEON_NAME_MAX + 1], plugin[ODEON_NAME_MAX + 1], message[ODEON_NAME_MAX + 1];
    char build_id[ENGINE_BUILD_ID_MAX], trace[ENGINE_TRACE_MAX];
};
/* A message that was running at two or more deaths that nothing explains (run/suspect.h). */
struct engine_suspect {
    uint32_t worker, deaths;
    actor_ref actor, from;
    char actor_type[ODEON_NAME_MAX + 1], plugin[ODEON_NAME_MAX + 1], message[ODEON_NAME_MAX + 1];
};
/* -EPROTO: the segment is damaged; -ESRCH: it has references of another executor. The report's
 * `damage` says where; the segment has been left as it is. */
int engine_recover(struct engine *engine, struct engine_recovery *ret_report);
/* The faults that the last recovery blamed on a message; index from 0; -ENOENT past the last. */
int engine_fault_get(const struct engine *engine, unsigned index, struct engine_fault *ret_fault);
/* Counts one of them for its type. True: its handlers have by now crashed as often as `limit` (0:
 * never enough) within `window_ns`, and it is not run any more: what is sent to its actors becomes
 * dead letters, until it is released. Counts once, though it be called again behind a restart; also
 * true again. After recovery, before the start. */
bool engine_fault_count(struct engine *engine, unsigned index, uint64_t now_ns, uint64_t window_ns,
                        uint32_t limit);
/* All that it was to do is done: no further recovery brings it. The start does that for all. */
void engine_fault_done(struct engine *engine, unsigned index);
/* The same of suspects. */
int engine_suspect_get(const struct engine *engine, unsigned index,
                       struct engine_suspect *ret_suspect);

int engine_start(struct engine *engine);
/* Large pages for the tables of actors. For a while after the start: clearing one, let alone making
 * room for it, is more than all the rest of a recovery may take. */
void engine_widen(struct engine *engine);
/* Nothing is queued and nobody runs, at one look that waits for nobody. A message may have moved
 * between two of its parts: two looks in a row tell. */
bool engine_is_quiet(struct engine *engine);
/* Waits until nothing is queued and nobody runs, or the timeout (0: only counts); ports are no
 * longer taken from when `stop`.
 * 0: empty; 1: not.  *ret_unreceived: messages still queued, about so many: workers go on. */
int engine_drain(struct engine *engine, uint64_t timeout_ns, bool stop, uint64_t *ret_unreceived);
/* The books of a stop: what has been sent and has not been received. */
struct engine_left {
    uint64_t running; /* in handlers that have not returned in time */
    uint64_t waiting; /* in queues */
    uint64_t untaken; /* in the rings of ports */
};
/* Workers end after their current message, and what is left then is counted: exact, unless a
 * handler has not returned within `timeout_ns` and its thread cannot be held (hold.h): its batch is
 * counted as it was attached.  engine_stop() is next. */
void engine_halt(struct engine *engine, uint64_t timeout_ns, struct engine_left *ret_left);
/* workers end after their current message; the segment is marked clean */
void engine_stop(struct engine *engine);

/* Message types. -EBADMSG: known under this name and version with another size, tail or fields;
 * -ENOSPC; -EINVAL: bad name. */
struct engine_message_type {
    uint16_t id;
    uint32_t version, size, has_tail;
    uint32_t account; /* user + 1 of the client that made it known; 0: nobody's */
    const char *name, *fields;
};
int engine_message_type_intern(struct engine *engine, const char *name, uint32_t version,
                               uint32_t size, bool has_tail, const char *fields, uint16_t *ret_id);
/* A type that has just become known is on this account (user + 1) for the life of the segment.
 * Control thread, before the next one is made known. */
void engine_message_type_charge(struct engine *engine, uint16_t id, uint32_t account);
/* How many are known, and how many of them are on this account. */
uint32_t engine_message_types_count(const struct engine *engine, uint32_t account,
                                    uint32_t *ret_own);
/* version 0: newest */
int engine_message_type_find(struct engine *engine, const char *name, uint32_t version,
                             struct engine_message_type *ret_type);
int engine_message_type_get(struct engine *engine, uint16_t id,
                            struct engine_message_type *ret_type);

/* Actor types. -EEXIST: a type of this name is loaded already; -ENOSPC; -E2BIG: a state to be kept
 * that is larger than durable_bytes; -EBADMSG: actors of this name live whose kept state has
 * another size, or is not to be kept any more; -ENOENT: ... that are in a phase which it does not
 * have. The id is the same over restarts. */
int engine_actor_type_register(struct engine *engine, const struct engine_actor_type_info *info,
                               uint32_t *ret_id);
/* The same in two steps, of which the first alone takes memory: whoever registers several, all or
 * none, makes them all first. -ENOMEM. Of the second, which leaves what was made if it fails, the
 * errors are those above. NULL is nothing to unmake. */
struct actor_type;
int engine_actor_type_make(const struct engine_actor_type_info *info, struct actor_type **ret_made);
int engine_actor_type_register_made(struct engine *engine,
                                    const struct engine_actor_type_info *info,
                                    struct actor_type *made, uint32_t *ret_id);
void engine_actor_type_unmake(struct actor_type *made);
/* Whether that would do, but for memory; nothing is changed. For several, one after the other:
 * `room`, of zeroes for the first one, is what they take of the tables. */
struct engine_types_room {
    uint32_t types, phases;
};
int engine_actor_type_check(struct engine *engine, const struct engine_actor_type_info *info,
                            struct engine_types_room *room);
/* Makes the type unavailable; when every worker has passed a quiescent point its code can go. Asked
 * for once, looked at until that does not say -EAGAIN any more: each millisecond is enough. 0: it
 * has gone; -EBUSY: actors of it live, *ret_live says how many, or (0) a handler has been running
 * for long: it is as it was. */
int engine_actor_type_retire_ask(struct engine *engine, uint32_t id, uint64_t *ret_live);
int engine_actor_type_retire_look(struct engine *engine, uint32_t id, uint64_t *ret_live);
/* It is as it was, if it was about to go. */
void engine_actor_type_retire_cancel(struct engine *engine, uint32_t id);
/* All of it, by who may wait. */
int engine_actor_type_retire(struct engine *engine, uint32_t id, uint64_t *ret_live);
/* Thread-safe. 0 or -ENOENT. */
int engine_actor_type_find(struct engine *engine, const char *name, uint32_t *ret_id);
struct engine_actor_type_view {
    uint32_t id, version, state_size, n_behaviours;
    const char *name, *plugin;
    const struct engine_behaviour *behaviours;
    enum engine_restart restart;
    enum engine_overflow overflow;
    bool loaded, quarantined;
    bool is_group; /* the service's own, of groups */
    uint64_t live;
};
/* 0: it was in quarantine and is run again; 1: it was not. */
int engine_actor_type_release(struct engine *engine, uint32_t id);
/* id from 1; -ENOENT: no such id (ids are dense: the first one missing is the end). */
int engine_actor_type_get(struct engine *engine, uint32_t id,
                          struct engine_actor_type_view *ret_type);
/* How many actors of this type could not begin since this was last asked, behind an event that says
 * so; one of them: why, and who has spawned it, 0: no actor. */
struct engine_unbegun_view {
    uint32_t reason;
    actor_ref last, by;
};
uint32_t engine_type_unbegun(struct engine *engine, uint32_t id,
                             struct engine_unbegun_view *ret_view);

/* Where a new actor is to live, for life.
 * SPREAD   the next worker's next queue, round robin; where a type has many actors, blocks of
 *     siblings that are spawned in a row (by one worker) share a queue
 * EACH     the next worker's next queue, one by one
 * NEAR     the queue of the actor that spawns; SPREAD without one, and for children of a detached
 *     actor
 * NODE     round robin over the workers of memory node `place`; -ENODEV: none runs there
 * PINNED   run by worker `place` alone, or by the next one (ENGINE_ANYWHERE); -ENODEV: that worker
 *          does not run.  When it goes later, another one alone runs it until it is back
 * FOLLOW   run by whoever sends to it while it is idle
 * DETACHED by a thread of its own: its handlers may block. -ENOSPC: detached_max are alive;
 * -EAGAIN: no thread to be had Other values: -EINVAL. */
enum engine_placement {
    PLACE_SPREAD,
    PLACE_NEAR,
    PLACE_NODE,
    PLACE_PINNED,
    PLACE_FOLLOW,
    PLACE_DETACHED,
    PLACE_EACH,
    PLACE_N
};
#define ENGINE_ANYWHERE UINT32_MAX
struct engine_spawn {
    enum engine_placement placement;
    uint32_t place; /* NODE: node; PINNED: worker, or ENGINE_ANYWHERE */
    const char *name;
    const void *args;
    size_t args_size;
    uint32_t account; /* kept with it; 0: nobody's */
    bool link;        /* it ends with its spawner, an actor */
    bool find;        /* one of this name and type is it, if there is one */
    bool at_once;     /* it is there before the spawner's commit, and without it; it has a name */
};

/* Actors, by the control thread. spawn: -ENOENT no such type, -EEXIST name taken, -E2BIG, -ENOSPC,
 * -EINVAL bad name. */
int engine_actor_spawn(struct engine *engine, uint32_t type, const char *name, const void *args,
                       size_t args_size, actor_ref *ret_ref);
int engine_actor_spawn_placed(struct engine *engine, uint32_t type,
                              const struct engine_spawn *spawn, actor_ref *ret_ref);
/* -ESRCH: no such actor; -EAGAIN: its queue is at the limit; -EMSGSIZE. */
int engine_actor_send(struct engine *engine, actor_ref to, uint16_t type, const void *payload,
                      size_t size);
/* The same for a client of this user (engine_port_info), whom quotas bind: it counts as what the
 * user has posted. -EDQUOT: as much of the user's waits as may. */
int engine_actor_send_for(struct engine *engine, uint32_t user, actor_ref to, uint16_t type,
                          const void *payload, size_t size);
int engine_actor_lookup(struct engine *engine, const char *name, actor_ref *ret_ref); /* -ENOENT */
struct engine_actor_view {
    actor_ref ref, spawned_by;
    uint32_t type; /* 0: a port */
    uint32_t queue, worker;
    const char *name;  /* "" */
    const char *state; /* "live", "new" (init has not run yet), "port" */
    const char *phase; /* "": its type has one set of behaviours, without a name */
    uint64_t queue_bytes;
    uint32_t account;
};
/* How many messages it has put off, and the bytes of their places. */
uint32_t engine_actor_stashed(struct engine *engine, actor_ref ref, uint64_t *ret_bytes);
bool engine_actor_lives(const struct engine *engine, actor_ref ref);
/* The first live actor at `slot` or behind it; -ENOENT: none. */
int engine_actor_next(struct engine *engine, uint32_t slot, struct engine_actor_view *ret_actor);
/* The one of this slot. False: there is none. */
bool engine_actor_at(struct engine *engine, uint32_t slot, struct engine_actor_view *ret_actor);
/* No actor has ever been in a slot from this one on. */
uint32_t engine_actor_slots(const struct engine *engine);
/* -ESRCH */
int engine_actor_get(struct engine *engine, actor_ref ref, struct engine_actor_view *ret_actor);

/* Message queues; -ENOENT behind the last one. `worker` runs it at present, `home` is whose it is;
 * of a worker that does not run: retired, which ends with its last actor. `place`: worker
 * (ordinary, pinned), or number within its kind. */
struct engine_queue_view {
    const char *kind; /* "ordinary", "pinned", "follow", "aside", "detached" */
    uint32_t queue, place, worker, home, actors;
    bool retired;
    uint64_t bytes, urgent_bytes; /* that wait, in the ordinary and in the urgent lane */
};
int engine_queue_get(struct engine *engine, uint32_t queue, struct engine_queue_view *ret_queue);
/* The oldest message that waits in one of a queue's lanes: for what is shown of few queues. */
struct engine_oldest {
    actor_ref to; /* 0: none waits, or somebody has just taken the lock */
    uint64_t ns;  /* it has waited, at least; 0: not known */
};
struct engine_oldest engine_queue_oldest(struct engine *engine, uint32_t queue);

/* Dead letters, oldest first; ids rise. */
struct engine_dead_letter {
    uint64_t id, time_ns; /* CLOCK_REALTIME */
    actor_ref to, from;
    /* actor_type 0: the receiver had ended */
    uint32_t message_type, actor_type, reason, attempts, size;
};
/* Those with the id `from` or a later one, at most `n`. */
size_t engine_dead_letters_list(struct engine *engine, uint64_t from,
                                struct engine_dead_letter *rows, size_t n, bool *ret_more);
/* -ENOENT */
int engine_dead_letter_get(struct engine *engine, uint64_t id, struct engine_dead_letter *ret,
                           uint8_t payload[ODEON_PAYLOAD_MAX]);
/* Whether all of these ids are there, in one pass; they rise, or are the same. Else *ret_missing is
 * the first that is not. */
bool engine_dead_letters_exist(struct engine *engine, const uint64_t *ids, size_t n,
                               uint64_t *ret_missing);
/* By id, rising, in one pass; or all of them (n 0). What is replayed comes behind what waits for
 * its receiver (`to` 0), or for another actor, as if it were new; it stays where that has ended
 * (gone), or its queue is at its limit (full). more: the outbox is, call again. */
struct engine_dead_letters_done {
    uint64_t done, gone, full;
    bool more;
};
void engine_dead_letters_purge(struct engine *engine, const uint64_t *ids, size_t n,
                               struct engine_dead_letters_done *ret_done);
void engine_dead_letters_replay(struct engine *engine, const uint64_t *ids, size_t n, actor_ref to,
                                struct engine_dead_letters_done *ret_done);

/* Ports. The engine maps the descriptors (and keeps copies of doorbell and pipe); the caller may
 * close its own. Before engine_recover(): a port that the segment knows in this generation keeps
 * its cursors; ports that it knows and that are not added by then are forgotten. -EBADFD: a
 * descriptor is not sealed or too small; -EEXIST. */
struct engine_port_info {
    uint32_t id, generation;
    uint64_t client;
    uint64_t submission_bytes, delivery_bytes;
    int client_fd, executor_fd, doorbell_fd, pipe_fd; /* pipe_fd -1: none */
    uint32_t overflow;      /* enum port_overflow: deliveries beyond backlog_bytes */
    uint64_t backlog_bytes; /* of this one, at most those of the configuration; 0: as many */
    bool may_not_stop;      /* messages that end their receiver are refused */
    uint32_t user;          /* whom it counts for, any number but 0; 0: nobody, no quota binds it */
    bool rated;             /* nothing is taken from it but what engine_port_grant() allows */
    /* its client has gone: only what a former executor has left of it is drained; -ENOENT:
     * nothing */
    bool closing;
};
/* -ENOSPC: the port's slot is spent (actors.A4 of actors.h), another id has to be taken. */
int engine_port_add(struct engine *engine, const struct engine_port_info *info, actor_ref *ret_ref);
/* Drains what was published, then closes: ENGINE_EVENT_PORT_REMOVED follows. */
int engine_port_remove(struct engine *engine, uint32_t id, uint32_t generation);

/* Gives the port a name, which actors and clients find it by as long as it is open; counted for the
 * account, as an actor's. 0; 1: it has had this name already; -EALREADY: it has another one;
 * -EEXIST: somebody else has it; -ESRCH: there is no such port; -EINVAL: it is no name; -ENOSPC. */
int engine_port_register(struct engine *engine, actor_ref port, const char *name, uint32_t account);

/* Whose port it is; 0: nobody's. */
uint64_t engine_port_client(const struct engine *engine, uint32_t id);

/* Rates of posting: ENGINE_EVENT_PORT_SPENT says that a rated port has no grant left and waits for
 * more. -ENOENT: no such port. */
struct engine_port_rate {
    /* records since it was opened; those that may be taken without a further grant */
    uint64_t taken, left;
    bool rated, spent;
};
int engine_port_rate(struct engine *engine, uint32_t id, uint32_t generation,
                     struct engine_port_rate *ret_rate);
int engine_port_grant(struct engine *engine, uint32_t id, uint32_t generation, uint64_t records);

/* What has come through a port, and what waits. Each figure is true of some moment, and those that
 * its client has a word in are never more than the port has room for. -ENOENT: no such port. */
enum engine_port_waits {
    ENGINE_PORT_GOES_ON,
    ENGINE_PORT_ROOM,
    ENGINE_PORT_SHARE,
    ENGINE_PORT_RATE
};
struct engine_port_tally {
    actor_ref ref;
    uint64_t posts; /* records taken since it was opened; the others are bytes */
    uint64_t not_taken, delivered, not_received, backlog;
    uint64_t dropped;             /* records that its client had no room for */
    uint64_t refused;             /* records of its client that were refused */
    enum engine_port_waits waits; /* what its next record waits for */
};
int engine_port_tally(struct engine *engine, uint32_t id, uint32_t generation,
                      struct engine_port_tally *ret);
int engine_port_set_rated(struct engine *engine, uint32_t id, uint32_t generation, bool rated);

/* ENGINE_EVENT_PORT_LOUD says that a port's doorbell rings without end: nobody listens to it from
 * engine_port_mute() on, until engine_port_listen(), which has it looked at. -ENOENT: no such port;
 * the second may also fail as epoll_ctl(2) does, and is to be tried again then. */
int engine_port_mute(struct engine *engine, uint32_t id, uint32_t generation);
int engine_port_listen(struct engine *engine, uint32_t id, uint32_t generation);

/* Live settings. */
void engine_set_stealing(struct engine *engine, enum steal_policy_id id);
void engine_set_throughput(struct engine *engine, uint32_t messages);
void engine_set_stall_limits(struct engine *engine, uint64_t warn_ns, uint64_t kill_ns);
/* As in the configuration. What waits already stays. */
void engine_set_waiting(struct engine *engine, uint64_t bytes, uint64_t quota_bytes,
                        uint64_t quota_ns);
/* The memory of all windows, in bytes; and what waits for one user, where users are accounted, and
 * how long it will take. */
uint64_t engine_waiting_bytes(const struct engine *engine);
uint64_t engine_user_waiting_bytes(const struct engine *engine, uint32_t user);
uint64_t engine_user_waiting_ns(const struct engine *engine, uint32_t user);
/* Users that are accounted: the index-th, and what waits for it. False: there is none behind it;
 * *ret_user 0: nobody has this place. */
bool engine_user_at(const struct engine *engine, uint32_t index, uint32_t *ret_user,
                    uint64_t *ret_waiting);
/* Bytes of the states of all actors that live, but for those that are kept in the segment. */
uint64_t engine_states_bytes(struct engine *engine);
/* Whose port it is, as users are counted here; 0: nobody's. */
uint32_t engine_port_user(const struct engine *engine, uint32_t id);
const struct engine_config *engine_get_config(const struct engine *engine);

/* Everything that can change while messages flow, in one transaction: n_workers (up to
 * workers_max), stealing, mode, steal_sources, packing, throughput, the idle intervals, cpus, nodes
 * and distances are taken from `config`, whose other members must be those of engine_get_config().
 * Workers meet at a barrier, ownership is redrawn, they go on. */
struct engine_change {
    uint64_t pause_ns; /* from the first worker that stopped to the last that went on */
    uint64_t moved;    /* sources that changed their owner */
    uint32_t stuck;
};
/* In steps, so that nobody waits: asked for once; looked at until all workers stand, behind each
 * ring of engine_event_fd() and each millisecond; made at once then; looked at until all have gone
 * on.  -EINVAL: a value out of range or not changeable, *reterr_text says which; -EALREADY: another
 * change is under way; -EINPROGRESS: look again; -EBUSY: worker *ret_stuck runs a handler that did
 * not return within the time: nothing has changed. */
int engine_reconfigure_ask(struct engine *engine, const struct engine_config *config,
                           uint64_t timeout_ns, const char **reterr_text);
int engine_reconfigure_look(struct engine *engine, uint32_t *ret_stuck, const char **reterr_text);
/* Of what has been checked, the places of workers alone may be others by now. */
void engine_reconfigure_make(struct engine *engine, const struct engine_config *config);
int engine_reconfigure_end(struct engine *engine, struct engine_change *ret_change);
/* Before the end: workers go on with what there is. */
void engine_reconfigure_cancel(struct engine *engine);
/* All of it, by who has nothing else to do and may wait. */
int engine_reconfigure(struct engine *engine, const struct engine_config *config,
                       uint64_t timeout_ns, struct engine_change *ret_change,
                       const char **reterr_text);

/* What a running worker has in hand just now, for people: a hint.  -ENOENT: no such worker. */
struct engine_worker_view {
    actor_ref actor; /* whose handler runs; 0: none, or not to be told */
    uint32_t type;   /* the actor's */
    uint32_t message_type;
};
int engine_worker_get(struct engine *engine, uint32_t worker,
                      struct engine_worker_view *ret_worker);
/* The worker has been running a handler of this actor for long: it alone goes on with it; the rest
 * of the batch, and what comes for the other actors of the queue, is run by others, where stealing
 * allows that. Waits up to the timeout for the thread to stand. 0; negative: it cannot be done
 * (now), *reterr_text says why: -EAGAIN, -EBUSY, -ETIMEDOUT, -ENOTSUP; -ENOENT: no such worker. */
int engine_worker_set_aside(struct engine *engine, uint32_t worker, actor_ref actor,
                            uint64_t timeout_ns, const char **reterr_text);

/* Whether a worker gets on, for a watchdog: `moves` is another number after any message and after
 * any pass over its sources. */
struct engine_worker_progress {
    uint64_t moves;
    bool rests;      /* it sleeps, or is stopped: it has nothing to do */
    bool in_handler; /* it runs a batch: between two messages, or in a behaviour */
};
int engine_worker_get_progress(struct engine *engine, uint32_t worker,
                               struct engine_worker_progress *ret_progress);

/* Handlers that do not return. When the descriptor is readable, the look is due; it may end the
 * process, having told why. */
enum engine_stall_what {
    ENGINE_STALL_WARN,
    ENGINE_STALL_ASIDE,
    ENGINE_STALL_KILL,
    ENGINE_STALL_GONE
};
struct engine_stall {
    enum engine_stall_what what;
    uint32_t worker, type, message_type; /* actor 0: type and message type cannot be told */
    actor_ref actor;
    uint64_t age_ns, cpu_ns; /* since it was noticed; of that on a processor */
    char state;              /* the thread's, the kernel's letter; '?' */
    /* of WARN: 0: the actor has been set aside; negative: not (yet), aside_text says why. ASIDE: it
     * has been now */
    int aside;
    const char *aside_text;
};
typedef void (*engine_stall_fn)(void *userdata, const struct engine_stall *stall);
int engine_watch_fd(const struct engine *engine);
void engine_watch_look(struct engine *engine, engine_stall_fn tell, void *userdata);

/* For what stands between plugins and the C library; any thread, also in a signal handler. A
 * handler that ends the process: the first of them does not return when one calls it. */
void engine_handler_exits(void);
bool engine_thread_is_worker(void);
bool engine_signal_is_fault(int signal);

/* What happened on workers. The descriptor is readable when there are events; engine_event_next
 * clears it. A port's end is told when nobody can look at its memory any more: until then, while
 * engine_ports_are_going(), engine_event_next is to be called again by a timer. It waits for
 * nobody. */
enum engine_event_kind {
    ENGINE_EVENT_PORT_REMOVED,
    ENGINE_EVENT_PORT_BROKEN,
    ENGINE_EVENT_PORT_SPENT,
    ENGINE_EVENT_PORT_LOUD,
    /* what it posts is turned away, or waits, since there is no memory for more, or since what
     * waits for its user takes too long: not too often */
    ENGINE_EVENT_PORT_OVER,
    ENGINE_EVENT_TYPE_UNBEGUN /* actors of a type could not begin: engine_type_unbegun() */
};
struct engine_event {
    enum engine_event_kind kind;
    uint32_t id;         /* the port's, or the type's */
    uint32_t generation; /* the port's */
    uint32_t why;        /* enum port_broken; over: 1 for time, else 0 */
};
int engine_event_fd(const struct engine *engine);
bool engine_event_next(struct engine *engine, struct engine_event *ret_event);
bool engine_ports_are_going(const struct engine *engine);

/* Timers that are armed: when the descriptor is readable, engine_timers_look() sends what is due.
 * It takes its time: what is left makes the descriptor readable at once. Behind engine_start(). */
int engine_timers_fd(const struct engine *engine);
void engine_timers_look(struct engine *engine);
/* How many are armed, monitors left out: none of them is waited for by a drain. */
uint32_t engine_timers_count(struct engine *engine);
/* Messages that actors have put off. */
uint32_t engine_stashed_count(struct engine *engine);
/* The first one whose number is at least `timer`; -ENOENT: there is none. */
struct engine_timer_view {
    actor_ref watched; /* a monitor, which waits for this one's end; 0: it is none */
    actor_ref group;   /* a membership of the owner's in this group; 0: it is none */
    uint32_t timer;    /* its number */
    uint64_t id, deadline_ns, period_ns;
    bool by_boot_time; /* the deadline is one of CLOCK_BOOTTIME, else of CLOCK_MONOTONIC */
    actor_ref owner, to;
    uint32_t message_type, size;
};
int engine_timer_next(struct engine *engine, uint32_t timer, struct engine_timer_view *ret_timer);
/* Groups: from now on actors can join them. Behind engine_recover(), before other types. 0, or as
 * engine_actor_type_register. */
#define ENGINE_GROUP_TYPE "odeon_group"
int engine_groups_open(struct engine *engine);
/* The first one from `at` on; -ENOENT: there is none. */
struct engine_group_view {
    uint32_t at;
    actor_ref ref;
    const char *name; /* for as long as the engine is open */
    uint32_t members; /* those whose turn goes on are counted */
};
int engine_group_next(struct engine *engine, uint32_t at, struct engine_group_view *ret_group);
/* A type is not run any more: who monitors its actors is told. */
void engine_type_quarantined(struct engine *engine, uint32_t type);

/* Runs `run` on the control thread with a context of nobody's, in which it may send, look up and
 * spawn; what it has done is committed behind it, whatever it returns. 0, or what it returns. */
typedef int (*engine_run_fn)(struct engine_context *ctx);
int engine_run(struct engine *engine, engine_run_fn run);
