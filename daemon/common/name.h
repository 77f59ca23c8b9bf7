/* SPDX-License-Identifier: Apache-2.0 */
/* What may be a name of an actor, an actor type, a message type or a plugin, whoever gives it.
 *
 * No state, any thread.
 */
#pragma once

#include <stdbool.h>

/* 1 to ODEON_NAME_MAX ASCII letters, digits, '_', '.' or '-'; no locale has a say. NULL is none. */
bool name_is_good(const char *name);
/* A good one that no reference is written like: those are looked up first, so that an actor called
 * 319.1 could not be addressed by its name. */
bool name_is_good_for_actor(const char *name);
