/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-bench: runs one benchmark against a running service, and prints one line for each run:
 *
 *     bench=NAME cores=W ns_per_msg=X messages=M [p50_ns=Y p90_ns=… p99_ns=Z max_ns=…]
 *
 * `cores` is the number of workers of the service.  One thread.
 */
#include "bench/beside.h"
#include "odeon_bench.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage_text[] =
    "usage: odeon-bench NAME [--socket PATH] [--plugin FILE] [--runs "
    "K] [--n N] [--actors A] [--set S] [--rounds R]\n"
    "                        [--batch B] [--work STEPS] [--place "
    "here|spread] [--window W] [--payload 8|64]\n"
    "                        [--pause US] [--timeout SECONDS]\n"
    "NAME: static_send dynamic_send executor pingpong_local "
    "pingpong_cross repeat balance_one balance_multi\n"
    "      matrix fan_in spawn_stop ask forward publish timer_arm timer_cancel\n"
    "      (inside the service)\n"
    "      post roundtrip wake (from this client)\n";

enum option_code {
    OPTION_SOCKET = 1,
    OPTION_PLUGIN,
    OPTION_RUNS,
    OPTION_N,
    OPTION_ACTORS,
    OPTION_SET,
    OPTION_ROUNDS,
    OPTION_BATCH,
    OPTION_PLACE,
    OPTION_WORK,
    OPTION_WINDOW,
    OPTION_PAYLOAD,
    OPTION_PAUSE,
    OPTION_TIMEOUT,
    OPTION_HELP,
};

static const struct option long_options[] = {
    { "socket", required_argument, NULL, OPTION_SOCKET },
    { "plugin", required_argument, NULL, OPTION_PLUGIN },
    { "runs", required_argument, NULL, OPTION_RUNS },
    { "n", required_argument, NULL, OPTION_N },
    { "actors", required_argument, NULL, OPTION_ACTORS },
    { "set", required_argument, NULL, OPTION_SET },
    { "rounds", required_argument, NULL, OPTION_ROUNDS },
    { "batch", required_argument, NULL, OPTION_BATCH },
    { "place", required_argument, NULL, OPTION_PLACE },
    { "work", required_argument, NULL, OPTION_WORK },
    { "window", required_argument, NULL, OPTION_WINDOW },
    { "payload", required_argument, NULL, OPTION_PAYLOAD },
    { "pause", required_argument, NULL, OPTION_PAUSE },
    { "timeout", required_argument, NULL, OPTION_TIMEOUT },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

static const struct {
    const char *name;
    int (*measure)(struct bench_session *session, const struct bench_options *options,
                   struct bench_figure *ret);
} benchmarks[] = {
    { "static_send", bench_measure_driver },
    { "dynamic_send", bench_measure_driver },
    { "executor", bench_measure_driver },
    { "pingpong_local", bench_measure_driver },
    { "pingpong_cross", bench_measure_driver },
    { "repeat", bench_measure_driver },
    { "balance_one", bench_measure_driver },
    { "balance_multi", bench_measure_driver },
    { "matrix", bench_measure_driver },
    { "fan_in", bench_measure_driver },
    { "spawn_stop", bench_measure_driver },
    { "ask", bench_measure_driver },
    { "forward", bench_measure_driver },
    { "timer_arm", bench_measure_driver },
    { "timer_cancel", bench_measure_driver },
    { "publish", bench_measure_driver },
    { "post", bench_measure_post },
    { "roundtrip", bench_measure_roundtrip },
    { "wake", bench_measure_wake },
};

static _Noreturn void main_usage(const char *why, const char *what)
{
    fprintf(stderr, "odeon-bench: %s%s%s\n%s", why, what != NULL ? ": " : "",
            what != NULL ? what : "", usage_text);
    exit(BENCH_USAGE);
}

static uint64_t main_parse_number(const char *text, uint64_t least, uint64_t most)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < least || value > most)
        main_usage("not a number in range", text);
    return value;
}

