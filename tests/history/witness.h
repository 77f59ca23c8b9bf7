/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the witness, a plugin whose actors note what they run in a log of histories. */
#pragma once

#include <odeon/message.h>

/* `stream` names sender and receiver in the log; `dwell_ns`: so long the behaviour goes on behind its note. */
ODEON_MESSAGE(witness_number, 1, { uint64_t stream, n, dwell_ns; });
ODEON_MESSAGE(witness_unwanted, 1, { uint64_t n; }); /* nobody takes it */
ODEON_INTERFACE(witness_relay, witness_number);
ODEON_INTERFACE(witness_log, witness_number);

enum { WITNESS_LOG_RECORDS = 200000 };
