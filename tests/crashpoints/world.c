/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives a process, and images of it. */
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "crash.h"
#include "daemon/common/memfd.h"
#include "daemon/common/page.h"
#include "proto/segment_layout.h"
#include "proto/stats_layout.h"

static void check(const char *what, bool good)
{
    if (!good) {
        perror(what);
        exit(2);
    }
}

static void region_make(struct region *region, const char *name, uint64_t bytes)
{
    region->bytes = bytes;
    region->fd = memfd_make_sealed(name, bytes);
    check(name, region->fd >= 0);
    region->map =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, region->fd, 0);
    check(name, region->map != MAP_FAILED);
}

/* Where the queues lie, once the first world has a segment: in the same place in all of them. */
static struct {
    const struct segment_header *header;
    uint64_t from, bytes;
} queues;

void world_make(struct world *world)
{
    region_make(&world->region[REGION_SEGMENT], "segment", engine_segment_size(life_config()));
    if (!queues.header)
        queues.header = (const struct segment_header *)world->region[REGION_SEGMENT].map;
    region_make(&world->region[REGION_LEDGER], "ledger",
                (sizeof(struct ledger) + PAGE - 1) & ~(uint64_t)(PAGE - 1));
    for (unsigned i = 0; i < 2 * N_PORTS; i++)
        region_make(&world->region[REGION_PORT + i], "port",
                    port_ring_offset(page_bytes()) + PORT_RING);
    for (unsigned i = 0; i < N_PORTS; i++)
        check("eventfd", (world->doorbell_fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
    check("stats", (world->stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE)) >= 0);
}

static uint64_t blocks_of(const struct region *region)
{
    struct stat st;
    check("fstat", fstat(region->fd, &st) == 0);
    return (uint64_t)st.st_blocks;
}

static bool is_zero(const uint8_t *at, uint64_t bytes)
{
    return at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0;
}

static void piece_add(struct image *image, uint32_t region, uint64_t at, const uint8_t *from)
{
    struct piece *last = image->n ? &image->piece[image->n - 1] : NULL;
    if (image->bytes + PAGE > image->bytes_room) {
        image->bytes_room = 2 * image->bytes_room + 64ul * PAGE;
        image->content = realloc(image->content, image->bytes_room);
        check("image", image->content != NULL);
    }
    memcpy(image->content + image->bytes, from, PAGE);
    if (last && last->region == region && last->at + last->bytes == at) {
        last->bytes += PAGE;
    } else {
        if (image->n == image->room) {
            image->room = 2 * image->room + 64;
            image->piece = realloc(image->piece, image->room * sizeof(*image->piece));
            check("image", image->piece != NULL);
        }
        image->piece[image->n++] =
            (struct piece){ .region = region, .at = at, .bytes = PAGE, .content = image->bytes };
    }
    image->bytes += PAGE;
}

void image_take(struct image *image, const struct world *world)
{
    image->n = 0;
    image->bytes = 0;
    for (uint32_t r = 0; r < N_REGIONS; r++) {
        const struct region *region = &world->region[r];
        image->blocks[r] = blocks_of(region);
        for (off_t at = 0, end; (at = lseek(region->fd, at, SEEK_DATA)) >= 0; at = end) {
            end = lseek(region->fd, at, SEEK_HOLE);
            check("SEEK_HOLE", end > at);
            for (off_t page = at; page < end; page += PAGE)
                piece_add(image, r, (uint64_t)page, region->map + page);
        }
    }
}

static bool pieces_differ(const struct image *image, const struct world *world)
{
    for (uint32_t i = 0; i < image->n; i++) {
        const struct piece *piece = &image->piece[i];
        if (memcmp(image->content + piece->content, world->region[piece->region].map + piece->at,
                   piece->bytes) != 0)
            return true;
    }
    return false;
}

bool image_differs(const struct image *image, const struct world *world)
{
    for (uint32_t r = 0; r < N_REGIONS; r++)
        if (blocks_of(&world->region[r]) != image->blocks[r])
            return true;
    return pieces_differ(image, world);
}

void image_restore(const struct image *image, const struct world *world)
{
    for (uint32_t r = 0; r < N_REGIONS; r++)
        check("punch", fallocate(world->region[r].fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                                 (off_t)world->region[r].bytes) == 0);
    for (uint32_t i = 0; i < image->n; i++) {
        const struct piece *piece = &image->piece[i];
        check("pwrite", pwrite(world->region[piece->region].fd, image->content + piece->content,
                               piece->bytes, (off_t)piece->at) == (ssize_t)piece->bytes);
    }
}

/* ---- what a state is known by ---- */

/* An owner word: each start stores it anew before it is read (recover_run), whatever it was. */
static bool word_is_owner(uint64_t where)
{
    if (queues.bytes == 0) {
        queues.from = where_of(REGION_SEGMENT, queues.header->queues_offset);
        queues.bytes = queues.header->n_queues * sizeof(struct segment_queue);
    }
    return where - queues.from < queues.bytes &&
           (where - queues.from) % sizeof(struct segment_queue) ==
               offsetof(struct segment_queue, own);
}

/* Words that count starts of an executor: whether there was one before is all that the engine makes
 * of its own, and clients compare theirs for being equal. Words that count wake-ups: a client
 * sleeps on them. Otherwise no two recoveries would leave the same. */
static uint64_t word_known_by(uint64_t where, uint64_t value)
{
    const uint64_t boots = where_of(REGION_SEGMENT, offsetof(struct segment_header, boots)),
                   low = UINT32_MAX;
    const uint64_t epoch = offsetof(struct port_executor, epoch),
                   futexes = offsetof(struct port_executor, delivery_futex);
    static_assert(offsetof(struct port_executor, room_futex) ==
                      offsetof(struct port_executor, delivery_futex) + 4,
                  "one word");
    const bool executors =
        where >> WHERE_BITS >= REGION_PORT && (where >> WHERE_BITS) % 2 != REGION_PORT % 2;
    if (where == boots)
        return value > 0;
    if (executors && (where & WHERE_MASK) == epoch)
        return (value & ~low) | ((value & low) > 0);
    if ((executors && (where & WHERE_MASK) == futexes) || word_is_owner(where))
        return 0;
    return value;
}

uint64_t word_hash(uint64_t where, uint64_t value)
{
    value = word_known_by(where, value);
    if (value == 0)
        return 0;
    uint64_t x = (value ^ (where * UINT64_C(0x9e3779b97f4a7c15))) + (where << 17 | where >> 47);
    for (unsigned i = 0; i < 2; i++) {
        x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
        x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    }
    return x ^ x >> 32;
}

static uint64_t page_hash(uint32_t region, uint64_t at, const uint8_t *page)
{
    uint64_t hash = 0;
    if (is_zero(page, PAGE))
        return 0;
    for (uint64_t byte = 0; byte < PAGE; byte += 8)
        hash += word_hash(where_of(region, at + byte), *(const uint64_t *)(page + byte));
    return hash;
}

uint64_t image_hash(const struct image *image)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < image->n; i++)
        for (uint64_t page = 0; page < image->piece[i].bytes; page += PAGE)
            hash += page_hash(image->piece[i].region, image->piece[i].at + page,
                              image->content + image->piece[i].content + page);
    return hash;
}

