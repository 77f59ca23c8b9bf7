/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/order_all.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

void order_all_open(struct engine *e)
{
    e->can_order_all =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void order_all(const struct engine *e)
{
    if (e->can_order_all)
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    full_barrier();
}
