/* SPDX-License-Identifier: Apache-2.0 */
/* What the heads of savina-kept.so have in common. Unlike those of savina.so (../program.h) they
 * are kept over crashes: what a head knows is in its state, and who it is in its actors'.
 *
 * A client calls savina_run, which is answered in a later turn, when all but the head have ended,
 * and then savina_check (../savina.h).
 */
#ifndef KEPT_H
#define KEPT_H

#include "../savina.h"

#include <errno.h>
#include <odeon/plugin.h>
#include <stdbool.h>
#include <stdint.h>

enum { KEPT_STATE_MAX = 512 }; /* durable-bytes, as a service comes */

#define KEPT_FITS(name_)                                                                           \
    _Static_assert(sizeof(struct name_##_state) <= KEPT_STATE_MAX, "a state is kept by default")

struct kept_head {
    struct odeon_promise client;
};

/* The running message is answered later. */
void kept_head_begin(struct kept_head *head, struct odeon_context *ctx);
/* False: it is not, and the client has been told; the head is to end. */
bool kept_in_range(struct kept_head *head, struct odeon_context *ctx, const char *field,
                   uint64_t value, uint64_t least, uint64_t most);
void kept_head_done(struct kept_head *head, struct odeon_context *ctx, uint64_t messages);
/* The verdict, to the running message; `format` says what is not right. */
__attribute__((format(printf, 3, 4))) void kept_tell(struct odeon_context *ctx, bool right,
                                                     const char *format, ...);
/* Around each send and spawn. What fails is in the log, and the program comes to no end. */
void kept_must(struct odeon_context *ctx, int r);

#endif
