/* SPDX-License-Identifier: Apache-2.0 */
/* The crash-point driver: one routine of the engine is run instruction by instruction; whatever
 * shared memory holds between two of them is what a kill there would leave, and is recovered from,
 * by another process, to the end (README.md).
 *
 *   world.c     what outlives a process: segment, ports' memory, ledger; images of it
 *   cast.c      the actors that send numbered items to each other
 *   clients.c   ... and the clients
 *   books.c     what must be true behind a recovery, and once everything has come to rest
 *   life.c      one executor without threads: opened, recovered, run until nobody has work
 *   child.c     the processes that live such lives
 *   step.c      the tracer of routines
 *   states.c    the states that have been met, and the way back to each
 *   recovery.c every state is recovered from, and that recovery's states are, until there is none
 *   that is new
 *   stores.c    a recovery, from store to store
 *   places.c    the instructions at which it was killed
 *   scenes_*.c  the routines
 *   main.c      the test program
 *
 * A kill leaves shared memory as it is and nothing else, so points between which it does not change
 * are one state, and each state is recovered from once. The last point of each scene is a real
 * SIGKILL, behind which the memory is compared with the image.
 *
 * Threads: none; processes work side by side, and share states.c's memory. Only a routine's process
 * is traced.
 */
#pragma once

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/engine/engine.h"
#include "proto/port_layout.h"

/* ---- world.c ---- */

enum { PAGE = 4096, N_WORKERS = 2, N_PORTS = 2, PORT_RING = ODEON_RING_MIN };
enum region_id {
    REGION_SEGMENT,
    REGION_LEDGER,
    REGION_PORT,
    N_REGIONS = REGION_PORT + 2 * N_PORTS
};

struct region {
    int fd;
    uint64_t bytes;
    uint8_t *map;
};
struct world {
    struct region region[N_REGIONS];
    int stats_fd, doorbell_fd[N_PORTS];
};

struct image {
    struct piece {
        uint32_t region;
        uint64_t at, bytes, content; /* `content`: where in the image */
    } * piece;
    uint32_t n, room;
    uint64_t blocks[N_REGIONS]; /* what the files held: more or less of it is a change */
    uint64_t bytes, bytes_room;
    uint8_t *content;
};

void world_make(struct world *world);
void image_take(struct image *image, const struct world *world);
/* Is the world's content another than the image's? */
bool image_differs(const struct image *image, const struct world *world);
void image_restore(const struct image *image, const struct world *world);

/* A word of the world: its region and its byte there. */
enum { WHERE_BITS = 48 };
#define WHERE_MASK ((UINT64_C(1) << WHERE_BITS) - 1)
static inline uint64_t where_of(uint32_t region, uint64_t byte)
{
    return (uint64_t)region << WHERE_BITS | byte;
}
/* What a word adds to the hash of the world that it is in: nothing, if it is 0. A world's hash is
 * the sum. */
uint64_t word_hash(uint64_t where, uint64_t value);
uint64_t image_hash(const struct image *image);
struct recording;
/* The words that differ go into the recording. */
void page_changes(uint64_t where, const void *before, const void *after,
                  struct recording *recording);
void image_changes(const struct image *before, const struct image *after,
                   struct recording *recording);

/* ---- states.c ---- */

enum { CHANGES_MAX = 1 << 20, MARKS_MAX = 1 << 16, LENGTHS = 8192 };
#define STATE_BASE UINT32_MAX
struct change {
    uint64_t where, value;
};
/* A run in the making: the words that it has changed, and a mark wherever the world is another than
 * at the mark before. */
struct recording {
    uint64_t points, hash, marked;
    uint32_t n_changes, n_marks;
    struct length {
        uint64_t at, bytes;
    } length[LENGTHS]; /* of instructions: from run to run (stores.c) */
    struct mark {
        uint64_t hash, at; /* `at`: the instruction */
        uint32_t n_changes;
    } mark[MARKS_MAX];
    struct change change[CHANGES_MAX];
};
struct state {
    uint64_t hash, at, changes_at;
    uint32_t n_changes; /* behind what its run had begun with: */
    uint32_t parent;    /* STATE_BASE: the base */
    uint32_t depth;     /* 0: a routine's; so many recoveries have been killed on the way to it */
};

/* Memory that child processes share, zeroed. */
void *states_map(size_t bytes);
void states_init(void);
void states_reset(void);
uint32_t states_count(void);
const struct state *states_get(uint32_t index);
bool states_known(uint64_t hash);
bool states_enter(uint64_t hash); /* true: it is new */
void recording_begin(struct recording *recording, uint64_t hash);
void recording_change(struct recording *recording, uint64_t where, uint64_t from, uint64_t to);
void recording_mark(struct recording *recording, uint64_t at);
/* The run's states that are new; the recording's marks are of no use behind it. */
void states_add(struct recording *recording, uint32_t parent, uint32_t depth);
void states_restore(uint32_t index, const struct image *base, const struct world *world);

