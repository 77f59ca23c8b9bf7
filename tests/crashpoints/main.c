/* SPDX-License-Identifier: Apache-2.0 */
/* crashpoints [--quick] [--recovery] [--jobs N] [--only TEXT] [--places FILE] [--list]
 * crashpoints_seeded [--only TEXT]
 *
 * TAP: a line for each routine, with the instructions behind which it was killed and the states of
 * the world that these left. --quick: what belongs to the test run. --recovery: recovery itself,
 * and recovery of recovery, by so many processes (as many as there are processors), with lines on
 * standard error that tell how far it is. --places: where the kills were, for unstepped.sh. The
 * other program: a line for each deliberate bug of tests/seeded, which at least one point must
 * find. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "crash.h"
#include "tests/seeded/seeds.h"

static const struct scene *const acts[] = { scenes_turn,    scenes_port,    scenes_limits,
                                            scenes_threads, scenes_letters, scenes_client,
                                            scenes_timers,  scenes_asks,    scenes_monitors,
                                            scenes_groups,  scenes_phases };

static struct {
    unsigned tests, failed;
    uint64_t points, states;
} sum;

static void tell(const char *name, const char *of, const struct tally *tally, const char *more)
{
    bool good = tally->failure[0] == '\0' && tally->points > 0;
    printf("%sok %u - %s%s # points=%llu states=%llu%s\n", good ? "" : "not ", ++sum.tests, of,
           name, (unsigned long long)tally->points, (unsigned long long)tally->states, more);
    if (!good)
        printf("# %s\n", tally->failure[0] ? tally->failure : "nothing was stepped");
    fflush(stdout);
    sum.failed += !good;
    sum.points += tally->points;
    sum.states += tally->states;
}

#ifdef ODEON_SEED_BUG
/* Each bug and the routine that it breaks. */
static const struct {
    int bug;
    const char *name, *scene;
    bool recovery; /* a kill inside recovery finds it */
} seeds[] = {
#define SEED_OF(name, ...)                                                                         \
    {                                                                                              \
        SEED_##name, #name, __VA_ARGS__                                                            \
    }
    SEED_OF(journal_late, "sends to other queues", false),
    SEED_OF(two_stores, "sends to other queues", false),
    SEED_OF(locks_first, "sends to other queues", false),
    SEED_OF(publish_first, "sends to other queues", false),
    SEED_OF(arm_first, "sends to other queues", false),
    SEED_OF(one_entry, "sends to other queues", false),
    SEED_OF(flip_in_place, "turns", false),
    SEED_OF(undo_skipped, "kept states", false),
    SEED_OF(detach_first, "park", false),
    SEED_OF(direct_early, "direct gulp", false),
    SEED_OF(ring_late, "delivery to the ring", false),
    SEED_OF(live_first, "spawn and end", false),
    SEED_OF(free_first, "stop", false),
    SEED_OF(no_redo, "stop", false),
    SEED_OF(no_unspawn, "spawn and end", false),
    SEED_OF(letters_first, "dead letters are replayed and purged", false),
    SEED_OF(timer_early, "timers are sent", false),
    SEED_OF(timer_no_redo, "timers are sent", false),
    SEED_OF(timer_no_undo, "timers are armed and cancelled", false),
    SEED_OF(life_goes_on, "timers of who begins anew", false),
    SEED_OF(later_apart, "posts for later", false),
    SEED_OF(claim_kept, "questions are answered", false),
    SEED_OF(watch_no_look, "actors that are monitored end", false),
    SEED_OF(later_apart, "a client monitors", false),
    SEED_OF(watch_no_look, "who a client monitors end", false),
    SEED_OF(timer_no_redo, "a client is told of ends", false),
    SEED_OF(group_apart, "messages are published", false),
    SEED_OF(phase_no_undo, "phases change", false),
    SEED_OF(timer_no_undo, "messages are stashed", false),
    SEED_OF(claim_kept, "messages are stashed", false),
    SEED_OF(timer_early, "a stash ends", false),
    SEED_OF(timer_no_redo, "a stash ends", false),
    SEED_OF(letters_redo, "dead letters are replayed and purged", false),
    SEED_OF(flip_first, "sends to other queues", true),
};

