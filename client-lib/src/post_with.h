/* SPDX-License-Identifier: Apache-2.0 */
/* Options of posts, for what else has them: a call. No state, any thread. */
#pragma once

#include <odeon/client.h>

/* What `options` (NULL: all 0) say, without what only a port can tell. -EINVAL, -E2BIG: with a text
 * that may begin with `call`. */
int post_options_take(const char *call, const struct odeon_post_options *options,
                      struct odeon_post_options *ret);
