/* SPDX-License-Identifier: Apache-2.0 */
/* The engine segment, as a piece of memory: its size is the executor's knowledge, its life the
 * supervisor's. */
#pragma once

#include <stdint.h>

#include "daemon/supervisor/program_ask.h"
#include "daemon/supervisor/setting_list.h"

enum { SEGMENT_TEXT_MAX = PROGRAM_ASK_TEXT_MAX };

/* Runs `program --print-segment-size --set KEY=VALUE...`, each behind `--from ORIGIN` if it has
 * one; what it has to say against the settings goes to our stderr. 0, or negative errno with a
 * reason in `text`; -EINVAL: the executor refused the settings. */
int segment_ask_size(const char *program, const struct setting_list *settings, uint64_t *ret_size,
                     char *text);
/* A sealed memory file of that size: the descriptor, or negative errno with a reason in `text`. */
int segment_make(uint64_t size, char *text);
