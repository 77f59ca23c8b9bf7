/* SPDX-License-Identifier: Apache-2.0 */
/* A supervisor for tests of odeon-executor: one service, whose memory lives on, and the executor
 * that runs on it now.
 *
 * Every function fails the running test when the executor does not do its part; one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/common/frame.h"
#include "proto/control.pb-c.h"
#include "tests/run/patience.h"

extern const char *program, *plugin_dir; /* given on the command line */

extern struct service {
    int segment, stats, log, control;
    pid_t pid; /* 0: none */
    uint64_t next_id;
    struct frame frame;
    Odeon__Report *report;
} s;

/* For cmocka. */
int setup(void **state);
int teardown(void **state);

/* Processes. */
void spawn_executor(void);
void end_executor(void); /* by SIGKILL */
int wait_for_end(void);  /* by itself; the wait status */
const char *read_log(void);
int64_t now_ms(void);

/* Commands and reports.  A report, and a reply inside, is valid until the next one. */
uint64_t send_command(Odeon__Command *command, const int *fds, size_t n_fds);
const Odeon__Report *receive_report(void); /* NULL: the executor has closed the connection */
const Odeon__Reply *request(Odeon__Request *body, const int *fds, size_t n_fds);
uint64_t send_start(uint32_t n_ports, uint32_t n_plugins);
void expect_ready(uint64_t id);
void start_with(const char *plugin); /* NULL: none */

/* Requests. */
/* A sealed copy of the plugin's file, the caller's. */
int sealed_plugin(const char *name);
const Odeon__Reply *load_plugin(const char *name);
const Odeon__Reply *unload_plugin(const char *name);
uint64_t spawn_actor(const char *type, const char *name);
const Odeon__Reply *send_to(uint64_t ref, const char *message, const void *payload, size_t size);
/* The same, of the type that has this id; 0: by the name alone. */
const Odeon__Reply *send_type_to(uint64_t ref, const char *message, uint32_t type,
                                 const void *payload, size_t size);
/* The id of a message in one of its versions. */
uint32_t find_message(const char *name, uint32_t version);
/* Sends what ends the executor: whether the answer still gets out before that is a race between its
 * threads. */
void send_fatal(uint64_t ref, const char *message);
const Odeon__Reply *stop_actor(uint64_t ref, uint32_t how);
const Odeon__Reply *show_actor(uint64_t ref, const char *name);
const Odeon__Reply *list_actors(const char *type, uint64_t after, uint32_t rows);
const Odeon__Reply *set_executor(const char *key, const char *value, const char *key2,
                                 const char *value2);
const char *shown_setting(const char *key);

void assert_text_has(const char *text, const char *part);
