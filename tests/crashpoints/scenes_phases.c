/* SPDX-License-Identifier: Apache-2.0 */
/* Phases: an actor that is in another one with each message. */
#include "crash.h"

enum { ITEMS = 4 };

static void setup_moods(struct life *life)
{
    row_expect(0, ITEMS, 0, 0);
    actor_ref moody = cast_spawn(life->engine, CAST_MOODY, 0, NULL, 0);
    life_quiesce(life);
    cast_send(life->engine, moody, 0, ITEMS);
}

static void run_moods(struct life *life)
{
    life_run_queue(life, 0, 0);
}

const struct scene scenes_phases[] = {
    { "phases change", setup_moods, NULL, run_moods, 1, true, NULL, false },
    { .name = NULL },
};
