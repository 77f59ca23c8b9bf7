/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - what the benchmarks and the main program share.
 *
 * main.c fills struct bench_options once, before any executor; the benchmarks only read it. A
 * benchmark makes an executor, runs it to its end and frees it, all on the driver thread, and says
 * how many messages took how long.
 */
#ifndef BASELINE_BENCH_H
#define BASELINE_BENCH_H

#include <stdio.h>
#include <stdlib.h>

#include "executor.h"

/* 0 stands for "the benchmark's own default" in all but `work`. */
struct bench_options {
    struct executor_options executor;
    /* messages: static_send, dynamic_send, pingpong, pingpong_cross, fan_in; actors: spawn_stop;
     * rows: matrix */
    uint64_t n;
    /* executor; of a loaded worker in balance_*; servers of repeat; senders of fan_in */
    uint32_t actors;
    uint32_t rounds; /* executor, balance_*, repeat */
    uint32_t set;    /* group of executor and balance_* */
    uint32_t work;   /* busy steps per message of balance_* */
};

struct bench_result {
    uint64_t messages;
    uint64_t elapsed_ns;
};

struct bench_result bench_static_send(const struct bench_options *options);
struct bench_result bench_dynamic_send(const struct bench_options *options);
struct bench_result bench_pingpong(const struct bench_options *options);
struct bench_result bench_pingpong_cross(const struct bench_options *options);
struct bench_result bench_executor(const struct bench_options *options);
struct bench_result bench_balance_one(const struct bench_options *options);
struct bench_result bench_balance_multi(const struct bench_options *options);
struct bench_result bench_matrix(const struct bench_options *options);
struct bench_result bench_fan_in(const struct bench_options *options);
struct bench_result bench_spawn_stop(const struct bench_options *options);
struct bench_result bench_repeat(const struct bench_options *options);

/* malloc() that ends the program when there is no memory. */
static inline __attribute__((returns_nonnull, malloc)) void *bench_alloc(size_t size)
{
    void *memory = malloc(size);
    if (__builtin_expect(memory == NULL, 0)) {
        fputs("odeon-baseline: out of memory\n", stderr);
        abort();
    }
    return memory;
}

#endif
