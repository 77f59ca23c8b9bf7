/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's settings as odeond carries them: ordered pairs of strings, each key once.
 *
 * odeond gives them no meaning. They come from the configuration file and the command line, follow
 * what clients change while the service runs, and go to each executor that is started. Event loop
 * thread only.
 */
#pragma once

#include <stddef.h>

enum { SETTINGS_MAX = 256 };

struct setting {
    char *key, *value;
};
struct settings {
    size_t n;
    struct setting list[SETTINGS_MAX];
};

/* Adds or replaces.  0, -ENOSPC, -ENOMEM. */
int settings_set(struct settings *settings, const char *key, const char *value);
/* NULL: there is none. */
const char *settings_get(const struct settings *settings, const char *key);
/* Everything in `from` replaces what `to` has.  Errors as settings_set(). */
int settings_merge(struct settings *to, const struct settings *from);
void settings_fini(struct settings *settings);
