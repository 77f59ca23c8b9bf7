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
#include <unistd.h>

#include "crash.h"
#include "daemon/common/memfd.h"
#include "proto/stats_layout.h"

enum { PAGE = 4096 };

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
    region->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, region->fd, 0);
    check(name, region->map != MAP_FAILED);
}

void world_make(struct world *world)
{
    region_make(&world->region[REGION_SEGMENT], "segment", engine_segment_size(life_config()));
    region_make(&world->region[REGION_LEDGER], "ledger", (sizeof(struct ledger) + PAGE - 1) & ~(uint64_t)(PAGE - 1));
    for (unsigned i = 0; i < 2 * N_PORTS; i++)
        region_make(&world->region[REGION_PORT + i], "port", PORT_RING_OFFSET + PORT_RING);
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
        image->piece[image->n++] = (struct piece){ .region = region, .at = at, .bytes = PAGE, .content = image->bytes };
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
        if (memcmp(image->content + piece->content, world->region[piece->region].map + piece->at, piece->bytes) != 0)
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
        check("punch", fallocate(world->region[r].fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)world->region[r].bytes) == 0);
    for (uint32_t i = 0; i < image->n; i++) {
        const struct piece *piece = &image->piece[i];
        check("pwrite", pwrite(world->region[piece->region].fd, image->content + piece->content, piece->bytes, (off_t)piece->at) == (ssize_t)piece->bytes);
    }
}

/* Of what is not zero: a page of zeros is as good as none, which a reader makes one of. */
uint64_t image_hash(const struct image *image)
{
    uint64_t hash = UINT64_C(14695981039346656037), prime = UINT64_C(1099511628211);
    for (uint32_t i = 0; i < image->n; i++) {
        const struct piece *piece = &image->piece[i];
        for (uint64_t page = 0; page < piece->bytes; page += PAGE) {
            const uint64_t *words = (const uint64_t *)(image->content + piece->content + page);
            if (is_zero((const uint8_t *)words, PAGE))
                continue;
            hash = (hash ^ (piece->at + page + piece->region)) * prime;
            for (unsigned w = 0; w < PAGE / 8; w++)
                hash = (hash ^ words[w]) * prime;
        }
    }
    return hash;
}
