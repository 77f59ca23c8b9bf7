/* SPDX-License-Identifier: Apache-2.0 */
/* libodeon-test: tests of a plugin in a plain process, without a service (docs/testing-plugins.md).
 *
 *     static void adds(struct odeon_test *world, void *userdata)
 *     {
 *         counter_ref counter = odeon_test_spawn(world, counter);
 *         odeon_test_send(world, counter, counter_add, .amount = 3, .weight = 2);
 *         odeon_test_signal(world, counter, counter_get);
 *         odeon_test_expect(world, counter_value, .total = 6);
 *         odeon_test_expect_none(world);
 *     }
 *
 *     int main(void)
 *     {
 *         odeon_test_check(adds, NULL, .plugin = &odeon_plugin_descriptor);
 *         odeon_test_explore(1000, adds, NULL, .plugin = &odeon_plugin_descriptor);
 *         return odeon_test_done();
 *     }
 *
 * A world is the engine itself: its workers, its segment, its recovery, and clients with their
 * ports, all of which take turns on the one thread of the test. Whose turn it is, is drawn from a
 * seed, and the same seed gives the same run. Time is the world's own: it stands still until the
 * test lets it pass.
 *
 * Nothing runs while the test does: what is sent waits until the test calls a function that runs
 * the world (odeon_test_until_idle() and whatever says so below).
 *
 * Threads: one, the test's. One world at a time in a process.
 * Errors: what a test expects and does not find, and what it asks for and cannot have, is a failure
 * of that test: told with file and line, and the test function is left for good (as by longjmp();
 * what it has allocated is not freed). Outside of a test function a failure ends the process with
 * status 1. No function here returns an error unless that is said.
 * Ownership: what a function gives out is the world's, and is there until the next call that runs
 * the world, or until it is closed. Options, names, arguments and payloads are copied.
 * Units: times are nanoseconds, sizes bytes.
 */
#ifndef ODEON_TEST_H
#define ODEON_TEST_H

#include <odeon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A world. */
struct odeon_test;

/* The descriptor that ODEON_PLUGIN() makes, of a plugin whose sources are linked into the test. */
extern __attribute__((visibility("default"))) const struct odeon_plugin odeon_plugin_descriptor;

/* What a world is to be. All that is 0 has the value that is said here. */
struct odeon_test_options {
    uint32_t struct_size; /* the macros below set it */
    uint32_t workers;     /* 1 to 8; 0: 2 */
    uint32_t ports;       /* clients with a port each, 1 to 8; 0: 1 */
    uint32_t detached;    /* actors with a thread of their own at a time, 0 to 8 */
    /* One of the two. Linked in: its variables with static storage stay what they are over the
     * crashes of a world, and from one world to the next. A file is loaded anew for each life of an
     * executor, as the service does. */
    const struct odeon_plugin *plugin;
    const char *plugin_file; /* path of the shared object */
    /* Of the schedule. 0: what the environment variable ODEON_TEST_SEED says, else 1 */
    uint64_t seed;
    /* So many times at most the executor dies at a moment that is drawn from the seed, too. */
    uint32_t crashes;
    uint32_t reserved;
    /* What has not come to rest after so many steps of the engine goes on for ever, which is a
     * failure; 0: 3,000,000 */
    uint64_t steps_max;
    uint64_t reserved_words[8];
};

/* A test. `world` is open, and is closed by whoever has called the function. */
typedef void (*odeon_test_fn)(struct odeon_test *world, void *userdata);

/* ---- Running tests. Results are lines of TAP on standard output: "ok 1 - NAME", or "not ok 1 -
 * NAME" with the reason as "# FILE:LINE: what" behind it. */

/* Opens a world, runs `function` in it, closes it. 0; 1: it has failed. */
int odeon_test_check_at(const struct odeon_test_options *options, const char *name,
                        odeon_test_fn function, void *userdata, const char *file, int line);
