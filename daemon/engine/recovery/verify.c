/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/recovery/verify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/recovery/verify_walk.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/timers/timer_posted.h"
#include "daemon/engine/timers/timers.h"
#include "proto/port_layout.h"

/* What is known of a queue's active buffer before the buffer itself is looked at. */
struct pending {
    uint64_t length; /* of an armed step that recovery will publish; else of the queue */
    uint64_t bytes;  /* of outboxes that recovery will flush there */
    /* worker + 1, of the group that was counted last; numbers a worker's groups */
    uint32_t touched;
    uint32_t group;
};

struct verify {
    const struct segment *segment;
    struct pending *pending; /* [dead_letters + 1] */
    /* [2 * n_queues]: of each buffer of the message queues, as recovery will leave it */
    uint32_t *window;
    const struct segment_commit **named; /* [sources]: the valid record that names it, or NULL */
    struct walk *walk;                   /* over the records of the queues' buffers */
    char *text;
};

static int __attribute__((format(printf, 2, 3)))
verify_damaged(const struct verify *v, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(v->text, VERIFY_TEXT_MAX, format, list);
    va_end(list);
    return -EPROTO;
}

/* A reference in a place where only this executor's can be (reference.Q1). */
static int verify_foreign(const struct verify *v, const char *where, uint32_t id, actor_ref ref)
{
    (void)verify_damaged(v, "%s %u: a reference of executor %u, and this one is %d", where, id,
                         actor_ref_executor(ref), ACTOR_REF_EXECUTOR);
    return -ESRCH;
}

