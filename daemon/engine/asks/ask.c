/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/asks/ask.h"

#include <errno.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/asks/answer.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/core/tag.h"
#include "daemon/engine/send/refuse.h"
#include "daemon/engine/timers/shelf.h"
#include "daemon/engine/timers/timers.h"

static const struct envelope *ask_message(const struct engine *e, uint32_t number)
{
    return segment_timer_message(&e->segment, &e->segment.timers[number]);
}

/* ask.Q4 */
static uint64_t ask_token(const struct engine *e, uint64_t id)
{
    const uint64_t number = (UINT64_C(1) << ASK_NUMBER_BITS) - 1;
    return (answer_sign_id(e, id) & ~number) | (uint32_t)id;
}

static void ask_write_deadline(struct envelope *at, const struct worker *w,
                               const struct timer_request *request, uint64_t id)
{
    refuse_no_answer_write(at, w, request->to, request->asked, ask_token(w->engine, id),
                           REASON_DEADLINE);
}

/* False: no shelf is for it, or none has room. */
static bool ask_open_on_shelf(struct worker *w, actor_ref to, uint64_t timeout_ns,
                              uint64_t *ret_token)
{
    struct engine *e = w->engine;
    if (timeout_ns < SHELF_TIMEOUT_MIN_NS || timeout_ns > TIMER_DELAY_MAX_NS || tag_of(w))
        return false;
    struct shelf_slot *slot = shelf_pick(w);
    if (!slot)
        return false;
    *ret_token = ask_token(e, shelf_id(&e->segment, slot));
    refuse_no_answer_write(segment_timer_message(&e->segment, &e->segment.timers[slot->timer]), w,
                           w->ctx.self, to, *ret_token, REASON_DEADLINE);
    shelf_ask(w, slot, *ret_token, timeout_ns);
    return true;
}

static int ask_open_timer(struct worker *w, actor_ref to, uint64_t timeout_ns, uint64_t *ret_token)
{
    const struct timer_request request = {
        .to = w->ctx.self,
        .asked = to,
        .fill = ask_write_deadline,
        /* of which timers.h takes one optional word for granted */
        .size = refuse_no_answer_length(w) - envelope_prefix_bytes(PREFIX_CORRELATION),
        .delay_ns = timeout_ns,
    };
    uint64_t id;
    int r = timers_arm(w, &request, &id);
    if (r == 0) /* this turn's own: nobody changes it meanwhile */
        *ret_token = envelope_correlation(ask_message(w->engine, (uint32_t)id));
    return r;
}

int ask_open(struct worker *w, actor_ref to, uint64_t timeout_ns, uint64_t *ret_token)
{
    if (timeout_ns == 0)
        timeout_ns = ASK_DEFAULT_NS;
    if (w->ctx.self == 0)
        return -EPERM;
    if (!actors_self_accepts(w, MESSAGE_TYPE_NO_ANSWER))
        return -EOPNOTSUPP;
    if (ask_open_on_shelf(w, to, timeout_ns, ret_token))
        return 0;
    return ask_open_timer(w, to, timeout_ns, ret_token);
}

static uint32_t ask_number(uint64_t token)
{
    return (uint32_t)token & ((1u << ASK_NUMBER_BITS) - 1);
}

/* The question behind a token, and its timer's id; NULL: there is none that is open, of this
 * life. Nobody's shelf has it any more. */
static const struct envelope *ask_find(struct engine *e, uint64_t token, uint64_t *ret_id)
{
    uint32_t number = ask_number(token);
    if (number >= e->segment.n_timers || !shelf_clear(e, number))
        return NULL;
    *ret_id = timer_id(&e->segment, number);
    if (!timers_is_there(&e->segment, *ret_id))
        return NULL;
    const struct segment_timer *timer = &e->segment.timers[number];
    const struct envelope *message = ask_message(e, number);
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(timer->owner)].key);
    return message->flags & ENVELOPE_REPLY && envelope_correlation(message) == token &&
                   !timers_is_of_another_life(e, timer, key)
               ? message
               : NULL;
}

static int ask_claim_timer(struct worker *w, uint64_t token)
{
    struct engine *e = w->engine;
    uint64_t id;
    lock_take(&e->timers.mutex);
    timers_settle(w, TIMER_SETTLES);
    int r = ask_find(e, token, &id) ? timers_claim(w, id) : -ENOENT;
    lock_give(&e->timers.mutex);
    return r;
}

/* ask.Q1 */
static int ask_claim(struct worker *w, uint64_t token)
{
    uint32_t number = ask_number(token);
    if (unlikely(number >= w->engine->segment.n_timers))
        return -ENOENT;
    int r = shelf_claim(w, token, number);
    return likely(r != -EAGAIN) ? r : ask_claim_timer(w, token);
}

int ask_take(struct worker *w, uint64_t token)
{
    return VALUE(ask_taken, ask_claim(w, token), w, token);
}

int ask_cancel(struct worker *w, uint64_t token)
{
    int r = ask_claim(w, token);
    if (r == 0)
        stat_add(w, STAT_asks_withdrawn, 1);
    return r;
}

bool ask_is_open(const struct worker *w, uint64_t token, actor_ref asker)
{
    struct engine *e = w->engine;
    if (shelf_has(w, token, ask_number(token), asker))
        return true;
    lock_take(&e->timers.mutex);
    uint64_t id;
    const struct envelope *question = ask_find(e, token, &id);
    bool open = question && question->to == asker;
    lock_give(&e->timers.mutex);
    return open;
}
