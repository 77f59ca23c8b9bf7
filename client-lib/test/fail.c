/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/test/fail.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/sim.h"

/* Who runs a test, and wants to be told; the innermost one is. */
struct fail_catch {
    jmp_buf back;
    char *text;
    size_t size;
    struct fail_catch *outer;
};

static struct fail_catch *fail_innermost;

/* What a debugger stops at is there, and is called. */
__attribute__((noinline)) void odeon_test_failed(const char *text)
{
    __asm__ volatile("" : : "r"(text) : "memory");
}

void fail_va(const char *file, int line, const char *format, va_list arguments)
{
    static char text[FAIL_TEXT_MAX];
    int n = snprintf(text, sizeof(text), "%s:%d: ", file, line);
    struct fail_catch *catch = fail_innermost;

    if (n >= 0 && (size_t)n < sizeof(text))
        vsnprintf(text + n, sizeof(text) - (size_t)n, format, arguments);
    odeon_test_failed(text);
    if (sim.current && !sim.paused) /* within a behaviour */
        sim_fail("%s", text);
    if (!catch) {
        fflush(stdout);
        fprintf(stderr, "%s\n", text);
        exit(EXIT_FAILURE);
    }
    snprintf(catch->text, catch->size, "%s", text);
    fail_innermost = catch->outer;
    longjmp(catch->back, 1);
}

void odeon_test_fail_at(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail_va(file, line, format, arguments);
}

int odeon_test_catch(void (*function)(void *userdata), void *userdata, char *text, size_t size)
{
    struct fail_catch catch = { .text = text, .size = size, .outer = fail_innermost };

    if (size > 0)
        text[0] = '\0';
    fail_innermost = &catch;
    if (setjmp(catch.back))
        return 1;
    function(userdata);
    fail_innermost = catch.outer;
    return 0;
}
