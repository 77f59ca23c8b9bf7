/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of message types, by the address of their descriptions.
 *
 * Any thread; a lock of its own, held for a look only. Names and versions are kept beside the
 * address, and what else describes the type: a description that was unloaded may have left its
 * address to another one, and one in memory may be changed where it is.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <odeon/message.h>

#include "proto/bounds.h"

struct name_entry {
    const struct odeon_message_type *type; /* NULL: free */
    uint32_t id, version, size, has_tail;
    uint64_t fields; /* a hash */
    char name[ODEON_NAME_MAX + 1];
};

struct names {
    pthread_mutex_t mutex;
    /* open addressing; `size` is a power of two, at most half of it used */
    struct name_entry *entries;
    size_t size, used;
    /* by id: the description that was given last; as many as `n_ids` */
    const struct odeon_message_type **ids;
    size_t n_ids;
};

void names_init(struct names *names);
void names_fini(struct names *names);
uint32_t names_find(struct names *names, const struct odeon_message_type *type); /* 0: not known */
/* The description that was added for an id, NULL: none. */
const struct odeon_message_type *names_of(struct names *names, uint32_t id);
/* Best effort: without memory the next odeon_message_id() asks the service again. */
void names_add(struct names *names, const struct odeon_message_type *type, uint32_t id);
