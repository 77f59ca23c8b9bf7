/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-latency: measures one thing against a running service; prints a line for each point:
 *
 *     bench=latency_NAME … n=N p50_us=… p90_us=… p99_us=… p999_us=… p9999_us=… most_us=…
 *         [ruler_p50_us=… …]
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/beside.h"
#include "disturb.h"
#include "measure.h"
#include "session.h"

static const char usage_text[] =
    "usage: odeon-latency NAME [--socket PATH] [--plugin FILE] [--seconds S] [--n N]\n"
    "                          [--us LIST] [--rounds R] [--sleep] [--detached]\n"
    "                          [--slow-us US --every N]\n"
    "                          [--rate LIST] [--payload 8|64] [--actors A] [--park]\n"
    "                          [--disturb kill|reconfigure] [--set KEY=A,B] [--period-ms MS]\n"
    "                          [--cpus LIST | --no-ruler] [--timeout S] [--within S]\n"
    "                          [--flood-uid U] [--cold]\n"
    "NAME: step turn burst crowd roundtrip fan chain timer\n";

enum option_code {
    OPTION_SOCKET = 1,
    OPTION_PLUGIN,
    OPTION_SECONDS,
    OPTION_N,
    OPTION_US,
    OPTION_ROUNDS,
    OPTION_SLEEP,
    OPTION_DETACHED,
    OPTION_SLOW,
    OPTION_EVERY,
    OPTION_RATE,
    OPTION_PAYLOAD,
    OPTION_ACTORS,
    OPTION_PARK,
    OPTION_DISTURB,
    OPTION_SET,
    OPTION_PERIOD,
    OPTION_CPUS,
    OPTION_NO_RULER,
    OPTION_TIMEOUT,
    OPTION_WITHIN,
    OPTION_FLOOD_UID,
    OPTION_COLD,
    OPTION_HELP,
};

static const struct option long_options[] = {
    { "socket", required_argument, NULL, OPTION_SOCKET },
    { "plugin", required_argument, NULL, OPTION_PLUGIN },
    { "seconds", required_argument, NULL, OPTION_SECONDS },
    { "n", required_argument, NULL, OPTION_N },
    { "us", required_argument, NULL, OPTION_US },
    { "rounds", required_argument, NULL, OPTION_ROUNDS },
    { "sleep", no_argument, NULL, OPTION_SLEEP },
    { "detached", no_argument, NULL, OPTION_DETACHED },
    { "slow-us", required_argument, NULL, OPTION_SLOW },
    { "every", required_argument, NULL, OPTION_EVERY },
    { "rate", required_argument, NULL, OPTION_RATE },
    { "payload", required_argument, NULL, OPTION_PAYLOAD },
    { "actors", required_argument, NULL, OPTION_ACTORS },
    { "park", no_argument, NULL, OPTION_PARK },
    { "disturb", required_argument, NULL, OPTION_DISTURB },
    { "set", required_argument, NULL, OPTION_SET },
    { "period-ms", required_argument, NULL, OPTION_PERIOD },
    { "cpus", required_argument, NULL, OPTION_CPUS },
    { "no-ruler", no_argument, NULL, OPTION_NO_RULER },
    { "timeout", required_argument, NULL, OPTION_TIMEOUT },
    { "within", required_argument, NULL, OPTION_WITHIN },
    { "flood-uid", required_argument, NULL, OPTION_FLOOD_UID },
    { "cold", no_argument, NULL, OPTION_COLD },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

static const struct {
    const char *name;
    int (*measure)(struct session *session);
} measurements[] = {
    { "step", measure_step },           { "turn", measure_turn },   { "burst", measure_burst },
    { "crowd", measure_crowd },         { "fan", measure_fan },     { "chain", measure_chain },
    { "roundtrip", measure_roundtrip }, { "timer", measure_timer },
};

static _Noreturn void main_usage(const char *why, const char *what)
{
    fprintf(stderr, "odeon-latency: %s%s%s\n%s", why, what != NULL ? ": " : "",
            what != NULL ? what : "", usage_text);
    exit(SESSION_USAGE);
}

/* The number at the beginning of `text`, and what follows it. */
static uint64_t main_parse_piece(const char *text, uint64_t least, uint64_t most, char **ret_end)
{
    errno = 0;
    unsigned long long value = strtoull(text, ret_end, 10);
    if (errno != 0 || *ret_end == text || *text == '-' || value < least || value > most)
        main_usage("not a number in range", text);
    return value;
}

static uint64_t main_parse_number(const char *text, uint64_t least, uint64_t most)
{
    char *end = NULL;
    uint64_t value = main_parse_piece(text, least, most, &end);
    if (*end != '\0')
        main_usage("not a number in range", text);
    return value;
}

/* "1,10,100"; returns how many. */
static uint32_t main_parse_list(const char *text, uint64_t least, uint64_t most, uint64_t *list)
{
    uint32_t n = 0;
    for (char *end = NULL;; text = end + 1) {
        if (n == OPTIONS_LIST_MAX)
            main_usage("too many in a list", text);
        list[n++] = main_parse_piece(text, least, most, &end);
        if (*end == '\0')
            return n;
        if (*end != ',')
            main_usage("not a list of numbers", text);
    }
}

static void main_parse_cpus(struct options *options, const char *text)
{
    uint64_t cpus[OPTIONS_LIST_MAX];
    options->n_cpus = main_parse_list(text, 0, 1023, cpus);
    for (uint32_t i = 0; i < options->n_cpus; i++)
        options->cpus[i] = (int)cpus[i];
}

static double main_parse_seconds(const char *text)
{
    char *end = NULL;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0) || seconds > 86400)
        main_usage("not a number of seconds", text);
    return seconds;
}

