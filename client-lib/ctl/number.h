/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people write them.  No state, any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whole non-negative decimal numbers. */
bool ctl_number_parse(const char *text, uint64_t *ret_number);
