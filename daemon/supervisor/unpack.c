/* SPDX-License-Identifier: Apache-2.0 */
/* Requests from their bytes; the interface is in unpack.h. */
#include "daemon/supervisor/unpack.h"

#include <stdbool.h>
#include <stdlib.h>

#include "daemon/common/check.h"

struct unpack_memory {
    size_t allocated, most;
    bool too_much, lacking;
};

static void *unpack_alloc(void *userdata, size_t size)
{
    struct unpack_memory *memory = userdata;
    void *piece;

    if (size > memory->most - memory->allocated) {
        memory->too_much = true;
        return NULL;
    }
    piece = malloc(size);
    memory->lacking |= !piece;
    memory->allocated += size;
    check("unpack.P1", memory->allocated <= memory->most);
    return piece;
}

static void unpack_free(void *userdata, void *piece)
{
    (void)userdata;
    free(piece);
}

Odeon__Request *unpack_request(const struct frame *frame, enum unpack_end *ret_end,
                               size_t *ret_bytes)
{
    struct unpack_memory memory = { .most = UNPACK_BASE + UNPACK_TIMES * frame->size };
    ProtobufCAllocator allocator = { unpack_alloc, unpack_free, &memory };
    Odeon__Request *request = odeon__request__unpack(&allocator, frame->size, frame->data);

    *ret_bytes = memory.allocated;
    *ret_end = request           ? UNPACK_DONE
               : memory.too_much ? UNPACK_TOO_COSTLY
               : memory.lacking  ? UNPACK_NO_MEMORY
                                 : UNPACK_SENSELESS;
    return request;
}
