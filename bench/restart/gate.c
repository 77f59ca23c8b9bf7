/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of bench/restart, see gate.h. */
#include "gate.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <odeon/plugin.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

ODEON_STATE(gate_actor, { struct gate_page *page; });

ODEON_INIT(gate_actor, struct gate_args)
{
    int fd = open(args->page, O_RDWR | O_CLOEXEC);
    void *page =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, sizeof(struct gate_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    self->page = page == MAP_FAILED ? NULL : page;
    return self->page ? 0 : -ENOENT;
}

ODEON_RECEIVE(gate_actor, gate_message)
{
    struct gate_page *page = self->page;

    (void)msg, (void)ctx;
    while (atomic_load_explicit(&page->closed, memory_order_acquire))
        syscall(SYS_futex, &page->closed, FUTEX_WAIT, 1, NULL, NULL, 0);
    if (atomic_load_explicit(&page->first_ns, memory_order_relaxed) == 0) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        atomic_store(&page->first_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    }
    atomic_fetch_add_explicit(&page->processed, 1, memory_order_relaxed);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(gate_actor, ODEON_ON(gate_actor, gate_message));
ODEON_ACTOR_TYPE(gate_actor);
ODEON_PLUGIN("gate", "1.0.0", ODEON_TYPE(gate_actor));
