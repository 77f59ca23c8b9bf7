/* SPDX-License-Identifier: Apache-2.0 */
/* A request with one answer, from its arguments to its result: what the nouns (actor.c, client.c,
 * plugin.c ...) have in common. Each of them checks its arguments, says what it asks, and copies
 * the answer into a result.
 *
 * Threads: any. No state: a struct admin_call lives as long as its call.
 *
 * admin_call.AC1  A result is handed out whole or not at all: when memory runs out, or the answer
 *      lacks what belongs to it, it is freed and the caller's pointer is NULL.
 * admin_call.AC2  Nothing of the answer is kept: strings and rows are copied into the result
 *     (arena.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <odeon/admin.h>

#include "client-lib/src/arena.h"
#include "client-lib/src/error.h"
#include "client-lib/src/request.h"

struct admin_call {
    Odeon__Request__BodyCase request; /* what is asked, ... */
    void *body;                       /* ... and its message */
    Odeon__Reply__BodyCase reply;     /* what must answer it */
    /* Of the result, which is allocated and belongs to the caller; 0: `fill` writes into `ret`
     * itself, which the caller brought and which may be NULL. */
    size_t size;
    void *ret;
    /* Copies the answer. 0, or an error with its text. NULL: only the outcome matters. */
    int (*fill)(const struct admin_call *call, void *result, const Odeon__Reply *reply);
    uint64_t after; /* of a page: the key that was asked for */
};

/* 0, or a negative errno with its text. -EINVAL: no place for a result that is allocated. */
int admin_call(struct odeon_client *client, const struct admin_call *call);

/* Arguments that would be refused less clearly from afar; the service checks everything again. */
int admin_check_name(const char *what, const char *name);
int admin_check_given(const char *what, const char *name);

/* protobuf-c's structs have no const; what is packed is only read. NULL is sent as "". */
static inline char *admin_string(const char *string)
{
    return (char *)(uintptr_t)(string ? string : "");
}

static inline Odeon__Page admin_page(uint64_t after, uint32_t rows)
{
    Odeon__Page page = ODEON__PAGE__INIT;

    page.after = after;
    page.rows = rows;
    return page;
}

/* Room for a page's rows in a result that is a list; `next` is set for a page without rows. */
void *admin_list_rows(const struct admin_call *call, struct odeon_list *list, size_t n,
                      size_t row_size, int more);
/* Copies of strings; NULL with *ret_n = 0 when there are none. */
const char **admin_copy_strings(void *result, char *const *strings, size_t n, size_t *ret_n);
