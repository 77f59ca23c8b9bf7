/* SPDX-License-Identifier: Apache-2.0 */
/* The siege (siege.h): all attacks at once, from three users, against a service with default
 * settings under the limits of its unit and in 512 MB; beside them honest clients of a fourth user,
 * and root.
 *
 *   siege [--seconds N] [--pairs N] [--work] [--control] [--strict] [--groups WEIGHT]
 *         [--only NAMES] [--without NAMES] [--test PATTERN]
 *
 * N seconds of it (default 60), in so many rounds (1). Behind each, burners take the attackers'
 * place, which use as much processor time and nothing else, for half of its time. --work: behind
 * those the same once more, and further burners use what the service has computed for the
 * attackers. --control: one round of attacks, then pairs of burners and the same burners.
 * --strict: the honest calls' p99 may be at most 1.5 times that beside the burners, by the median
 * of the pairs; otherwise the figures are printed. --groups: the service and each user have a
 * processor group, the service's of this weight (CPUWeight=), the others of 100. What must come is
 * waited for, and told when it takes long: no time of the clock fails anything else.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/hostile/place.h"
#include "tests/run/sanitized.h"
#include "tests/siege/honest.h"
#include "tests/siege/pairs.h"
#include "tests/siege/root.h"
#include "tests/siege/slices.h"
#include "tests/siege/usage.h"
#include "tests/system/loop_watch.h"
#include "tests/system/memory_group.h"
#include "tests/system/probe.h"

enum {
    CALLS_LEAST = 100,
    ROOT_ROUNDS_LEAST = 3,
    KEPT_MAX = 8,
    ANSWERS_A_WAIT = 100,
    TWICE = 2,
    TELL_S = 20
};

static const struct user owner = { 41010, 41010, 0 };
static double seconds = 60;
static int n_pairs = 1;
static bool strict, with_work, control;
static unsigned weight; /* of the service's processor group; 0: nobody has one */

static struct service service;
static struct besieger *besiegers, *burners;
static unsigned n_besiegers;
static struct honest *honest;
static struct root root;
static odeon_ref kept[KEPT_MAX];
static unsigned n_kept;

static struct loop_watch odeond_loop, control_loop;

static const char *without = "", *only = ""; /* names of attacks, between commas */

