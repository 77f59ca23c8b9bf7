/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/recovery/verify_walk.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

enum {
    PIECE_BYTES = 1 << 20, /* some 100 us: whoever is last is not waited for long */
    SHARE_BYTES = 8 << 20, /* less is not worth a thread */
    HELPERS_MAX = 7,
};
static_assert(PIECE_BYTES >= ENVELOPE_SIZE_MAX, "a piece holds a record");

uint64_t walk_record_size(uint64_t meta, uint64_t left)
{
    uint64_t length = (uint16_t)(meta >> 16), words = envelope_prefix_bytes(meta >> 56);
    return (uint16_t)meta != MESSAGE_TYPE_NONE && length <= ODEON_PAYLOAD_MAX + words &&
                   envelope_size(length) <= left
               ? envelope_size(length)
               : 0;
}

/* What holds for a record holds for the next one with the same third word: then nothing that is
 * loaded says where the one behind it begins, and the processor need not wait for it. */
uint64_t walk_records(uint32_t actors_max, const uint8_t *base, uint64_t at, uint64_t stop,
                      uint64_t end, actor_ref least)
{
    uint64_t last = MESSAGE_TYPE_NONE, size = UINT64_MAX;
    while (at < stop && end - at >= sizeof(struct envelope)) {
        const uint64_t *words = (const uint64_t *)(base + at);
        uint64_t meta = words[2];
        if (unlikely(meta != last || size > end - at)) {
            size = walk_record_size(meta, end - at);
            if (size == 0)
                break;
            last = meta;
        }
        if (unlikely(actor_ref_slot(words[0]) >= actors_max) && (words[0] != 0 || least != 0))
            break;
        at += size;
    }
    return at;
}

static int verify_walk_piece_add(struct walk *walk, const struct walk_piece *piece)
{
    if (walk->n == walk->room) {
        uint32_t room = walk->room ? 2 * walk->room : 256;
        struct walk_piece *pieces = realloc(walk->pieces, room * sizeof(*pieces));
        if (!pieces)
            return -ENOMEM;
        walk->pieces = pieces;
        walk->room = room;
    }
    walk->pieces[walk->n++] = *piece;
    return 0;
}

int walk_add(struct walk *walk, struct walk_piece what)
{
    uint64_t left = what.end - what.from, size = 0;
    walk->bytes += left;
    if (left > PIECE_BYTES)
        size = walk_record_size(((const uint64_t *)(what.base + what.from))[2], left);
    int r = 0;
    what.more = true;
    if (size > 0)
        for (uint64_t step = PIECE_BYTES / size * size; r == 0 && what.end - what.from > step;
             what.from = what.stop) {
            what.stop = what.from + step;
            r = verify_walk_piece_add(walk, &what);
        }
    what.stop = what.end;
    what.more = false;
    return r == 0 ? verify_walk_piece_add(walk, &what) : r;
}

static uint64_t verify_walk_piece_walk(const struct walk *walk, const struct walk_piece *piece,
                                       uint64_t at)
{
    return walk_records(walk->actors_max, piece->base, at, piece->stop, piece->end, piece->least);
}

/* relaxed: who has which piece is all that it says; pthread_create() and pthread_join() order the
 * pieces. */
static void *verify_walk_pieces_walk(void *userdata)
{
    struct walk *walk = userdata;
    for (uint32_t i;
         (i = atomic_fetch_add_explicit(&walk->next, 1, memory_order_relaxed)) < walk->n;)
        walk->pieces[i].reached =
            verify_walk_piece_walk(walk, &walk->pieces[i], walk->pieces[i].from);
    return NULL;
}

static uint32_t verify_walk_helpers_wanted(const struct walk *walk)
{
    uint64_t wanted = walk->bytes / SHARE_BYTES;
    cpu_set_t allowed;
    if (wanted == 0 || sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
        return 0;
    uint32_t others = (uint32_t)CPU_COUNT(&allowed) - 1;
    wanted = wanted < others ? wanted : others;
    return wanted < HELPERS_MAX ? (uint32_t)wanted : HELPERS_MAX;
}

/* verify_walk.W1: from the front, taking over what counts. */
static const struct walk_piece *verify_walk_pieces_join(const struct walk *walk, uint64_t *ret_at)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < walk->n; i++) {
        const struct walk_piece *piece = &walk->pieces[i];
        if (i == 0 || !piece[-1].more)
            at = piece->from;
        at = at == piece->from ? piece->reached : verify_walk_piece_walk(walk, piece, at);
        if (at < piece->stop) {
            *ret_at = at;
            return piece;
        }
    }
    return NULL;
}

const struct walk_piece *walk_all(struct walk *walk, uint64_t *ret_at)
{
    pthread_t helpers[HELPERS_MAX];
    uint32_t n = 0, wanted = verify_walk_helpers_wanted(walk);
    /* the fewer, the longer */
    while (n < wanted && pthread_create(&helpers[n], NULL, verify_walk_pieces_walk, walk) == 0)
        n++;
    verify_walk_pieces_walk(walk);
    while (n > 0)
        pthread_join(helpers[--n], NULL);
    return verify_walk_pieces_join(walk, ret_at);
}

void walk_free(struct walk *walk)
{
    free(walk->pieces);
    walk->pieces = NULL;
}
