/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/observe/observe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/common/clock.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/observe/sketch.h"
#include "daemon/engine/observe/trace.h"

static size_t observe_marks_bytes(const struct engine *e)
{
    return 2 * (size_t)e->segment.n_queues * sizeof(struct marks);
}

static struct observed_worker *observe_block(const struct engine *e, uint32_t id)
{
    return (struct observed_worker *)((uint8_t *)e->observation.file +
                                      e->observation.file->workers_offset +
                                      (uint64_t)id * e->observation.file->worker_size);
}

/* Until it spawns or ends an actor, a worker has nothing there: a hole is put back, for writing
 * zeros would fill it, of a thousand ids that never run. Where there can be no holes zeros are as
 * good. */
static void observe_tell_live(struct worker *w)
{
    _Atomic int64_t *live = w->observer.block->live;
    if (madvise((void *)live, sizeof(w->observer.block->live), MADV_REMOVE) < 0)
        memset((void *)live, 0, sizeof(w->observer.block->live));
    w->actors.type_told = live;
}

int observe_open(struct engine *e)
{
    e->observation.file = ODEON_STATISTICS ? e->config.observed : NULL;
    if (!e->observation.file)
        return 0;
    void *marks = mmap(NULL, observe_marks_bytes(e), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* most are never touched */
    if (marks == MAP_FAILED)
        return -ENOMEM;
    e->observation.marks = marks;
    e->observation.period = ticks_of_ns(OBSERVE_PERIOD_NS);
    e->observation.patience = ticks_of_ns(OBSERVE_PATIENCE_NS);
    for (uint32_t id = 0; id < e->segment.n_ids && id < e->observation.file->n_workers; id++) {
        struct observer *observer = &e->workers[id]->observer;
        observer->block = observe_block(e, id);
        observer->tail.plan = 0;
        observer->random = (id + 1) * UINT64_C(0x9e3779b97f4a7c15);
        observe_tell_live(e->workers[id]);
    }
    return 0;
}

void observe_close(struct engine *e)
{
    if (e->observation.marks)
        munmap(e->observation.marks, observe_marks_bytes(e));
}

/* observed_layout.V4 */
void observe_name_type(struct engine *e, uint32_t id, const struct engine_actor_type_info *info)
{
    struct observed_header *file = e->observation.file;
    if (!file || id >= file->types_max)
        return;
    snprintf(file->names[id].type, sizeof(file->names[id].type), "%s", info->name);
    snprintf(file->names[id].plugin, sizeof(file->names[id].plugin), "%s", info->plugin);
    store_relaxed(&file->names[id].state_size, info->state_size);
    if (load_relaxed(&file->n_types) <= id)
        store_release(&file->n_types, id + 1);
}

static uint64_t observe_random(struct observer *observer)
{
    observer->random ^= observer->random << 13;
    observer->random ^= observer->random >> 7;
    observer->random ^= observer->random << 17;
    return observer->random;
}

static uint32_t observe_weight_or_none(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static uint32_t observe_weight(uint64_t n)
{
    return n == 0 ? 1 : observe_weight_or_none(n);
}

/* ---- marks ---- */

/* What leaves a worker other than behind its own batch. */
static uint64_t observe_flushed(const struct worker *w)
{
    return load_relaxed(&w->stats->value[STAT_flushed_messages]) +
           load_relaxed(&w->stats->value[STAT_direct_gulps]);
}

/* A mark is made at this count of messages: when the next one is due (observe.OB1), and what the
 * mean distance is to be, so that they are a period apart. */
static void observe_plan(const struct worker *w, struct observe_stream *stream, uint64_t now,
                         uint64_t count, uint64_t random)
{
    uint64_t took = now - stream->at, period = w->engine->observation.period;
    if (took > 2 * period)
        stream->gap /= 2;
    else if (2 * took < period)
        stream->gap *= 2;
    if (stream->gap < 1)
        stream->gap = 1;
    if (stream->gap > OBSERVE_GAP_MOST)
        stream->gap = OBSERVE_GAP_MOST;
    stream->at = now;
    stream->plan = count + 1 + random % (2 * stream->gap);
}

/* Since the last mark. */
static uint32_t observe_take_flushed(struct worker *w, uint64_t now, uint64_t flushed)
{
    struct observe_stream *stream = &w->observer.flushed;
    uint64_t n = flushed - stream->counted;
    stream->counted = flushed;
    observe_plan(w, stream, now, flushed, observe_random(&w->observer));
    return observe_weight(n);
}

static bool observe_flush_is_due(const struct worker *w, uint64_t now, uint64_t flushed)
{
    const struct observe_stream *stream = &w->observer.flushed;
    return flushed >= stream->plan ||
           (int64_t)(now - stream->at) >=
               (int64_t)w->engine->observation.patience; /* observe.OB3 */
}

/* The run of the log that the offset lies in, or its header. */
static uint32_t observe_find_run(const struct worker *w, uint64_t offset)
{
    uint32_t first = 0, n = w->flush.n_runs;
    while (n > 1) {
        uint32_t half = n / 2;
        if ((uint64_t)w->flush.runs[first + half].at << 3 <= offset) {
            first += half;
            n -= half;
        } else {
            n = half;
        }
    }
    return first;
}

/* Where the record begins that `offset` lies in, or the last of the first OBSERVE_WALK. */
static uint64_t observe_find_record(const uint8_t *run, uint64_t bytes, uint64_t offset)
{
    uint64_t at = 0;
    for (uint32_t i = 1; i < OBSERVE_WALK; i++) {
        uint64_t next = at + envelope_record_size((const struct envelope *)(run + at));
        if (next > offset || next >= bytes)
            break;
        at = next;
    }
    return at;
}

/* What a record of so many bytes stands for, that was found by an offset among the `n` of this
 * flush: a long one is found more often than a short one, and stands for less. */
static uint32_t observe_weigh(struct worker *w, uint32_t weight, uint64_t bytes, uint64_t n)
{
    uint64_t all = w->outbox.length - w->flush.n_runs * sizeof(struct outbox_run),
             parts = bytes * n;
    /* rounded by chance: in the mean it is right */
    return observe_weight_or_none((weight * all + observe_random(&w->observer) % parts) / parts);
}

/* An offset among the envelopes; *ret_run: the run that it lies in. */
static uint64_t observe_draw(struct worker *w, uint32_t *ret_run)
{
    for (;;) {
        uint64_t offset = observe_random(&w->observer) % w->outbox.length;
        *ret_run = observe_find_run(w, offset);
        uint64_t start = (uint64_t)w->flush.runs[*ret_run].at << 3;
        if (offset >= start && offset < start + ((uint64_t)w->flush.runs[*ret_run].bytes << 3))
            return offset - start; /* else it is in a run's header, a quarter of the log at most */
    }
}

/* A worker's clock as of its last look, in this run: enough to know whether a mark is due. */
static uint64_t observe_lately(const struct worker *w)
{
    return w->is_thread ? load_relaxed(&w->pace.looked) : ticks_now();
}

/* observe.OB1 */
void observe_choose(struct worker *w, uint64_t n)
{
    struct observer *observer = &w->observer;
    uint64_t flushed = observe_flushed(w);
    if (w->flush.n_runs == 0 || n == 0 ||
        likely(!observe_flush_is_due(w, observe_lately(w), flushed)))
        return;
    uint64_t now = ticks_now();
    uint32_t run, weight = observe_take_flushed(w, now, flushed);
    uint64_t offset = observe_draw(w, &run), bytes;
    const uint8_t *envelopes = (const uint8_t *)outbox_run_envelopes(w, run, &bytes);
    const struct outbox_run *header =
        (const struct outbox_run *)(envelopes - sizeof(struct outbox_run));
    if (header->destination >= w->engine->segment.n_queues)
        return; /* to a port: no behaviour's */
    observer->in_run = observe_find_record(envelopes, bytes, offset);
    observer->weight = observe_weigh(
        w, weight, envelope_record_size((const struct envelope *)(envelopes + observer->in_run)),
        n);
    observer->now = now;
    observer->destination = header->destination;
    observer->run = run;
}

/* A buffer that was empty has no marks, whatever is left of an earlier one. */
static void observe_mark(struct marks *marks, uint64_t length, const struct wait_mark *mark)
{
    if (length == 0)
        marks_clear(marks);
    if (marks_may_add(marks, mark->ticks))
        marks_add(marks, mark);
    else
        marks->mark[marks->n - 1].weight += mark->weight;
}

void observe_mark_flushed(struct worker *w, const struct outbox_group *group, unsigned buffer,
                          uint64_t length)
{
    struct observer *observer = &w->observer;
    uint32_t destination = observer->destination;
    uint64_t at = length, bytes;
    observer->destination = NO_QUEUE;
    if (observer->weight == 0)
        return;
    for (uint32_t run = group->first; run != observer->run; run = w->flush.runs[run].next) {
        if (run == group->last)
            return; /* of another group: a queue has one in a flush, so this is not reached */
        (void)outbox_run_envelopes(w, run, &bytes);
        at += bytes;
    }
    observe_mark(marks_of(w->engine, destination, buffer), length,
                 &(struct wait_mark){ .at = at + observer->in_run,
                                      .ticks = observer->now,
                                      .weight = observer->weight });
}

void observe_mark_direct(struct worker *w, uint32_t queue, unsigned buffer)
{
    if (!observe_is_on(w))
        return;
    uint64_t now = ticks_now(), flushed = observe_flushed(w);
    struct marks *marks = marks_of(w->engine, queue, buffer);
    if (observe_flush_is_due(w, now, flushed))
        observe_mark(
            marks, 0,
            &(struct wait_mark){ .ticks = now, .weight = observe_take_flushed(w, now, flushed) });
    else if (marks->n)
        marks_clear(marks);
}

/* The record that is appended behind the batch next, at the count `low`: it stands for what its
 * runner has appended in this way since such a one was reached. */
static void observe_mark_tail(struct worker *w, uint64_t low)
{
    struct marks *marks = w->observer.marks;
    uint64_t now = ticks_now();
    observe_plan(w, &w->observer.tail, now, low, observe_random(&w->observer));
    if (w->batch.tail_limit == 0 || !marks_may_add(marks, now))
        return;
    marks_add(marks, &(struct wait_mark){
                         .at = w->batch.tail, .ticks = now, .second = w->batch.wrap != 0 });
    w->batch.probe = marks_next(marks);
}

/* ---- the batch ---- */

void observe_attach(struct worker *w, uint32_t queue, unsigned buffer)
{
    if (!observe_is_on(w))
        return;
    w->observer.marks = marks_of(w->engine, queue, buffer);
    w->batch.probe = marks_next(w->observer.marks);
}

void observe_detach(struct worker *w, bool done)
{
    if (w->observer.marks && done)
        marks_clear(w->observer.marks);
    w->observer.reached = false;
    w->observer.marks = NULL;
    w->batch.probe = MARKS_NONE;
}

void observe_unwrap(struct worker *w)
{
    if (!w->observer.marks)
        return;
    marks_unwrap(w->observer.marks, w->batch.wrap);
    w->batch.probe = marks_next(w->observer.marks);
}

void observe_forget(struct engine *e, uint32_t queue, unsigned buffer)
{
    if (e->observation.marks)
        marks_clear(marks_of(e, queue, buffer));
}

/* ---- samples ---- */

static uint64_t observe_sent(const struct worker *w)
{
    return w->outbox.n_logged + w->place.n_tail_appends;
}

static uint64_t observe_tail_appends(const struct worker *w)
{
    return load_relaxed(&w->stats->value[STAT_tail_appends]) + w->place.n_tail_appends;
}

/* The mark at the next message; NULL: those that there were lie behind it (marks.M2). */
static const struct wait_mark *observe_find_mark(struct worker *w)
{
    struct marks *marks = w->observer.marks;
    const struct wait_mark *mark = NULL;
    while (marks_next(marks) <= w->batch.cursor) {
        mark = &marks->mark[marks->next++];
        if (mark->at != w->batch.cursor)
            mark = NULL;
    }
    w->batch.probe = marks_next(marks);
    return mark;
}

/* A record that is marked before it is there is the first one of its sender's turn, never the
 * second (observe.OB1): the sample is one of the next OBSERVE_WALK, whose time was hardly
 * another. */
static bool observe_reach(struct worker *w, uint64_t low)
{
    struct observer *observer = &w->observer;
    const struct wait_mark *mark = observe_find_mark(w);
    if (!mark)
        return false;
    observer->mark = *mark;
    observer->sample_at = low;
    if (mark->weight == 0)
        observer->sample_at += observe_random(observer) % OBSERVE_WALK;
    return true;
}

static uint64_t observe_sampled_weight(const struct worker *w)
{
    return w->observer.mark.weight ? w->observer.mark.weight
                                   : observe_tail_appends(w) - w->observer.tail.counted;
}

/* False: it has no behaviour. */
static bool observe_aim_at(struct worker *w, const struct envelope *envelope)
{
    struct observer *observer = &w->observer;
    uint64_t key = load_relaxed(&w->turn.actors[actor_ref_slot(envelope->to)].key);
    if (actor_key_generation(key) != actor_ref_generation(envelope->to) || !actor_key_lives(key) ||
        envelope->type == MESSAGE_TYPE_INIT || observe_is_passed_on(w, key))
        return false;
    observer->aim.type = segment_type_of_key(&w->engine->segment, actor_key_type(key));
    observer->aim.weight = observe_weight(observe_sampled_weight(w));
    observer->aim.is_tail = observer->mark.weight == 0;
    observer->aim.to = envelope->to;
    observer->aim.from = envelope->from;
    observer->aim.message = envelope->type;
    observer->aim.sent = observe_sent(w);
    observer->refused = false;
    observer->aim.began = ticks_now();
    int64_t waited = (int64_t)(observer->aim.began - observer->mark.ticks);
    observer->aim.wait_ns = waited > 0 ? ticks_to_ns((uint64_t)waited) : 0;
    return true;
}

/* Messages until a mark's sample, which is 1 when it is the next one; 0: there is none. */
static uint64_t observe_approach(struct worker *w, uint64_t low)
{
    struct observer *observer = &w->observer;
    if (!observer->reached && w->batch.cursor >= w->batch.probe)
        observer->reached = observe_reach(w, low);
    if (!observer->reached)
        return 0;
    if ((int64_t)(observer->sample_at - low) > 0)
        return observer->sample_at - low;
    observer->reached = false;
    observer->aimed = observe_aim_at(w, (const struct envelope *)(w->batch.base + w->batch.cursor));
    return observer->aimed;
}

uint64_t observe_aim(struct worker *w, uint64_t low)
{
    if ((int64_t)(w->observer.tail.plan - low) <= 0)
        observe_mark_tail(w, low);
    uint64_t plan = w->observer.tail.plan - low, sample = observe_approach(w, low);
    return sample > 0 && sample < plan ? sample : plan;
}

static void observe_raise(_Atomic uint64_t *word, uint64_t by)
{
    store_relaxed(word, load_relaxed(word) + by);
}

/* Of whom a message is, as a flow has it. */
static uint64_t observe_sender(const struct worker *w, actor_ref from)
{
    uint32_t slot = actor_ref_slot(from);
    if (from == 0 || slot >= w->turn.actors_max)
        return 0;
    if (slot < ODEON_PORTS_MAX)
        return OBSERVED_PORT | slot;
    uint64_t key = load_relaxed(&w->turn.actors[slot].key);
    return actor_key_generation(key) == actor_ref_generation(from) && actor_key_lives(key)
               ? segment_type_of_key(&w->engine->segment, actor_key_type(key))
               : 0; /* it has ended */
}

/* The part of a sample that is an estimate whatever its behaviour is: waiting and flows. */
static void observe_waited(struct worker *w, struct sketch_sample *sample)
{
    struct observer *observer = &w->observer;
    struct observed_type *type = &observer->block->types[observer->aim.type];
    uint64_t weight = observer->aim.weight, wait = observer->aim.wait_ns;
    if (observer->aim.is_tail)
        observer->tail.counted = observe_tail_appends(w);
    observe_raise(&type->waited, weight);
    observe_raise(&type->wait_ns, wait * weight);
    observe_raise(&type->wait[time_cell(wait)], weight);
    observe_raise(&type->sampled, 1);
    sample->add[OBSERVED_BY_WAIT] = wait * weight;
    sample->flow = observe_sender(w, observer->aim.from) << 16 | observer->aim.type;
    sample->flow_messages = weight;
    observer->aimed = false;
}

static void observe_ran(struct observed_type *type, uint64_t ns, uint64_t n, uint64_t sends)
{
    observe_raise(&type->messages, n);
    observe_raise(&type->run_ns, ns * n);
    observe_raise(&type->sends, sends * n);
    observe_raise(&type->run[time_cell(ns)], n);
}

/* What a sample of a quick behaviour stands for. */
static uint64_t observe_take_carried(struct observer *observer)
{
    int64_t weight = observer->aim.weight + observer->carried;
    observer->carried = weight < 1 ? weight - 1 : 0;
    return weight < 1 ? 1 : (uint64_t)weight;
}

/* observe.OB2 */
void observe_hit(struct worker *w, uint64_t now)
{
    struct observer *observer = &w->observer;
    struct observed_type *type = &observer->block->types[observer->aim.type];
    uint64_t weight = observe_take_carried(observer), ns = ticks_to_ns(now - observer->aim.began),
             sent = observe_sent(w);
    struct sketch_sample sample = { .now_ns = clock_now_ns(),
                                    .ref = observer->aim.to,
                                    .type = observer->aim.type };
    if ((int64_t)(now - observer->aim.began) < 0)
        ns = 0;
    sent = sent > observer->aim.sent ? sent - observer->aim.sent : 0;
    observe_ran(type, ns, weight, sent);
    observe_raise(&type->samples, 1);
    sample.add[OBSERVED_BY_RUN] = ns * weight;
    sample.add[OBSERVED_BY_MESSAGES] = weight;
    observe_waited(w, &sample);
    sketch_add(observer->block, &sample);
    if (observer->refused)
        return;
    trace_add(&observer->block->trace,
              &(struct trace_message){ .began_ns = sample.now_ns - ns,
                                       .to = observer->aim.to,
                                       .from = observer->aim.from,
                                       .run_ns = ns,
                                       .wait_ns = observer->aim.wait_ns,
                                       .weight = weight,
                                       .what = observed_what(observer->aim.type, sample.flow >> 16,
                                                             observer->aim.message, sent) });
}

/* How long one that was timed by itself had waited. */
static uint64_t observe_timed_wait(const struct observer *observer, const struct observe_turn *turn,
                                   uint64_t began_ns)
{
    if (turn->sent_ns)
        return began_ns > turn->sent_ns ? began_ns - turn->sent_ns : 0;
    return observer->aimed ? observer->aim.wait_ns : OBSERVED_UNKNOWN;
}

/* observe.OB2 */
static void observe_timed_count(struct worker *w, struct sketch_sample *sample, uint64_t ns,
                                uint64_t sent)
{
    struct observer *observer = &w->observer;
    struct observed_type *type = &observer->block->types[sample->type];
    observe_ran(type, ns, 1, sent);
    observe_raise(&type->timed, 1);
    sample->add[OBSERVED_BY_RUN] = ns;
    sample->add[OBSERVED_BY_MESSAGES] = 1;
    observer->carried--;
    if (observer->aimed) {
        observer->carried += observer->aim.weight;
        observe_waited(w, sample);
    }
    sketch_add(observer->block, sample);
}

void observe_timed(struct worker *w, const struct observe_turn *turn, uint64_t ns)
{
    struct observer *observer = &w->observer;
    if (!observe_is_on(w))
        return;
    struct sketch_sample sample = { .now_ns = clock_now_ns(), .ref = turn->to, .type = turn->type };
    uint64_t sent = observe_sent(w), wait = observe_timed_wait(observer, turn, sample.now_ns - ns);
    if (turn->type)
        observe_timed_count(w, &sample, ns, sent);
    if (observer->refused)
        return;
    trace_add(
        &observer->block->trace,
        &(struct trace_message){ .began_ns = sample.now_ns - ns,
                                 .to = turn->to,
                                 .from = turn->from,
                                 .run_ns = ns,
                                 .wait_ns = wait,
                                 .weight = observed_weight(0, REASON_NONE, turn->hops),
                                 .id = turn->trace,
                                 .what = observed_what(turn->type, observe_sender(w, turn->from),
                                                       turn->message, sent) });
}

void observe_refused(struct worker *w, const struct envelope *envelope, uint32_t type,
                     enum envelope_reason reason)
{
    struct observer *observer = &w->observer;
    if (!observe_is_on(w))
        return;
    const struct observe_turn turn = { .sent_ns = envelope_sent_ns(envelope) };
    uint64_t now_ns = clock_now_ns();
    observer->refused = true;
    if (type)
        observe_raise(&observer->block->types[type].failed, 1);
    trace_add(
        &observer->block->trace,
        &(struct trace_message){
            .began_ns = now_ns,
            .to = envelope->to,
            .from = envelope->from,
            .wait_ns = observe_timed_wait(observer, &turn, now_ns),
            .weight = observed_weight(0, reason, envelope_hops(envelope)),
            .id = envelope_trace(envelope),
            .what = observed_what(type, observe_sender(w, envelope->from), envelope->type, 0) });
}

void observe_surprise(struct worker *w, actor_ref who, uint64_t ns)
{
    if (!observe_is_on(w))
        return;
    uint64_t key = load_relaxed(&w->turn.actors[actor_ref_slot(who)].key);
    if (actor_key_generation(key) != actor_ref_generation(who) || !actor_key_lives(key))
        return;
    uint32_t type = segment_type_of_key(&w->engine->segment, actor_key_type(key));
    trace_add(&w->observer.block->trace,
              &(struct trace_message){ .began_ns = clock_now_ns() - ns,
                                       .to = who,
                                       .from = w->ctx.sender,
                                       .run_ns = ns,
                                       .wait_ns = OBSERVED_UNKNOWN,
                                       .weight = OBSERVED_AT_LEAST,
                                       .what = observed_what(type, observe_sender(w, w->ctx.sender),
                                                             w->ctx.message_type, 0) });
}
