/* SPDX-License-Identifier: Apache-2.0 */
/* Tests by name and by seed, and what is printed of them. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/test/fail.h"
#include "client-lib/test/world.h"

/* One run of a test. */
struct explore_run {
    struct odeon_test_options options;
    struct odeon_test *world;
    odeon_test_fn function;
    void *userdata;
    const char *file; /* of who wants it */
    int line;
};

static struct {
    unsigned run, failed;
    char dying[160]; /* what is to be told if the process ends now; "": nothing */
} explore;

/* ---- a plugin that ends the process */

static void explore_tell_dying(void)
{
    size_t n = strlen(explore.dying);

    if (n > 0 && write(STDERR_FILENO, explore.dying, n) < 0)
        return; /* there is nobody left to be told */
    explore.dying[0] = '\0';
}

static void explore_on_signal(int number)
{
    explore_tell_dying();
    signal(number, SIG_DFL);
    raise(number);
}

/* In the service that is a fault; here what is left of the test would look passed. */
static void explore_on_exit(void)
{
    if (explore.dying[0] == '\0')
        return;
    explore_tell_dying();
    _exit(EXIT_FAILURE);
}

/* AddressSanitizer's, if the test is built with it. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

/* Whoever has a handler of his own keeps it. On a stack of its own: a fiber's may be what has run
 * out. */
static void explore_watch(void)
{
    static uint8_t stack[64 * 1024];
    const stack_t alternative = { .ss_sp = stack, .ss_size = sizeof(stack) };
    stack_t had_stack;
    static const int deadly[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    static bool watches;

    if (watches)
        return;
    watches = true;
    if (sigaltstack(NULL, &had_stack) == 0 && (had_stack.ss_flags & SS_DISABLE))
        sigaltstack(&alternative, NULL);
    (void)atexit(explore_on_exit);
    (void)at_quick_exit(explore_on_exit);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(explore_tell_dying);
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
        struct sigaction had, action = { .sa_handler = explore_on_signal, .sa_flags = SA_ONSTACK };

        if (sigaction(deadly[i], NULL, &had) == 0 && had.sa_handler == SIG_DFL &&
            !(had.sa_flags & SA_SIGINFO))
            sigaction(deadly[i], &action, NULL);
    }
}

/* ---- runs */

static uint64_t explore_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    uint64_t number;

    if (!text || !*text)
        return otherwise;
    number = strtoull(text, &end, 0);
    if (*text < '0' || *text > '9' || *end || number == 0) {
        fprintf(stderr, "%s=%s: not a number from 1 on\n", name, text);
        exit(EXIT_FAILURE);
    }
    return number;
}

static void explore_call(void *userdata)
{
    struct explore_run *run = userdata;

    run->world = odeon_test_open_at(&run->options, run->file, run->line);
    run->function(run->world, run->userdata);
}

/* 0; 1: it has failed, with the text. */
static int explore_once(struct explore_run *run, const char *name, char text[FAIL_TEXT_MAX])
{
    int failed;

    snprintf(explore.dying, sizeof(explore.dying),
             "%.60s has ended the process: again with ODEON_TEST_SEED=%" PRIu64 "\n", name,
             run->options.seed);
    explore_watch();
    failed = odeon_test_catch(explore_call, run, text, FAIL_TEXT_MAX);
    odeon_test_close(run->world);
    explore.dying[0] = '\0';
    return failed;
}

static int explore_tell(const char *name, uint64_t n, int failed, const char *text, uint64_t seed)
{
    explore.run++;
    explore.failed += failed != 0;
    printf("%s %u - %s", failed ? "not ok" : "ok", explore.run, name);
    if (n > 1 && !failed)
        printf(" (%" PRIu64 " schedules)", n);
    printf("\n");
    if (failed) {
        printf("# %s\n", text);
        printf("# again: ODEON_TEST_SEED=%" PRIu64 " %s\n", seed, program_invocation_name);
    }
    fflush(stdout);
    return failed;
}

int odeon_test_explore_at(uint64_t n, const struct odeon_test_options *options, const char *name,
                          odeon_test_fn function, void *userdata, const char *file, int line)
{
    char text[FAIL_TEXT_MAX] = "";
    uint64_t only = explore_number("ODEON_TEST_SEED", 0);
    uint64_t first = only ? only : options->seed ? options->seed : 1;

    n = only ? 1 : explore_number("ODEON_TEST_SCHEDULES", n);
    if (n == 0)
        return explore_tell(name, 0, 1, "no schedule was asked for: nothing has been looked at",
                            first);
    for (uint64_t i = 0; i < n; i++) {
        struct explore_run run = { .options = *options,
                                   .function = function,
                                   .userdata = userdata,
                                   .file = file,
                                   .line = line };

        run.options.seed = first + i;
        if (explore_once(&run, name, text))
            return explore_tell(name, n, 1, text, run.options.seed);
    }
    return explore_tell(name, n, 0, "", 0);
}

int odeon_test_check_at(const struct odeon_test_options *options, const char *name,
                        odeon_test_fn function, void *userdata, const char *file, int line)
{
    char text[FAIL_TEXT_MAX] = "";
    struct explore_run run = {
        .options = *options, .function = function, .userdata = userdata, .file = file, .line = line
    };

    if (run.options.seed == 0)
        run.options.seed = explore_number("ODEON_TEST_SEED", 1);
    return explore_tell(name, 1, explore_once(&run, name, text), text, run.options.seed);
}

int odeon_test_done(void)
{
    printf("1..%u\n", explore.run);
    if (explore.failed > 0)
        printf("# %u of %u have failed\n", explore.failed, explore.run);
    fflush(stdout);
    return explore.run == 0 || explore.failed > 0;
}