static bool verify_is_terminated(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

/* ---- records ---- */

static const uint8_t *verify_buffer_of(const struct verify *v, uint32_t queue, unsigned buffer)
{
    const struct segment_header *h = v->segment->header;
    if (queue < v->segment->n_queues)
        return v->segment->base + h->windows_offset +
               v->window[2 * queue + buffer] * h->window_bytes;
    return segment_window(v->segment, queue, buffer);
}

/* Later, all of them together (check_waiting). */
static int verify_check_records(const struct verify *v, uint32_t queue, unsigned buffer,
                                uint64_t from, uint64_t end)
{
    if (from == end)
        return 0;
    return walk_add(v->walk, (struct walk_piece){ .base = verify_buffer_of(v, queue, buffer),
                                                  .from = from,
                                                  .end = end,
                                                  .least = queue < v->segment->n_queues,
                                                  .queue = queue,
                                                  .buffer = (uint8_t)buffer });
}

static int verify_check_waiting(const struct verify *v)
{
    uint64_t at = 0;
    const struct walk_piece *bad = walk_all(v->walk, &at);
    if (!bad)
        return 0;
    const uint64_t *words = (const uint64_t *)(bad->base + at);
    if (bad->end - at >= sizeof(struct envelope) && walk_record_size(words[2], bad->end - at) &&
        actor_ref_is_foreign(words[0]))
        return verify_foreign(v, "queue", bad->queue, words[0]);
    return verify_damaged(v, "queue %u, buffer %u: no record can be at byte %llu of %llu",
                          bad->queue, bad->buffer, (unsigned long long)at,
                          (unsigned long long)bad->end);
}

/* How far a buffer's content can reach: a message queue's has room for one more record behind
 * it. */
static uint64_t verify_content_max(const struct segment *s, uint32_t queue)
{
    return segment_window_bytes(s, queue) - (queue < s->n_queues ? ENVELOPE_SIZE_MAX : 0);
}

/* ---- the header and the tables that are never rebuilt ---- */

static int verify_check_header(const struct verify *v)
{
    const struct segment_header *h = v->segment->header;
    uint32_t messages = load_relaxed(&h->n_message_types), types = load_relaxed(&h->n_actor_types),
             high = load_relaxed(&h->slots_high), phases = load_relaxed(&h->n_phases);
    if (messages < MESSAGE_TYPE_FIRST_PLAIN || messages > ODEON_MESSAGE_TYPES_MAX)
        return verify_damaged(v, "it claims %u message types", messages);
    if (types < 1 || types > ODEON_ACTOR_TYPES_MAX)
        return verify_damaged(v, "it claims %u actor types", types);
    if (phases < 1 || phases > ODEON_PHASES_MAX)
        return verify_damaged(v, "it claims %u phases", phases);
    if (high < ODEON_PORTS_MAX || high > h->actors_max)
        return verify_damaged(v, "it claims that %u slots of actors were used, of %u", high,
                              h->actors_max);
    return 0;
}

static int verify_check_types(const struct verify *v)
{
    const struct segment *s = v->segment;
    for (uint32_t i = MESSAGE_TYPE_FIRST_USER; i < load_relaxed(&s->header->n_message_types); i++) {
        const struct segment_message_type *type = &s->message_types[i];
        if (!verify_is_terminated(type->name, sizeof(type->name)) ||
            !verify_is_terminated(type->fields, sizeof(type->fields)))
            return verify_damaged(v, "message type %u: its name has no end", i);
    }
    for (uint32_t i = 1; i < load_relaxed(&s->header->n_actor_types); i++) {
        const struct segment_actor_type *type = &s->actor_types[i];
        if (!verify_is_terminated(type->name, sizeof(type->name)) ||
            !verify_is_terminated(type->plugin, sizeof(type->plugin)))
            return verify_damaged(v, "actor type %u: its name has no end", i);
        if (type->restart > RESTART_KEEP || load_relaxed(&type->overflow) >= OVERFLOW_POLICY_N)
            return verify_damaged(v, "actor type %u: a policy that there is not", i);
    }
    return 0;
}

/* The names of sets of behaviours. */
static int verify_check_phases(const struct verify *v)
{
    const struct segment *s = v->segment;
    uint32_t n = load_relaxed(&s->header->n_phases),
             types = load_relaxed(&s->header->n_actor_types);
    for (uint32_t i = 1; i < n; i++)
        if (!verify_is_terminated(s->phases[i].name, sizeof(s->phases[i].name)) ||
            s->phases[i].type < 1 || s->phases[i].type >= types)
            return verify_damaged(v, "phase %u is none that can be, of type %u", i,
                                  s->phases[i].type);
    for (uint32_t i = 1; i < types; i++)
        if (s->actor_types[i].first_phase >= n)
            return verify_damaged(v, "actor type %u: a first phase that there is not", i);
    return 0;
}

static bool verify_is_aside(const struct segment *s, uint32_t queue)
{
    return queue >= s->aside_first && queue < s->detached_first;
}

/* A phase of its own type, and the turn that has chosen it. */
static bool verify_is_phase(const struct segment *s, const struct segment_actor *actor,
                            uint64_t word)
{
    uint64_t phase = load_relaxed(&actor->phase);
    uint32_t n = load_relaxed(&s->header->n_phases),
             of[2] = { (phase >> 16) & 0xffff, phase & 0xffff };
    if (phase >> 32 != slot_word_generation(word))
        return true;
    for (int i = 0; i < 2; i++)
        if (of[i] >= n || (of[i] > 0 && s->phases[of[i]].type != slot_word_type(word)))
            return false;
    return load_relaxed(&actor->phase_worker) < s->n_ids;
}

/* Of an actor or a port; 0: it has none. */
static bool verify_is_name(const struct segment *s, uint32_t name)
{
    return name == 0 || (name <= ODEON_NAMES_MAX &&
                         verify_is_terminated(s->names[name - 1].name, ODEON_NAME_MAX + 1));
}

static int verify_check_actor(const struct verify *v, uint32_t slot, uint64_t word)
{
    const struct segment *s = v->segment;
    const struct segment_actor *actor = &s->actors[slot];
    switch ((uint8_t)word) {
    case ACTOR_SLOT_FREE:
        return 0;
    case ACTOR_SLOT_SPENT:
        if (slot_word_generation(word) == ACTOR_GENERATION_SPENT)
            return 0;
        break;
    case ACTOR_SLOT_PORT:
        if (slot < ODEON_PORTS_MAX && actor->queue == segment_port_destination(s, slot) &&
            verify_is_name(s, actor->name))
            return 0;
        break;
    case ACTOR_SLOT_LIVE:
        if (slot >= ODEON_PORTS_MAX && slot_word_generation(word) != 0 &&
            actor->queue < s->n_mailboxes && !verify_is_aside(s, actor->queue) &&
            slot_word_type(word) >= 1 &&
            slot_word_type(word) < load_relaxed(&s->header->n_actor_types) &&
            actor->args_size <= ODEON_SPAWN_ARGS_MAX && verify_is_name(s, actor->name) &&
            actor->reserved == 0 && verify_is_phase(s, actor, word))
            return 0;
        break;
    default:
        break;
    }
    return verify_damaged(v, "slot %u holds no actor that can be (type %u, queue %u, state %u)",
                          slot, slot_word_type(word), actor->queue, (uint8_t)word);
}

static int verify_check_actors(const struct verify *v)
{
    int r = 0;
    for (uint32_t slot = 0; r == 0 && slot < load_relaxed(&v->segment->header->slots_high);
         slot++) {
        uint64_t word = load_relaxed(&v->segment->actors[slot].word);
        if (word != 0)
            r = verify_check_actor(v, slot, word);
    }
    return r;
}

static int verify_check_ports(const struct verify *v)
{
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++) {
        const struct segment_port *port = &v->segment->ports[id];
        if (load_relaxed(&port->generation) == 0)
            continue;
        if (actor_ref_is_foreign(port->ref))
            return verify_foreign(v, "port", id, port->ref);
        if (actor_ref_slot(port->ref) != id || !port_ring_size_is_good(port->submission_bytes) ||
            !port_ring_size_is_good(port->delivery_bytes) || load_relaxed(&port->pcur) % 8 ||
            load_relaxed(&port->dtail) % 8)
            return verify_damaged(v, "port %u has rings or cursors that cannot be", id);
    }
    return 0;
}

