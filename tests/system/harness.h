/* SPDX-License-Identifier: Apache-2.0 */
/* A private service for a test: odeond in the foreground with a runtime directory of its own, its
 * clients, its log, its figures.
 *
 * Used by one thread, the one that runs the tests, except where a function says otherwise: cmocka's
 * assertions work there alone. What cannot be done fails the test that runs. No leftovers: odeond
 * dies with the thread that started it, the executor dies with odeond, and what is still there at
 * exit is killed and removed. Folders of a test that is killed go when the next one begins
 * (tests/run/scratch.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <odeon/admin.h>
#include <odeon/client.h>
#include <odeon/stats.h>

#include "tests/run/patience.h"

#define MILLISECONDS(n) ((int64_t)(n)*1000000)
#define SECONDS(n)      ((int64_t)(n)*1000000000)

/* ThreadSanitizer keeps a signal back until its thread calls something: a handler that only
 * computes cannot be held there, and a kill from outside does not arrive. */
#if defined(__SANITIZE_THREAD__)
#define SIGNALS_ARRIVE false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIGNALS_ARRIVE false
#endif
#endif
#ifndef SIGNALS_ARRIVE
#define SIGNALS_ARRIVE true
#endif

int64_t time_ns(void); /* any thread */
/* Lets others run for a moment: for loops that look again.  Any thread. */
void pause_briefly(void);

/* Looks until `condition_` holds or the seconds are over; its last value.  Any thread. */
#define wait_until_within(seconds_, condition_)                                                    \
    __extension__({                                                                                \
        int64_t wait_end_ = time_ns() + SECONDS(seconds_);                                         \
        bool wait_held_;                                                                           \
        while (!(wait_held_ = (condition_)) && time_ns() < wait_end_)                              \
            pause_briefly();                                                                       \
        wait_held_;                                                                                \
    })
#define wait_until(condition_) wait_until_within(PATIENCE_S, condition_)

struct service {
    pid_t pid; /* 0: not running */
    bool own_dir;
    /* Who it runs as; 0: the test's own user. With `descriptors` as its RLIMIT_NOFILE, and no
     * capability, as under its unit. */
    uid_t uid;
    unsigned long descriptors;
    char dir[64], socket[96], stats[96], log[96];
    struct odeon_stats *figures;
};

/* `arguments`: further words of odeond's command line, up to NULL; may be NULL. Fresh makes a
 * runtime directory. */
void service_make_dir(struct service *service);
/* What the service reads when it starts, or is told to read it again; nothing at first. */
void service_configure(const struct service *service, const char *text);
void service_spawn(struct service *service, const char *const *arguments); /* does not wait */
void service_wait_ready(struct service *service);
void service_start(struct service *service, const char *const *arguments); /* the three together */
/* Sends the signal and waits for the end; the wait status. */
int service_stop(struct service *service, int signal);
int service_wait_end(struct service *service);
/* Ends it in whatever state it is, removes the directory, prints the log when the test program is
 * about to fail. */
void service_end(struct service *service);

/* Settings that make a service small and its start quick, for any test. */
#define SMALL_SERVICE                                                                              \
    "--set", "workers=2", "--set", "queues-per-worker=2", "--set", "actors=1024", "--set",         \
        "affinity=none"

struct odeon_client *service_connect(const struct service *service, const char *name);
struct odeon_port *port_open_or_fail(struct odeon_client *client, uint64_t submission_bytes,
                                     uint64_t delivery_bytes, bool pipe);
uint32_t message_id(struct odeon_client *client, const struct odeon_message_type *type);
odeon_ref spawn(struct odeon_client *client, const char *type, const char *name, const void *args,
                size_t args_size);
void load_plugin(struct odeon_client *client, const char *path);

/* A file `page` in the service's directory, of so many zeroes, mapped: what actors of test plugins
 * and the test tell each other. Its path is for the actors' arguments. */
void *service_map_page(const struct service *service, char *ret_path, size_t path_size,
                       size_t size);

/* The log, as far as it has been written; the caller frees it. */
char *service_read_log(const struct service *service);
bool service_log_has(const struct service *service, const char *text);
unsigned service_log_count(const struct service *service, const char *text);
/* It tells of it, once, and again only when a minute has gone: `since_ns` was before the first. */
void service_expect_told_once(const struct service *service, const char *text, int64_t since_ns);

/* From the statistics segment. */
uint64_t service_figure(struct service *service, const char *name);
struct odeon_stats_service service_state(struct service *service);
pid_t service_executor(struct service *service); /* fails when it is down */
/* Until another executor than `former` serves. */
void service_wait_executor(struct service *service, pid_t former);
/* SIGKILL; until another one serves. */
void service_kill_executor(struct service *service);

/* odeonctl: what it printed, both streams, cut to the buffer; its exit status. */
int ctl(const struct service *service, char *output, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Changes settings, again and again while a worker "did not stop" within the time that it has: on a
 * machine that gives its thread no processor for so long, nothing has been changed, and it is for
 * whoever asks to ask again. Any thread.
 */
int executor_set(struct odeon_client *client, const char *const *keys, const char *const *values,
                 size_t n);
/* The same by odeonctl, as ctl(). */
int ctl_set(const struct service *service, char *output, size_t size, const char *settings);

/* Unloads a plugin, again and again while "a handler has been running for long": so does one whose
 * thread gets no processor, and nothing has been changed. Any thread. */
int unload_plugin(struct odeon_client *client, const char *name);

uint64_t process_cpu_ns(pid_t pid); /* that it has used; 0: no such process */
/* The process exists and is no zombie. */
bool process_lives(pid_t pid);
/* All its threads stand still after a SIGSTOP, whoever has sent it. */
bool process_stands(pid_t pid);
/* Sends one, and waits for that. */
void process_stop(pid_t pid);
unsigned process_descriptors(pid_t pid); /* that it has open, and two more */

/* Sorts them. */
double median_of(double *values, int n);
