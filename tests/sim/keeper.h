/* SPDX-License-Identifier: Apache-2.0 */
/* Keepers: the actors of promises.h that are promised something, one turn after the other.
 *
 * Their behaviours run on the engine's fibers, keeper_register() on the control thread's.
 */
#pragma once

#include <stdint.h>

struct engine;

struct keeper_types {
    uint32_t keeper;
    uint16_t tick, question, answer, word, song; /* messages, all of struct promise_message */
};
const struct keeper_types *keeper_get_types(void);
/* With the types of all actors of promises.h, in each life of the engine before its start. */
void keeper_register(struct engine *engine);
