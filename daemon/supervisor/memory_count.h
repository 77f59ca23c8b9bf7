/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a seat's segment exists, and for what: counted when somebody asks, between other work
 * of the loop.
 *
 * Event loop thread only.
 *
 * memory_count.MC1  There is one count at a time, however many ask: who asks while one goes on is
 *     told when the next one has been made, so that it counts what was there when it asked.
 * memory_count.MC2  Each asker is told once, at the end of the service without a count.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/supervisor/file_pages.h"
#include "proto/bounds.h"

enum memory_part {
    MEMORY_TABLES,
    MEMORY_ACTORS,
    MEMORY_KEPT_STATES,
    MEMORY_OUTBOXES,
    MEMORY_DEAD_LETTERS,
    MEMORY_QUEUES,
    MEMORY_PARTS,
};

/* Bytes of pages that exist.  A segment that no executor has formatted yet is all tables. */
struct memory_figures {
    uint64_t parts[MEMORY_PARTS];
    uint64_t backlogs[ODEON_PORTS_MAX];
};

struct memory_asker {
    struct memory_asker *next;
    void (*done)(struct memory_asker *asker);
};

/* In the order of the segment: the parts before the queues, each port's backlog, the queues. */
enum { MEMORY_RANGE_BACKLOGS = MEMORY_QUEUES, MEMORY_RANGES = MEMORY_QUEUES + ODEON_PORTS_MAX + 1 };

struct memory_count {
    uv_idle_t idle;                    /* runs while a count goes on */
    bool going_on;                     /* for `asked` */
    struct memory_asker *asked, *next; /* `next`: for the count behind it */
    int fd;                            /* of the last one who asked */
    struct file_pages pages;
    struct file_part ranges[MEMORY_RANGES];
    struct memory_figures figures; /* of the last count */
};

void memory_count_init(struct memory_count *count, uv_loop_t *loop);
void memory_count_fini(struct memory_count *count);
/* `fd`: the segment, which stays open as long as the loop runs; -1: there is none, and nothing of
 * it exists. The asker is told later, by the loop. */
void memory_count_ask(struct memory_count *count, int fd, struct memory_asker *asker);
/* Of the last count: once an asker has been told, it is at least as new as that asker's. */
const struct memory_figures *memory_count_get(const struct memory_count *count);