/* A timer's message, or what a question that stays without an answer comes to. */
static bool verify_is_of_a_timer(const struct segment_timer *timer, const struct envelope *message)
{
    if (timer_posted_stays(timer)) /* with what its client may set */
        return (message->prefix & ~(unsigned)(PREFIX_CORRELATION | PREFIX_TRACE)) == PREFIX_KIND &&
               message->flags == 0 && message->type >= MESSAGE_TYPE_FIRST_PLAIN &&
               actor_ref_slot(timer->owner) < ODEON_PORTS_MAX;
    if (timer_is_kept(timer)) /* as its member gets it */
        return timer->period_ns == 0 && timer->watched == 0 && timer->group == 0 &&
               message->flags == 0 && message->prefix == 0 &&
               message->type >= MESSAGE_TYPE_FIRST_PLAIN;
    if (timer->stashed != TIMER_NOT_STASHED) /* as it came to its actor */
        return timer_is_stashed(timer) && timer->period_ns == 0 && timer->watched == 0 &&
               message->flags == 0 && message->to == timer->owner &&
               (message->prefix & ~(unsigned)(PREFIX_CORRELATION | PREFIX_TRACE | PREFIX_ACCEPTED |
                                              PREFIX_KIND)) == 0;
    unsigned prefix = message->prefix & ~(unsigned)PREFIX_TRACE;
    return message->flags & ENVELOPE_REPLY
               ? prefix == PREFIX_CORRELATION && message->type == MESSAGE_TYPE_NO_ANSWER
               : prefix == PREFIX_KIND;
}

/* Whose end it waits for, if it does. What a timer's message says is its actor's business: who gets
 * it looks (monitor.MO1). */
static bool verify_is_of_a_watch(const struct verify *v, const struct segment_timer *timer,
                                 const struct envelope *message)
{
    if (timer->watched == 0)
        return timer->end == REASON_NONE;
    uint64_t size = message->type == MESSAGE_TYPE_DOWN ? sizeof(struct down) : 0;
    if (timer_posted_is(timer) != (actor_ref_slot(timer->owner) < ODEON_PORTS_MAX) ||
        (timer_posted_is(timer) &&
         (message->type != MESSAGE_TYPE_DOWN || message->to != timer->owner)))
        return false; /* a client's ends with its port, and is told to it */
    return timer->end < REASON_N && timer->period_ns == 0 &&
           (message->type == MESSAGE_TYPE_DOWN || message->type == MESSAGE_TYPE_POISON_DELETE) &&
           actor_ref_slot(timer->watched) < v->segment->header->actors_max &&
           envelope_payload_size(message) == size;
}

