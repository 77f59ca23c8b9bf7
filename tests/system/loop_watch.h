/* SPDX-License-Identifier: Apache-2.0 */
/* In which system calls an event loop is seen to stand, by a thread that looks again and again: a
 * loop that waits for nobody stands where it waits for events, and nowhere else.
 *
 * What is seen is where the loop's thread sleeps, not how long: a call that only gets no processor,
 * or is being run, is not seen. Looking takes a process of one's own user, or root, and a kernel
 * that tells: where it does not, nothing has been seen, and that is no good sign.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum { LOOP_WATCH_OFTEN = 20 };

struct loop_watch {
    /* Set before the start, or NULL: called when it has been seen so often, by the thread that
     * looks, so that a test that has failed ends. */
    void (*on_often)(void *userdata);
    void *userdata;

    pthread_t thread;
    char path[64];
    atomic_bool ends;
    /* the thread's, until the end */
    unsigned looks;
    unsigned blocked; /* for a process, a socket, a time */
    unsigned writing; /* to a file or a pipe, as the log is one */
    int error;        /* of the last look that has failed; 0: none has */
    long last;        /* the number of the system call in which it was seen last; -1: in none */
};

/* The first thread of the process. */
void loop_watch_begin(struct loop_watch *watch, pid_t pid);
void loop_watch_end(struct loop_watch *watch);
/* Behind the end: not one look was allowed. Says so, and the test that needs one is to be skipped.
 * Fails the test where there was another reason. */
bool loop_watch_was_blind(const struct loop_watch *watch);