static bool is_among(const char *names, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = names; (at = strstr(at, name)) != NULL; at += n)
        if ((at == names || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

/* ---- the service, and who is there before anybody attacks */

static odeon_ref keep(odeon_ref ref)
{
    assert_true(n_kept < KEPT_MAX);
    kept[n_kept++] = ref;
    return ref;
}

static odeon_ref spawn_logged(struct odeon_client *client, const char *type)
{
    struct probe_log log = { 0 };

    snprintf(log.path, sizeof(log.path), "%s/runs", service.dir);
    return keep(spawn(client, type, NULL, &log, sizeof(log)));
}

static void make_field(void)
{
    struct odeon_client *client = service_connect(&service, "root");
    odeon_ref found;

    n_kept = 0;
    field = (struct field){ .service = &service };
    field.echo = keep(spawn(client, "probe_echo", NULL, NULL, 0));
    field.ledger = keep(spawn(client, "probe_ledger", NULL, NULL, 0));
    field.slow = keep(spawn(client, "probe_ledger", NULL, NULL, 0));
    field.stall = spawn_logged(client, "probe_stall");
    field.dead = spawn(client, "probe_echo", "dead", NULL, 0);
    field.number_type = message_id(client, odeon_message_of(probe_number));
    field.block_type = message_id(client, odeon_message_of(probe_block));
    field.work_type = message_id(client, odeon_message_of(probe_work));
    field.flood_type = message_id(client, odeon_message_of(probe_flood));
    assert_int_equal(odeon_actor_stop(client, field.dead, ODEON_DELETE), 0);
    assert_true(wait_until(odeon_actor_find(client, "dead", &found) < 0));
    honest->service = &service;
    honest->number_type = field.number_type;
    honest->echo = keep(spawn(client, "probe_echo", NULL, NULL, 0));
    honest->relay = keep(spawn(client, "probe_relay", NULL, &honest->echo, sizeof(honest->echo)));
    odeon_client_disconnect(client);
}

static void make_slices(void)
{
    const uid_t users[] = { attackers[0].uid, attackers[1].uid, attackers[2].uid, innocent.uid };

    if (weight > 0 && !slices_make(users, sizeof(users) / sizeof(users[0]), weight)) {
        weight = 0;
        print_message("# no processor groups can be made here: nobody has one\n");
    }
}

/* What is a sanitizer's own memory is no part of a bound. */
static int begin(void **state)
{
    (void)state;
    if (!user_can_change())
        return 0;
    if (!SANITIZED && !memory_group_make("512M"))
        return 0;
    honest = honest_make();
    besiegers = besiegers_make();
    burners = besiegers_make();
    service_make_dir(&service);
    place_under_unit(&service, owner);
    make_slices();
    memory_group_enter();
    slices_enter_service();
    service_spawn(&service, (const char *const[]){ "--set", "socket-mode=0666", "--set",
                                                   "role-post=*", "--set", "role-register=41004",
                                                   "--plugin", TEST_PROBE, NULL });
    slices_leave();
    memory_group_leave();
    service_wait_ready(&service);
    make_field();
    root = (struct root){ .service = &service, .random = 20240817 };
    return 0;
}

static void skip_without(void)
{
    if (service.pid > 0)
        return;
    print_message("# skipped: %s\n", user_can_change() ? "no memory group can be made here"
                                                       : "other users can be played by root alone");
    skip();
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; besiegers && i < BESIEGERS_MAX; i++) {
        besieger_kill(&besiegers[i]);
        besieger_kill(&burners[i]);
    }
    if (honest && honest->pid > 0)
        user_kill(honest->pid);
    service_end(&service);
    slices_end();
    memory_group_end();
    return 0;
}

/* ---- a round */

static void watch(const struct besieger *all)
{
    for (unsigned i = 0; i < n_besiegers; i++)
        besieger_expect_alive(&all[i]);
    honest_expect_right(honest);
}

static bool takes_part(int who)
{
    for (unsigned i = 0; i < n_besiegers; i++)
        if ((int)besiegers[i].assault.who == who)
            return true;
    return false;
}

/* An attacker's user that the log has not named; 0: it has named each. */
static uid_t not_named(void)
{
    char *log = service_read_log(&service), who[32];
    uid_t missing = 0;

    for (int i = 0; i < ATTACKERS && missing == 0; i++) {
        snprintf(who, sizeof(who), "user %u", attackers[i].uid);
        if (takes_part(i) && !strstr(log, who))
            missing = attackers[i].uid;
    }
    free(log);
    return missing;
}

/* What says whether it has come far enough. */
struct progress {
    uint64_t numbers, calls, visits, rounds;
};

static struct progress progress_now(void)
{
    return (struct progress){ .numbers = atomic_load(&honest->numbers),
                              .calls = atomic_load(&honest->calls),
                              .visits = atomic_load(&honest->visits),
                              .rounds = root.rounds };
}

static bool is_far_enough(const struct progress *since, const struct besieger *attacking)
{
    struct progress now = progress_now();

    for (unsigned i = 0; attacking && i < n_besiegers; i++)
        if (atomic_load(&attacking[i].offender.deeds) == 0)
            return false;
    return now.numbers >= since->numbers + CALLS_LEAST && now.calls >= since->calls + CALLS_LEAST &&
           now.visits > since->visits && now.rounds >= since->rounds + ROOT_ROUNDS_LEAST &&
           (!attacking || not_named() == 0);
}

static void print_what_is_missing(const struct progress *since, const struct besieger *attacking)
{
    struct progress now = progress_now();

    print_message("# waits: in this round %llu numbers, %llu calls, %llu visits, %llu of root's "
                  "rounds; the log does not name user %u (0: names all)\n",
                  (unsigned long long)(now.numbers - since->numbers),
                  (unsigned long long)(now.calls - since->calls),
                  (unsigned long long)(now.visits - since->visits),
                  (unsigned long long)(now.rounds - since->rounds), attacking ? not_named() : 0);
    for (unsigned i = 0; attacking && i < n_besiegers; i++)
        if (atomic_load(&attacking[i].offender.deeds) == 0)
            print_message("# waits: %s of user %u has not attacked yet: %llu connections, %llu "
                          "refusals, the last %d\n",
                          attacking[i].assault.name, attackers[attacking[i].assault.who].uid,
                          (unsigned long long)atomic_load(&attacking[i].offender.connects),
                          (unsigned long long)atomic_load(&attacking[i].refused),
                          atomic_load(&attacking[i].last_error));
    fflush(stdout);
}

/* For the time, and on a slow machine for longer; root asks all the while. What it is that takes
 * longer is told now and then: whoever ends the test does not know it. */
static void let_it_run(const struct besieger *all, bool attacking, double s)
{
    int64_t begin = time_ns(), end = begin + (int64_t)(s * 1e9), last = end + PATIENCE_NS,
            tell = end + SECONDS(TELL_S);
    struct progress since = progress_now();

    while (time_ns() < end || !is_far_enough(&since, attacking ? all : NULL)) {
        root_round(&root);
        watch(all);
        if (time_ns() > tell) {
            print_what_is_missing(&since, attacking ? all : NULL);
            tell = time_ns() + SECONDS(TELL_S);
        }
        if (time_ns() > last)
            fail_msg("what must come in a round did not come within %d s", PATIENCE_S);
    }
}

struct outcome_of_round {
    double p99_us, p999_us;
    uint64_t calls, rounds;
    double cpu_s;
    int64_t wall_ns, machine_ns;
    struct usage usage[USAGES];
};

static void take_usage(struct usage *ret)
{
    usage_take(service.pid, service_executor(&service), honest->pid, ret);
}

static struct outcome_of_round run(struct besieger *all, unsigned n, bool attacking, double s)
{
    static uint64_t before[HONEST_TIMES];
    struct usage usage[USAGES];
    uint64_t calls = atomic_load(&honest->calls), rounds = root.rounds;
    int64_t begin = time_ns();
    struct outcome_of_round o = { 0 };

    honest_copy_times(honest, before);
    take_usage(usage);
    o.machine_ns = usage_machine_ns();
    let_it_run(all, attacking, s);
    o.p99_us = honest_quantile_us(honest, before, 0.99);
    o.p999_us = honest_quantile_us(honest, before, 0.999);
    o.calls = atomic_load(&honest->calls) - calls;
    o.rounds = root.rounds - rounds;
    o.wall_ns = time_ns() - begin;
    o.machine_ns = usage_machine_ns() - o.machine_ns;
    take_usage(o.usage);
    for (int i = 0; i < USAGES; i++)
        o.usage[i] = usage_since(&o.usage[i], &usage[i]);
    for (unsigned i = 0; i < n; i++)
        besieger_tell_stop(&all[i]);
    for (unsigned i = 0; i < n; i++) {
        besieger_end(&all[i]);
        o.cpu_s += (double)all[i].cpu_ns / 1e9;
    }
    honest_expect_right(honest);
    return o;
}

static void print_outcome(const char *beside, const struct outcome_of_round *o)
{
    double s = (double)o->wall_ns / 1e9;

    printf("# bench=siege beside=%s seconds=%.1f honest_p99_us=%.0f honest_p999_us=%.0f "
           "honest_calls_s=%.0f root_rounds_s=%.1f cpu=%.2f machine_cpu=%.2f\n",
           beside, s, o->p99_us, o->p999_us, (double)o->calls / s, (double)o->rounds / s,
           o->cpu_s / s, (double)o->machine_ns / 1e9 / s);
    for (int i = 0; i < USAGES; i++)
        printf("# bench=siege_usage beside=%s who=%s cpu=%.3f waited=%.3f times_s=%.0f "
               "wait_us=%.0f\n",
               beside, usage_names[i], (double)o->usage[i].ran_ns / 1e9 / s,
               (double)o->usage[i].waited_ns / 1e9 / s, (double)o->usage[i].times / s,
               (double)o->usage[i].waited_ns / 1e3 / (double)(o->usage[i].times + 1));
    fflush(stdout);
}

/* Of the last round. */
static void print_besiegers(void)
{
    for (unsigned i = 0; i < n_besiegers; i++) {
        const struct besieger *b = &besiegers[i];

        printf("# bench=siege_attack attack=%s user=%u deeds=%llu connects=%llu refused=%llu "
               "ended=%llu cpu_s=%.2f sleeps=%llu\n",
               b->assault.name, attackers[b->assault.who].uid,
               (unsigned long long)atomic_load(&b->offender.deeds),
               (unsigned long long)atomic_load(&b->offender.connects),
               (unsigned long long)atomic_load(&b->refused),
               (unsigned long long)atomic_load(&b->ended), (double)b->cpu_ns / 1e9,
               (unsigned long long)b->sleeps);
    }
}

/* What attackers have posted is still run, and is nobody's but theirs. */
static void wait_for_drained_ports(uint32_t ports)
{
    if (!wait_until(service_state(&service).ports <= ports))
        fail_msg("there are still %u ports, of %u", service_state(&service).ports, ports);
}

static struct outcome_of_round besiege(double s)
{
    struct outcome_of_round o;

    n_besiegers = 0;
    for (unsigned i = 0; i < n_assaults; i++)
        if ((!*only || is_among(only, assaults[i].name)) && !is_among(without, assaults[i].name))
            besieger_begin(&besiegers[n_besiegers++], &assaults[i], false);
    o = run(besiegers, n_besiegers, true, s);
    (void)root_stop_actors(&root, kept, n_kept); /* of whoever was told to stop before it could */
    print_outcome("siege", &o);
    return o;
}

/* What a thread of the service has used more than beside burners, burnt once more. */
static void begin_work_burner(struct besieger *burner, const struct outcome_of_round *besieged,
                              const struct outcome_of_round *burnt, enum usage_of who, int parts)
{
    double as_long = (double)besieged->wall_ns / (double)burnt->wall_ns;
    const struct usage *with = &besieged->usage[who], *beside = &burnt->usage[who];
    struct besieger like = { .assault = { .name = usage_names[who], .is_service = true } };

    like.cpu_ns = (with->ran_ns - (int64_t)((double)beside->ran_ns * as_long)) / parts;
    if (like.cpu_ns < 0)
        like.cpu_ns = 0;
    like.waited_ns = with->waited_ns / parts;
    like.sleeps = with->times / (unsigned)parts;
    besieger_begin_burner(burner, &like, besieged->wall_ns);
}

/* `burnt`: what came of burners alone, whose place those take that also burn what the service has
 * computed; NULL: burners alone. */
static struct outcome_of_round burn(const struct outcome_of_round *besieged,
                                    const struct outcome_of_round *burnt, double s)
{
    unsigned n = 0;
    struct outcome_of_round o;

    for (; n < n_besiegers; n++)
        besieger_begin_burner(&burners[n], &besiegers[n], besieged->wall_ns);
    if (burnt) {
        begin_work_burner(&burners[n++], besieged, burnt, USAGE_ODEOND, 1);
        begin_work_burner(&burners[n++], besieged, burnt, USAGE_CONTROL, 1);
        begin_work_burner(&burners[n++], besieged, burnt, USAGE_WORKERS, 2);
        begin_work_burner(&burners[n++], besieged, burnt, USAGE_WORKERS, 2);
    }
    o = run(burners, n, false, s);
    print_outcome(burnt ? "burners_and_work" : "burners", &o);
    return o;
}

/* ---- what must hold behind it */

/* Nobody of the innocent one's; that each attacker is named has been waited for. */
static void expect_nobody_blamed(void)
{
    static const char *const reproaches[] = { "refused",   "is closed",    "listened to",
                                              "thrown",    "disconnected", "more slowly",
                                              "no request" };
    char *log = service_read_log(&service), who[32], *rest = log;

    snprintf(who, sizeof(who), "user %u", innocent.uid);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        for (size_t i = 0; strstr(line, who) && i < sizeof(reproaches) / sizeof(*reproaches); i++)
            if (strstr(line, reproaches[i]))
                fail_msg("the log blames the innocent: %s", line);
    free(log);
}

/* The control thread waits for nobody: not for whoever asks, nor for ports that end, nor for the
 * handlers that it looks at. */
static void expect_no_waits(uint64_t waits_before)
{
    struct odeon_client *client = service_connect(&service, "root");
    struct odeon_status *status = NULL;

    assert_int_equal(odeon_service_status(client, &status), 0);
    printf("# bench=siege_turns control_waits=%llu control_turn_longest_us=%llu work=\"%s\" "
           "supervisor_turn_longest_us=%llu work=\"%s\"\n",
           (unsigned long long)(status->control_waits - waits_before),
           (unsigned long long)status->control_turn_longest_ns / 1000, status->control_turn_work,
           (unsigned long long)status->supervisor_turn_longest_ns / 1000,
           status->supervisor_turn_work);
    fflush(stdout);
    assert_int_equal(status->control_waits - waits_before, 0);
    assert_int_equal(status->executor_restarts, 0);
    odeon_result_free(status);
    odeon_client_disconnect(client);
}

static void begin_watching(void)
{
    loop_watch_begin(&odeond_loop, service.pid);
    loop_watch_begin(&control_loop, service_executor(&service));
}

/* Writing is the log's, a file: what its disk takes is told, and judged by nobody. */
static void expect_no_loop_stood(void)
{
    loop_watch_end(&odeond_loop);
    loop_watch_end(&control_loop);
    printf("# bench=siege_loops odeond_looks=%u blocked=%u writing=%u last=%ld control_looks=%u "
           "blocked=%u writing=%u last=%ld\n",
           odeond_loop.looks, odeond_loop.blocked, odeond_loop.writing, odeond_loop.last,
           control_loop.looks, control_loop.blocked, control_loop.writing, control_loop.last);
    fflush(stdout);
    assert_int_equal(odeond_loop.blocked + control_loop.blocked, 0);
}

/* The median of the siege's p99 to that beside burners. */
static double compare(const struct base_line *before)
{
    static struct pairs alone, worked;
    struct outcome_of_round besieged = { 0 }, burnt;
    double s = seconds / n_pairs;

    alone.n = worked.n = 0;
    for (int i = 0; i < n_pairs; i++) {
        if (i == 0 || !control)
            besieged = besiege(s);
        wait_for_drained_ports(before->ports);
        burnt = burn(&besieged, NULL, s / 2);
        if (with_work)
            pairs_add(&worked, besieged.p99_us, burn(&besieged, &burnt, s / 2).p99_us);
        pairs_add(&alone, control ? burn(&besieged, NULL, s / 2).p99_us : besieged.p99_us,
                  burnt.p99_us);
    }
    pairs_print(&alone, control ? "burners" : "siege", "burners");
    if (with_work)
        pairs_print(&worked, "siege", "burners_and_work");
    return pairs_ratio(&alone);
}

static void test_siege(void **state)
{
    double ratio;
    struct base_line before;
    uint64_t waits;

    (void)state;
    skip_without();
    honest_begin(honest);
    assert_true(wait_until(atomic_load(&honest->numbers) > CALLS_LEAST &&
                           atomic_load(&honest->calls) > CALLS_LEAST));
    root_round(&root);
    before = base_line_take(&service);
    waits = service_figure(&service, "control_waits");
    begin_watching();
    ratio = compare(&before);
    print_besiegers();
    printf("# bench=siege_answered root_requests=%llu kicked=%llu numbers=%llu\n",
           (unsigned long long)root.requests, (unsigned long long)root.kicked,
           (unsigned long long)atomic_load(&honest->numbers));
    expect_no_waits(waits);
    expect_no_loop_stood();
    (void)root_stop_actors(&root, kept, n_kept);
    root_use_queues(&root);
    base_line_expect(&service, &before);
    base_line_expect_accounts(&service);
    honest_end(honest);
    expect_nobody_blamed();
    if (strict && ratio > 1.5)
        fail_msg("honest calls' p99 is %.2f times that beside equal burners", ratio);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    if (loop_watch_was_blind(&odeond_loop) || loop_watch_was_blind(&control_loop))
        skip();
}

/* ---- root, when attackers have all that they can get, and keep it */

static bool all_full(void)
{
    for (unsigned i = 0; i < n_besiegers; i++)
        if (!atomic_load(&besiegers[i].full))
            return false;
    return true;
}

/* What has been taken of what there is only so much of, one request after the other: as long as
 * that grows, the last of it is only a matter of time, 65,536 actors being some. */
static uint64_t taken(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < n_besiegers; i++)
        if (besiegers[i].assault.asks && !atomic_load(&besiegers[i].full))
            n += atomic_load(&besiegers[i].offender.deeds);
    return n;
}

