/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of options that begin with their size, as the program was compiled: what an earlier
 * version of a struct does not have is 0, what a later one has must be. No state, any thread. */
#pragma once

#include <stddef.h>

/* Copies `options` (NULL: all 0) to `ret`, `size` bytes; `least`: the size of the first version.
 * `call` names who asks, in the text: -EINVAL: the size is impossible; -E2BIG: something is set
 * that this version of the library does not know. */
int options_take(const char *call, const void *options, size_t least, size_t size, void *ret);
