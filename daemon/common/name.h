/* SPDX-License-Identifier: Apache-2.0 */
/* What may be a name of an actor, an actor type, a message type or a plugin, whoever gives it.
 *
 * No state, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* 1 to ODEON_NAME_MAX ASCII letters, digits, '_', '.' or '-'; no locale has a say. NULL is none. */
bool name_is_good(const char *name);
/* A good one that no reference is written like: those are looked up first, so that an actor called
 * 319.1 could not be addressed by its name. */
bool name_is_good_for_actor(const char *name);
/* Names that others give are shown on terminals and in tables: what is not printable ASCII becomes
 * a question mark, what has no room is left out. */
void name_copy_printable(char *to, size_t size, const char *from);
