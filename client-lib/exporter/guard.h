/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a request may be answered. Pure functions, any thread.
 *
 * guard.G1  A browser that was led here under a foreign name (DNS rebinding) says that name: only
 *     loopback's, and those that were given, are answered.
 * guard.G2  How long a comparison with the token takes says nothing about the token.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { GUARD_HOSTS = 32, GUARD_TOKEN_LEAST = 16, GUARD_TOKEN_MOST = 256 };

struct guard {
    const char *hosts[GUARD_HOSTS]; /* beside those of loopback; a port is ignored */
    size_t n_hosts;
    char token[GUARD_TOKEN_MOST + 1]; /* "": there is none */
};

/* `host`: the header, with or without a port; NULL: there is none, which is refused. */
bool guard_takes_host(const struct guard *guard, const char *host);
/* A file of one line, of a token that has from 16 to 256 printable characters without blanks, and
 * that nobody but its owner and group may read. 0, or negative errno with a text of why. */
int guard_read_token(struct guard *guard, const char *path, char *why, size_t why_size);

enum guard_word { GUARD_NONE, GUARD_RIGHT, GUARD_WRONG };
/* `authorization`: the header; NULL: none. */
enum guard_word guard_judge_token(const struct guard *guard, const char *authorization);
