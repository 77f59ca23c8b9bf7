/* SPDX-License-Identifier: Apache-2.0 */
/* The open loop of pace.h over a client's port: requests to actors by turns, and their answers. */
#pragma once

#include "pace.h"
#include "session.h"

enum { CALLS_TARGETS_MAX = 256 };

enum calls_kind {
    CALLS_SMALL, /* 8 bytes, to a latency_echo */
    CALLS_LARGE, /* 64 bytes, to a latency_echo */
    CALLS_ASK,   /* to a latency_front */
};

struct calls {
    struct session *session;
    enum calls_kind kind;
    odeon_ref targets[CALLS_TARGETS_MAX];
    uint32_t n_targets;
};

/* As many requests of that rate as the options say; `warm_up`: the first of them are not counted.
 */
struct pace calls_pace(const struct options *options, uint64_t rate, int warm_up);
/* 0, or an enum session_exit after having said why. */
int calls_run(struct calls *calls, const struct pace *pace, struct pace_result *ret);
/* Prints " n=… answered=… refused=… lost=… per_second=…". */
void calls_report(const struct pace_result *result);
