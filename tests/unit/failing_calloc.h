/* SPDX-License-Identifier: Apache-2.0 */
/* One call of calloc() that fails, of a test that is linked with --wrap=calloc: each one in turn,
 * so that memory has run short anywhere on the way. */
#pragma once

#include <stddef.h>

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

/* Of calloc(); the one that fails, from 1, 0: none does. */
static unsigned calloc_calls, calloc_failing;

void *__wrap_calloc(size_t n, size_t size)
{
    return calloc_failing != 0 && ++calloc_calls == calloc_failing ? NULL : __real_calloc(n, size);
}
