/* SPDX-License-Identifier: Apache-2.0 */
/* A service whose executor has a deliberate bug (tests/seeded), and the verdict on what its actors
 * have noted. Used by the thread that runs the tests; what cannot be done fails the test that
 * runs. */
#pragma once

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/history/history.h"
#include "tests/system/harness.h"

/* `executor` is the program with the bugs; `seed` NULL: it runs without one. */
static inline void seeded_service_start(struct service *service, const char *executor,
                                        const char *plugin, const char *seed)
{
    const char *const arguments[] = { SMALL_SERVICE,
                                      "--set",
                                      "restart-delay-max-ms=1",
                                      "--set",
                                      "durable-bytes=4096",
                                      "--executor",
                                      executor,
                                      "--plugin",
                                      plugin,
                                      NULL };

    if (seed)
        setenv("ODEON_SEED", seed, 1);
    service_start(service, arguments);
    unsetenv("ODEON_SEED");
}

/* The service stops and is gone; its clients have gone before. */
static inline struct history_verdict seeded_service_end(struct service *service,
                                                        const char *const *paths, size_t n)
{
    struct history *history = history_new();
    struct history_verdict verdict;

    assert_int_equal(service_stop(service, SIGTERM), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(history_add_log(history, paths[i]), 0);
    history_judge(history, &verdict);
    history_free(history);
    service_end(service);
    return verdict;
}

/* A trial's verdict, for people. True: this has been found. */
static inline bool seeded_service_found(const char *seed, const struct history_verdict *verdict,
                                        enum history_wrong wrong)
{
    print_message("# %s: ", seed);
    fflush(stdout);
    history_print(verdict, stdout);
    return verdict->wrong[wrong] > 0;
}
