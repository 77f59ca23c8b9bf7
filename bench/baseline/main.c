/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the command line of the baseline, and one line of results for each run.
 *
 * Runs on the driver thread alone, which is worker 0 of every executor.
 *
 * Invariants:
 *  1. A line is printed for every run, and only for a run that came to its end with the right
 *     result.
 *  2. cpus[i] is where worker i is pinned: the i-th of --cpu-list, or else the i-th processor this
 *     process may use; with fewer processors than workers the list is gone through again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* processor affinity, getopt_long */
#endif

#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_WORKERS 256u
#define MAX_QUEUES  65536u

struct benchmark {
    const char *name;
    struct bench_result (*run)(const struct bench_options *options);
    unsigned least_workers;
};

static const struct benchmark benchmarks[] = {
    { "static_send", bench_static_send, 1 },
    { "dynamic_send", bench_dynamic_send, 1 },
    { "executor", bench_executor, 1 },
    { "pingpong", bench_pingpong, 1 },
    { "pingpong_cross", bench_pingpong_cross, 2 },
    { "repeat", bench_repeat, 1 },
    { "balance_one", bench_balance_one, 1 },
    { "balance_multi", bench_balance_multi, 1 },
    { "matrix", bench_matrix, 1 },
    { "fan_in", bench_fan_in, 1 },
    { "spawn_stop", bench_spawn_stop, 1 },
};

#define BENCHMARKS (sizeof(benchmarks) / sizeof(benchmarks[0]))

static _Noreturn void main_usage(void)
{
    fputs("usage: odeon-baseline BENCH [--workers N] [--queues Q_PER_WORKER] [--rounds R] "
          "[--actors A] [--n N]\n"
          "       [--set S] [--work STEPS] [--steal on|off] [--runs K] [--cpu-list 0,1]\n"
          "BENCH:",
          stderr);
    for (size_t i = 0; i < BENCHMARKS; i++) {
        fprintf(stderr, " %s", benchmarks[i].name);
    }
    fputc('\n', stderr);
    exit(2);
}

static uint64_t main_parse_number(const char *text, uint64_t low, uint64_t high)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < low || value > high) {
        fprintf(stderr, "odeon-baseline: bad number: %s\n", text);
        main_usage();
    }
    return value;
}

/* The processors of --cpu-list; returns how many. */
static unsigned main_parse_cpus(const char *text, int *cpus)
{
    unsigned count = 0;
    for (;;) {
        char *end = NULL;
        unsigned long cpu = strtoul(text, &end, 10);
        if (end == text || cpu >= CPU_SETSIZE || count == MAX_WORKERS) {
            main_usage();
        }
        cpus[count++] = (int)cpu;
        if (*end == '\0') {
            return count;
        }
        if (*end != ',') {
            main_usage();
        }
        text = end + 1;
    }
}

/* The processors that this process may use; returns how many. */
static unsigned main_allowed_cpus(int *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        perror("odeon-baseline: sched_getaffinity");
        exit(EXIT_FAILURE);
    }
    unsigned count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && count < MAX_WORKERS; cpu++) {
        if (CPU_ISSET((size_t)cpu, &set)) {
            cpus[count++] = cpu;
        }
    }
    return count;
}

enum option_code {
    OPT_WORKERS = 1,
    OPT_QUEUES,
    OPT_ROUNDS,
    OPT_ACTORS,
    OPT_N,
    OPT_SET,
    OPT_WORK,
    OPT_STEAL,
    OPT_RUNS,
    OPT_CPUS
};

static const struct option long_options[] = {
    { "workers", required_argument, NULL, OPT_WORKERS },
    { "queues", required_argument, NULL, OPT_QUEUES },
    { "rounds", required_argument, NULL, OPT_ROUNDS },
    { "actors", required_argument, NULL, OPT_ACTORS },
    { "n", required_argument, NULL, OPT_N },
    { "set", required_argument, NULL, OPT_SET },
    { "work", required_argument, NULL, OPT_WORK },
    { "steal", required_argument, NULL, OPT_STEAL },
    { "runs", required_argument, NULL, OPT_RUNS },
    { "cpu-list", required_argument, NULL, OPT_CPUS },
    { NULL, 0, NULL, 0 },
};

