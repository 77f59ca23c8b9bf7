/* SPDX-License-Identifier: Apache-2.0 */
/* Counts cache lines and locked instructions of the engine's, with as many workers as asked for
 * (README.md). One kind of traffic a process; everything is a function of the arguments.
 *
 *     odeon-count TRAFFIC [--workers N] [--queues K] [--actors A] [--payload BYTES]
 *         [--messages M] [--placement spread|each] [--stealing POLICY] [--seed S]
 *     odeon-count --list
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/counting/groups.h"
#include "tests/counting/scope.h"
#include "tests/counting/traffic.h"

enum { ACTORS = 40000, MESSAGES_FEW = 30000, ROUNDS = 3 };
#define SHOWN_FROM 0.002 /* of a line, a unit; less is not worth a row */

static uint64_t main_number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);
    if (*text && !*end && n >= least && n <= most)
        return n;
    fprintf(stderr, "odeon-count: not a number from %" PRIu64 " to %" PRIu64 ": %s\n", least, most,
            text);
    exit(2);
}

static enum engine_placement main_placement(const char *text)
{
    if (strcmp(text, "spread") == 0)
        return PLACE_SPREAD;
    if (strcmp(text, "each") == 0)
        return PLACE_EACH;
    fprintf(stderr, "odeon-count: spread or each, not %s\n", text);
    exit(2);
}

static enum steal_policy_id main_stealing(const char *text)
{
    enum steal_policy_id id;
    if (steal_policy_parse(text, &id) == 0)
        return id;
    fprintf(stderr, "odeon-count: no such policy: %s\n", text);
    exit(2);
}

static int main_list(void)
{
    for (const struct traffic *t = traffics; t->name; t++)
        printf("%-10s %s\n", t->name, t->what);
    return 0;
}

static int main_usage(void)
{
    fputs("odeon-count TRAFFIC [--workers N] [--queues K] [--actors A] [--payload BYTES]\n"
          "    [--messages M] [--placement spread|each] [--stealing POLICY] [--seed S]\n"
          "odeon-count --list\n",
          stderr);
    return 2;
}

static void main_option(struct wish *wish, int option)
{
    switch (option) {
    case 'w':
        wish->workers = (uint32_t)main_number(optarg, 2, 64);
        break;
    case 'q':
        wish->queues = (uint32_t)main_number(optarg, 1, 64);
        break;
    case 'a':
        wish->actors = (uint32_t)main_number(optarg, 1, 10000000);
        break;
    case 'p':
        wish->payload = (uint32_t)main_number(optarg, 0, 4096) & ~7u;
        break;
    case 'm':
        wish->messages = main_number(optarg, 100, 1000000000);
        break;
    case 'P':
        wish->placement = main_placement(optarg);
        break;
    case 'S':
        wish->stealing = main_stealing(optarg);
        break;
    default:
        wish->seed = main_number(optarg, 0, UINT64_MAX);
        break;
    }
}

/* -1: go on; else the status to end with. */
static int main_read(int argc, char **argv, struct wish *wish)
{
    static const struct option options[] = {
        { "workers", required_argument, NULL, 'w' },
        { "queues", required_argument, NULL, 'q' },
        { "actors", required_argument, NULL, 'a' },
        { "payload", required_argument, NULL, 'p' },
        { "messages", required_argument, NULL, 'm' },
        { "placement", required_argument, NULL, 'P' },
        { "stealing", required_argument, NULL, 'S' },
        { "seed", required_argument, NULL, 's' },
        { 0 },
    };
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return main_list();
    const struct traffic *traffic = argc > 1 ? traffic_find(argv[1]) : NULL;
    if (!traffic)
        return main_usage();
    *wish = (struct wish){ .traffic = traffic,
                           .workers = 2,
                           .queues = 16,
                           .actors = ACTORS,
                           .payload = traffic->payload,
                           .placement = PLACE_SPREAD,
                           .stealing = traffic->stealing,
                           .seed = 1 };
    for (int c; (c = getopt_long(argc - 1, argv + 1, "", options, NULL)) != -1;) {
        if (c == '?')
            return 2;
        main_option(wish, c);
    }
    uint64_t actors = traffic->actors ? traffic->actors(wish) : wish->actors;
    wish->clients = traffic->clients ? traffic->clients(wish) : 0;
    if (wish->messages == 0)
        wish->messages = ROUNDS * actors < MESSAGES_FEW ? MESSAGES_FEW : ROUNDS * actors;
    return -1;
}