static const struct scene *scene_find(const char *name)
{
    for (size_t act = 0; act < sizeof(acts) / sizeof(acts[0]); act++)
        for (const struct scene *scene = acts[act]; scene->name; scene++)
            if (strcmp(scene->name, name) == 0)
                return scene;
    return NULL;
}

static void run_seeds(const char *only)
{
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        struct tally tally;
        struct recovery_tally recovery;
        if (!strstr(seeds[i].name, only))
            continue;
        seed_chosen = seeds[i].bug;
        if (seeds[i].recovery) {
            recovery_scene(scene_find(seeds[i].scene),
                           &(struct recovery_extent){ .stride = 1, .depth = 1 }, &recovery);
            tally = recovery.once;
        } else {
            step_scene(scene_find(seeds[i].scene), 1, 1, &tally);
        }
        bool found = tally.points > 0 && tally.failure[0];
        printf("%sok %u - %s is found\n# %s\n", found ? "" : "not ", ++sum.tests, seeds[i].name,
               found ? tally.failure : "it survived");
        fflush(stdout);
        sum.failed += !found;
        sum.points += tally.points;
        sum.states += tally.states;
    }
}
#endif

static void run_recovery(const struct scene *scene, bool quick)
{
    static const struct recovery_extent some = { .stride = 8, .depth = 2 }, all = {
        .pairs = 24, .stride = 1, .depth = 5, .stepped = 50
    };
    struct recovery_tally tally;
    char more[2][128];
    if (scene->live || !scene->setup || (scene->other && quick))
        return;
    recovery_scene(scene, quick ? &some : &all, &tally);
    snprintf(more[0], sizeof(more[0]), " runs=%llu stepped=%llu", (unsigned long long)tally.runs[0],
             (unsigned long long)tally.stepped);
    snprintf(more[1], sizeof(more[1]), " runs=%llu deepest=%u left=%llu",
             (unsigned long long)tally.runs[1], tally.deepest, (unsigned long long)tally.left);
    tell(scene->name, "recovery of: ", &tally.once, more[0]);
    if (tally.once.failure[0] == '\0' && tally.once.states > 0)
        tell(scene->name, "recovery of recovery of: ", &tally.again, more[1]);
}

static void run(const struct scene *scene, bool recovery, bool quick)
{
    struct tally tally;
    if (recovery) {
        run_recovery(scene, quick);
    } else {
        step_scene(scene, quick ? 40 : 6, quick ? 2 : 30, &tally);
        tell(scene->name, "", &tally, "");
    }
}

int main(int argc, char **argv)
{
    bool quick = false, recovery = false, list = false;
    const char *only = "", *places = NULL;
    long jobs = sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            quick = true;
        } else if (strcmp(argv[i], "--recovery") == 0) {
            recovery = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            list = true;
        } else if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc) {
            jobs = strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else if (strcmp(argv[i], "--places") == 0 && i + 1 < argc) {
            places = argv[++i];
        } else {
            fprintf(stderr, "usage: crashpoints [--quick] [--recovery] [--jobs N] [--only TEXT] "
                            "[--places FILE] [--list]\n");
            return 2;
        }
    }
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    if (!list) {
        places_init();
        step_init();
        recovery_init(jobs > 0 ? (unsigned)jobs : 1, recovery && !quick);
    }
#ifdef ODEON_SEED_BUG
    run_seeds(only);
    (void)run;
    (void)quick;
    (void)recovery;
#else
    for (size_t act = 0; act < sizeof(acts) / sizeof(acts[0]); act++)
        for (const struct scene *scene = acts[act]; scene->name; scene++) {
            if ((quick && !scene->quick) || !strstr(scene->name, only))
                continue;
            if (list)
                printf("%s\n", scene->name);
            else
                run(scene, recovery, quick);
        }
    if (list)
        return 0;
#endif
    if (places)
        places_write(places);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("1..%u\n# total points=%llu states=%llu seconds=%.1f\n", sum.tests,
           (unsigned long long)sum.points, (unsigned long long)sum.states,
           (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9);
    return sum.failed || !sum.tests ? 1 : 0;
}
