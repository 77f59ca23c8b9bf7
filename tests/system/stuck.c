/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of test_stuck.c, see stuck.h. */
#include "stuck.h"

#include <fcntl.h>
#include <odeon/plugin.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

ODEON_STATE(stuck_hanger, {
    struct stuck_page *page;
    uint32_t index;
    uint64_t last;
});
ODEON_STATE(stuck_runner, {
    struct stuck_page *page;
    uint32_t index;
    odeon_ref next;
});

static struct stuck_page *page_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *page =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, sizeof(struct stuck_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    return page == MAP_FAILED ? NULL : page;
}

/* Until the page says release. The naps go by the C library's call: TSan hands a signal to a thread
 * that sleeps there, but keeps it for later in one that has called the kernel itself. */
static void page_wait(struct stuck_page *page, uint64_t blocks)
{
    while (!atomic_load_explicit(&page->release, memory_order_acquire))
        if (blocks)
            nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

ODEON_INIT(stuck_hanger, struct stuck_args)
{
    self->index = args->index;
    self->page = page_map(args->page);
    return self->page ? 0 : -ENOENT;
}

ODEON_FINI(stuck_hanger)
{
    munmap(self->page, sizeof(*self->page));
}

ODEON_RECEIVE(stuck_hanger, stuck_hang)
{
    atomic_fetch_add(&self->page->entered, 1);
    page_wait(self->page, msg->blocks);
    atomic_fetch_add(&self->page->left, 1);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(stuck_hanger, stuck_count)
{
    if (msg->n != ++self->last)
        atomic_fetch_add(&self->page->out_of_order, 1);
    atomic_fetch_add(&self->page->counted[self->index], 1);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(stuck_hanger, stuck_slow)
{
    uint64_t end = odeon_now_ns(ctx) + msg->ns;

    while (odeon_now_ns(ctx) < end)
        ;
    atomic_fetch_add(&self->page->counted[self->index], 1);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(stuck_hanger, stuck_turn)
{
    struct stuck_turn next = *msg;

    atomic_store_explicit(&self->page->turns[self->index], msg->n + 1, memory_order_release);
    if (msg->n == msg->hang) {
        atomic_fetch_add(&self->page->entered, 1);
        page_wait(self->page, msg->blocks);
        atomic_fetch_add(&self->page->left, 1);
    } else if (msg->n % STUCK_TOLD == STUCK_TOLD - 1) {
        odeon_send_any(ctx, msg->told, stuck_told, .index = self->index, .n = msg->n,
                       .round = msg->round);
        atomic_store_explicit(&self->page->told[self->index], msg->n, memory_order_release);
    }
    next.n++;
    if (atomic_load_explicit(&self->page->halt, memory_order_relaxed))
        atomic_fetch_add(&self->page->absorbed, 1);
    else
        odeon_send_(ctx, ctx->self, odeon_message_of(stuck_turn)->id,
                    ODEON_INDEX_(odeon_as(stuck_hanger, ctx->self), stuck_turn), &next,
                    sizeof(next));
    return ODEON_NODELETE;
}

ODEON_INIT(stuck_runner, struct stuck_args)
{
    self->index = args->index;
    self->page = page_map(args->page);
    return self->page ? 0 : -ENOENT;
}

ODEON_FINI(stuck_runner)
{
    munmap(self->page, sizeof(*self->page));
}

ODEON_RECEIVE(stuck_runner, stuck_link)
{
    self->next = msg->next;
    atomic_fetch_add(&self->page->linked, 1);
    return ODEON_NODELETE;
}

/* About a microsecond of work a message. */
ODEON_RECEIVE(stuck_runner, stuck_token)
{
    _Atomic uint64_t *hops = &self->page->runners[self->index].hops;

    for (volatile unsigned i = 0; i < 500; i = i + 1)
        ;
    atomic_store_explicit(hops, atomic_load_explicit(hops, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    if (atomic_load_explicit(&self->page->halt, memory_order_relaxed))
        atomic_fetch_add(&self->page->absorbed, 1);
    else if (self->next == ODEON_NOBODY ||
             odeon_send_any(ctx, self->next, stuck_token, .hops = msg->hops + 1) != 0)
        atomic_fetch_add(&self->page->unsent, 1);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(stuck_hanger, ODEON_ON(stuck_hanger, stuck_hang),
               ODEON_ON(stuck_hanger, stuck_count), ODEON_ON(stuck_hanger, stuck_turn),
               ODEON_ON(stuck_hanger, stuck_slow));
ODEON_ACTOR_TYPE(stuck_hanger);
ODEON_HANDLERS(stuck_runner, ODEON_ON(stuck_runner, stuck_link),
               ODEON_ON(stuck_runner, stuck_token));
ODEON_ACTOR_TYPE(stuck_runner);
ODEON_PLUGIN("stuck", "1.0.0", ODEON_TYPE(stuck_hanger), ODEON_TYPE(stuck_runner));
