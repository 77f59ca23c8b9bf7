/* SPDX-License-Identifier: Apache-2.0 */
/* What results of several calls consist of: rows of listings as the control protocol brings them,
 * copied into a result.
 */
#pragma once

#include <odeon/admin.h>

#include "proto/control.pb-c.h"

struct odeon_client_info admin_client_info(void *result, const Odeon__Client *from);
void admin_fill_actor(void *result, const Odeon__Actor *from, struct odeon_actor_info *to);
/* NULL with *ret_n = 0 when there are none. */
const char **admin_copy_strings(void *result, char *const *strings, size_t n, size_t *ret_n);