/* What is a membership is nothing else; there are at most as many places as timers. */
static bool verify_is_of_a_group(const struct verify *v, const struct segment_timer *timer)
{
    if (timer->group == 0)
        return timer->member_place == 0;
    return timer->member_place < v->segment->n_timers && timer->watched == 0 &&
           timer->posted == 0 && actor_ref_slot(timer->group) < v->segment->header->actors_max;
}

/* A timer that lives, and its message. */
static int verify_check_timer(const struct verify *v, uint32_t i)
{
    const struct segment *s = v->segment;
    const struct segment_timer *timer = &s->timers[i];
    if (timer->class >= TIMER_CLASSES ||
        timer->place >= s->header->timer_bytes / TIMER_CLASS_BYTES(timer->class) ||
        timer->arm_worker >= s->n_ids || (timer->claim_count && timer->claim_worker >= s->n_ids) ||
        timer->clock >= TIMER_CLOCKS || timer->posted / TIMER_POSTED > 1 ||
        timer_word_generation(load_relaxed(&timer->word)) == 0)
        return verify_damaged(v, "timer %u: words that cannot be", i);
    const struct envelope *message = segment_timer_message(s, timer);
    uint64_t size =
        walk_record_size(((const uint64_t *)message)[2], TIMER_CLASS_BYTES(timer->class));
    if (actor_ref_is_foreign(timer->owner) || actor_ref_is_foreign(message->to))
        return verify_foreign(v, "timer", i,
                              actor_ref_is_foreign(timer->owner) ? timer->owner : message->to);
    if (size == 0 || !verify_is_of_a_timer(timer, message) || !envelope_prefix_fits(message) ||
        !verify_is_of_a_watch(v, timer, message) || !verify_is_of_a_group(v, timer) ||
        actor_ref_slot(message->to) >= s->header->actors_max ||
        actor_ref_slot(timer->owner) >= s->header->actors_max)
        return verify_damaged(v, "timer %u: no message of its can be that", i);
    return 0;
}

static int verify_check_timers(const struct verify *v)
{
    const struct segment *s = v->segment;
    uint32_t high = load_relaxed(&s->header->timers_high);
    if (high > s->n_timers)
        return verify_damaged(v, "it claims that %u timers were used, of %u", high, s->n_timers);
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < high; i++) {
        timers_ask_ahead(s, i);
        switch (timer_word_state(load_relaxed(&s->timers[i].word))) {
        case TIMER_FREE:
        case TIMER_SPENT:
            break;
        case TIMER_LIVE:
            r = verify_check_timer(v, i);
            break;
        default:
            r = verify_damaged(v, "timer %u: a state that there is not", i);
        }
    }
    return r;
}

/* ---- what workers had in hand ---- */

/* The runs of a committed outbox; numbers the destinations as a flush does (outbox.B1) and counts
 * what each is still to get behind `step`. The number of groups, or negative. */
static int verify_check_outbox(const struct verify *v, uint32_t id, uint64_t out, uint32_t step)
{
    const struct segment *s = v->segment;
    const uint8_t *base = segment_outbox(s, id);
    uint64_t at = 0;
    uint32_t groups = 0;
    while (at < out) {
        const struct outbox_run *run = (const struct outbox_run *)(base + at);
        if (out - at < sizeof(*run) + sizeof(struct envelope) || run->destination > s->dead_letters)
            return verify_damaged(v, "worker %u: no run of its outbox can be at byte %llu of %llu",
                                  id, (unsigned long long)at, (unsigned long long)out);
        at += sizeof(*run);
        uint64_t rest = out - at, bytes = run->bytes && run->bytes * UINT64_C(8) < rest
                                              ? run->bytes * UINT64_C(8)
                                              : rest;
        uint64_t good = walk_records(s->header->actors_max, base, at, at + bytes, at + bytes,
                                     run->destination < s->n_queues);
        if (good != at + bytes)
            return verify_damaged(v, "worker %u: no record can be at byte %llu of its outbox", id,
                                  (unsigned long long)good);
        struct pending *pending = &v->pending[run->destination];
        if (pending->touched != id + 1) {
            pending->touched = id + 1;
            pending->group = ++groups;
        }
        if (pending->group > step)
            pending->bytes += bytes;
        at += bytes;
    }
    return (int)groups;
}