/* The same for `n` schedules, with the seeds from options->seed (0: 1) on, up to the first that
 * fails, whose seed is told with the command that repeats it. With ODEON_TEST_SEED=N in the
 * environment that seed is run alone; ODEON_TEST_SCHEDULES=N is another `n`. A plugin that ends the
 * process (a signal, abort(), a report of AddressSanitizer) has its seed told on standard error. 0;
 * 1: one has failed. */
int odeon_test_explore_at(uint64_t n, const struct odeon_test_options *options, const char *name,
                          odeon_test_fn function, void *userdata, const char *file, int line);
/* Prints the number of tests, and how many of them have failed. What main() is to return: 0, or 1:
 * one has failed, or there was none. */
int odeon_test_done(void);
/* Is called, with "FILE:LINE: what", when a test fails and before it is left: a place for a
 * debugger's breakpoint. */
void odeon_test_failed(const char *text);
/* Fails the running test, for what it finds out by itself; in a behaviour, too, which is cut off
 * then. `format` as printf(3). */
__attribute__((noreturn, format(printf, 3, 4))) void odeon_test_fail_at(const char *file, int line,
                                                                        const char *format, ...);
/* Runs `function`; 0: it has returned; 1: it has failed, and `text` (of `size` bytes) says
 * "FILE:LINE: what", cut off. Nothing is printed. A world that failed is not to be used but for
 * odeon_test_close(). For tests of what is to fail. */
int odeon_test_catch(void (*function)(void *userdata), void *userdata, char *text, size_t size);

/* ---- A world by hand, for who has a test framework of his own. */

/* Never NULL. Runs the world: recovery of an empty segment, loading the plugin, its start. Fails:
 * another world is open, options that cannot be, a plugin that the service would refuse, with the
 * service's text. */
struct odeon_test *odeon_test_open_at(const struct odeon_test_options *options, const char *file,
                                      int line);
/* Ends the executor as a stop of the service does, without waiting for what is under way. NULL is
 * fine. */
void odeon_test_close(struct odeon_test *world);

/* ---- Actors. */

/* Makes an actor of this type, as an administrator does. Runs the world until it is there; its init
 * runs before its first message, or in odeon_test_until_idle(). `options` NULL: none. Fails: no
 * such type, and whatever struct odeon_host.spawn refuses. */
odeon_ref odeon_test_spawn_at(struct odeon_test *world, const char *type,
                              const struct odeon_spawn_options *options, const char *file,
                              int line);
/* The actor that is registered by this name; ODEON_NOBODY: none. Runs the world. */
odeon_ref odeon_test_lookup(struct odeon_test *world, const char *name);
/* Is there such an actor (still)? 1, 0. Runs the world. */
int odeon_test_lives(struct odeon_test *world, odeon_ref ref);
/* The state of an actor, to look at; NULL: there is no such actor, or its init has not run (again).
 * Valid until the world runs. Fails if its size is not `size`. */
const void *odeon_test_state_at(struct odeon_test *world, odeon_ref ref, size_t size,
                                const char *file, int line);

/* ---- Messages from and to the clients' ports, which have the numbers from 0 on. */

struct odeon_test_message {
    const char *name;     /* of the message type */
    const void *payload;  /* aligned to 8 */
    size_t size;          /* its tail included */
    odeon_ref sender;     /* ODEON_NOBODY: the service itself */
    uint64_t correlation; /* 0: none */
    uint16_t type;        /* id; ODEON_MSG_REFUSAL: what was sent has been refused */
    uint16_t reserved[3];
};

/* What actors know a port by. */
odeon_ref odeon_test_port_ref(struct odeon_test *world, uint32_t port);
/* Posts from a port, in the order of the calls, once the world runs. `correlation`: of a call, 0:
 * none. Fails: more bytes than a message has, no such port. */
void odeon_test_post_at(struct odeon_test *world, uint32_t port, odeon_ref to,
                        const struct odeon_message_type *type, const void *payload, size_t size,
                        uint64_t correlation, const char *file, int line);
/* What is posted from this port from now on is in the trace of this id, as by a post's option
 * `.trace`, for behaviours that look at odeon_trace_id(); 0: in none, as at first. */
