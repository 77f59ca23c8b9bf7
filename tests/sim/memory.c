/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's memory: at the same addresses in each run (sim.M1), and gone with a crash (sim.M4).
 *
 * What it allocates comes from an arena that only grows until the engine is closed; what it maps of
 * files lies in a range of its own.
 */
#include "tests/sim/shim.h"

#include <stdio.h>

#include "tests/sim/sim.h"

#define ARENA_AT    UINT64_C(0x100000000000)
#define ARENA_BYTES ((UINT64_C(64) << 20) * SIM_SCALE)
#define MAPS_AT     UINT64_C(0x200000000000)
#define PAGE        UINT64_C(4096)

enum { MAPS_MAX = 256 * SIM_SCALE, SHARED_MAX = 16 * SIM_SCALE, GARBAGE = 0xa5 };

struct map {
    uint64_t at, bytes, offset;
    int fd; /* -1: nothing is behind it */
};

static uint8_t *arena;
static uint64_t arena_used;
static struct map maps[MAPS_MAX], shared[SHARED_MAX];
static uint32_t n_maps, n_shared;
static uint64_t maps_next;

static void arena_make(void)
{
    arena = mmap(SIM_AT(ARENA_AT), ARENA_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | SIM_FIXED, -1, 0);
    if (arena == MAP_FAILED || (SIM_FIXED && arena != SIM_AT(ARENA_AT))) {
        perror("simulate: memory at a fixed address");
        exit(2);
    }
}

void memory_begin(void)
{
    if (!arena)
        arena_make();
    memory_crash();
    n_shared = 0;
}

void memory_crash(void)
{
    memset(arena, 0, arena_used);
    arena_used = 0;
    for (uint32_t i = 0; i < n_maps; i++)
        munmap((void *)maps[i].at, maps[i].bytes);
    n_maps = 0;
    maps_next = MAPS_AT;
}

static void *allocate(size_t alignment, size_t size)
{
    uint64_t at = (arena_used + sizeof(uint64_t) + alignment - 1) & ~(uint64_t)(alignment - 1);
    if (at + size > ARENA_BYTES)
        sim_fail("the engine has allocated more than %u MiB", (unsigned)(ARENA_BYTES >> 20));
    memcpy(arena + at - sizeof(uint64_t), &(uint64_t){ size }, sizeof(uint64_t));
    arena_used = at + size;
    return arena + at;
}

void *sim_malloc(size_t size)
{
    return memset(allocate(16, size), GARBAGE, size);
}

void *sim_aligned_alloc(size_t alignment, size_t size)
{
    return memset(allocate(alignment < 16 ? 16 : alignment, size), GARBAGE, size);
}

void *sim_calloc(size_t n, size_t size)
{
    return allocate(16, n * size);
}

void *sim_realloc(void *memory, size_t size)
{
    uint8_t *larger = sim_malloc(size);
    uint64_t had = 0;
    if (memory)
        memcpy(&had, (uint8_t *)memory - sizeof(had), sizeof(had));
    if (memory)
        memcpy(larger, memory, had < size ? had : size);
    return larger;
}

/* What is freed is not used again before the engine is closed; who still looks at it finds
 * garbage. */
void sim_free(void *memory)
{
    uint64_t size;
    if (!memory)
        return;
    memcpy(&size, (uint8_t *)memory - sizeof(size), sizeof(size));
    memset(memory, GARBAGE, size);
}

static void map_note(uint64_t at, uint64_t bytes, int fd, off_t offset)
{
    if (n_maps == MAPS_MAX)
        sim_fail("the engine maps more than %d times", MAPS_MAX);
    maps[n_maps++] = (struct map){ .at = at, .bytes = bytes, .offset = (uint64_t)offset, .fd = fd };
}

void *sim_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd < 0 && protection != PROT_NONE)
        return allocate(PAGE, size);
    void *at = address;
    if (!(flags & MAP_FIXED)) {
        at = SIM_AT(maps_next);
        maps_next += ((size + PAGE - 1) & ~(PAGE - 1)) + PAGE;
    }
    void *got = mmap(at, size, protection, flags | (at ? MAP_FIXED : 0), fd, offset);
    if (got != MAP_FAILED)
        map_note((uint64_t)(uintptr_t)got, size, fd, offset);
    return got;
}

int sim_munmap(void *address, size_t size)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    if (at >= (uintptr_t)arena && at < (uintptr_t)arena + ARENA_BYTES) {
        memset(address, GARBAGE, size);
        return 0;
    }
    /* the kernel interrupts all processors for it, which empties their store buffers */
    for (uint32_t i = 0; i < FIBERS_MAX; i++)
        stores_empty(&sim.fibers[i]);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_maps; i++)
        if (maps[i].at < at || maps[i].at >= at + size)
            maps[kept++] = maps[i];
    n_maps = kept;
    return munmap(address, size);
}

void memory_share(void *at, uint64_t bytes, int fd)
{
    for (uint32_t i = 0; i < n_shared; i++)
        if (shared[i].at == (uint64_t)(uintptr_t)at)
            return;
    shared[n_shared++] = (struct map){ .at = (uint64_t)(uintptr_t)at, .bytes = bytes, .fd = fd };
}

static bool map_has(const struct map *map, uint64_t at)
{
    return at >= map->at && at < map->at + map->bytes;
}

uint64_t memory_place(const volatile void *address)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    const struct map *found = NULL;
    for (uint32_t i = 0; i < n_maps; i++) /* later ones lie on top */
        found = map_has(&maps[i], at) ? &maps[i] : found;
    for (uint32_t i = 0; i < n_shared; i++)
        found = map_has(&shared[i], at) ? &shared[i] : found;
    return found && found->fd >= 0
               ? (uint64_t)(found->fd + 1) << 40 | (found->offset + (at - found->at))
               : 0;
}