/* An armed step: it is one of the outbox, and what it publishes is a length that can be. Recovery
 * publishes it if its lock is still held. */
static int verify_check_journal(const struct verify *v, uint32_t id, uint32_t step, int groups)
{
    const struct segment *s = v->segment;
    const struct segment_journal_entry *entry = &s->workers[id].entry[step & 1];
    uint32_t destination = entry->destination & ~JOURNAL_RING;
    bool ring = entry->destination & JOURNAL_RING;
    struct pending *pending = destination <= s->dead_letters ? &v->pending[destination] : NULL;
    bool held = pending && (load_relaxed(&s->queues[destination].lock) & ~LOCK_WAITERS) == id + 1;
    if (groups == 0 && !held)
        return 0; /* nothing is published, and nothing left to flush */
    if ((uint64_t)step > (uint64_t)groups || !pending || pending->touched != id + 1 ||
        pending->group != step || entry->length % 8)
        return verify_damaged(
            v, "worker %u: its journal names step %u, destination %u, which its outbox has not", id,
            step, destination);
    if (ring && (destination < s->n_queues || destination == s->dead_letters))
        return verify_damaged(v, "worker %u: its journal names queue %u as a ring", id,
                              destination);
    if (!held)
        return 0; /* the step is done */
    if (!ring) {
        pending->length = entry->length;
        return 0;
    }
    const struct segment_port *port = &s->ports[destination - s->n_queues];
    if (load_relaxed(&port->generation) != 0 &&
        entry->length - load_relaxed(&port->dtail) > port->delivery_bytes)
        return verify_damaged(v, "worker %u: its journal moves the tail of port %u too far", id,
                              destination - s->n_queues);
    return 0;
}

static int verify_check_attached_port(const struct verify *v, uint32_t id, uint32_t index,
                                      uint64_t cursor)
{
    const struct segment_port *port = &v->segment->ports[index];
    if (load_relaxed(&port->generation) == 0 ||
        cursor - load_relaxed(&port->pcur) > port->submission_bytes)
        return verify_damaged(v, "worker %u is attached to port %u where that cannot be", id,
                              index);
    return 0;
}

/* A batch that is being exchanged with that of an aside queue (set_aside.A2): recovery stores
 * the words of both. */
static int verify_check_aside(const struct verify *v, uint32_t id,
                              const struct segment_commit *slot, uint32_t source)
{
    const struct segment *s = v->segment;
    uint32_t windows[2] = { slot->port_generation >> 16, slot->port_generation & 0xffff };
    if (source >= s->n_queues || !verify_is_aside(s, source) || slot->redo >= s->n_mailboxes ||
        verify_is_aside(s, (uint32_t)slot->redo) || v->named[slot->redo] ||
        !queue_has_batch(load_relaxed(&s->queues[slot->redo].sel)) || slot->wrap != 0 ||
        windows[0] >= 2 * s->n_queues || windows[1] >= 2 * s->n_queues)
        return verify_damaged(v, "worker %u: its record sets an actor aside where that cannot be",
                              id);
    v->named[slot->redo] = slot;
    v->window[2 * slot->redo + (queue_active(load_relaxed(&s->queues[slot->redo].sel)) ^ 1)] =
        windows[0];
    v->window[2 * source + (queue_active(load_relaxed(&s->queues[source].sel)) ^ 1)] = windows[1];
    return 0;
}

