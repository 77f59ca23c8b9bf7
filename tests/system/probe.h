/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the tests' own plugin, for it and for the clients in the tests. */
#pragma once

#include <odeon/message.h>

/* Numbers go round: `origin` gets what an echo says, ODEON_NOBODY: the sender. */
ODEON_MESSAGE(probe_number, 1, { uint64_t n, origin; });
ODEON_MESSAGE(probe_block, 1, {
    uint64_t n;
    unsigned char fill[1000];
});
/* that many blocks to the sender, numbered from 0 */
ODEON_MESSAGE(probe_flood, 1, { uint64_t count; });
/* keeps the worker busy that long; a ledger logs that it has begun a work with a number */
ODEON_MESSAGE(probe_work, 1, { uint64_t ns, n; });
/* as a work, but that its worker waits in the kernel */
ODEON_MESSAGE(probe_sleep, 1, { uint64_t ns, n; });
/* crashes at the first so many attempts, then counts */
ODEON_MESSAGE(probe_crash, 1, { uint32_t attempts, unused; });
ODEON_MESSAGE(probe_end, 1, { int32_t how; }); /* the behaviour returns it */
/* sends a message object that is to be treated so */
ODEON_MESSAGE(probe_object, 1, { int32_t how; });
ODEON_SIGNAL(probe_ask, 1);
ODEON_MESSAGE(probe_told, 1, {
    uint64_t count, sum, redelivered, attempts; /* of this actor's numbers */
    uint64_t inits, finis, reused;              /* of all ledgers in this executor */
    int32_t first, second;                      /* results of the sends of an object */
    uint64_t object_finis;
});
ODEON_MESSAGE(probe_note, 1, {
    int32_t level;
    char text[];
}); /* goes to the log */

ODEON_INTERFACE(probe_echo, probe_number, probe_flood, probe_block);
ODEON_INTERFACE(probe_relay, probe_number);
ODEON_INTERFACE(probe_reject, probe_number, probe_work, probe_ask);
ODEON_INTERFACE(probe_newest, probe_number, probe_work, probe_ask);
ODEON_INTERFACE(probe_oldest, probe_number, probe_work, probe_ask);
ODEON_INTERFACE(probe_stall, probe_number, probe_work, probe_ask);
ODEON_INTERFACE(probe_ledger, probe_number, probe_block, probe_work, probe_sleep, probe_crash,
                probe_end, probe_object, probe_ask, probe_note);

/* Of the actors for full queues: the log of histories (tests/history) in which they note what they
 * run. */
struct probe_log {
    char path[128];
};
enum { PROBE_LOG_RECORDS = 1 << 20 };