/* ---- books.c: the ledger ---- */

enum { N_ROWS = 64, N_ACTORS = 24, N_POSTS = 64, TAIL_MAX = ODEON_PAYLOAD_MAX - 64 };
enum row_flags {
    ROW_MAY_SKIP = 1, /* a policy may drop some */
    ROW_CLIENT = 2,   /* a client's: a row it receives never has a number twice */
    ROW_DEAD = 4,     /* ends among the dead letters */
    ROW_REFUSED = 8,  /* comes back to its client as refusals */
    ROW_WHOLE = 64,   /* with ROW_PREFIX: all of it comes, or nothing */
    ROW_URGENT = 32,  /* through urgent lanes */
    ROW_LATER = 128,  /* a client's, to be sent at a time to come */
    ROW_DOWN = 256,   /* a client's, which monitors its receiver; ends that it is told of */
    ROW_UNDO = 512,   /* a client's, which gives up the monitor of the row before; nothing comes */
    ROW_PREFIX = 16,  /* of a poster that may have died: it may end early, not before `accepted` */
};

/* Numbered items from one sender to one receiver. */
struct row {
    uint64_t last, end, least, taken, accepted; /* `least`: of ROW_MAY_SKIP, so many must come */
    uint32_t flags, size;                       /* bytes behind an item */
};

struct post {
    actor_ref to;
    uint32_t row, correlated;
};
struct client_book {
    uint32_t open, generation, closing; /* closing: its client is gone */
    uint32_t overflow;                  /* enum port_overflow */
    uint32_t user;                      /* 0: nobody's */
    actor_ref ref;
    uint64_t tail, head;
    uint32_t n_posts, posted;
    uint64_t next[N_ROWS];
    struct post post[N_POSTS];
};

enum cast_type {
    CAST_RELAY,
    CAST_SINK,
    CAST_GUEST,
    CAST_FAILING,
    CAST_OLDEST,
    CAST_NEWEST,
    CAST_STALL,
    CAST_KEPT,
    CAST_STUCK,
    CAST_HUNG,
    CAST_MAYFLY,
    CAST_CLOCK,
    CAST_ASKER,
    CAST_ECHO,
    CAST_CLERK, /* passes questions on */
    CAST_WATCHER,
    CAST_MORTAL,
    CAST_FRAIL,
    CAST_MEMBER,
    CAST_WAITER, /* ... whose copies wait when its queue is full */
    CAST_MOODY,  /* keeps its state, and is in another phase with each item */
    CAST_PORTER, /* keeps its state, and puts items off while it is shut */
    CAST_ANEW,   /* loses its state and its timers, and begins again */
    CAST_STOPS,  /* ... and does not */
    CAST_GROUP,  /* the service's own */
    N_CAST
};

struct ledger {
    char failure[512];
    uint64_t redelivered, redelivered_max;
    uint64_t attempts_max; /* so often a message may have been blamed */
    uint64_t strange;      /* no behaviour is known to be quick (daemon/engine/run/pace.h) */
    actor_ref actor[N_ACTORS];
    /* at the end; so many more may have come about, of a spawn that was not seen to return */
    uint64_t live[N_CAST], live_more[N_CAST];
    struct row row[N_ROWS];
    struct client_book client[N_PORTS];
    uint64_t names;   /* 1: a port is given one */
    uint64_t renamed; /* 1: the first phase of CAST_MOODY has another name than it had */
};

extern struct ledger *ledger; /* of the world that this process lives in */

__attribute__((format(printf, 1, 2), noreturn)) void fail(const char *format, ...);
void must(const char *what, int r);
/* An item has come to its receiver. */
void row_note(uint32_t row, uint64_t number, bool redelivered);
void books_after_recovery(struct engine *e);
void books_at_rest(struct engine *e);

/* ---- cast.c ---- */

struct item {
    uint32_t row, number;
};
/* What a relay does with each item: its arguments at spawn, so that it is the same after a
 * restart. */
enum { PLAN_OUTS = 8 };
enum plan_act {
    ACT_SEND,
    ACT_SPAWN,
    ACT_SPAWN_NAMED,
    ACT_SPAWN_FAILING,
    ACT_SPAWN_TALK,
    ACT_SPAWN_KEPT,
    ACT_SPAWN_BRIEF,
    ACT_SPAWN_LINKED, /* mortals, which are sent nothing */
    ACT_SPAWN_TAKEN   /* ... and before each one whose name is another's */
};
struct plan {
    uint32_t act, stop_at, n, reserved;
    struct {
        actor_ref to;
        uint32_t row, reserved;
    } out[PLAN_OUTS];
};

