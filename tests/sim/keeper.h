/* SPDX-License-Identifier: Apache-2.0 */
/* The actors of promises.h: keepers, mayflies, moths. */
#pragma once

#include <stdint.h>

struct engine;

struct keeper_types {
    uint32_t keeper, mayfly;
    uint16_t tick, question, answer, word, song;
};
const struct keeper_types *keeper_get_types(void);
void keeper_register(struct engine *engine);
