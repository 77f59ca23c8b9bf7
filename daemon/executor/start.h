/* SPDX-License-Identifier: Apache-2.0 */
/* From Start to Report.ready, and from Drain to the end. Control thread only; the states are in
 * executor.h. */
#pragma once

#include "daemon/executor/executor.h"

/* Bytes of the segment that an executor with these settings needs: what the supervisor makes before
 * it starts one. */
int start_segment_size(const struct setting_pair *pairs, size_t n_pairs, struct explain *explain,
                       uint64_t *ret_bytes);

/* Each answers its command, at once or when it is done. A start that fails is reported and ends the
 * loop. */
void start_begin(struct executor *executor, uint64_t command, const Odeon__Start *start,
                 struct frame *frame);
/* One of the awaited ports, or plugins, is through: goes on to the next state when it was the last,
 * and no plugin has been refused. */
void start_port_done(struct executor *executor);
void start_plugin_done(struct executor *executor, bool loaded);
/* One that has been refused is done without. */
void start_go_without(struct executor *executor);
void start_fail(struct executor *executor, int error, const char *text);

void drain_begin(struct executor *executor, uint64_t command, const Odeon__Drain *drain);
