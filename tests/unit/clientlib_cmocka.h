/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka and the headers that it wants before it. */
#pragma once

#include <setjmp.h> /* IWYU pragma: keep */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
