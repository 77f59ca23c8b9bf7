/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one result of the administration calls: the result, its rows and its strings, freed
 * together.
 *
 * The result's address is the handle; a result that arena_new() gave goes to odeon_result_free(). A
 * failed allocation is remembered and asked for once at the end, so that the code that fills a
 * result reads straight through: until then arena_alloc() gives NULL and arena_string() gives
 * "". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

void *arena_new(size_t size); /* zeroed; NULL: no memory */
/* n zeroed elements; NULL: no memory, or n = 0 */
void *arena_alloc(void *result, size_t n, size_t size);
const char *arena_string(void *result, const char *string); /* a copy; NULL copies as "" */
bool arena_failed(const void *result);