struct command {
    const struct benchmark *benchmark;
    struct bench_options options;
    unsigned runs;
    unsigned cpu_count;
    int cpus[MAX_WORKERS];
};

static bool main_parse_switch(const char *text)
{
    if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0) {
        main_usage();
    }
    return strcmp(text, "on") == 0;
}

static void main_parse_option(struct command *command, int code, const char *value)
{
    struct bench_options *options = &command->options;
    switch (code) {
    case OPT_WORKERS:
        options->executor.workers = (unsigned)main_parse_number(value, 1, MAX_WORKERS);
        break;
    case OPT_QUEUES:
        options->executor.queues_per_worker = (unsigned)main_parse_number(value, 1, MAX_QUEUES);
        break;
    case OPT_ROUNDS:
        options->rounds = (uint32_t)main_parse_number(value, 1, 1000000);
        break;
    case OPT_ACTORS:
        options->actors = (uint32_t)main_parse_number(value, 1, 10000000);
        break;
    case OPT_N:
        options->n = main_parse_number(value, 1, UINT64_MAX / 2);
        break;
    case OPT_SET:
        options->set = (uint32_t)main_parse_number(value, 1, 1000);
        break;
    case OPT_WORK:
        options->work = (uint32_t)main_parse_number(value, 0, UINT32_MAX);
        break;
    case OPT_STEAL:
        options->executor.stealing = main_parse_switch(value);
        break;
    case OPT_RUNS:
        command->runs = (unsigned)main_parse_number(value, 1, 1000000);
        break;
    case OPT_CPUS:
        command->cpu_count = main_parse_cpus(value, command->cpus);
        break;
    default:
        main_usage();
    }
}

static const struct benchmark *main_find_benchmark(const char *name)
{
    for (size_t i = 0; i < BENCHMARKS; i++) {
        if (strcmp(benchmarks[i].name, name) == 0) {
            return &benchmarks[i];
        }
    }
    main_usage();
}

static void main_parse_command(struct command *command, int argc, char **argv)
{
    command->runs = 1;
    command->options.executor.workers = 1;
    command->options.executor.queues_per_worker = 16;
    command->options.executor.stealing = true;
    for (int code; (code = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        main_parse_option(command, code, optarg);
    }
    if (optind + 1 != argc) {
        main_usage();
    }
    command->benchmark = main_find_benchmark(argv[optind]);
    if (command->options.executor.workers < command->benchmark->least_workers) {
        fprintf(stderr, "odeon-baseline: %s needs %u workers\n", command->benchmark->name,
                command->benchmark->least_workers);
        exit(2);
    }
    if (command->cpu_count == 0) {
        command->cpu_count = main_allowed_cpus(command->cpus);
    }
    for (unsigned i = command->cpu_count; i < command->options.executor.workers; i++) {
        command->cpus[i] = command->cpus[i % command->cpu_count];
    }
    command->options.executor.cpus = command->cpus;
}

/* The high-water mark of resident memory; it never falls within one process. */
static long main_peak_rss_kib(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : -1;
}

int main(int argc, char **argv)
{
    static struct command command;
    main_parse_command(&command, argc, argv);
    const struct executor_options *executor = &command.options.executor;
    for (unsigned run = 0; run < command.runs; run++) {
        struct bench_result result = command.benchmark->run(&command.options);
        printf("baseline=%s workers=%u queues=%u messages=%llu ns_per_msg=%.2f peak_rss_kib=%ld",
               command.benchmark->name, executor->workers, executor->queues_per_worker,
               (unsigned long long)result.messages,
               (double)result.elapsed_ns / (double)result.messages, main_peak_rss_kib());
        CROSSING(crossing_print();)
        putchar('\n');
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