static void expect_all_full(void)
{
    uint64_t before;

    do {
        before = taken();
        if (wait_until(all_full()))
            return;
    } while (taken() != before);
    for (unsigned i = 0; i < n_besiegers; i++)
        if (!atomic_load(&besiegers[i].full))
            print_message("# %s of user %u has not all that it can get\n",
                          besiegers[i].assault.name, attackers[besiegers[i].assault.who].uid);
    fail_msg("not all of what there is could be taken");
}

/* What fills queues comes first, since it needs a port each and those behind it take all ports;
 * connections without end come last, since nobody else of their user gets in behind them. */
enum stage { FILLS_QUEUES, FILLS_TABLES, CROWDS, STAGES };

static enum stage stage_of(const struct assault *assault)
{
    if (assault->act == act_crowd)
        return CROWDS;
    return assault->asks ? FILLS_TABLES : FILLS_QUEUES;
}

/* The assaults that hold something; the next stage when those before it have what they get. */
static void take_all(void)
{
    n_besiegers = 0;
    for (enum stage stage = FILLS_QUEUES; stage < STAGES; stage++) {
        for (unsigned i = 0; i < n_assaults; i++)
            for (int k = 0; k < (stage == CROWDS ? 1 : TWICE); k++)
                if (assaults[i].holds && stage_of(&assaults[i]) == stage)
                    besieger_begin(&besiegers[n_besiegers++], &assaults[i], true);
        expect_all_full();
    }
}

