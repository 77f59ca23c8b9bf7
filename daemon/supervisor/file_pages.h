/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages of a sparse memory file exist.  A file of terabytes may have a few megabytes of them,
 * so its holes are stepped over; and since there may be many stretches, they are counted by
 * instalments.
 *
 * Any thread, one at a time. The descriptor's offset is moved, which nobody else relies on.
 *
 * file_pages.FP1  A step looks at no more than FILE_PAGES_STEP stretches.
 * file_pages.FP2  Each byte of a page that existed during the whole walk is counted once, for the
 *     part that it lies in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FILE_PAGES_STEP = 256 };

/* A part of the file, and how much of it exists. */
struct file_part {
    uint64_t from, to;
    uint64_t bytes;
};

struct file_pages {
    int fd;
    struct file_part *parts; /* in the order of the file; they do not overlap */
    size_t n_parts, part;
    uint64_t offset; /* what lies before it has been counted */
};

/* `parts` are the caller's; what they have is set to 0. */
void file_pages_begin(struct file_pages *pages, int fd, struct file_part *parts, size_t n_parts);
/* True: all has been counted. */
bool file_pages_step(struct file_pages *pages);
/* All that a file has, at once: the kernel knows the sum.  0 for -1. */
uint64_t file_pages_all(int fd);
