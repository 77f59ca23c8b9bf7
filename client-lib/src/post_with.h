/* SPDX-License-Identifier: Apache-2.0 */
/* Options of posts, for what else has them: a call. Who posts. */
#pragma once

#include <odeon/client.h>

/* What `options` (NULL: all 0) say, without what only a port can tell. -EINVAL, -E2BIG: with a text
 * that may begin with `call`. */
int post_options_take(const char *call, const struct odeon_post_options *options,
                      struct odeon_post_options *ret);
/* odeon_port_post_with() with options that have been taken; a correlation id may be the library's
 * own. */
int post_with(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data, size_t size,
              const struct odeon_post_options *o);
