/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin of test_phases.c takes and tells. */
#pragma once

#include <odeon/message.h>

/* Who comes to the gate, in the order of the numbers; who has passed is told so. */
ODEON_MESSAGE(gate_pass, 1, { uint64_t number; });
ODEON_MESSAGE(gate_passed, 1, { uint64_t number; });
/* A gate that is shut is open, and the other way round. */
ODEON_SIGNAL(gate_turn, 1);

/* With each GATE_SHUTS-th who passes it shuts by itself; who then comes is put off. */
enum { GATE_SHUTS = 16 };

ODEON_INTERFACE(gate, gate_pass, gate_turn);
ODEON_INTERFACE(gate_frail, gate_pass, gate_turn);
