/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of test_rules.c, see breaker.h. */
#include "breaker.h"

#include <fcntl.h>
#include <odeon/plugin.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/common/check.h"

static __attribute__((constructor)) void breaker_on_load(void)
{
    const char *file = getenv("BREAKER_FILE");

    check("breaker.B2", !file || access(file, F_OK) < 0);
}

ODEON_STATE(breaker, { struct breaker_page *page; });

ODEON_INIT(breaker, struct breaker_args)
{
    int fd = open(args->page, O_RDWR | O_CLOEXEC);
    void *page = fd < 0
                     ? MAP_FAILED
                     : mmap(NULL, sizeof(*self->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    self->page = page == MAP_FAILED ? NULL : page;
    return self->page ? 0 : -ENOENT;
}

ODEON_FINI(breaker)
{
    munmap(self->page, sizeof(*self->page));
}

ODEON_RECEIVE(breaker, breaker_number)
{
    atomic_fetch_add(&self->page->entered, 1);
    check("breaker.B1", !atomic_load(&self->page->breaks));
    odeon_reply(ctx, breaker_told, .n = msg->n, .attempts = ctx->attempts,
                .redelivered = ctx->redelivered);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(breaker, ODEON_ON(breaker, breaker_number));
ODEON_ACTOR_TYPE(breaker);
ODEON_PLUGIN("breaker", "1.0.0", ODEON_TYPE(breaker));
