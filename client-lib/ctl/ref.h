/* SPDX-License-Identifier: Apache-2.0 */
/* References and numbers as people write them: SLOT.GENERATION, both decimal. No state, any
 * thread. */
#pragma once

#include <odeon/message.h>

#include <stdbool.h>
#include <stdint.h>

enum { CTL_REF_TEXT = 24 };
void ctl_ref_format(odeon_ref ref, char text[static CTL_REF_TEXT]);
bool ctl_ref_parse(const char *text, odeon_ref *ret_ref); /* false: does not look like one */

/* Whole non-negative decimal numbers. */
bool ctl_number_parse(const char *text, uint64_t *ret_number);
