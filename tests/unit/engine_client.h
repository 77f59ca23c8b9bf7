/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the engine as its memory shows it: the words and rings of a port, and nothing
 * else. */
#pragma once

#include <sys/eventfd.h>

#include "daemon/common/page.h"
#include "engine_fixture.h"
#include "proto/port_layout.h"

enum { CLIENT_RING = ODEON_RING_MIN };

struct client {
    struct engine_port_info info;
    struct port_client *words;
    const struct port_executor *executor;
    uint8_t *submission;
    const uint8_t *delivery;
    uint64_t tail, head;
    actor_ref ref;
};

static inline void *map_twice(int fd, uint64_t ring)
{
    uint8_t *base = mmap(NULL, port_ring_offset(page_bytes()) + 2 * ring, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(base != MAP_FAILED);
    int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;
    assert_true(mmap(base, port_ring_offset(page_bytes()) + ring, prot, flags, fd, 0) !=
                MAP_FAILED);
    assert_true(mmap(base + port_ring_offset(page_bytes()) + ring, ring, prot, flags, fd,
                     port_ring_offset(page_bytes())) != MAP_FAILED);
    return base;
}

static inline int client_memory(const char *name)
{
    return memfd_make_sealed(name, port_ring_offset(page_bytes()) + CLIENT_RING);
}

static inline void client_make(struct client *c, uint32_t id, uint32_t generation)
{
    *c = (struct client){
        .info = {
            .id = id,
            .generation = generation,
            .client = 1,
            .submission_bytes = CLIENT_RING,
            .delivery_bytes = CLIENT_RING,
            .client_fd = client_memory("client"),
            .executor_fd = client_memory("executor"),
            .doorbell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
            .pipe_fd = -1,
        },
    };
    assert_true(c->info.client_fd >= 0 && c->info.executor_fd >= 0 && c->info.doorbell_fd >= 0);
    uint8_t *base = map_twice(c->info.client_fd, CLIENT_RING);
    c->words = (struct port_client *)base;
    c->submission = base + port_ring_offset(page_bytes());
    base = map_twice(c->info.executor_fd, CLIENT_RING);
    c->executor = (const struct port_executor *)base;
    c->delivery = base + port_ring_offset(page_bytes());
}

static inline void client_free(struct client *c)
{
    munmap(c->words, port_ring_offset(page_bytes()) + 2 * CLIENT_RING);
    munmap((void *)c->executor, port_ring_offset(page_bytes()) + 2 * CLIENT_RING);
    close(c->info.client_fd);
    close(c->info.executor_fd);
    close(c->info.doorbell_fd);
}

static inline void client_open(struct engine_fixture *f, struct client *c, uint32_t id,
                               uint32_t generation)
{
    client_make(c, id, generation);
    assert_int_equal(engine_port_add(f->engine, &c->info, &c->ref), 0);
    assert_int_equal(actor_ref_slot(c->ref), id);
}

static inline void client_ring(struct client *c)
{
    uint64_t one = 1;
    assert_int_equal(write(c->info.doorbell_fd, &one, sizeof(one)), sizeof(one));
}

/* An engine's next event. These clients ring for each record, unlike the library: that they are
 * loud (loud.h) says nothing. */
static inline bool client_event_next(struct engine *engine, struct engine_event *ret_event)
{
    while (engine_event_next(engine, ret_event))
        if (ret_event->kind != ENGINE_EVENT_PORT_LOUD)
            return true;
    return false;
}

static inline void client_publish(struct client *c, uint64_t tail)
{
    c->tail = tail;
    store_release(&c->words->submission_tail, tail);
    full_barrier(); /* port_layout.P4 */
    if (load_relaxed(&c->executor->need_wakeup))
        client_ring(c);
}

static inline bool client_has_room(struct client *c, uint64_t size)
{
    return c->tail - load_acquire(&c->executor->submission_head) + size <= CLIENT_RING;
}

static inline struct envelope *client_place(struct client *c)
{
    return (struct envelope *)(c->submission + (c->tail & (CLIENT_RING - 1)));
}

static inline void client_post_as(struct client *c, struct envelope header, const void *payload)
{
    uint64_t size = envelope_record_size(&header);
    assert_true(engine_fixture_until(client_has_room(c, size)));
    struct envelope *at = client_place(c);
    *at = header;
    if (payload)
        memcpy(envelope_payload_behind(at, 0), payload, header.length);
    client_publish(c, c->tail + size);
}

static inline void client_post(struct client *c, actor_ref to, uint16_t type, const void *payload,
                               uint16_t length)
{
    client_post_as(c, (struct envelope){ .to = to, .type = type, .length = length }, payload);
}

/* The next delivery, if there is one; valid until the following call. */
static inline const struct envelope *client_next(struct client *c)
{
    store_release(&c->words->delivery_head, c->head);
    full_barrier(); /* port_layout.P4 */
    if (load_relaxed(&c->executor->backlog))
        client_ring(c);
    uint64_t tail = load_acquire(&c->executor->delivery_tail);
    if (tail == c->head)
        return NULL;
    const struct envelope *at =
        (const struct envelope *)(c->delivery + (c->head & (CLIENT_RING - 1)));
    c->head += envelope_record_size(at);
    assert_true(c->head <= tail);
    return at;
}

static inline const struct envelope *client_wait(struct client *c)
{
    const struct envelope *at = NULL;
    (void)engine_fixture_until((at = client_next(c)) != NULL);
    if (!at) {
        fail_msg("nothing is delivered");
        abort(); /* which the compiler does not know of the line before */
    }
    assert_int_equal(at->to, c->ref);
    return at;
}
