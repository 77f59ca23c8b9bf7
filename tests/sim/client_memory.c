/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated client's memory, which the engine maps, too: made once a process, emptied for each
 * seed. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "daemon/common/memfd.h"
#include "daemon/common/page.h"
#include "tests/sim/client.h"
#include "tests/sim/sim.h"

#define CLIENTS_AT   UINT64_C(0x300000000000)
#define MEMORY_BYTES (port_ring_offset(page_bytes()) + CLIENT_RING)

struct memory {
    int fd;
    uint8_t *words;
};
static struct memory memories[2 * CLIENTS_MAX];

static void cannot(const char *what)
{
    perror(what);
    exit(2);
}

/* The page of words, then the ring twice in a row. */
static void memory_make(struct memory *m, uint8_t *at)
{
    int flags = MAP_SHARED | MAP_FIXED_NOREPLACE, protection = PROT_READ | PROT_WRITE;
    m->fd = memfd_make_sealed("simulated", MEMORY_BYTES);
    if (m->fd < 0 || mmap(at, MEMORY_BYTES, protection, flags, m->fd, 0) != at ||
        mmap(at + MEMORY_BYTES, CLIENT_RING, protection, flags, m->fd,
             port_ring_offset(page_bytes())) != at + MEMORY_BYTES)
        cannot("simulate: a client's memory");
    m->words = at;
}

static struct memory *memory_get(uint32_t index)
{
    struct memory *m = &memories[index];
    if (!m->words)
        memory_make(m, (uint8_t *)(uintptr_t)(CLIENTS_AT + index * (uint64_t)(1 << 20)));
    else if (madvise(m->words, MEMORY_BYTES, MADV_REMOVE) < 0)
        cannot("simulate: a client's memory");
    return m;
}

void client_prepare(struct client *c, uint32_t id)
{
    struct memory *mine = memory_get(2 * id), *theirs = memory_get(2 * id + 1);
    memory_share(mine->words, MEMORY_BYTES, mine->fd);
    memory_share(theirs->words, MEMORY_BYTES, theirs->fd);
    *c = (struct client){
        .info = {
            .id = id,
            .generation = 1,
            .client = id + 1,
            .submission_bytes = CLIENT_RING,
            .delivery_bytes = CLIENT_RING,
            .client_fd = mine->fd,
            .executor_fd = theirs->fd,
            .doorbell_fd = kernel_doorbell_new(),
            .pipe_fd = -1,
        },
        .words = (struct port_client *)mine->words,
        .submission = mine->words + port_ring_offset(page_bytes()),
        .executor = (const struct port_executor *)theirs->words,
        .delivery = theirs->words + port_ring_offset(page_bytes()),
    };
}

void client_again(struct client *c)
{
    uint32_t generation = c->info.generation + 1, overflow = c->info.overflow;
    kernel_doorbell_close(c->info.doorbell_fd);
    client_prepare(c, c->info.id);
    c->info.generation = generation;
    c->info.overflow = overflow;
}
