/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that do to the process what handlers must not, when they are told to; and a page of shared
 * memory through which the test sees what has been run whatever becomes of the executor. */
#pragma once

#include <odeon/message.h>
#include <stdatomic.h>

enum faulty_how {
    FAULTY_NULL,
    FAULTY_WILD,
    FAULTY_JUMP, /* to an address without code */
    FAULTY_STACK,
    FAULTY_ABORT,
    FAULTY_DOUBLE_FREE,
    FAULTY_DIVIDE,
    FAULTY_ILLEGAL,
    FAULTY_EXIT,
    FAULTY_UNDERSCORE_EXIT,
    FAULTY_QUICK_EXIT,
    FAULTY_PTHREAD_EXIT,
    FAULTY_SYS_EXIT, /* of the thread, by the bare system call */
    FAULTY_HANG,     /* blocked */
    FAULTY_LOOP,     /* computing */
    FAULTY_FORK,     /* the child returns from the handler */
    FAULTY_CLOSE_ALL,
    FAULTY_MASK,    /* blocks all signals, then as FAULTY_NULL */
    FAULTY_HANDLER, /* takes SIGSEGV for itself, then as FAULTY_NULL */
    FAULTY_CHDIR,
    /* without a trace */
    FAULTY_SIGKILL,
    FAULTY_EXIT_GROUP, /* by the bare system call */
    FAULTY_NONSENSE,   /* the same, and says on the connection to odeond what is no report */
    FAULTY_HUNGRY,     /* touches a gigabyte */
    FAULTY_NAP,        /* returns after a while */
    FAULTY_STOP,       /* stops the process, and computes for a moment when that goes on */
    FAULTY_N
};

ODEON_MESSAGE(faulty_do, 1, {
    uint32_t how;
    uint32_t times; /* at so many attempts, then it is counted like any other */
});
ODEON_MESSAGE(faulty_count, 1, { uint64_t n; }); /* is counted, and must be the next */
/* to a passer: sends a count on or, with how > 0, a do */
ODEON_MESSAGE(faulty_pass, 1, {
    odeon_ref to;
    uint64_t n, how;
});
ODEON_INTERFACE(faulty_actor, faulty_do, faulty_count);

struct faulty_args {
    uint32_t index;
    char page[96]; /* file */
};

struct faulty_page {
    _Atomic uint32_t release; /* a futex: hanging handlers return */
    _Atomic uint32_t entered, done;
    _Atomic uint64_t counted[8], last[8], out_of_order;
    _Atomic uint64_t mate_at_retry; /* last[1] when a message that had been blamed came again */
    _Atomic uint32_t children;      /* forked ones that went on as if they were the executor */
};
