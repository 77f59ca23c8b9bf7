/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the witness, a plugin whose actors note what they run in a log of histories. */
#pragma once

#include <odeon/message.h>

/* `stream` names sender and receiver in the log; `dwells`: the behaviour goes on behind its note
 * until there is a file called as the log with WITNESS_GO behind it. */
#define WITNESS_GO ".go"
ODEON_MESSAGE(witness_number, 1, { uint64_t stream, n, dwells; });
ODEON_MESSAGE(witness_unwanted, 1, { uint64_t n; }); /* nobody takes it */
ODEON_INTERFACE(witness_relay, witness_number);
ODEON_INTERFACE(witness_log, witness_number);

enum { WITNESS_LOG_RECORDS = 200000 };