static void test_root_when_all_is_used_up(void **state)
{
    unsigned kicked;

    (void)state;
    skip_without();
    honest_begin(honest);
    take_all();
    for (int i = 0; i < ROOT_ROUNDS_LEAST; i++) {
        root_round(&root);
        watch(besiegers);
    }
    kicked = root_kick_all(&root);
    print_message("# %u clients were kicked\n", kicked);
    assert_true(kicked > 0);
    honest_end(honest);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_siege, begin, end),
        cmocka_unit_test_setup_teardown(test_root_when_all_is_used_up, begin, end),
    };

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--pairs") == 0 && i + 1 < argc)
            n_pairs = atoi(argv[++i]);
        else if (strcmp(argv[i], "--without") == 0 && i + 1 < argc)
            without = argv[++i];
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--test") == 0 && i + 1 < argc)
            cmocka_set_test_filter(argv[++i]);
        else if (strcmp(argv[i], "--strict") == 0)
            strict = true;
        else if (strcmp(argv[i], "--work") == 0)
            with_work = true;
        else if (strcmp(argv[i], "--groups") == 0 && i + 1 < argc)
            weight = (unsigned)atoi(argv[++i]);
        else if (strcmp(argv[i], "--control") == 0)
            control = true;
        else
            return 2;
    }
    if (seconds <= 0 || n_pairs < 1 || n_pairs > PAIRS_MAX)
        return 2;
    return cmocka_run_group_tests_name("siege", tests, NULL, NULL);
}