void page_changes(uint64_t where, const void *before, const void *after,
                  struct recording *recording)
{
    const uint64_t *from = before, *to = after;
    for (unsigned i = 0; i < PAGE / 8; i++)
        if (from[i] != to[i])
            recording_change(recording, where + 8 * i, from[i], to[i]);
}

/* The page of an image behind those that have been taken of it: *piece and *page go on. */
static uint64_t page_at(const struct image *image, uint32_t piece, uint64_t page)
{
    return piece < image->n ? where_of(image->piece[piece].region, image->piece[piece].at + page)
                            : UINT64_MAX;
}

static const uint8_t *page_take(const struct image *image, uint32_t *piece, uint64_t *page)
{
    const struct piece *present = &image->piece[*piece];
    const uint8_t *at = image->content + present->content + *page;
    *page += PAGE;
    if (*page == present->bytes) {
        *page = 0;
        ++*piece;
    }
    return at;
}

void image_changes(const struct image *before, const struct image *after,
                   struct recording *recording)
{
    static const uint8_t none[PAGE] __attribute__((aligned(8)));
    uint32_t piece[2] = { 0 };
    uint64_t page[2] = { 0 };
    for (;;) {
        uint64_t from = page_at(before, piece[0], page[0]), to = page_at(after, piece[1], page[1]),
                 where = from < to ? from : to;
        if (where == UINT64_MAX)
            return;
        const uint8_t *old = from == where ? page_take(before, &piece[0], &page[0]) : none;
        const uint8_t *new = to == where ? page_take(after, &piece[1], &page[1]) : none;
        if (memcmp(old, new, PAGE) != 0)
            page_changes(where, old, new, recording);
    }
}

/* The hour is not the world's: of two lives that do the same each leaves the same. */
int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    if (clock == CLOCK_REALTIME) {
        *ret_time = (struct timespec){ .tv_sec = 1000000000 };
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, ret_time);
}
