/* SPDX-License-Identifier: Apache-2.0 */
/* Executors that stop themselves over a broken rule (common/check.h), and how often that may be.
 *
 * Such a stop is a fault of our own: to start again and again would run over what is to be looked
 * at. After `max` of them within STOPS_COUNT_NS of each other, no executor is started until
 * somebody says so; the segment stays as it is. Event loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/control.pb-c.h"

enum { RULE_STOPS_TEXT_MAX = 320 };

struct rule_stops {
    unsigned n;                /* each within STOPS_COUNT_NS of the one before */
    uint64_t last_ns;          /* of the last one */
    bool held;                 /* no further executor is started */
    char rule[64], place[160]; /* of the last one, as it said itself; "": it did not */
};

/* What the executor that runs says before it stops. */
void rule_stops_note(struct rule_stops *stops, const Odeon__RuleBroken *broken);
/* The executor has ended.  True: over a broken rule, and `text` says which.  `max` 0: no end. */
bool rule_stops_on_exit(struct rule_stops *stops, int wait_status, uint64_t now_ns, uint64_t max,
                        char text[RULE_STOPS_TEXT_MAX]);
/* It is to go on: counted from zero.  True: it was held. */
bool rule_stops_release(struct rule_stops *stops);
