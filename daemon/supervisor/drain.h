/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a seat: the executor works off what it was sent, then it ends, and the log says what
 * came of it. Event loop thread only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/control.pb-c.h"

struct seat;

void drain_init(struct seat *seat);
void drain_fini(struct seat *seat);
/* Nothing new is taken. The seat's `ended` follows, at once where no executor runs. */
void drain_begin(struct seat *seat);
/* From its begin to the executor's end, at most. */
uint64_t drain_most_ns(const struct seat *seat);
/* No time is left: the executor is killed. */
void drain_cut_short(struct seat *seat);
/* An executor has become ready, perhaps in the middle of a drain. */
void drain_on_ready(struct seat *seat);
/* There are means to send what could not be sent (executor_link.E5). */
void drain_go_on(struct seat *seat);
/* True: it was the answer to a drain. */
bool drain_handle_report(struct seat *seat, const Odeon__Report *report);
/* The process has ended while the seat stops. */
void drain_on_exit(struct seat *seat, int wait_status);
