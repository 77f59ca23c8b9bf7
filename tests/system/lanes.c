/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of test_urgent.c, see lanes.h. */
#include "lanes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <odeon/plugin.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/history/history.h"

ODEON_STATE(lanes_receiver, {
    struct lanes_page *page;
    struct history_log *log;
});
ODEON_STATE(lanes_sender, { struct lanes_page *page; });

static struct lanes_page *page_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *page =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, sizeof(struct lanes_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    return page == MAP_FAILED ? NULL : page;
}

ODEON_INIT(lanes_receiver, struct lanes_args)
{
    self->page = page_map(args->page);
    self->log = history_log_open(args->log, LANES_LOG);
    return self->page && self->log ? 0 : -ENOENT;
}

ODEON_FINI(lanes_receiver)
{
    (void)ctx;
    self->log = history_log_close(self->log);
    munmap(self->page, sizeof(*self->page));
}

static void note(struct lanes_page *page, uint32_t lane, uint64_t n)
{
    uint32_t at = atomic_load_explicit(&page->n_notes, memory_order_relaxed);

    if (at < LANES_NOTES) {
        page->notes[at].lane = lane;
        page->notes[at].n = (uint32_t)n;
        atomic_store_explicit(&page->n_notes, at + 1, memory_order_release);
    }
}

ODEON_RECEIVE(lanes_receiver, lanes_gate)
{
    uint32_t open;

    (void)ctx;
    atomic_fetch_add(&self->page->entered, 1);
    while ((open = atomic_load_explicit(&self->page->open, memory_order_acquire)) < msg->number)
        syscall(SYS_futex, &self->page->open, FUTEX_WAIT, open, NULL, NULL, 0);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(lanes_receiver, lanes_number)
{
    history_log_note(self->log, &(struct history_record){ .sender = ctx->sender,
                                                          .receiver = ctx->self,
                                                          .sequence = msg->n,
                                                          .lane = (uint16_t)msg->lane,
                                                          .kind = HISTORY_RUN,
                                                          .redelivered = ctx->redelivered != 0,
                                                          .attempt = ctx->attempts });
    note(self->page, msg->lane, msg->n);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(lanes_receiver, lanes_signal)
{
    (void)ctx;
    note(self->page, LANE_SIGNAL, 0);
    return ODEON_NODELETE;
}

ODEON_INIT(lanes_sender, struct lanes_args)
{
    self->page = page_map(args->page);
    return self->page ? 0 : -ENOENT;
}

ODEON_FINI(lanes_sender)
{
    (void)ctx;
    munmap(self->page, sizeof(*self->page));
}

ODEON_RECEIVE(lanes_sender, lanes_send)
{
    lanes_receiver_ref to = odeon_as(lanes_receiver, msg->to);
    uint32_t taken = 0;
    int result = 0;

    for (uint32_t i = 1; i <= msg->ordinary; i++)
        odeon_send_any(ctx, msg->to, lanes_number, .n = i, .lane = LANE_ORDINARY);
    while (taken < msg->urgent && result == 0) {
        if (taken % 2)
            result = odeon_send_urgent(ctx, to, lanes_number, .n = taken + 1, .lane = LANE_URGENT);
        else
            result = odeon_send_urgent_any(ctx, msg->to, lanes_number, .n = taken + 1,
                                           .lane = LANE_URGENT);
        taken += result == 0;
    }
    if (result == 0)
        result = odeon_signal_urgent(ctx, to, lanes_signal);
    atomic_store(&self->page->n_taken, taken);
    atomic_store(&self->page->result, result);
    atomic_fetch_add(&self->page->sent, 1);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(lanes_receiver, ODEON_ON(lanes_receiver, lanes_gate),
               ODEON_ON(lanes_receiver, lanes_number), ODEON_ON(lanes_receiver, lanes_signal));
/* which an urgent lane does not follow */
ODEON_ACTOR_TYPE(lanes_receiver, ODEON_OVERFLOW(ODEON_OVERFLOW_DROP_OLDEST));
ODEON_HANDLERS(lanes_sender, ODEON_ON(lanes_sender, lanes_send));
ODEON_ACTOR_TYPE(lanes_sender);
ODEON_PLUGIN("lanes", "1.0.0", ODEON_TYPE(lanes_receiver), ODEON_TYPE(lanes_sender));
