/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a test that has failed: its text, and the way out of it.
 *
 * The test's thread, on its own stack; from within a fiber it is the simulator that goes back
 * there.
 */
#pragma once

#include <odeon/test.h>
#include <stdarg.h>

enum { FAIL_TEXT_MAX = 2048 };

__attribute__((noreturn, format(printf, 3, 0))) void fail_va(const char *file, int line,
                                                             const char *format, va_list arguments);
