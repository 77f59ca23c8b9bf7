/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts: what each user has of the service, and how much it may have (docs/access.md, Quotas).
 *
 * An account comes with a user's first client and goes with the last thing that is charged to it,
 * which may be a port that is still drained when all clients have gone. Event loop thread only.
 *
 * account.Q1  What is charged is given back once, by whoever holds it: clients themselves, ports
 *     their rings and backlogs.
 * account.Q2  A client of a user with n clients may have an n-th of what the others have left, and
 *     a first port as long as there is one: what one client takes leaves the others between an n-th
 *     and an n*n-th.
 * account.Q3  Root and the service's own user are counted and not bound, unless the configuration
 *     binds all.
 * account.Q5  Descriptors that lie unread count for everybody in the kernel: one user, also one
 *     that no quota binds, may have half of what the others leave of `descriptors_max`, and one
 *     answer's as long as there is so much. So each is left something, however many come.
 * account.Q6  Rings are memory of the service's as soon as it writes into them: users that quotas
 *     bind may together have `ring_bytes_max`, each half of what the others leave of it, and a
 *     first port's as long as there is so much.
 * account.Q7  Answers that a full socket has not taken are kept in odeond's memory: users that
 *     quotas bind may together have `answer_bytes_max`, each half of what the others leave of it,
 *     and one answer as long as there is so much.
 * account.Q8  Requests are counted for all of a user's clients together, connecting included, by a
 *     bucket of `requests` that is full again after a second. One that keeps the loop for longer
 *     than its part of REQUESTS_NS counts for as many as have room in that time, so that a user has
 *     no more of the loop's time than of its requests. An account with nothing on it stays
 *     until its bucket is full: who ends all its connections and comes back finds it as it was.
 * account.Q9  There are ODEON_PORTS_MAX ports for all: the last ODEON_PORTS_RESERVED are for those
 *     whom no quota binds, and of the rest each user that they bind may have half of what all
 *     others leave, and a first one as long as there is one.
 * account.Q4  An offender is named in the log at once, then once a minute with the number of
 *     refusals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/supervisor/turn_share.h"

enum quota {
    QUOTA_CLIENTS,
    QUOTA_PORTS,
    QUOTA_RING_BYTES,
    QUOTA_BACKLOG_BYTES,
    QUOTA_DESCRIPTORS,
    QUOTA_ANSWER_BYTES,
    QUOTA_N
};
enum { ACCOUNT_TEXT_MAX = 320 };
/* Processor time of the loop for the requests of a second, quota-requests of them (account.Q8). */
#define REQUESTS_NS UINT64_C(200000000)
/* Of the memory that the service may use: a quarter for rings (account.Q6), and a part for answers
 * that nobody reads (account.Q7). */
enum { RINGS_OF_MEMORY = 4, ANSWERS_OF_MEMORY = 32 };
/* Of those that the kernel lets this user have in flight, RLIMIT_NOFILE: half for what clients have
 * not read; the rest is for the executor and for the service manager's store. */
enum { DESCRIPTORS_OF_ALL = 2, DESCRIPTORS_OF_USER = 16, DESCRIPTORS_ANSWER_MAX = 4 };

struct quotas {
    uint64_t limits[QUOTA_N];
    uint64_t requests; /* of all its clients, a second; 0: any number (account.Q8) */
    /* the longest of an offender (offenders.h); 0: nobody is held back.  Binds everybody */
    uint64_t hold_ms;
    /* a connection's, to say hello; 0: any.  Binds everybody */
    uint64_t hello_ms;
    bool everybody; /* account.Q3 */
};
/* What one client, or one port, has of its user's. */
struct holding {
    uint64_t amounts[QUOTA_N];
};
struct account {
    struct account *next;
    uid_t uid;
    struct holding used;
    uint64_t refusals, refusals_named, named_ns; /* account.Q4 */
    uint64_t counted_ms; /* when its clients' descriptors were last counted all at once */
    double asked;        /* what is not back in its bucket, as of asked_ns (account.Q8) */
    uint64_t asked_ns;
    struct turn_share share; /* of a turn of the loop, for its clients */
};
struct accounts {
    struct account *first;
    uint64_t descriptors_max;  /* account.Q5 */
    uint64_t ring_bytes_max;   /* account.Q6; 0: nobody knows */
    uint64_t answer_bytes_max; /* account.Q7; likewise */
    /* An account stays for its bucket alone: accounts_sweep() is to be called. NULL: nobody does */
    void (*on_kept)(void *userdata);
    void *userdata;
};

/* Made when there is none; NULL: no memory.  account_settle() must follow. */
struct account *account_open(struct accounts *accounts, uid_t uid);
struct account *account_find(const struct accounts *accounts, uid_t uid); /* NULL: none */
/* Lets go of an account with nothing on it, or keeps it for its bucket (account.Q8). */
void account_settle(struct accounts *accounts, uid_t uid);
/* Lets go of those whose buckets are full again. True: others stay. */
bool accounts_sweep(struct accounts *accounts, const struct quotas *quotas, uint64_t now_ns);
/* Whether a client of this user may ask for something now; that it has done so. A request that is
 * there is served, whatever the bucket holds: then its client is not read from. */
bool account_may_ask(struct account *account, const struct quotas *quotas, uint64_t now_ns);
void account_ask(struct account *account);
/* That a request, which was counted, has kept the loop for so long.  True: it counts for more. */
bool account_ask_longer(struct account *account, const struct quotas *quotas, uint64_t ns);
void accounts_fini(struct accounts *accounts);

bool quotas_bind(const struct quotas *quotas, uid_t uid);
/* How much more of it a client may have that has `own` of it; UINT64_MAX: as much as it likes
 * (account.Q2). */
uint64_t account_room(const struct account *account, const struct quotas *quotas,
                      const struct holding *own, enum quota what);
/* Descriptors in answers that nobody has read, of all users, and how many more this one may have
 * (account.Q5). */
uint64_t accounts_count_descriptors(const struct accounts *accounts);
uint64_t accounts_descriptors_room(const struct accounts *accounts, const struct account *account);
/* Bytes of rings that this user may have more, beside what others have (account.Q6). */
uint64_t accounts_rings_room(const struct accounts *accounts, const struct quotas *quotas,
                             const struct account *account);
/* Ports that this user may have more, where the table has room for `max` of all users
 * (account.Q9). */
uint64_t accounts_ports_room(const struct accounts *accounts, const struct quotas *quotas,
                             const struct account *account, uint64_t max);
/* RLIMIT_NOFILE, which is one of this user's descriptors in flight, too. */
uint64_t accounts_descriptors_limit(void);
/* Bytes of answers that this user may have more waiting, beside what others have (account.Q7). */
uint64_t accounts_answers_room(const struct accounts *accounts, const struct quotas *quotas,
                               const struct account *account);
void account_charge(struct account *account, const struct holding *holding);
/* The holding is empty afterwards. */
void account_discharge(struct account *account, struct holding *holding);
void holding_add(struct holding *to, const struct holding *from);
void holding_subtract(struct holding *from, const struct holding *what);

const char *quota_name(enum quota what); /* "ports" */
/* Counts a refusal.  True: the offender is to be named now; *ret_more refusals have not been. */
bool account_blame(struct account *account, uint64_t now_ns, uint64_t *ret_more);
