/* SPDX-License-Identifier: Apache-2.0 */
/* What users do again and again, and the log is told of: at once, then once a minute with how
 * often.
 *
 * An account goes with the last connection of its user, and what stands on it with it; so who has
 * no account, or comes and goes, has one here, for this alone. Event loop thread only.
 *
 * told.T1  However often a user comes back, it is told of at once and then once a minute
 *     (account.Q4); whoever is beyond told.T2, with those who share its line.
 * told.T2  TOLD_USERS_MAX users are known; the others share one line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/supervisor/account.h"

enum { TOLD_USERS_MAX = 64 };

struct told {
    struct accounts users;
    uint32_t n;
    struct account others; /* told.T2 */
};

/* It has done it once more. True: that is to be told now, and that it did so *ret_more times since
 * that was last told. */
bool told_note(struct told *told, uid_t uid, uint64_t now_ns, uint64_t *ret_more);
void told_fini(struct told *told);
