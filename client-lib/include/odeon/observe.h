/* SPDX-License-Identifier: Apache-2.0 */
/* What actors do: how many messages of each type, how long they run and wait, which actors have
 * most, who sends to whom. For who has the role `observe`.
 *
 * The service hands out a file, once; everything else is read from it without asking anybody, also
 * while the executor is down. Figures are estimates from samples, each of which stands for so many
 * messages; messages of behaviours that take more than some microseconds are counted one by one.
 * Where a worker sends fewer than some 2,000 messages a second, each is a sample. docs/observing.md
 * says how far an estimate may be off.
 *
 * Threads: an observer belongs to one thread at a time. Lists are freed by odeon_list_free(), also
 * after their observer.
 */
#ifndef ODEON_OBSERVE_H
#define ODEON_OBSERVE_H

#include <odeon/admin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct odeon_observer;

/* Asks for the file, and takes a first look. The client may go. -EACCES: the role is missing;
 * -EPROTO: the service's file is of another version. Blocks for one round trip. */
ODEON_API int odeon_observe_open(struct odeon_client *client, struct odeon_observer **ret);
/* NULL is nothing. Returns NULL. */
ODEON_API struct odeon_observer *odeon_observe_close(struct odeon_observer *observer);

/* Reads the file anew. What the lists say then is of the time since the look before; *ret_ns (may
 * be NULL) is how long that is. Some system calls for each worker that has run anything; never
 * blocks. Negative errno: the look before stands. */
ODEON_API int odeon_observe_look(struct odeon_observer *observer, uint64_t *ret_ns);

/* One actor type. Times in nanoseconds; a quantile is at most an eighth, and 32 ns, above the true
 * one of the samples. */
struct odeon_type_figures {
    uint32_t id;
    const char *type, *plugin;
    uint64_t messages; /* that were run */
    uint64_t run_ns;   /* together */
    uint64_t sends;    /* by its behaviours */
    uint64_t waited;   /* messages of which it is known how long they waited, ... */
    uint64_t wait_ns;  /* ... together: from when a queue had accepted them to their behaviour */
    uint64_t timed;    /* of `messages`, those that were timed one by one */
    uint64_t samples;  /* that the others were estimated from */
    uint64_t failed;   /* messages for its actors that could not be run, counted one by one */
    uint64_t run_p50_ns, run_p99_ns, run_most_ns;
    uint64_t wait_p50_ns, wait_p99_ns, wait_most_ns;
    /* of now, whatever the time is that the others are of: actors that are alive, and what their
     * states take together */
    uint64_t actors, state_bytes;
};
/* All types that have run anything, or have actors. `total`: since odeond's start, else since the
 * look before. */
ODEON_API int odeon_observe_types(struct odeon_observer *observer, int total,
                                  struct odeon_list **ret); /* struct odeon_type_figures */

enum odeon_observe_what { ODEON_TIMES_RUN, ODEON_TIMES_WAIT };
/* A histogram of one type since odeond's start, as of the last look: how many messages have run, or
 * waited, for less than each of the `n` times `below_ns`, which rise, into ret_counts[0 .. n - 1];
 * ret_counts[n] has all of them. Powers of two from 2^5 to 2^40 are told apart exactly; of another
 * time, messages that took up to an eighth less may count as not below it. -EINVAL: no place, times
 * that do not rise, or of something else; -ENOENT: there is no such type (id of
 * odeon_type_figures). */
ODEON_API int odeon_observe_times(struct odeon_observer *observer, uint32_t id,
                                  enum odeon_observe_what what, const uint64_t *below_ns, size_t n,
                                  uint64_t *ret_counts);

enum odeon_observe_by {
    ODEON_BY_RUN,      /* share of one processor */
    ODEON_BY_MESSAGES, /* messages a second */
    ODEON_BY_WAIT,     /* how many of its messages wait, in the mean */
};
/* One actor. Figures are of its worker's last one or two seconds; `least` of `most` is certain. */
struct odeon_actor_figures {
    odeon_ref ref;
    const char *type;
    double most, least;
};
/* Those that have most, the largest first, at most 32 a worker. -EINVAL: by something else. */
ODEON_API int odeon_observe_actors(struct odeon_observer *observer, enum odeon_observe_by by,
                                   struct odeon_list **ret); /* struct odeon_actor_figures */

/* Who sends to whom, messages a second; as above. */
struct odeon_flow_figures {
    const char
        *from;      /* an actor type; "port": a client's; "": nobody, or an actor that has ended */
    uint32_t port;  /* its number, as odeonctl client show has it; of others 0 */
    const char *to; /* an actor type */
    double most, least;
};
ODEON_API int odeon_observe_flows(struct odeon_observer *observer,
                                  struct odeon_list **ret); /* struct odeon_flow_figures */

/* One message that was run. Those that are samples, each of a behaviour that takes more than some
 * microseconds, and each with a trace's id: where a worker runs fewer than some 2,000 messages a
 * second, that is all of them. */
struct odeon_traced {
    uint64_t began_ns; /* since 1970, when its behaviour began */
    odeon_ref to, from;
    const char *type;      /* the receiver's */
    const char *from_type; /* as odeon_flow_figures.from */
    uint32_t message;      /* its type's id, as odeon_message_show() takes it */
    uint32_t worker, sends;
    uint64_t run_ns;
    uint64_t wait_ns;    /* UINT64_MAX: not known, it was no sample */
    uint64_t stands_for; /* so many messages, itself included; 0: it was timed by itself */
    uint64_t trace;      /* the id of its trace (odeon_post_options.trace), 0: it has none */
    uint32_t hops;       /* so often a traced one has been passed on, with its sender's name */
    uint32_t at_least;   /* 1: a quick one that took long once, `run_ns` at least, and is no sample:
                          when it began and what it has sent is not known */
    uint32_t reason; /* enum odeon_reason: it was not run, and is a dead letter, or its sender has
                            been told; ODEON_REASON_NONE: it was run */
};
/* Those since the call before, by when they began; in the first call, since long ago: a worker's
 * last 2,047 are kept, over the executor's death as well. *ret_lost (may be NULL): so many more
 * there were that nobody has read in time. Types that were loaded behind the last look have no
 * name. Some system calls for each worker that has run anything; never
 * blocks. */
ODEON_API int odeon_observe_traced(struct odeon_observer *observer, uint64_t *ret_lost,
                                   struct odeon_list **ret); /* struct odeon_traced */

#ifdef __cplusplus
}
#endif

#endif
