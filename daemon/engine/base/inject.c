/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled into test builds only. */
#ifdef ODEON_INJECT
#include "daemon/engine/base/inject.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Atomic int64_t inject_countdown[INJECT_N];

static const char *const point_names[INJECT_N] = {
    [INJECT_handler] = "handler", [INJECT_outbox] = "outbox",     [INJECT_lock] = "lock",
    [INJECT_copied] = "copied",   [INJECT_journal] = "journal",   [INJECT_published] = "published",
    [INJECT_step] = "step",       [INJECT_parked] = "parked",     [INJECT_release] = "release",
    [INJECT_port] = "port",       [INJECT_recovery] = "recovery", [INJECT_marked] = "marked",
    [INJECT_undo] = "undo",       [INJECT_aside] = "aside",
};

/* One point of the list is armed for this process's life, drawn at random: each start tries
 * another. */
static __attribute__((constructor)) void inject_setup(void)
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

#else
typedef int inject_not_compiled_in; /* ISO C wants something in a file */
#endif
