/* SPDX-License-Identifier: Apache-2.0 */
/* The siege: every attack at once, each from a process of its own, beside honest clients and root.
 *
 * A besieger is a process of one of three users. It does its attack again and again until it is
 * told to stop, comes back at once when it is thrown out, and tells in shared memory how often it
 * has attacked and what it was answered. No assertion works there: what must not be (a thing that
 * its role forbids has been done) is said on standard error and ends it, and that fails the test.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/hostile/attacks.h"
#include "tests/system/harness.h"
#include "tests/system/user.h"

enum attacker { POSTER, OTHER_POSTER, REGISTRAR, ATTACKERS };
extern const struct user attackers[ATTACKERS];
extern const struct user innocent;

struct besieger;
struct assault {
    const char *name;
    enum attacker who;
    attack_fn attack;               /* what it does to its port's memory ... */
    void (*act)(struct besieger *); /* ... or one life without such a port */
    bool holds;                     /* takes all there is, and keeps it if it is told to */
    bool asks;                      /* one request for each thing that it takes */
    bool is_service;                /* none: what the service has computed, burnt in its place */
};

struct besieger {
    struct offender offender; /* `deeds`: attacks; `connects`; `stop` */
    _Atomic uint64_t refused; /* answers that said no */
    _Atomic uint64_t ended;   /* connections and ports that the service has closed */
    _Atomic int last_error;   /* of those */
    _Atomic bool keep, full;  /* keep what was taken; all has been */
    struct assault assault;
    pid_t pid;
    /* once it has ended: what it has used, and how often it has slept */
    int64_t cpu_ns;
    int64_t waited_ns; /* how long it was kept from a processor */
    int64_t slept_ns;  /* of a burner: how long it is to sleep in all */
    uint64_t sleeps;
};

/* What is attacked; set before any besieger begins. */
struct field {
    const struct service *service;
    odeon_ref echo;   /* answers at once; of it others ask for more than they read */
    odeon_ref ledger; /* takes blocks, and works that take long */
    odeon_ref slow;   /* the same, whose messages are refused when its queue is full */
    odeon_ref stall;  /* the same, whose senders wait then */
    odeon_ref dead;   /* an actor that has ended */
    uint32_t number_type, block_type, work_type, flood_type;
};
extern struct field field;

/* ---- besieger.c ---- */

enum { BESIEGERS_MAX = 64 };
struct besieger *besiegers_make(void); /* BESIEGERS_MAX of them, shared with the children */
/* Forks: while no thread of the test's runs. */
void besieger_begin(struct besieger *besieger, const struct assault *assault, bool keep);
/* The same, by one that only burns as much processor time as this one has, within `wall_ns`, in as
 * many pieces. */
void besieger_begin_burner(struct besieger *burner, const struct besieger *like, int64_t wall_ns);
void besieger_tell_stop(struct besieger *besieger);
/* Waits for its end; fails the test if it had ended by itself. */
void besieger_end(struct besieger *besieger);
void besieger_kill(struct besieger *besieger);
void besieger_expect_alive(const struct besieger *besieger);

/* For attacks, in the besieger's process. */
bool besieger_goes_on(const struct besieger *besieger);
void besieger_did(struct besieger *besieger, uint64_t attacks);
/* What came of a request: true when it was granted. */
bool besieger_heard(struct besieger *besieger, int r);
void besieger_pause(const struct besieger *besieger, int milliseconds);
/* Connected, and hello said; false: refused, which has been counted. */
bool besieger_connect(struct besieger *besieger, struct raw *ret_raw);
/* Ends an actor of its own. Who has been kicked meanwhile connects anew for it: actors outlive
 * whoever made them, and those that are left count for their user for ever. */
void besieger_stop_actor(struct besieger *besieger, struct odeon_client *client, odeon_ref ref);
/* For as long as what it has is to be kept. */
void besieger_keep(struct besieger *besieger);
/* This must not be: ends the process. */
void besieger_breach(struct besieger *besieger, const char *what) __attribute__((noreturn));

/* ---- assaults.c: the table ---- */

extern const struct assault assaults[];
extern const unsigned n_assaults;

/* ---- on_port.c ---- */

void attack_bad_records(struct offender *offender, struct raw_port *port);
void attack_graves(struct offender *offender, struct raw_port *port);

/* ---- on_control.c, on_tables.c, on_queues.c: a life each ---- */

void act_nonsense(struct besieger *besieger);
void act_descriptors(struct besieger *besieger);
void act_silent(struct besieger *besieger);
void act_crowd(struct besieger *besieger);
void act_churn(struct besieger *besieger);
void act_deaf(struct besieger *besieger);
void act_unread(struct besieger *besieger);
void act_requests(struct besieger *besieger);
void act_burglar(struct besieger *besieger);
void act_orphans(struct besieger *besieger);

void act_ports(struct besieger *besieger);
void act_types(struct besieger *besieger);
void act_names(struct besieger *besieger);
void act_actors(struct besieger *besieger);
void act_threads(struct besieger *besieger);

void act_flood(struct besieger *besieger);
void act_slow(struct besieger *besieger);
void act_stall(struct besieger *besieger);
void act_backlog(struct besieger *besieger);
void act_hang(struct besieger *besieger);
