/* SPDX-License-Identifier: Apache-2.0 */
/* What the soak's service takes when nothing is under way: the base line, and the end. */
#pragma once

#include "tests/system/harness.h"

struct soak_process {
    uint64_t memory_kib; /* of its own: anonymous */
    uint64_t descriptors, mappings;
};

struct soak_measure {
    struct soak_process supervisor, executor;
    uint64_t clients, ports, actors, waiting_bytes; /* in all queues */
    uint64_t accounts; /* what the service has written down to the user's quotas, all in one sum */
};

/* Once only the caller's client is left, nothing waits, and what counts for users is not more than
 * at first (SOAK_ANY_ACCOUNTS: any): a port that has ended counts until its memory has gone, which
 * is behind the end that the status tells. False: that did not happen in time. */
#define SOAK_ANY_ACCOUNTS (UINT64_MAX - 1)
bool soak_measure_quiet(struct service *service, struct odeon_client *client, pid_t supervisor,
                        uint64_t accounts_at_first, struct soak_measure *ret);
/* Prints both, and says how many of the figures have grown; memory and mappings only if they are to
 * be judged. */
unsigned soak_measure_compare(const struct soak_measure *base, const struct soak_measure *end,
                              bool judge_memory);