void odeon_test_traced(struct odeon_test *world, uint32_t port, uint64_t trace);
/* Sends it the poison message that belongs to `how` (ODEON_DELETE, _DESTROY, _FINISHED), from port
 * 0, once the world runs. */
void odeon_test_stop(struct odeon_test *world, odeon_ref ref, enum odeon_allocation how);
/* As odeon_port_monitor() and odeon_port_demonitor() of a client's, once the world runs: what comes
 * to the port is an odeon_down, of type ODEON_MSG_DOWN, or a refusal. */
void odeon_test_monitor(struct odeon_test *world, uint32_t port, odeon_ref ref,
                        uint64_t correlation);
void odeon_test_demonitor(struct odeon_test *world, uint32_t port, odeon_ref ref,
                          uint64_t correlation);
/* Runs the world until it is idle, and takes the next message that has come to the port. 1; 0:
 * there is none. */
int odeon_test_receive(struct odeon_test *world, uint32_t port, struct odeon_test_message *ret);
/* Runs the world until it is idle. The next message at the port has to be of this type and with
 * these bytes; fields are compared by what they mean, so that padding is not. Without a payload
 * (`payload` NULL) its type alone is looked at. Returns its payload. */
const void *odeon_test_expect_at(struct odeon_test *world, uint32_t port,
                                 const struct odeon_message_type *type, const void *payload,
                                 size_t size, const char *file, int line);
/* The same of any one of the messages that wait at the port, the first that is like it: for what
 * comes from several actors, in any order. */
const void *odeon_test_expect_among_at(struct odeon_test *world, uint32_t port,
                                       const struct odeon_message_type *type, const void *payload,
                                       size_t size, const char *file, int line);
/* Runs the world until it is idle. No message may wait at any port. */
void odeon_test_expect_none_at(struct odeon_test *world, const char *file, int line);

/* ---- Running, and time. */

/* Runs the world until nobody has anything to do at the present time. */
void odeon_test_until_idle(struct odeon_test *world);
/* The world's clock, which odeon_now_ns() shows to behaviours. */
uint64_t odeon_test_now_ns(struct odeon_test *world);
/* Lets `ns` pass: timers that are due meanwhile are sent at their time, in their order, and the
 * world runs until it is idle at each of these times, and at the end. */
void odeon_test_advance(struct odeon_test *world, uint64_t ns);
/* A number made of what has run so far, on which worker and when: two runs that are the same have
 * the same. */
uint64_t odeon_test_trace(struct odeon_test *world);

/* ---- Crashes: the executor dies as by SIGKILL, what lies in shared memory stays, and a new one
 * recovers, as in the service. Behaviours that run are cut off; memory that they had allocated is
 * not freed. */

enum odeon_test_crash {
    ODEON_TEST_BEFORE = 0, /* the message has been taken, its behaviour has not begun */
    /* the behaviour has returned, and nothing that it did is true yet */
    ODEON_TEST_BEHIND = 1,
    /* as soon as the message has been committed, with all that it sent */
    ODEON_TEST_COMMITTED = 2,
    /* the behaviour faults, as by SIGSEGV: its message is blamed, and tried again */
    ODEON_TEST_FAULT = 3,
    /* ... each time that this message is tried: after the third its sender gets a refusal if he is
     * a client, and it becomes a dead letter if not */
    ODEON_TEST_FAULT_EACH = 4,
};
/* At the n-th time (from 1) that an actor is to run a message of this type, counted from now. One
 * is waited for at a time: a later call replaces an earlier one; `n` 0: none is. */
void odeon_test_crash_at_message(struct odeon_test *world, const struct odeon_message_type *type,
                                 uint32_t n, enum odeon_test_crash where);
/* Now, between two messages. Runs the world until the new executor is there. */
void odeon_test_crash_now(struct odeon_test *world);
/* How many times the world's executor has died. */
uint32_t odeon_test_crashes(struct odeon_test *world);
/* How many messages have become dead letters. Runs the world. */
uint64_t odeon_test_dead_letters(struct odeon_test *world);

#ifndef __cplusplus
#include <odeon/test_macros.h>
#endif

#ifdef __cplusplus
}
#endif

#endif
