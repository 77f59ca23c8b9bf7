/* SPDX-License-Identifier: Apache-2.0 */
/* Crash injection (seed.h): compiled into test builds only. */
#include "daemon/engine/base/seed.h"

#ifdef ODEON_INJECT

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Atomic int64_t inject_countdown[INJECT_N];

static const char *const point_names[INJECT_N] = {
    [INJECT_HANDLER] = "handler", [INJECT_OUTBOX] = "outbox",     [INJECT_LOCK] = "lock",
    [INJECT_COPIED] = "copied",   [INJECT_JOURNAL] = "journal",   [INJECT_PUBLISHED] = "published",
    [INJECT_STEP] = "step",       [INJECT_PARKED] = "parked",     [INJECT_RELEASE] = "release",
    [INJECT_PORT] = "port",       [INJECT_RECOVERY] = "recovery", [INJECT_MARKED] = "marked",
    [INJECT_UNDO] = "undo",       [INJECT_ASIDE] = "aside",
};

/* One point of the list is armed for this process's life, drawn at random: each start tries
 * another. */
void inject_setup(void)
{
    const char *list = getenv("ODEON_INJECT");
    if (!list || !*list)
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned seed = (unsigned)now.tv_nsec ^ (unsigned)getpid() * 2654435761u;
    char *copy = strdup(list);
    if (!copy)
        return;
    char *words[64];
    unsigned n = 0;
    for (char *save = NULL, *word = strtok_r(copy, ",", &save); word && n < 64;
         word = strtok_r(NULL, ",", &save))
        words[n++] = word;
    if (n > 0) {
        char *word = words[(unsigned)rand_r(&seed) % n];
        char *colon = strchr(word, ':');
        int64_t mean = colon ? strtoll(colon + 1, NULL, 10) : 1;
        if (colon)
            *colon = '\0';
        for (int i = 0; i < INJECT_N; i++)
            if (point_names[i] && strcmp(word, point_names[i]) == 0 && mean > 0)
                atomic_store(&inject_countdown[i],
                             1 + (int64_t)((uint64_t)rand_r(&seed) % (uint64_t)(2 * mean)));
    }
    free(copy);
}

void inject_hit(enum inject_point point)
{
    if (atomic_fetch_sub(&inject_countdown[point], 1) == 1) {
        kill(getpid(), SIGKILL);
        for (;;)
            pause();
    }
}

void inject_pause(void)
{
    static _Thread_local unsigned calls;
    struct timespec pause = { .tv_nsec = 300 * 1000 };
    if (++calls % 32 == 0)
        nanosleep(&pause, NULL);
}

#else
typedef int inject_not_compiled_in; /* ISO C wants something in a file */
#endif

#ifdef ODEON_SEED_BUG
#include <stdlib.h>
#include <string.h>

int seed_chosen = SEED_NONE;

static __attribute__((constructor)) void inject_choose_seed(void)
{
    static const char *const names[] = {
        [SEED_NONE] = "",
        [SEED_journal_late] = "journal_late",
        [SEED_own_early] = "own_early",
        [SEED_two_stores] = "two_stores",
        [SEED_locks_first] = "locks_first",
        [SEED_undo_skipped] = "undo_skipped",
        [SEED_lose_run] = "lose_run",
        [SEED_copy_twice] = "copy_twice",
        [SEED_newest_first] = "newest_first",
        [SEED_silent_refusal] = "silent_refusal",
        [SEED_unmarked] = "unmarked",
        [SEED_publish_first] = "publish_first",
        [SEED_arm_first] = "arm_first",
        [SEED_one_entry] = "one_entry",
        [SEED_flip_in_place] = "flip_in_place",
        [SEED_detach_first] = "detach_first",
        [SEED_direct_early] = "direct_early",
        [SEED_ring_late] = "ring_late",
        [SEED_live_first] = "live_first",
        [SEED_free_first] = "free_first",
        [SEED_no_redo] = "no_redo",
        [SEED_no_unspawn] = "no_unspawn",
        [SEED_flip_first] = "flip_first",
    };
    const char *wanted = getenv("ODEON_SEED");
    for (int i = 0; wanted && i < (int)(sizeof(names) / sizeof(names[0])); i++)
        if (strcmp(names[i], wanted) == 0)
            seed_chosen = i;
}

/* Seldom enough that all else goes on as ever. */
_Bool seed_is_due(void)
{
    static _Thread_local unsigned calls;
    return ++calls % 64 == 0;
}
#endif
