/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-savina: runs one program of savina.so several times against a running service, and prints a
 * line for all of them:
 *
 *     bench=savina_NAME cores=W messages=M ns_per_msg=X ms=T spread=S% mean_ms=U kept=K runs=N
 *         check=ok
 *
 * in one line. As the suite has it, an iteration's time is that from before the first actor is made
 * until the last one has ended, and the mean leaves out what is more than a fifth away from the
 * median (with all of them out it is the median). M, X and T are medians, S is highest less lowest.
 * Results are checked behind each iteration. Where something is not as it should be, check="..."
 * says what, and the exit status is 1. One thread.
 */
#include "odeon_savina.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/beside.h"

static const char usage_text[] =
    "usage: odeon-savina NAME [FIELD=VALUE...] [--socket PATH] [--plugin FILE] [--runs K]\n"
    "                    [--timeout SECONDS]\n";

enum option_code { OPTION_SOCKET = 1, OPTION_PLUGIN, OPTION_RUNS, OPTION_TIMEOUT, OPTION_HELP };

static const struct option long_options[] = {
    { "socket", required_argument, NULL, OPTION_SOCKET },
    { "plugin", required_argument, NULL, OPTION_PLUGIN },
    { "runs", required_argument, NULL, OPTION_RUNS },
    { "timeout", required_argument, NULL, OPTION_TIMEOUT },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

static _Noreturn void main_usage(const char *why, const char *what)
{
    fprintf(stderr, "odeon-savina: %s%s%s\n%s", why, what != NULL ? ": " : "",
            what != NULL ? what : "", usage_text);
    exit(SAVINA_USAGE);
}

static uint64_t main_parse_number(const char *text, uint64_t most)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < 1 || value > most)
        main_usage("not a number in range", text);
    return value;
}

static void main_parse_option(struct savina_options *options, int code, const char *value)
{
    switch (code) {
    case OPTION_SOCKET:
        options->socket = value;
        break;
    case OPTION_PLUGIN:
        options->plugin = value;
        break;
    case OPTION_RUNS:
        options->runs = (uint32_t)main_parse_number(value, SAVINA_RUNS_MAX);
        break;
    case OPTION_TIMEOUT:
        options->timeout_s = main_parse_number(value, 86400);
        break;
    case OPTION_HELP:
        fputs(usage_text, stdout);
        exit(SAVINA_DONE);
    default:
        main_usage("see the options", NULL);
    }
}

static int main_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double main_median(double *values, uint32_t n)
{
    qsort(values, n, sizeof(values[0]), main_compare);
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void main_print(const struct savina_options *options, const struct savina_session *session,
                       const struct savina_run_figure *figures, uint32_t n)
{
    double ns[SAVINA_RUNS_MAX], messages[SAVINA_RUNS_MAX], each[SAVINA_RUNS_MAX], sum = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        ns[i] = (double)figures[i].elapsed_ns;
        messages[i] = (double)figures[i].messages;
        each[i] = ns[i] / messages[i];
    }
    double median = main_median(ns, n);
    for (uint32_t i = 0; i < n; i++) {
        if (fabs(ns[i] - median) > 0.2 * median)
            continue;
        sum += ns[i];
        kept++;
    }
    printf("bench=savina_%s cores=%u messages=%.0f ns_per_msg=%.1f ms=%.3f spread=%.1f%%"
           " mean_ms=%.3f kept=%u runs=%u check=ok\n",
           options->name, session->workers, main_median(messages, n), main_median(each, n),
           median / 1e6, 100 * (ns[n - 1] - ns[0]) / median, (kept > 0 ? sum / kept : median) / 1e6,
           kept, n);
}

int main(int argc, char **argv)
{
    static struct savina_run_figure figures[SAVINA_RUNS_MAX];
    struct savina_options options = { .runs = 12, .timeout_s = 300 };
    for (int code; (code = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
        main_parse_option(&options, code, optarg);
    if (optind >= argc)
        main_usage("which program?", NULL);
    options.name = argv[optind];
    options.words = argv + optind + 1;
    options.n_words = (size_t)(argc - optind - 1);
    options.plugin = beside_find("savina.so", options.plugin);

    struct savina_session session;
    uint32_t n = 0;
    int r = savina_session_open(&session, &options);
    while (r == 0 && n < options.runs) {
        r = savina_session_run(&session, &options, &figures[n]);
        n += r == 0;
    }
    if (r == 0)
        main_print(&options, &session, figures, n);
    else if (r == SAVINA_FAILED)
        printf("bench=savina_%s cores=%u runs=%u check=\"%s\"\n", options.name, session.workers, n,
               session.why);
    savina_session_close(&session);
    return r;
}
