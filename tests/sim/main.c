/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's program: runs seeds, one line for each that fails (tests/simulate.sh).
 *
 *     simulate --seed N | --from N --count M | --from N --seconds S  [--bug NAME] [--all]
 *     simulate --seed N --trace
 *     simulate --list
 *
 * --bug turns a deliberate bug of tests/seeded/seeds.h on, --list names them; --all goes on
 * behind a failing seed. Exit status: 0 none failed, 1 one did, 2 could not run.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/seeded/seeds.h"
#include "tests/sim/cover.h"
#include "tests/sim/workload.h"

enum {
    COVER_SEEDS = 2000, /* so many must try everything */
    SEED_SECONDS = 60,  /* of processor time; a seed takes some milliseconds */
};

int sim_seed_bug;

static const struct {
    const char *name;
    int bug;
} bugs[] = {
#define BUG(name)                                                                                  \
    {                                                                                              \
#name, SEED_##name                                                                         \
    }
    BUG(journal_late),  BUG(own_early),     BUG(two_stores),    BUG(locks_first),
    BUG(undo_skipped),  BUG(post_fence),    BUG(cold_fence),    BUG(bit_late),
    BUG(urgent_late),   BUG(urgent_forgot), BUG(urgent_direct), BUG(journal_unchecked),
    BUG(unmarked),      BUG(park_look),     BUG(head_early),    BUG(step_again),
    BUG(visit_fence),   BUG(no_park_bit),   BUG(no_bound),      BUG(trace_stays),
    BUG(trace_gone),    BUG(timer_stays),   BUG(timer_gone),    BUG(cancel_gone),
    BUG(ask_stays),     BUG(member_gone),   BUG(stash_newest),  BUG(stash_gone),
    BUG(unstash_gone),  BUG(former_life),   BUG(link_gone),     BUG(link_early),
    BUG(timer_early),   BUG(timer_no_redo), BUG(timer_no_undo), BUG(claim_kept),
    BUG(watch_no_look), BUG(timer_behind),  BUG(leave_gone),    BUG(phase_no_undo),
    BUG(shelf_soon),    BUG(later_apart),   BUG(later_gone),    BUG(owner_anew),
    BUG(kept_past),     BUG(group_apart),   BUG(cancel_late),
};

/* The C library's, for assert(): the seed has failed, the next one may be run. */
void __assert_fail(const char *assertion, const char *file, unsigned line, const char *function)
{
    sim_fail("assertion %s in %s, %s:%u", assertion, function,
             strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line);
}

static void on_fault(int number)
{
    (void)number;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sim_fail("signal %d", number); /* away from the signal's stack, for good */
}

static void faults_catch(void)
{
    static uint8_t stack[64 * 1024];
    stack_t alternative = { .ss_sp = stack, .ss_size = sizeof(stack) };
    struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER };
    sigaltstack(&alternative, NULL);
    sigaction(SIGPROF, &action, NULL); /* a loop without a step */
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGILL, &action, NULL);
}

static uint64_t number_of(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 0);
    if (*text && !*end)
        return n;
    fprintf(stderr, "simulate: not a number: %s\n", text);
    exit(2);
}

static int bug_of(const char *name)
{
    for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
        if (strcmp(bugs[i].name, name) == 0)
            return bugs[i].bug;
    fprintf(stderr, "simulate: no such bug: %s\n", name);
    exit(2);
}

static int bugs_list(void)
{
    for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
        puts(bugs[i].name);
    return 0;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct sim_trace_line trace_lines[TRACE_LINES];

/* The last steps; offsets are addr2line's. */
static void trace_tell(void)
{
    extern const char __executable_start;
    static const char *const kinds[] = { "",      "load",  "store", "rmw",    "cas",
                                         "fence", "place", "relax", "kernel", "lock" };
    for (uint64_t i = 1; i <= TRACE_LINES && sim.lines; i++) {
        const struct sim_trace_line *line = &sim.lines[(sim.steps + i) % TRACE_LINES];
        if (line->step)
            printf("%" PRIu64 " %" PRIu64 " ns fiber=%u %s %#" PRIx64 " from=%#lx\n", line->step,
                   line->now, line->fiber, kinds[line->kind], line->where,
                   (unsigned long)((const char *)line->caller - &__executable_start - 1));
    }
}

static void tell(void)
{
    printf("seed=%" PRIu64 " schedule=%s steps=%" PRIu64 " crashes=%u trace=%016" PRIx64 ": %s\n",
           sim.seed, schedule_name(), sim.steps, sim.n_crashes, sim.trace,
           sim.failed ? sim.what : "fine");
    fflush(stdout);
}

struct wish {
    uint64_t from, count, seconds;
    bool one, all;
};

struct sums {
    uint64_t done, failed, steps, crashes, messages;
};

/* -1: go on; else the status to end with. */
static int wish_read(int argc, char **argv, struct wish *wish)
{
    static const struct option options[] = {
        { "seed", required_argument, NULL, 's' },
        { "from", required_argument, NULL, 'f' },
        { "count", required_argument, NULL, 'c' },
        { "seconds", required_argument, NULL, 't' },
        { "list", no_argument, NULL, 'l' },
        { "trace", no_argument, NULL, 'v' },
        { "bug", required_argument, NULL, 'b' },
        { "all", no_argument, NULL, 'a' },
        { 0 },
    };

    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (c) {
        case 's':
            wish->from = number_of(optarg);
            wish->one = true;
            break;
        case 'f':
            wish->from = number_of(optarg);
            break;
        case 'c':
            wish->count = number_of(optarg);
            break;
        case 't':
            wish->seconds = number_of(optarg);
            wish->count = UINT64_MAX;
            break;
        case 'b':
            sim_seed_bug = bug_of(optarg);
            break;
        case 'a':
            wish->all = true;
            break;
        case 'v':
            sim.lines = trace_lines;
            break;
        case 'l':
            return bugs_list();
        default:
            return 2;
        }
    return -1;
}

static void limit_seed(time_t seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = seconds }, NULL);
}

static struct sums seeds_run(const struct wish *wish, double started)
{
    struct sums sums = { 0 };

    for (uint64_t i = 0;
         i < wish->count && (wish->seconds == 0 || seconds_now() - started < (double)wish->seconds);
         i++) {
        limit_seed(SEED_SECONDS);
        workload_run(wish->from + i);
        limit_seed(0);
        sums.done++;
        sums.steps += sim.steps;
        sums.crashes += sim.n_crashes;
        sums.messages += workload.messages;
        sums.failed += sim.failed;
        if (wish->one)
            trace_tell();
        if (sim.failed || wish->one)
            tell();
        if (sim.failed && !wish->all)
            break;
    }
    return sums;
}

int main(int argc, char **argv)
{
    struct wish wish = { .from = 1, .count = 1 };
    int status = wish_read(argc, argv, &wish);

    if (status >= 0)
        return status;
    faults_catch();
    double started = seconds_now();
    struct sums sums = seeds_run(&wish, started);
    fibers_free();
    if (!wish.one)
        printf("# seeds=%" PRIu64 " failed=%" PRIu64 " steps=%" PRIu64 " crashes=%" PRIu64
               " messages=%" PRIu64 " seconds=%.1f\n",
               sums.done, sums.failed, sums.steps, sums.crashes, sums.messages,
               seconds_now() - started);
    if (!wish.one && !cover_tell() && sums.done >= COVER_SEEDS && sums.failed == 0) {
        puts("incomplete: one of these has never happened");
        return 1;
    }
    return sums.failed ? 1 : 0;
}
