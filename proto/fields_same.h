/* SPDX-License-Identifier: Apache-2.0 */
/* Do two descriptions of a struct say the same? No state, no allocation, any thread; some 25 KiB of
 * stack where they are not the same text. Either may come from anybody. */
#pragma once

#include <stdbool.h>

/* True: the same words, however they are spaced; or both are understood (fields.h), and have the
 * same fields in the same places: names, kinds, sizes, counts. */
bool fields_same(const char *one, const char *other);
