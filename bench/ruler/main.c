/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-ruler: the machine's own figures (ruler.h), one line for each.
 *
 * It spins on both sides, so it needs two CPUs of its own; should one side never get to run, the
 * alarm ends it.
 */
#include "ruler.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALARM_S = 60, DEFAULT_TRIPS = 200000, DEFAULT_RECORDS = 8000000, DEFAULT_WAKES = 1000 };

static const char usage_text[] =
    "usage: odeon-ruler [line] [pingpong] [ring] [wake] [--cpus A,B] [--trips N] [--records N]\n"
    "                   [--wakes N]\n"
    "Without a name: all of them.  Without --cpus: the first two that may be used.\n";

int ruler_error(int error, const char *what)
{
    fprintf(stderr, "odeon-ruler: %s: %s\n", what, strerror(-error));
    return error;
}

int ruler_bind(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set) < 0 ? ruler_error(-errno, "cannot bind to a CPU")
                                                       : 0;
}

static int main_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

void ruler_sort(uint32_t *values, uint64_t n)
{
    qsort(values, n, sizeof(*values), main_compare);
}

static _Noreturn void main_usage(int code)
{
    fputs(usage_text, code == 0 ? stdout : stderr);
    exit(code);
}

static uint64_t main_parse_number(const char *text, uint64_t least, uint64_t most)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < least || value > most)
        main_usage(2);
    return value;
}

static void main_parse_cpus(const char *text, int *cpus)
{
    char *end = NULL;
    long first = strtol(text, &end, 10), second;
    if (end == text || *end != ',')
        main_usage(2);
    const char *rest = end + 1;
    second = strtol(rest, &end, 10);
    if (end == rest || *end != '\0' || first < 0 || second < 0 || first >= CPU_SETSIZE ||
        second >= CPU_SETSIZE || first == second)
        main_usage(2);
    cpus[0] = (int)first;
    cpus[1] = (int)second;
}

static void main_find_cpus(int *cpus)
{
    cpu_set_t set;
    int n = 0;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
            if (CPU_ISSET((size_t)cpu, &set))
                cpus[n++] = cpu;
    if (n < 2) {
        fputs("odeon-ruler: two CPUs are needed, this process may use one\n", stderr);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static const struct option options_known[] = {
        { "cpus", required_argument, NULL, 'c' },    { "trips", required_argument, NULL, 't' },
        { "records", required_argument, NULL, 'r' }, { "wakes", required_argument, NULL, 'w' },
        { "help", no_argument, NULL, 'h' },          { NULL, 0, NULL, 0 },
    };
    struct ruler_options options = { .cpus = { -1, -1 },
                                     .trips = DEFAULT_TRIPS,
                                     .records = DEFAULT_RECORDS,
                                     .wakes = DEFAULT_WAKES };
    for (int code; (code = getopt_long(argc, argv, "", options_known, NULL)) != -1;) {
        switch (code) {
        case 'c':
            main_parse_cpus(optarg, options.cpus);
            break;
        case 't':
            options.trips = main_parse_number(optarg, 100, 100000000);
            break;
        case 'r':
            options.records = main_parse_number(optarg, 64, UINT64_C(100000000000));
            break;
        case 'w':
            options.wakes = main_parse_number(optarg, 1, 20000);
            break;
        default:
            main_usage(code == 'h' ? 0 : 2);
        }
    }
    int line = optind == argc, pingpong = line, ring = line, wake = line;
    for (; optind < argc; optind++) {
        if (strcmp(argv[optind], "line") == 0)
            line = 1;
        else if (strcmp(argv[optind], "pingpong") == 0)
            pingpong = 1;
        else if (strcmp(argv[optind], "ring") == 0)
            ring = 1;
        else if (strcmp(argv[optind], "wake") == 0)
            wake = 1;
        else
            main_usage(2);
    }
    if (options.cpus[0] < 0)
        main_find_cpus(options.cpus);
    setvbuf(stdout, NULL, _IOLBF, 0); /* nothing is left in a buffer at a fork */
    alarm(ALARM_S);
    int r = line ? ruler_line(&options) : 0;
    if (r == 0 && pingpong)
        r = ruler_pingpong(&options);
    if (r == 0 && ring)
        r = ruler_ring(&options, 1);
    if (r == 0 && ring)
        r = ruler_ring(&options, 32);
    if (r == 0 && wake)
        r = ruler_wake(&options);
    return r == 0 ? 0 : 1;
}