/* The valid record: a source that exists and that nobody else has, an actor to end that can be. */
static int verify_check_record(const struct verify *v, uint32_t id,
                               const struct segment_commit *slot)
{
    const struct segment *s = v->segment;
    bool direct = slot->source && slot->redo_how == COMMIT_DIRECT,
         aside = slot->source && slot->redo_how == COMMIT_ASIDE, ends = commit_ends_actor(slot);
    if (slot->redo_how == COMMIT_IN_PLACE)
        return verify_damaged(
            v, "worker %u: its record ends an actor in place, which no build does yet", id);
    if (slot->redo_how == COMMIT_TIMER && slot->redo &&
        (id + 1 != s->n_ids || (uint32_t)slot->redo >= load_relaxed(&s->header->timers_high)))
        return verify_damaged(v, "worker %u: its record is of a timer that cannot be", id);
    if (ends && actor_ref_is_foreign(slot->redo))
        return verify_foreign(v, "worker", id, slot->redo);
    if (slot->base % COMMIT_WINDOW_MAX || commit_end_reason(slot) >= REASON_N ||
        (ends && actor_ref_slot(slot->redo) >= s->header->actors_max))
        return verify_damaged(v, "worker %u: a commit record that cannot be", id);
    if (slot->source == 0)
        return 0;
    uint32_t source = slot->source - 1, ports = s->dead_letters + 1;
    if (source == s->dead_letters || source >= ports + ODEON_PORTS_MAX)
        return verify_damaged(v, "worker %u is attached to source %u, which is none", id, source);
    if (v->named[source])
        return verify_damaged(v, "worker %u is attached to source %u, which another worker has", id,
                              source);
    v->named[source] = slot;
    if (aside)
        return verify_check_aside(v, id, slot, source);
    if (direct) {
        if (source >= s->n_queues || slot->port >= ODEON_PORTS_MAX || slot->redo % 8)
            return verify_damaged(v, "worker %u: its record came from port %u to source %u", id,
                                  slot->port, source);
        const struct segment_port *port = &s->ports[slot->port];
        uint64_t pcur = load_relaxed(&port->pcur);
        if (load_relaxed(&port->generation) == slot->port_generation && slot->redo > pcur &&
            slot->redo - pcur > port->submission_bytes)
            return verify_damaged(v, "worker %u: its record moves the cursor of port %u too far",
                                  id, slot->port);
    }
    return source < ports ? 0
                          : verify_check_attached_port(v, id, source - ports, commit_cursor(slot));
}

static int verify_check_undo(const struct verify *v, uint32_t id)
{
    const struct segment *s = v->segment;
    const struct segment_undo *undo = segment_undo(s, id);
    if (load_relaxed(&undo->tag) != segment_count(&s->workers[id]))
        return 0;
    if (s->header->durable_bytes == 0 || undo->slot >= s->header->actors_max ||
        undo->size > s->header->durable_bytes)
        return verify_damaged(v, "worker %u: %u bytes of slot %u are to be undone", id, undo->size,
                              undo->slot);
    return 0;
}

static int verify_check_worker(const struct verify *v, uint32_t id)
{
    const struct segment *s = v->segment;
    struct segment_worker *worker = &s->workers[id];
    if (commit_low(&worker->slot[0]) == 0 && commit_low(&worker->slot[1]) == 0)
        return verify_damaged(v, "worker %u has no valid commit record", id);
    const struct segment_commit *slot = segment_commit_valid(worker);
    uint64_t out = commit_out(slot), arm = load_relaxed(&worker->arm);
    uint32_t step = 0;
    if (arm >> JOURNAL_STEP_BITS == (segment_count(worker) & (UINT64_MAX >> JOURNAL_STEP_BITS)))
        step = (uint32_t)(arm & JOURNAL_STEP_MASK);
    int r = verify_check_record(v, id, slot);
    if (r == 0)
        r = verify_check_undo(v, id);
    if (r == 0 && out > s->header->outbox_bytes)
        r = verify_damaged(v, "worker %u: %llu bytes in its outbox", id, (unsigned long long)out);
    int groups = r == 0 ? verify_check_outbox(v, id, out, step) : r;
    if (groups >= 0 && step > 0)
        r = verify_check_journal(v, id, step, groups);
    return groups < 0 ? groups : r;
}

