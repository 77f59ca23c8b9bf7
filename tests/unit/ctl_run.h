/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of odeonctl's commands in the test's own process, with a library that has no service. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client-lib/ctl/ctl.h"
#include "tests/unit/fake_odeon.h"

static char *out, *err; /* of the last run */

static inline int teardown(void **state)
{
    (void)state;
    free(out);
    free(err);
    out = err = NULL;
    return 0;
}

static inline int setup(void **state)
{
    (void)state;
    fake_reset();
    unsetenv("ODEON_SOCKET");
    unsetenv("ODEON_STATS");
    return 0;
}

/* The words of one line, parted by '|'; what the run has printed is in out and err. */
static inline int run(const char *line)
{
    char *copy = strdup(line), *rest = copy, *argv[32] = { (char *)"odeonctl" }, *word;
    size_t out_size, err_size;
    FILE *out_file, *err_file;
    int argc = 1, code;

    teardown(NULL);
    out_file = open_memstream(&out, &out_size);
    err_file = open_memstream(&err, &err_size);
    assert_non_null(copy);
    assert_non_null(out_file);
    assert_non_null(err_file);
    while (*line && argc < 31 && (word = strsep(&rest, "|")))
        argv[argc++] = word;
    code = ctl_run(argc, argv, out_file, err_file, false);
    fclose(out_file);
    fclose(err_file);
    free(copy);
    if (fake.n_leaked)
        fail_msg("%s: %u results of the library have not been freed", line, fake.n_leaked);
    if (fake.n_connects != fake.n_disconnects)
        fail_msg("%s: the connection has not been closed", line);
    return code;
}

static inline void check_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}
