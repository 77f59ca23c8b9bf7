/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/file_pages.h"

#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512 }; /* of st_blocks, whatever the file system's are */

void file_pages_begin(struct file_pages *pages, int fd, struct file_part *parts, size_t n_parts)
{
    *pages = (struct file_pages){ .fd = fd, .parts = parts, .n_parts = n_parts };
    for (size_t i = 0; i < n_parts; i++)
        parts[i].bytes = 0;
}

/* file_pages.FP2: a stretch may lie in several parts, or beside all. */
static void file_pages_add(struct file_pages *pages, uint64_t from, uint64_t to)
{
    while (pages->part < pages->n_parts) {
        struct file_part *part = &pages->parts[pages->part];
        uint64_t begin = from > part->from ? from : part->from, end = to < part->to ? to : part->to;

        if (begin < end)
            part->bytes += end - begin;
        if (to <= part->to)
            return;
        pages->part++;
    }
}

bool file_pages_step(struct file_pages *pages)
{
    for (unsigned i = 0; i < FILE_PAGES_STEP; i++) {
        off_t data = lseek(pages->fd, (off_t)pages->offset, SEEK_DATA), hole;

        if (data < 0) /* nothing more, mostly */
            return true;
        hole = lseek(pages->fd, data, SEEK_HOLE);
        if (hole < 0)
            return true;
        file_pages_add(pages, (uint64_t)data, (uint64_t)hole); /* empty: given back meanwhile */
        pages->offset = (uint64_t)hole;
    }
    return false;
}

uint64_t file_pages_all(int fd)
{
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 ? (uint64_t)status.st_blocks * BLOCK : 0;
}
