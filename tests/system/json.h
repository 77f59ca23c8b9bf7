/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a text is JSON, for tests of what programs print. */
#pragma once

#include <stdbool.h>

/* One value and nothing behind it but white space. */
bool json_is_valid(const char *text);