/* ---- lines ---- */

static double main_share(uint64_t n, uint64_t of)
{
    return of ? (double)n / (double)of : 0;
}

static void main_tell_head(const struct wish *wish)
{
    printf("workers=%u queues=%u traffic=%s spread=%s stealing=%s", wish->workers, wish->queues,
           wish->traffic->name,
           wish->traffic->pinned             ? "pinned"
           : wish->placement == PLACE_SPREAD ? "blocks"
                                             : "each",
           steal_policy_name(wish->stealing));
}

static void main_tell_messages(const struct wish *wish, const struct traffic_sums *sums)
{
    const struct tally *t = scope_tally(UNIT_MESSAGE);
    printf("bench=count ");
    main_tell_head(wish);
    printf(" payload=%u messages=%" PRIu64
           " lines_per_msg=%.3f locked_per_msg=%.3f foreign_lines_per_msg=%.3f",
           wish->payload, t->n, main_share(t->lines, t->n), main_share(t->locked, t->n),
           main_share(t->foreign, t->n));
    printf(" groups_per_1000=%.1f crossing_per_1000=%.1f flushed_share=%.3f",
           1000 * main_share(sums->flushes, sums->flushed),
           1000 * main_share(scope_crossing(), sums->flushed), main_share(sums->flushed, t->n));
    printf(" tail_appends_share=%.3f steals=%" PRIu64 " wakeups=%" PRIu64 " parks=%" PRIu64
           " searches=%" PRIu64 " simulated_ns_per_msg=%.1f\n",
           main_share(sums->tail_appends, t->n), sums->steals, sums->wakeups, sums->parks,
           sums->searches, main_share((sums->end_ns - sums->begin_ns) * wish->workers, t->n));
}

/* As if the outbox had been flushed at other times. */
static void main_tell_cuts(const struct wish *wish)
{
    for (uint32_t i = 0; i < CUTS_N; i++) {
        const struct cut_count *count = groups_of(i);
        if (count->messages == 0)
            continue;
        printf("bench=count_cut ");
        main_tell_head(wish);
        printf(" payload=%u cut=%s messages=%" PRIu64 " messages_per_flush=%.0f"
               " groups_per_1000=%.1f crossing_per_1000=%.1f by_worker_per_1000=%.1f\n",
               wish->payload, cuts[i].name, count->messages,
               main_share(count->messages, count->flushes ? count->flushes : 1),
               1000 * main_share(count->groups, count->messages),
               1000 * main_share(count->crossing, count->messages),
               1000 * main_share(count->homes, count->messages));
    }
}

static void main_tell_unit(const struct wish *wish, enum unit unit)
{
    const struct tally *t = scope_tally(unit);
    if (t->n == 0)
        return;
    printf("bench=count_unit ");
    main_tell_head(wish);
    printf(" unit=%s n=%" PRIu64 " lines=%.2f locked=%.2f foreign=%.2f\n", unit_name(unit), t->n,
           main_share(t->lines, t->n), main_share(t->locked, t->n), main_share(t->foreign, t->n));
    for (uint32_t i = 0; i < WORDS_N; i++) {
        const struct tally_word *word = &t->words[i];
        double lines = main_share(word->lines, t->n), foreign = main_share(word->foreign, t->n),
               locked = main_share(word->locked, t->n);
        if (lines < SHOWN_FROM && foreign < SHOWN_FROM && locked < SHOWN_FROM)
            continue;
        printf("bench=count_word ");
        main_tell_head(wish);
        printf(" unit=%s word=%s lines=%.3f locked=%.3f foreign=%.3f\n", unit_name(unit),
               word_text((enum word)i), lines, locked, foreign);
    }
}

int main(int argc, char **argv)
{
    struct wish wish = { 0 };
    struct traffic_sums sums = { 0 };
    int status = main_read(argc, argv, &wish);
    if (status >= 0)
        return status;
    traffic_run(&wish, &sums);
    if (sim.failed) {
        fprintf(stderr, "odeon-count: %s\n", sim.what);
        return 1;
    }
    main_tell_messages(&wish, &sums);
    main_tell_cuts(&wish);
    for (uint32_t unit = 0; unit < UNITS_N; unit++)
        main_tell_unit(&wish, (enum unit)unit);
    groups_end();
    scope_end();
    fibers_free();
    return 0;
}
