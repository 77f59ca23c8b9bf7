/* SPDX-License-Identifier: Apache-2.0 */
/* What the log is told of once a minute; the interface is in told.h. */
#include "daemon/supervisor/told.h"

#include "daemon/common/check.h"

bool told_note(struct told *told, uid_t uid, uint64_t now_ns, uint64_t *ret_more)
{
    struct account *user = account_find(&told->users, uid);

    check("told.T2", told->n <= TOLD_USERS_MAX);
    if (!user && told->n < TOLD_USERS_MAX) {
        user = account_open(&told->users, uid);
        told->n += user != NULL;
    }
    return account_blame(user ? user : &told->others, now_ns, ret_more);
}

void told_fini(struct told *told)
{
    accounts_fini(&told->users);
    told->n = 0;
}
