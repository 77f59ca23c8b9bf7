/* SPDX-License-Identifier: Apache-2.0 */
/* See clientlib_fake.h.  Follows proto/port_layout.h from the executor's side: port_layout.P1 to
 * port_layout.P4. */
#include "tests/unit/clientlib_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/common/page.h"
#include "tests/unit/clientlib_cmocka.h"

static int make_memory(const char *name, uint64_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    return fd;
}

static void *map_twice(int fd, uint64_t ring)
{
    size_t once = port_ring_offset(page_bytes()) + ring;
    uint8_t *base = mmap(NULL, once + ring, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(base != MAP_FAILED);
    assert_true(mmap(base, once, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
                MAP_FAILED);
    assert_true(mmap(base + once, ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                     port_ring_offset(page_bytes())) != MAP_FAILED);
    return base;
}

void fake_init(struct fake *fake, uint64_t submission_bytes, uint64_t delivery_bytes, bool pipe)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    char path[64];
    int writable, ends[2] = { -1, -1 };

    memset(fake, 0, sizeof(*fake));
    fake->plan = (struct port_plan){
        .submission_bytes = submission_bytes,
        .delivery_bytes = delivery_bytes,
        .submission_offset = port_ring_offset(page_bytes()),
        .delivery_offset = port_ring_offset(page_bytes()),
        .payload_max = ODEON_PAYLOAD_MAX,
        .actors_max = 1000,
        .prefix = PREFIX_CLIENT_MAY_SET,
        .room_by_pipe = pipe,
        .monitors = true,
        .demonitors = true,
        .id = 1,
        .ref = actor_ref_make(7, 1),
    };
    fake->plan.client_memory =
        make_memory("client", port_ring_offset(page_bytes()) + submission_bytes);
    writable = make_memory("executor", port_ring_offset(page_bytes()) + delivery_bytes);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", writable);
    fake->plan.executor_memory = open(path, O_RDONLY | O_CLOEXEC);
    fake->client = map_twice(fake->plan.client_memory, submission_bytes);
    fake->executor = map_twice(writable, delivery_bytes);
    close(writable);
    fake->submission = (uint8_t *)fake->client + port_ring_offset(page_bytes());
    fake->delivery = (uint8_t *)fake->executor + port_ring_offset(page_bytes());
    fake->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fake->plan.doorbell = dup(fake->doorbell);
    if (pipe)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fake->plan.pipe = ends[0];
    fake->pipe_write = ends[1];
    fake->epoll = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(epoll_ctl(fake->epoll, EPOLL_CTL_ADD, fake->doorbell, &event), 0);
}

void fake_fini(struct fake *fake)
{
    int fds[] = {
        fake->plan.client_memory, fake->plan.executor_memory, fake->plan.doorbell, fake->plan.pipe,
        fake->doorbell,           fake->pipe_write,           fake->epoll
    };

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    munmap(fake->client, port_ring_offset(page_bytes()) + 2 * fake->plan.submission_bytes);
    munmap(fake->executor, port_ring_offset(page_bytes()) + 2 * fake->plan.delivery_bytes);
}

struct odeon_port *fake_open_port(struct fake *fake)
{
    static const _Atomic uint32_t alive = 1;
    struct odeon_port *port = NULL;
    int result = port_new(&fake->plan, &alive, &port);

    if (result < 0)
        fail_msg("port_new: %d, %s", result, odeon_error_text());
    return port;
}

static void wake_futex(_Atomic uint32_t *word)
{
    atomic_fetch_add_explicit(word, 1, memory_order_release);
    syscall(SYS_futex, (void *)word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* port_layout.P4: what was published comes first, then the look at the waiting word; once a
 *     value. */
static void wake_waiter(struct fake *fake, _Atomic uint32_t *word, uint32_t *handled,
                        _Atomic uint32_t *futex)
{
    uint32_t waits;

    full_barrier();
    waits = atomic_load_explicit(word, memory_order_relaxed);
    if ((waits & PORT_WAIT_KIND) == PORT_WAIT_NONE || waits == *handled)
        return;
    *handled = waits;
    fake->wakes++;
    if ((waits & PORT_WAIT_KIND) == PORT_WAIT_FUTEX)
        wake_futex(futex);
    else
        assert_int_equal(write(fake->pipe_write, "", 1), 1);
}

bool fake_take(struct fake *fake, struct envelope *ret_envelope, void *ret_payload)
{
    uint64_t tail = atomic_load_explicit(&fake->client->submission_tail, memory_order_acquire);
    const uint8_t *record = fake->submission + (fake->head & (fake->plan.submission_bytes - 1));

    assert_true(tail - fake->head <= fake->plan.submission_bytes);
    if (tail == fake->head)
        return false;
    memcpy(ret_envelope, record, sizeof(*ret_envelope));
    assert_true(envelope_record_size(ret_envelope) <= tail - fake->head);
    memcpy(ret_payload, record + sizeof(*ret_envelope), ret_envelope->length);
    fake->head += envelope_record_size(ret_envelope);
    atomic_store_explicit(&fake->executor->submission_head, fake->head, memory_order_release);
    wake_waiter(fake, &fake->client->room_wait, &fake->handled_room_wait,
                &fake->executor->room_futex);
    return true;
}

bool fake_deliver(struct fake *fake, struct envelope envelope, const void *payload)
{
    uint64_t head = atomic_load_explicit(&fake->client->delivery_head, memory_order_acquire);
    uint8_t *record = fake->delivery + (fake->tail & (fake->plan.delivery_bytes - 1));

    assert_true(fake->tail - head <= fake->plan.delivery_bytes);
    if (fake->tail + envelope_record_size(&envelope) - head > fake->plan.delivery_bytes)
        return false;
    memcpy(record, &envelope, sizeof(envelope));
    memcpy(record + sizeof(envelope), payload, envelope.length);
    fake->tail += envelope_record_size(&envelope);
    atomic_store_explicit(&fake->executor->delivery_tail, fake->tail, memory_order_release);
    wake_waiter(fake, &fake->client->delivery_wait, &fake->handled_delivery_wait,
                &fake->executor->delivery_futex);
    return true;
}

bool fake_deliver_number(struct fake *fake, uint16_t type, uint64_t number, uint64_t correlation,
                         uint8_t flags)
{
    uint64_t payload[2] = { correlation, number };
    bool correlated = correlation != 0 || flags & ENVELOPE_REPLY;
    struct envelope envelope = {
        .to = fake->plan.ref, .from = actor_ref_make(3, 1), .type = type, .flags = flags
    };

    envelope.length = correlated ? 16 : 8;
    envelope.prefix = correlated ? PREFIX_CORRELATION : 0;
    return fake_deliver(fake, envelope, correlated ? payload : payload + 1);
}

bool fake_sleep(struct fake *fake)
{
    struct epoll_event event;
    int got = 1;

    atomic_store_explicit(&fake->executor->need_wakeup, 1, memory_order_relaxed);
    full_barrier();
    if (atomic_load_explicit(&fake->client->submission_tail, memory_order_acquire) == fake->head) {
        do
            got = epoll_wait(fake->epoll, &event, 1, 10000);
        while (got < 0 && errno == EINTR);
        fake->rings += got == 1;
    }
    atomic_store_explicit(&fake->executor->need_wakeup, 0, memory_order_relaxed);
    return got == 1;
}

uint64_t fake_doorbell_count(struct fake *fake)
{
    uint64_t count = 0;

    return read(fake->doorbell, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

bool fake_await(const _Atomic uint32_t *word, uint32_t mask)
{
    int64_t end_ns = monotonic_ns() + PATIENCE_NS;

    while ((atomic_load_explicit(word, memory_order_acquire) & mask) == 0) {
        if (monotonic_ns() > end_ns)
            return false;
        sched_yield();
    }
    return true;
}

uint64_t fake_count_answered(const struct fake *fake)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < TIME_CELLS; i++)
        n += atomic_load(&fake->client->round_trips.answered[i]);
    return n;
}
