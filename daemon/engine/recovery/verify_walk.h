/* SPDX-License-Identifier: Apache-2.0 */
/* The walk from header to header over all records that wait: what a look at a segment costs when a
 * million of them do. Where there are many, several threads walk.
 *
 * Where a record begins is told by the one in front of it alone. So a long stretch is cut by guess,
 * as if all its records were as large as the first one, and each piece is walked from where it was
 * cut to the first record at or behind its end. What that has found counts if the walk that comes
 * from the front begins a record exactly there; else it goes on over this piece itself. Records of
 * one size, which is what a million of them mostly are, are walked once, by all; of others at most
 * once more.
 *
 * Threads: the control thread, and helpers that end before walk_all() returns. Nothing is written
 * but the pieces.
 *
 * verify_walk.W1  The answer is that of one walk from the front, whatever was guessed, and however
 *     many threads there are.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* [from, end) of a buffer, by one record after the other; a piece of it while `more`. */
struct walk_piece {
    const uint8_t *base;
    uint64_t from, stop, end; /* stop: of this piece */
    uint64_t reached;         /* the first record at or behind `stop`, or where none can be */
    actor_ref least;
    uint32_t queue;
    uint8_t buffer;
    bool more;
};

struct walk {
    uint32_t actors_max;
    struct walk_piece *pieces;
    uint32_t n, room;
    uint64_t bytes; /* of all */
    _Atomic uint32_t next;
};

/* Of a record with this third word, where `left` bytes are; 0: there is none. */
uint64_t walk_record_size(uint64_t meta, uint64_t left);
/* Walks the headers of [at, end) until one is at or behind `stop`; that, or where no record can be.
 * `least`: 1 where nobody is no receiver. */
uint64_t walk_records(uint32_t actors_max, const uint8_t *base, uint64_t at, uint64_t stop,
                      uint64_t end, actor_ref least);

/* Piece by piece at the end of the list, `what` with base, from, end, least, queue and buffer.
 * -ENOMEM. */
int walk_add(struct walk *walk, struct walk_piece what);
/* NULL: records, everywhere.  Else the first piece of which that is not true, and where. */
const struct walk_piece *walk_all(struct walk *walk, uint64_t *ret_at);
void walk_free(struct walk *walk);
