/* SPDX-License-Identifier: Apache-2.0 */
/* A question to the executor's program that it answers on its output and ends: nothing is started
 * for it. The caller waits, ten seconds at most. */
#pragma once

#include <stddef.h>

enum { PROGRAM_ASK_TEXT_MAX = 512 };

/* Runs `argv`, whose first word is the program and whose second one is the question. `input`: what
 * it reads, which stays the caller's; -1: nothing. What it has to
 * say against `what` goes to our stderr. 0, with its first line in `answer`, or negative errno with
 * a reason in `text`; -EINVAL: it refused. */
int program_ask(const char *const *argv, int input, const char *what, char *answer, size_t size,
                char *text);