/* The state of an actor that is kept. */
struct kept {
    struct plan plan;
    uint64_t last, begun; /* number of its last item; inits */
};

extern uint16_t item_type;
extern uint32_t cast_type[N_CAST];
void cast_register(struct engine *e);
void cast_register_one(struct engine *e, enum cast_type type);
/* An actor of this type in that queue. */
actor_ref cast_spawn(struct engine *e, enum cast_type type, uint32_t queue, const void *args,
                     size_t size);
/* What has come; the bytes behind it must be its row's. */
struct item item_take(const void *message, size_t size);
/* An item with the bytes that its row has behind it; its size. */
size_t item_fill(uint8_t *record, uint32_t row, uint32_t number);
/* The next items of a row, by the control thread; `accepted` follows. */
void cast_send(struct engine *e, actor_ref to, uint32_t row, uint32_t n);
/* ... with a trace's id. */
void cast_send_traced(struct engine *e, actor_ref to, uint32_t row, uint32_t n);

/* What a CAST_CLOCK is spawned with: with each item it arms a timer for `to` in either row, and
 * cancels the second one with the next item, the last one at once. */
struct clock_plan {
    actor_ref to;
    uint32_t row, cancelled_row;
    uint64_t last;
};

/* What a CAST_ANEW or CAST_STOPS is spawned with: with its init it arms a timer for `to` in
 * `life_row`, with each item one in `row`; and it sends the item on. */
struct owner_plan {
    actor_ref to;
    uint32_t row, life_row;
};
int owner_init(void *self, const void *args, size_t size, struct engine_context *ctx);
int on_item_owner(void *self, const void *message, struct engine_context *ctx);

/* What a CAST_ASKER is spawned with: with each item it asks `echo`, which answers with an item of
 * `answer_row`, and `silent`, which does not: that there is no answer is noted in `silent_row`. */
enum { ASKER_ITEMS = 4 };
struct asker_plan {
    actor_ref echo, silent;
    uint32_t row, answer_row, silent_row, reserved;
    uint64_t timeout_ns;
};

/* What a CAST_WATCHER is spawned with: with item n it monitors the n-th one, twice, gives up one of
 * the two, and sends it an item of row `row` + n - 1. With that it ends, and sends one of the row
 * WATCHER_ITEMS behind before. That it has ended is noted in `down_row`, in the order in which it
 * is told. The first one, a CAST_MORTAL, keeps its state, the second one, a CAST_FRAIL, does
 * not. With `row` 0 it spawns actors that cannot begin instead, which it does not monitor. */
enum { WATCHER_ITEMS = 2 };
struct watcher_plan {
    actor_ref watched[WATCHER_ITEMS];
    uint32_t row, down_row;
};

/* What a CAST_MEMBER is spawned with. With its three items of `commands` it joins the group, leaves
 * it, and joins it; or it is one that returns, which joins again in the turn in which it leaves;
 * or, if it is the publisher, publishes with each an item of `published` and the same number. What
 * it gets of these it notes in its own row. */
enum member_kind { MEMBER_PLAIN, MEMBER_PUBLISHES, MEMBER_RETURNS };
struct member_plan {
    uint32_t commands, published, own, kind;
};

/* What a CAST_PORTER is told by: the odd items have it open, and take back what it has put off; the
 * even ones have it shut, and that of its plan's `stop_at` have it end. */
enum { PORTER_ROW = 1 };

/* While it is 1, a CAST_STUCK stays in its handler; `inside`: it is there. */
extern _Atomic uint32_t cast_hold, cast_inside;
bool cast_is_stuck_handler(void *userdata, const void *pc);

struct life;
/* Rows, and actors, for scenes. */
void row_expect(uint32_t row, uint64_t end, uint32_t flags, uint32_t size);
actor_ref sink_make(struct life *life, uint32_t queue);
actor_ref relay_make(struct life *life, uint32_t queue, const struct plan *plan);
void plan_out(struct plan *plan, actor_ref to, uint32_t row);

/* ---- clients.c ---- */

/* A client is to post these. */
void client_books(uint32_t id, actor_ref to, uint32_t row, uint32_t n, bool correlated);
/* It posts what its book says, reads what has come.  True: it did something. */
bool client_post(struct life *life, uint32_t id);
bool client_read(struct life *life, uint32_t id);

/* ---- life.c ---- */

struct life {
    struct world *world;
    struct engine *engine;
    struct {
        uint8_t *submission;
        const uint8_t *delivery;
        struct port_client *words;
        const struct port_executor *executor;
    } port[N_PORTS];
};