/* ---- queues ---- */

/* Which window each buffer is: aside queues exchange them, so that they are permuted. */
static int verify_check_windows(const struct verify *v)
{
    uint32_t n = 2 * v->segment->n_queues;
    uint8_t *taken = calloc(n, 1);
    if (!taken)
        return -ENOMEM;
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        uint32_t window = v->window[i];
        if (window >= n || taken[window])
            r = verify_damaged(v, "queue %u, buffer %u: window %u is none, or another's", i / 2,
                               i % 2, window);
        else
            taken[window] = 1;
    }
    free(taken);
    return r;
}

/* The batch: in one piece [cursor, tail), or, of a message queue, in two: [cursor, wrap), [0, tail)
 * (segment_layout.h). */
static int verify_check_batch(const struct verify *v, uint32_t queue, unsigned buffer,
                              uint64_t cursor, uint64_t tail, uint64_t wrap)
{
    uint64_t most = verify_content_max(v->segment, queue);
    bool one_piece = wrap == 0 || queue >= v->segment->n_queues;
    if ((cursor | tail | wrap) % 8 || (one_piece ? wrap || cursor > tail || tail > most
                                                 : tail > cursor || cursor > wrap || wrap > most))
        return verify_damaged(v,
                              "queue %u: its batch is at %llu of %llu (%llu), in a buffer of %llu",
                              queue, (unsigned long long)cursor, (unsigned long long)tail,
                              (unsigned long long)wrap, (unsigned long long)most);
    if (!wrap)
        return verify_check_records(v, queue, buffer, cursor, tail);
    int r = verify_check_records(v, queue, buffer, cursor, wrap);
    return r == 0 ? verify_check_records(v, queue, buffer, 0, tail) : r;
}

/* Each with a header of its own in front. A sweep that was committed exchanges the buffers
 * (letters.h). */
static int verify_check_letters(const struct verify *v)
{
    const struct segment *s = v->segment;
    struct segment_queue *queue = &s->queues[s->dead_letters];
    const struct segment_commit *slot = segment_commit_valid(&s->workers[s->n_ids - 1]);
    bool swept = slot->redo && slot->redo_how == COMMIT_LETTERS;
    unsigned active = swept ? (slot->redo - 1) & 1 : queue_active(load_relaxed(&queue->sel));
    uint64_t armed = v->pending[s->dead_letters].length,
             end = armed != UINT64_MAX ? armed : load_relaxed(&queue->len[active]), at = 0;
    if ((swept && slot->redo > 2) || load_relaxed(&queue->sel) & ~(uint32_t)SEL_ACTIVE || end % 8 ||
        end > segment_window_bytes(s, s->dead_letters))
        return verify_damaged(v, "the dead letters' words cannot be (%llu bytes)",
                              (unsigned long long)end);
    const uint8_t *base = segment_window(s, s->dead_letters, active);
    while (at < end) {
        uint64_t left = end - at, front = sizeof(struct segment_dead_letter);
        const struct envelope *envelope = (const struct envelope *)(base + at + front);
        uint64_t size = left >= front + sizeof(*envelope)
                            ? walk_record_size(((const uint64_t *)envelope)[2], left - front)
                            : 0;
        if (size != 0 && actor_ref_is_foreign(envelope->to))
            return verify_foreign(v, "dead letters, queue", s->dead_letters, envelope->to);
        if (size == 0 || actor_ref_slot(envelope->to) >= s->header->actors_max)
            return verify_damaged(v, "the dead letters: no record can be at byte %llu of %llu",
                                  (unsigned long long)at, (unsigned long long)end);
        at += front + size;
    }
    return 0;
}

