/* SPDX-License-Identifier: Apache-2.0 */
/* An answer in the making: the protobuf message, the memory behind it, the text of a refusal.
 *
 * On the stack of whoever answers a request; control thread only.
 *
 * reply.A1  Everything that the message points to lives until reply_fini(): in the reply's own
 *     memory, or in the engine's and plugins' tables, which the control thread alone changes.
 * reply.A2  A page is cut where the next row might not fit into one frame.
 */
#pragma once

#include <stdbool.h>

#include "daemon/executor/explain.h"
#include "proto/control.pb-c.h"

struct reply {
    Odeon__Reply message;
    struct explain explain;
    struct reply_chunk *chunks;
    size_t rows_size;
};

void reply_init(struct reply *reply, uint64_t id);
void reply_fini(struct reply *reply);
/* Zeroed memory of the reply's; NULL: there is none. */
void *reply_alloc(struct reply *reply, size_t size);
char *reply_strdup(struct reply *reply, const char *text);
/* Error and text of a refusal, from reply->explain or, when that is empty, strerror(). Takes the
 * body away. */
void reply_refuse(struct reply *reply, int error);

/* How many rows a page asks for, within the bounds. */
size_t reply_page_rows(const Odeon__Page *page);
/* Whether the row still fits: then it is counted. */
bool reply_row_fits(struct reply *reply, const ProtobufCMessage *row);
/* Strings of the engine, which are constant, as protobuf-c wants them. */
char *reply_string(const char *text);
/* Sets the reply's body to one that says no more than that it went well, or to one reference. */
int reply_ok(struct reply *reply);
int reply_ref(struct reply *reply, uint64_t ref);