static void main_parse_option(struct bench_options *options, int code, const char *value)
{
    struct bench_run *run = &options->run;
    switch (code) {
    case OPTION_SOCKET:
        options->socket = value;
        break;
    case OPTION_PLUGIN:
        options->plugin = value;
        break;
    case OPTION_RUNS:
        options->runs = (uint32_t)main_parse_number(value, 1, 100000);
        break;
    case OPTION_N:
        run->n = main_parse_number(value, 1, 1000000000000);
        break;
    case OPTION_ACTORS:
        run->actors = (uint32_t)main_parse_number(value, 1, 10000000);
        break;
    case OPTION_SET:
        run->set = (uint32_t)main_parse_number(value, 1, 100000);
        break;
    case OPTION_ROUNDS:
        run->rounds = (uint32_t)main_parse_number(value, 1, 1000000);
        break;
    case OPTION_BATCH:
        run->batch = (uint32_t)main_parse_number(value, 1, 1000000);
        break;
    case OPTION_PLACE:
        if (strcmp(value, "here") != 0 && strcmp(value, "spread") != 0)
            main_usage("--place is here or spread, not", value);
        run->place = strcmp(value, "here") == 0 ? BENCH_PLACE_HERE : BENCH_PLACE_SPREAD;
        break;
    case OPTION_WORK:
        run->work = (uint32_t)main_parse_number(value, 0, 1000000000);
        break;
    case OPTION_PAUSE:
        options->pause_us = (uint32_t)main_parse_number(value, 0, 1000000);
        break;
    case OPTION_PAYLOAD:
        options->payload = (uint32_t)main_parse_number(value, 8, 64);
        if (options->payload != 8 && options->payload != 64)
            main_usage("--payload is 8 or 64, not", value);
        break;
    case OPTION_WINDOW:
        options->window = (uint32_t)main_parse_number(value, 1, 1000000);
        break;
    case OPTION_TIMEOUT:
        options->timeout_s = main_parse_number(value, 1, 86400);
        break;
    case OPTION_HELP:
        fputs(usage_text, stdout);
        exit(BENCH_DONE);
    default:
        main_usage("see the options", NULL);
    }
}

static void main_print_figure(const struct bench_options *options,
                              const struct bench_session *session,
                              const struct bench_figure *figure)
{
    printf("bench=%s cores=%u ns_per_msg=%.3f messages=%" PRIu64, options->name, session->workers,
           (double)figure->elapsed_ns / (double)figure->messages, figure->messages);
    if (figure->beside_ns != 0)
        printf(" loop_ns_per_msg=%.3f ratio=%.3f",
               (double)figure->beside_ns / (double)figure->messages,
               (double)figure->elapsed_ns / (double)figure->beside_ns);
    if (figure->p50_ns != 0)
        printf(" p50_ns=%" PRIu64 " p90_ns=%" PRIu64 " p99_ns=%" PRIu64 " max_ns=%" PRIu64,
               figure->p50_ns, figure->p90_ns, figure->p99_ns, figure->max_ns);
    putchar('\n');
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct bench_options options = { .runs = 1, .timeout_s = 120, .pause_us = BENCH_PAUSE_US };
    for (int code; (code = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
        main_parse_option(&options, code, optarg);
    if (optind + 1 != argc)
        main_usage("one benchmark, please", NULL);
    options.name = argv[optind];
    options.plugin = beside_find("bench.so", options.plugin);

    size_t chosen = 0;
    while (chosen < sizeof(benchmarks) / sizeof(benchmarks[0]) &&
           strcmp(benchmarks[chosen].name, options.name) != 0)
        chosen++;
    if (chosen == sizeof(benchmarks) / sizeof(benchmarks[0]))
        main_usage("no such benchmark", options.name);

    struct bench_session session;
    int r = bench_session_open(&session, &options);
    for (uint32_t i = 0; i < options.runs && r == 0; i++) {
        struct bench_figure figure = { .elapsed_ns = 0 };
        r = benchmarks[chosen].measure(&session, &options, &figure);
        if (r == 0 && figure.messages == 0)
            r = bench_error(BENCH_FAILED, "%s: no messages", options.name);
        if (r == 0)
            main_print_figure(&options, &session, &figure);
    }
    bench_session_close(&session);
    return r;
}