void life_open(struct life *life, struct world *world);
void life_recover(struct life *life);
void life_close(struct life *life);
void life_port_add(struct life *life, uint32_t id);
/* Runs every source that has its ready bit set, once, under the worker in whose mask it is. True:
 * there was one. */
bool life_run_ready(struct life *life);
void life_run_queue(struct life *life, uint32_t queue, uint32_t worker);
void life_run_port(struct life *life, uint32_t port, uint32_t worker);
/* Ports that have been drained and closed go, as the executor does when it is told. */
void life_reap(struct life *life);
void life_quiesce(struct life *life);
const struct engine_config *life_config(void);

/* ---- scenes ---- */

struct scene {
    const char *name;
    /* from an empty world; leaves the one that the routine begins with. NULL: the routine is a
     * first start */
    void (*setup)(struct life *life);
    void (*prepare)(struct life *life); /* of the traced process, before it is stepped */
    void (*routine)(struct life *life); /* stepped */
    uint32_t in_doubt;                  /* so many messages may be run twice */
    bool quick;                         /* in the test run, too */
    /* a second thread's routine, which stands at a chosen point meanwhile */
    void (*other)(struct life *life);
    /* the routine is surrounded by threads that run: killed at some points, in a life of its own
     * each */
    bool live;
};

/* each ends with one without a name */
extern const struct scene scenes_turn[], scenes_port[], scenes_limits[], scenes_threads[],
    scenes_letters[], scenes_client[], scenes_timers[], scenes_asks[], scenes_monitors[],
    scenes_groups[], scenes_phases[];

/* ---- child.c ---- */

pid_t child_fork(void);
/* A child's first words; its ledger is this world's. */
void child_begin(struct world *world);
/* One that computes for ever, or waits, has failed. */
void child_limit(void);
/* Waits for its end.  False: it did not go well, and `failure` says why. */
bool child_well(pid_t pid, const struct world *world, const char *what, char *failure, size_t room);
const char *child_failure(const struct world *world);
/* What a kill left, to its end and the books: a child's main function. */
__attribute__((noreturn)) void child_check(struct world *world);
/* A recovery that is stepped: it begins with SIGUSR1 and ends with SIGUSR2. */
enum { BEGIN = SIGUSR1, END = SIGUSR2 };
__attribute__((noreturn)) void child_recover_traced(struct world *world);
/* The instruction at which a traced process stands, and what people call it. */
uint64_t traced_at(pid_t pid);
void place_text(uint64_t at, char *text, size_t room);
/* SIGTRAP: one instruction further; END. */
int traced_step(pid_t pid, int *ret_status);

/* ---- stores.c ---- */

#if defined(__x86_64__)
#define HAVE_STORES 1
#else
#define HAVE_STORES 0
#endif
/* From here on each store into the world is recorded. */
void stores_begin(struct life *life, struct recording *recording);
void stores_end(void);

/* ---- places.c ---- */

void places_init(void);
/* A traced process stands at this instruction, or recovery has stored with it. */
void places_note(uint64_t at);
/* A line for each of them: how far behind the program's beginning it is. */
void places_write(const char *path);

/* ---- step.c ---- */

struct tally {
    uint64_t points, states;
    char failure[1024]; /* "": none */
};

void step_init(void);
/* Every instruction of the scene's routine. With a second thread: as often as that one has states,
 * `stride` apart, and stands in each of them in turn. Of a live one: so many points, as far from
 * each other. */
void step_scene(const struct scene *scene, uint32_t stride, uint32_t live_points,
                struct tally *tally);
/* The same without recovering from them: the scene's states are added (states.c), and what they
 * begin with is returned; NULL: a failure. */
const struct image *step_states(const struct scene *scene, uint32_t stride, struct tally *tally);

/* ---- recovery.c ---- */

/* How much of it. */
struct recovery_extent {
    uint32_t pairs;  /* stride of second threads, 0: none */
    uint32_t stride; /* of the routine's states */
    uint32_t depth;  /* so many recoveries are killed, one after the other, at most */
    /* of so many runs from a routine's state one is repeated instruction by instruction, and must
     * leave the same; 0: none */
    uint32_t stepped;
};
struct recovery_tally {
    /* points are stores; of recovery of a routine's states, and of all that come behind */
    struct tally once, again;
    /* `left`: states that are not run from, because of the depth */
    uint64_t runs[2], stepped, left;
    uint32_t deepest;
};
/* `jobs` processes side by side; `progress`: lines on standard error, now and then. */
void recovery_init(unsigned jobs, bool progress);
void recovery_scene(const struct scene *scene, const struct recovery_extent *extent,
                    struct recovery_tally *tally);
