/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker's parts share: what they have found wrong goes into the verdict. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "tests/history/history.h"

/* Counts it, and keeps the first one in words: its name, `who`, and what it is. */
void __attribute__((format(printf, 4, 0)))
verdict_found_va(struct history_verdict *verdict, enum history_wrong wrong, const char *who,
                 const char *format, va_list args);

/* As reallocarray(); never NULL. */
void *history_memory(void *old, size_t n, size_t size);
