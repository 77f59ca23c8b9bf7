/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that run odeond and odeon-executor as processes: one service in a folder of its own,
 * and clients that speak the control protocol frame by frame, without the library, so that they can
 * also speak it badly.
 *
 * One thread.  Every wait has a deadline; what goes wrong fails the running test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/common/frame.h"
#include "proto/control.pb-c.h"
#include "tests/run/patience.h"

/* A configuration that needs little memory, and whose stop has all the time that it may need. */
#define SERVICE_SMALL                                                                              \
    "workers=1\nqueues-per-worker=2\nactors=4096\nlimit-bytes=64K\noutbox-bytes=256K\nbacklog-"    \
    "bytes=256K\ndead-"                                                                            \
    "letter-bytes=256K\naffinity=none\ndrain-timeout-ms=" SERVICE_TIMEOUT_MS "\n"

extern char service_dir[64], service_socket[96];
extern pid_t service_pid; /* 0: none */

/* Takes ODEOND and EXECUTOR from the command line; false: it has told what is wrong. */
bool service_init(int argc, char **argv);
/* Group fixture: makes the folder and starts the service; ends all and removes the folder. */
int service_make(void **state);
int service_remove(void **state);
/* Writes the small configuration and waits until the service is ready; stops it and expects a good
 * end. */
int service_start(void **state);
int service_stop(void **state);

pid_t service_spawn(void); /* a process of odeond on the folder, ready or not */
void service_write_config(const char *content);
bool service_log_contains(const char *words);
unsigned service_log_count(const char *words);
void service_wait_for_log(const char *words);
int service_wait_for_end(pid_t pid); /* the wait status */
int64_t service_now_ms(void);

/* The frame of the last reply, with its descriptors. */
extern struct frame peer_last;

int peer_connect_raw(void);
int peer_connect(const char *name); /* has said hello */
/* The next reply or event; there must be one. */
Odeon__Reply *peer_receive(int fd) __attribute__((returns_nonnull));
void peer_drop(Odeon__Reply *reply);
/* The connection ends; closes it. */
void peer_assert_end(int fd);
/* The next frame is this refusal with id 0, then the connection ends. */
void peer_assert_refused(int fd, int error, const char *words);

/* Sends with a new id and returns the reply to it; events are dropped. */
Odeon__Reply *peer_call(int fd, Odeon__Request *request);
Odeon__Reply *peer_call_status(int fd);
Odeon__Reply *peer_call_lookup(int fd, const char *name);
Odeon__Reply *peer_call_port_open(int fd, uint64_t submission_bytes, bool pipe);
int peer_call_port_close(int fd, uint32_t id); /* the reply's error */
int peer_call_port_close_with(int fd, uint32_t id, const void *token, size_t n);
int peer_call_set(int fd, const char *key, const char *value);
/* Of an executor that is ready: an earlier test may have killed its predecessor. */
pid_t peer_executor_pid(int fd);
void peer_wait_for_throughput(int fd, uint32_t throughput);
