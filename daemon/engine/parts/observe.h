/* SPDX-License-Identifier: Apache-2.0 */
/* What samples of messages are kept in until they are written down (observe/observe.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "proto/observed_layout.h"

/* Of the records of one buffer of a queue, some whose time of acceptance is known, in their order
 * (observe/marks.h). */
enum { MARKS_MOST = 16 };
struct wait_mark {
    uint64_t at;     /* where the record begins */
    uint64_t ticks;  /* when it was appended */
    uint32_t weight; /* so many messages it stands for */
    bool second;     /* behind the wrap of the batch */
};
struct marks {
    alignas(64) uint32_t n;
    uint32_t next;    /* the first that has not been reached */
    uint64_t spacing; /* ticks between two of them, at least */
    struct wait_mark mark[MARKS_MOST];
};

/* What a worker sends, of one kind: what it flushes, or appends behind its own batch. */
struct observe_stream {
    uint64_t at;      /* ticks: the last mark */
    uint64_t counted; /* messages of this kind that samples stand for by now */
    uint64_t plan;    /* at this count the next mark is due */
    uint64_t gap;     /* between two, in the mean */
};

/* A message that was timed by itself, noted before it ran. */
struct observe_turn {
    uint64_t to, from;
    uint64_t began;          /* ticks */
    uint64_t trace, sent_ns; /* 0: it has none, or it is not known when it was sent */
    uint32_t type;           /* its receiver's; 0: there is none */
    uint16_t message;
    uint8_t hops; /* so often a traced one has been passed on */
};

/* Of a worker: it alone. */
struct observer {
    struct observed_worker *block; /* NULL: nothing is observed */
    struct marks *marks;           /* of the batch that runs; NULL: of none */
    struct observe_stream flushed, tail;
    uint64_t random;
    /* the record that the flush under way is to mark */
    uint32_t destination; /* NO_QUEUE: none */
    uint32_t run;         /* that it is in */
    uint64_t in_run;      /* bytes of that run in front of it */
    uint32_t weight;
    uint64_t now; /* ticks: when it was chosen */
    /* messages that marks stood for which were at ones that are timed by themselves, less those
     * that were timed: of the next sample of a quick one (observe.OB2) */
    int64_t carried;
    /* a mark has been reached, and the sample is to be the message at this count */
    bool reached;
    uint64_t sample_at;
    struct wait_mark mark;
    bool refused; /* the message that is timed has its record already */
    /* the message that runs, if it is a sample */
    bool aimed;
    struct {
        uint32_t type, weight;
        uint16_t message;
        bool is_tail; /* it stands for tail appends */
        uint64_t to, from, began, wait_ns, sent;
    } aim;
};

/* Of the engine. */
struct observation {
    struct observed_header *file;
    struct marks *marks;       /* [2 * n_queues]; NULL: nothing is observed */
    uint64_t period, patience; /* ticks: between two marks, in the mean and at most */
};
