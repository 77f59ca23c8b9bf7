/* SPDX-License-Identifier: Apache-2.0 */
/* What bench.so and odeon-bench agree on.
 *
 * For each benchmark there is an actor type `bench_NAME`, its driver. A client spawns one, posts
 * bench_run to it from a port, and gets one bench_result on that port when all is done; the driver
 * then ends. (It is a message and not the reply to a call: the answer comes from another behaviour
 * than the one that got the request.)
 *
 * The definitions are those of the actor benchmark suites of the literature; what differs here is
 * said in each file. Times are taken from the host's clock, in the behaviours that begin and end
 * the work. Benchmarks share memory between actors where the definition shares it (the table of a
 * group's members): they are not made to survive a crash in the middle, which ends in a client that
 * times out.
 */
#ifndef BENCH_H
#define BENCH_H

#include <odeon/message.h>

enum bench_place { BENCH_PLACE_HERE = 0, BENCH_PLACE_SPREAD = 1 };

/* Fields that a benchmark does not use are ignored; 0 stands for its default. */
ODEON_MESSAGE(bench_run, 2, {
    /* messages: static_send, dynamic_send, pingpong_*, fan_in; actors: spawn_stop; rows: matrix;
     * timers: timer_arm, timer_cancel */
    uint64_t n;
    /* executor, balance_*: working ones of a loaded worker; servers of repeat; senders of fan_in;
     * timer_arm, timer_cancel: timers that are armed before */
    uint32_t actors;
    uint32_t set;     /* executor, balance_*: actors in a group */
    uint32_t rounds;  /* executor, balance_*, repeat */
    uint32_t batch;   /* executor: messages sent at a time */
    uint32_t place;   /* enum bench_place: of dynamic_send's actors */
    uint32_t work;    /* balance_*: busy steps for each message */
    uint32_t workers; /* of the service; filled in by the client */
    uint32_t reserved;
});
ODEON_MESSAGE(bench_result, 2, {
    uint64_t elapsed_ns;
    uint64_t messages;  /* by the definition */
    uint64_t beside_ns; /* of what as many take that go another way, in the same run; 0: nothing */
    /* 0, or a negative errno: the benchmark did not come to its end, or its check failed */
    int64_t error;
    char what[64]; /* what happened then */
});

ODEON_INTERFACE(bench_static_send, bench_run);
ODEON_INTERFACE(bench_dynamic_send, bench_run);

/* For clients that measure themselves: one actor that counts, one that answers. */
ODEON_MESSAGE(bench_post, 1, { uint64_t sequence; });
/* The payload of the bare rings' records: a cache line. */
ODEON_MESSAGE(bench_wide, 1, { uint64_t sequence, more[6], last; });
ODEON_SIGNAL(bench_sink_get, 1);
ODEON_SIGNAL(bench_quit, 1);
ODEON_MESSAGE(bench_sink_value, 1, { uint64_t count, out_of_order; });
ODEON_INTERFACE(bench_sink, bench_post, bench_sink_get, bench_quit);
ODEON_INTERFACE(bench_echo, bench_post, bench_wide, bench_quit);

/* For the time from a post to its behaviour: the post carries the time at which it was made, the
 * answer how long ago that was when the behaviour began. */
ODEON_MESSAGE(bench_wake, 1, { uint64_t posted_ns; });
ODEON_MESSAGE(bench_woken, 1, { uint64_t after_ns; });
ODEON_INTERFACE(bench_sleeper, bench_wake, bench_quit);

#endif
