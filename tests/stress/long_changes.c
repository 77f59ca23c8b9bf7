/* SPDX-License-Identifier: Apache-2.0 */
/* What the long run does to the service: changes of several settings at once, at random, and kills
 * of its executor. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "long.h"

static const char *const policies[] = { "none",    "random",   "round-robin", "longest-victim",
                                        "fullest", "locality", "share" };
enum { N_POLICIES = sizeof(policies) / sizeof(policies[0]), PAIRS_MAX = 12 };

/* One transaction: keys and their values. */
struct change {
    unsigned n, policy;
    bool has_policy, has_workers;
    const char *keys[PAIRS_MAX], *values[PAIRS_MAX];
    char texts[PAIRS_MAX][16];
};

static unsigned seed;

static unsigned draw(unsigned below)
{
    return (unsigned)rand_r(&seed) / 7 % below;
}

static void set_word(struct change *change, const char *key, const char *value)
{
    change->keys[change->n] = key;
    change->values[change->n++] = value;
}

static void set_number(struct change *change, const char *key, unsigned number)
{
    snprintf(change->texts[change->n], sizeof(change->texts[0]), "%u", number);
    set_word(change, key, change->texts[change->n]);
}

/* Each key in every second or third change, so that all their combinations come. */
static void change_draw(struct change *change)
{
    static const unsigned relaxed_us[] = { 0, 0, 200, 2000, 20000 };
    *change = (struct change){ .n = 0 };
    if (draw(2)) {
        change->has_workers = true;
        set_number(change, "workers", 1 + draw(WORKERS_MAX));
    }
    if (draw(2)) {
        change->has_policy = true;
        change->policy = draw(N_POLICIES);
        set_word(change, "stealing", policies[change->policy]);
    }
    if (draw(2))
        set_word(change, "steal-mode", draw(2) ? "visit" : "keep");
    if (draw(3) == 0)
        set_number(change, "steal-sources", 1 + draw(8));
    if (draw(4) == 0)
        set_word(change, "packing", draw(2) ? "yes" : "no");
    if (draw(3) == 0)
        set_number(change, "throughput", draw(2) ? 1 + draw(16) : 1 + draw(2000));
    if (draw(3) == 0)
        set_number(change, "spin-us", draw(3) * 50);
    if (draw(3) == 0)
        set_number(change, "moderate-sleeps", draw(4));
    if (draw(3) == 0)
        set_number(change, "moderate-us", 10 + draw(400));
    if (draw(3) == 0)
        set_number(change, "relaxed-us", relaxed_us[draw(5)]);
    if (draw(20) == 0)
        set_word(change, "affinity", draw(2) ? "auto" : "none");
    if (change->n == 0)
        set_number(change, "steal-sources", 1);
}

static void describe(const struct change *change, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < change->n && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, " %s=%s", change->keys[i], change->values[i]);
}

static void count_made(struct changes *changes, const struct change *change,
                       const struct odeon_reconfigured *took)
{
    changes->made++;
    changes->moved += took->moved;
    changes->pause_sum_ns += took->pause_ns;
    changes->paused += took->pause_ns != 0;
    if (took->pause_ns > changes->pause_longest_ns)
        changes->pause_longest_ns = took->pause_ns;
    changes->workers_changed += change->has_workers;
    if (change->has_policy)
        changes->per_policy[change->policy]++;
}

/* Handlers of the plugin take microseconds, so that a worker that does not stop within the
 * service's two seconds has had no processor: nothing has been changed, and it is asked again. */
static bool change_make(struct changes *changes, struct odeon_client *client)
{
    struct change change;
    struct odeon_reconfigured took = { .struct_size = sizeof(took) };
    char text[256];
    uint64_t until = now_ns() + PATIENCE_S * UINT64_C(1000000000);
    int r;
    change_draw(&change);
    do {
        r = odeon_executor_set(client, change.keys, change.values, change.n, &took);
        if (r != -EBUSY)
            continue;
        changes->busy++;
        printf("# refused: %s\n", odeon_error_text());
    } while (r == -EBUSY ? now_ns() < until : try_again(r, until));
    if (r >= 0) {
        count_made(changes, &change, &took);
        return true;
    }
    describe(&change, text, sizeof(text));
    say_wrong(changes->wrong, sizeof(changes->wrong), "changing%s: %s", text, odeon_error_text());
    return false;
}

/* Mostly milliseconds, sometimes none, sometimes seconds. */
static unsigned pause_us(void)
{
    unsigned kind = draw(100);
    if (kind < 20)
        return 0;
    if (kind < 96)
        return 500 + draw(15000);
    return kind < 99 ? 50000 + draw(400000) : 1000000 + draw(1500000);
}

/* Without posts for a moment: the next change finds workers that sleep, or are about to. */
static void take_a_lull(void)
{
    atomic_store(&long_run.lull, true);
    nap_us(2000 + draw(30000));
}

void changes_make(struct changes *changes, struct odeon_client *client, uint64_t until_ns,
                  void (*progress)(const struct changes *))
{
    seed = long_run.seed;
    while (now_ns() < until_ns && !atomic_load(&long_run.broken)) {
        bool lull = draw(8) == 0;
        if (lull)
            take_a_lull();
        if (!change_make(changes, client))
            break;
        if (lull && draw(2))
            nap_us(draw(5000));
        atomic_store(&long_run.lull, false);
        nap_us(pause_us());
        progress(changes);
    }
    atomic_store(&long_run.lull, false);
}

/* ---- kills ---- */

static uint32_t executor_pid(struct odeon_stats *stats)
{
    struct odeon_stats_service state = { .struct_size = sizeof(state) };
    return odeon_stats_service(stats, &state) == 0 && strcmp(state.state_name, "running") == 0
               ? state.executor_pid
               : 0;
}

static bool wait_for_another(struct odeon_stats *stats, uint32_t former)
{
    uint64_t until = now_ns() + PATIENCE_S * UINT64_C(1000000000);
    for (uint32_t pid; now_ns() < until; nap_us(1000))
        if ((pid = executor_pid(stats)) != 0 && pid != former)
            return true;
    return false;
}

void *kills_main(void *argument)
{
    struct changes *changes = argument;
    struct odeon_stats *stats = NULL;
    unsigned mine = long_run.seed + 1;
    char wrong[128] = "";
    if (odeon_stats_open(long_run.stats_path, &stats) < 0)
        say_wrong(wrong, sizeof(wrong), "statistics: %s", odeon_error_text());
    while (stats && !atomic_load(&long_run.stop) && !atomic_load(&long_run.broken)) {
        nap_us(5000 + (unsigned)rand_r(&mine) % 400000);
        uint32_t pid = executor_pid(stats);
        if (pid == 0 || atomic_load(&long_run.stop) || kill((pid_t)pid, SIGKILL) != 0)
            continue;
        changes->kills++;
        if (!wait_for_another(stats, pid))
            say_wrong(wrong, sizeof(wrong), "the executor does not come back");
    }
    odeon_stats_close(stats);
    return NULL;
}
