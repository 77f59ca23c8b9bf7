/* SPDX-License-Identifier: Apache-2.0 */
/* Answering later: what an actor keeps of a message that it will answer in another turn, in its
 * state or in a message. It is a plain value, and may have been through anybody's hands; so it is
 * signed, with a key of the segment's: who has none of the service's cannot make one.
 *
 * answer.N1  The signature is SipHash-2-4 of who asked and of the correlation id. What does not
 *     match is refused: nobody sends in an actor's name what no message of its own has allowed.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Of a question's timer: nobody's guess without the segment's key. The shorter SipHash, of which a
 * token has 44 bits, each of them good for one question. */
uint64_t answer_sign_id(const struct engine *engine, uint64_t id);

struct answer_promise {
    actor_ref to;
    uint64_t correlation; /* 0: of a message that was no call, and no question */
    uint64_t signature;
};

struct answer_promise answer_promise_make(const struct engine *engine, actor_ref to,
                                          uint64_t correlation);
bool answer_promise_is_ours(const struct engine *engine, const struct answer_promise *promise);
