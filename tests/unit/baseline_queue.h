/* SPDX-License-Identifier: Apache-2.0 */
/* What the baseline's copy queue would hold for a sequence of gulps: its two arrays, which change
 * places at each. */
#pragma once

#include <stdint.h>

struct baseline_queue;

struct baseline_queue *baseline_queue_make(void);
struct baseline_queue *baseline_queue_free(struct baseline_queue *queue);
/* n envelopes are sent, gulped and run. The bytes of the array that they filled: at its fullest,
 * and as it is left. */
void baseline_queue_gulp(struct baseline_queue *queue, uint32_t n, uint64_t *ret_most,
                         uint64_t *ret_left);