static int verify_check_queue(const struct verify *v, uint32_t id)
{
    const struct segment *s = v->segment;
    struct segment_queue *queue = &s->queues[id];
    const struct pending *pending = &v->pending[id];
    uint32_t sel = load_relaxed(&queue->sel);
    unsigned active = queue_active(sel);
    uint64_t most = verify_content_max(s, id);
    if (sel & ~(uint32_t)(SEL_ACTIVE | SEL_BATCH) ||
        (load_relaxed(&queue->lock) & ~LOCK_WAITERS) > s->n_ids ||
        load_relaxed(&queue->ring) > most)
        return verify_damaged(v, "queue %u: its words cannot be", id);
    uint64_t length =
        pending->length != UINT64_MAX ? pending->length : load_relaxed(&queue->len[active]);
    /* outbox.B4 */
    if (length % 8 || length > most || (id < s->n_queues && pending->bytes > most - length))
        return verify_damaged(v, "queue %u: %llu bytes, and %llu to come, in a buffer of %llu", id,
                              (unsigned long long)length, (unsigned long long)pending->bytes,
                              (unsigned long long)most);
    int r = verify_check_records(v, id, active, 0, length);
    const struct segment_commit *slot = v->named[id];
    if (r < 0)
        return r;
    /* segment_layout.L3; where there is no batch, its release was complete, unless it has just been
     * taken from a port */
    if (slot) {
        if (slot->redo_how == COMMIT_ASIDE && id == slot->redo)
            return verify_check_batch(v, id, active ^ 1, 0, (uint64_t)slot->port << 3, 0);
        if (!(sel & SEL_BATCH) && slot->redo_how != COMMIT_DIRECT &&
            slot->redo_how != COMMIT_ASIDE && commit_cursor(slot) != commit_tail(slot))
            return verify_damaged(v, "queue %u: a worker has a batch of it that there is not", id);
        return verify_check_batch(v, id, active ^ 1, commit_cursor(slot), commit_tail(slot),
                                  slot->wrap);
    }
    if (!(sel & SEL_BATCH))
        return 0; /* what the words say of a batch is cleared by recovery (segment_layout.L1) */
    return verify_check_batch(v, id, active ^ 1, load_relaxed(&queue->cursor),
                              load_relaxed(&queue->len[active ^ 1]), load_relaxed(&queue->wrap));
}

/* In the order in which one relies on the other. */
static int verify_check_all(const struct verify *v)
{
    const struct segment *s = v->segment;
    int r = verify_check_header(v);
    if (r == 0)
        r = verify_check_types(v);
    if (r == 0)
        r = verify_check_phases(v);
    if (r == 0)
        r = verify_check_actors(v);
    if (r == 0)
        r = verify_check_ports(v);
    if (r == 0)
        r = verify_check_timers(v);
    for (uint32_t id = 0; r == 0 && id < s->n_ids; id++)
        r = verify_check_worker(v, id);
    if (r == 0)
        r = verify_check_windows(v);
    for (uint32_t id = 0; r == 0 && id < s->dead_letters; id++)
        r = verify_check_queue(v, id);
    if (r == 0)
        r = verify_check_waiting(v);
    if (r == 0)
        r = verify_check_letters(v);
    return r;
}

int verify_segment(const struct engine *e, char text[static VERIFY_TEXT_MAX])
{
    uint32_t n_queues = e->segment.dead_letters + 1;
    struct walk walk = { .actors_max = e->segment.header->actors_max };
    struct verify v = {
        .segment = &e->segment,
        .pending = calloc(n_queues, sizeof(*v.pending)),
        .named = calloc(n_queues + ODEON_PORTS_MAX, sizeof(*v.named)),
        .window = calloc(2ul * e->segment.n_queues, sizeof(*v.window)),
        .walk = &walk,
        .text = text,
    };
    text[0] = '\0';
    int r = v.pending && v.named && v.window ? 0 : -ENOMEM;
    if (r == 0) {
        for (uint32_t i = 0; i < 2 * e->segment.n_queues; i++)
            v.window[i] = load_relaxed(&e->segment.queues[i / 2].window[i % 2]);
        for (uint32_t i = 0; i < n_queues; i++)
            v.pending[i].length = UINT64_MAX;
        r = verify_check_all(&v);
    }
    free(v.pending);
    free((void *)v.named);
    free(v.window);
    walk_free(&walk);
    return r;
}
