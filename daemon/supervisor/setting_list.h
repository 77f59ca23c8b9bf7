/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's settings as odeond carries them: ordered pairs of strings, each key once, with
 * where it was given.
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
    char *origin; /* where it was given, as people are told; NULL: nobody has said */
};
struct setting_list {
    size_t n;
    struct setting list[SETTINGS_MAX];
};

/* Adds or replaces.  0, -ENOSPC, -ENOMEM. */
int setting_list_set(struct setting_list *settings, const char *key, const char *value);
/* Says where one was given, if it is there: whoever sets it again, forgets that. 0, -ENOMEM. */
int setting_list_set_origin(struct setting_list *settings, const char *key, const char *origin);
/* NULL: there is none. */
const char *setting_list_get(const struct setting_list *settings, const char *key);
/* Everything in `from` replaces what `to` has.  Errors as setting_list_set(). */
int setting_list_merge(struct setting_list *to, const struct setting_list *from);
void setting_list_fini(struct setting_list *settings);