/* Those that say what else is done to the service, and for how long. */
static void main_parse_disturbance(struct options *options, int code, const char *value)
{
    switch (code) {
    case OPTION_DISTURB:
        if (strcmp(value, "kill") != 0 && strcmp(value, "reconfigure") != 0)
            main_usage("--disturb is kill or reconfigure, not", value);
        options->disturb = value;
        break;
    case OPTION_SET:
        options->set = value;
        break;
    case OPTION_PERIOD:
        options->period_ms = main_parse_number(value, 10, 3600000);
        break;
    case OPTION_TIMEOUT:
        options->timeout_s = main_parse_number(value, 1, 86400);
        break;
    case OPTION_WITHIN:
        options->within_s = main_parse_seconds(value);
        break;
    case OPTION_FLOOD_UID:
        options->flood_uid = (uint32_t)main_parse_number(value, 1, UINT32_MAX - 1);
        break;
    case OPTION_COLD:
        options->cold = 1;
        break;
    case OPTION_HELP:
        fputs(usage_text, stdout);
        exit(SESSION_DONE);
    default:
        main_usage("see the options", NULL);
    }
}

static void main_parse_option(struct options *options, int code, const char *value)
{
    switch (code) {
    case OPTION_SOCKET:
        options->socket = value;
        break;
    case OPTION_PLUGIN:
        options->plugin = value;
        break;
    case OPTION_SECONDS:
        options->seconds = main_parse_seconds(value);
        break;
    case OPTION_N:
        options->n = main_parse_number(value, 1, UINT64_C(1000000000000));
        break;
    case OPTION_US:
        options->n_us = main_parse_list(value, 0, 100000000, options->us);
        break;
    case OPTION_ROUNDS:
        options->rounds = (uint32_t)main_parse_number(value, 1, OPTIONS_ROUNDS_MAX);
        break;
    case OPTION_SLEEP:
        options->sleeps = 1;
        break;
    case OPTION_DETACHED:
        options->detached = 1;
        break;
    case OPTION_SLOW:
        options->slow_us = main_parse_number(value, 1, 100000000);
        break;
    case OPTION_EVERY:
        options->every = main_parse_number(value, 2, 1000000000);
        break;
    case OPTION_RATE:
        options->n_rates = main_parse_list(value, 1, 1000000000, options->rates);
        break;
    case OPTION_PAYLOAD:
        options->payload = (uint32_t)main_parse_number(value, 8, 64);
        if (options->payload != 8 && options->payload != 64)
            main_usage("--payload is 8 or 64, not", value);
        break;
    case OPTION_ACTORS:
        options->actors = (uint32_t)main_parse_number(value, 1, 100000);
        break;
    case OPTION_PARK:
        options->park = 1;
        break;
    case OPTION_CPUS:
        main_parse_cpus(options, value);
        break;
    case OPTION_NO_RULER:
        options->n_cpus = 0;
        break;
    default:
        main_parse_disturbance(options, code, value);
    }
}

static void main_check(const struct options *options)
{
    if (strcmp(options->name, "turn") == 0 && (options->every == 0 || options->slow_us == 0))
        main_usage("turn needs --slow-us and --every", NULL);
    if (options->disturb != NULL && strcmp(options->disturb, "reconfigure") == 0 &&
        strchr(options->set, ',') == NULL)
        main_usage("--set is KEY=A,B, not", options->set);
}

int main(int argc, char **argv)
{
    struct options options = { .us = { 2000 },
                               .n_us = 1,
                               .rates = { 1000 },
                               .n_rates = 1,
                               .seconds = 2,
                               .rounds = 1,
                               .actors = 1,
                               .payload = 8,
                               .timeout_s = 60,
                               .within_s = 4,
                               .set = "throughput=4096,4095",
                               .period_ms = 1200 };
    struct session session = { .options = &options };
    size_t chosen = 0, known = sizeof(measurements) / sizeof(measurements[0]);

    for (int code; (code = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
        main_parse_option(&options, code, optarg);
    if (optind + 1 != argc)
        main_usage("one measurement, please", NULL);
    options.name = argv[optind];
    options.plugin = beside_find("latency.so", options.plugin);
    while (chosen < known && strcmp(measurements[chosen].name, options.name) != 0)
        chosen++;
    if (chosen == known)
        main_usage("no such measurement", options.name);
    main_check(&options);

    int r = session_open(&session, &options);
    if (r == 0)
        r = disturb_start(&options);
    if (r == 0)
        r = measurements[chosen].measure(&session);
    int disturbed = disturb_stop();
    session_close(&session);
    return r != 0 ? r : disturbed;
}
