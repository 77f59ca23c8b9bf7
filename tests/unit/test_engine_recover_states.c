/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery of states made by hand: each line of the commit protocol at which a worker can have
 * died, laid into the segment with the worker's own words and no thread; then the segment is opened
 * again, and what should have happened is looked at. */
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/spawn.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/run/suspect.h"
#include "daemon/engine/run/turn.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/send/place.h"
#include "engine_fixture.h"

enum { N_QUEUES = 3, NUMBERS_MAX = 64 };

/* What each queue's actor saw. */
static struct {
    uint64_t number[NUMBERS_MAX];
    unsigned n, n_redelivered, attempts;
} seen[N_QUEUES];

static uint64_t n_inits;
static actor_ref actors[N_QUEUES];
static uint16_t number_type;
static uint32_t probe_type;

static int probe_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    n_inits++;
    memcpy(self, args, size);
    return 0;
}

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    uint32_t queue = *(uint32_t *)self;
    if (seen[queue].n < NUMBERS_MAX)
        seen[queue].number[seen[queue].n++] = *(const uint64_t *)message;
    seen[queue].n_redelivered += ctx->redelivered;
    seen[queue].attempts = ctx->attempts;
    return ALLOCATION_NODELETE;
}

static void types_register(struct engine_fixture *f)
{
    number_type = engine_fixture_message(f, "number", 8, false);
    struct engine_behaviour on[] = { { number_type, 8, false, on_number } };
    probe_type = engine_fixture_type(f, "probe", 8, probe_init, NULL, on, 1);
}

/* One worker of three queues with an actor in each, whose init records have been run. */
static void fixture_begin(struct engine_fixture *f)
{
    struct engine_config config = engine_fixture_config(1, N_QUEUES);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = 1 << 20;
    config.outbox_bytes = 1 << 20;
    engine_fixture_open(f, config);
    types_register(f);
    memset(seen, 0, sizeof(seen));
    n_inits = 0;
    memset(actors, 0, sizeof(actors));
    for (uint32_t i = 0; i < N_QUEUES; i++)
        (void)engine_fixture_spawn(f, probe_type, &i, 4);
    /* whichever came where: one in each queue, knowing which */
    struct engine_actor_view view;
    for (uint32_t slot = 0; engine_actor_next(f->engine, slot, &view) == 0;
         slot = actor_ref_slot(view.ref) + 1) {
        actors[view.queue] = view.ref;
        memcpy(f->engine->segment.args + (uint64_t)actor_ref_slot(view.ref) * ODEON_SPAWN_ARGS_MAX,
               &view.queue, 4);
    }
    for (uint32_t i = 0; i < N_QUEUES; i++)
        assert_int_not_equal(actors[i], 0);
}

/* Empties the queues of their init records, as if all had been run. */
static void queues_clear(struct engine_fixture *f)
{
    for (uint32_t i = 0; i < N_QUEUES; i++)
        for (unsigned buffer = 0; buffer < 2; buffer++)
            store_relaxed(&f->engine->segment.queues[i].len[buffer], 0);
}

static struct engine_recovery reopen(struct engine_fixture *f)
{
    struct engine_recovery report;
    f->engine = engine_close(f->engine);
    engine_fixture_reopen(f, &report);
    return report;
}

static void run_all(struct engine_fixture *f)
{
    types_register(f);
    assert_int_equal(engine_start(f->engine), 0);
    assert_true(engine_fixture_wait(f, TEST_DEADLINE_NS));
    engine_stop(f->engine);
}

static struct envelope number_envelope(uint32_t queue)
{
    return (
        struct envelope){ .to = actors[queue], .type = number_type, .length = 8, .behaviour = 0 };
}

/* A record in a queue's buffer, as if somebody had sent it. */
static void queue_put(struct engine_fixture *f, uint32_t queue, unsigned buffer, uint64_t number)
{
    struct segment *s = &f->engine->segment;
    _Atomic uint64_t *length = &s->queues[queue].len[buffer];
    struct envelope *at =
        (struct envelope *)(segment_window(s, queue, buffer) + load_relaxed(length));
    *at = number_envelope(queue);
    memcpy(envelope_payload(at), &number, sizeof(number));
    store_relaxed(length, load_relaxed(length) + 32);
}

static void outbox_put(struct worker *w, uint32_t destination, uint64_t number)
{
    uint32_t queue = destination < N_QUEUES ? destination : 0;
    struct envelope *at = outbox_append(w, destination, 32);
    *at = number_envelope(queue);
    if (destination >= N_QUEUES)
        at->behaviour = REASON_BAD_SIZE;
    memcpy(envelope_payload(at), &number, sizeof(number));
}

static uint32_t type_of_receiver(struct engine_fixture *f, const struct envelope *envelope)
{
    uint32_t slot = actor_ref_slot(envelope->to);
    return slot_word_type(load_relaxed(&f->engine->segment.actors[slot].word));
}

/* Each says what its receiver is, whoever flushed it. */
static uint64_t dead_letters(struct engine_fixture *f, enum envelope_reason reason)
{
    struct segment *s = &f->engine->segment;
    const uint8_t *base = segment_window(
        s, s->dead_letters, queue_active(load_relaxed(&s->queues[s->dead_letters].sel)));
    uint64_t end = queue_backlog_bytes(&s->queues[s->dead_letters]), n = 0;
    for (uint64_t at = 0; at < end;
         at += envelope_record_size((const struct envelope *)(base + at))) {
        const struct segment_dead_letter *header = (const struct segment_dead_letter *)(base + at);
        at += sizeof(struct segment_dead_letter);
        const struct envelope *envelope = (const struct envelope *)(base + at);
        assert_int_equal(header->actor_type, type_of_receiver(f, envelope));
        n += envelope->behaviour == reason;
    }
    return n;
}

static void expect(uint32_t queue, uint64_t first, unsigned n)
{
    assert_int_equal(seen[queue].n, n);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(seen[queue].number[i], first + i);
}

/* ---- a committed log whose flush was cut short ---- */

enum cut { CUT_BEFORE, CUT_LOCKED, CUT_COPIED, CUT_ARMED, CUT_PUBLISHED, CUT_UNLOCKED, CUT_N };

/* A step of the flush, as far as `cut`. */
static void step_cut(struct engine_fixture *f, struct worker *w, uint32_t step, enum cut cut)
{
    const struct outbox_group *group = &w->flush.groups[step - 1];
    struct segment *s = &f->engine->segment;
    struct segment_queue *queue = &s->queues[group->destination];
    if (cut == CUT_BEFORE)
        return;
    store_relaxed(&queue->lock, (w->id + 1) | (step % 2 ? LOCK_WAITERS : 0));
    if (cut == CUT_LOCKED)
        return;
    unsigned active = queue_active(load_relaxed(&queue->sel));
    uint64_t length = load_relaxed(&queue->len[active]), bytes;
    for (uint32_t run = group->first;; run = w->flush.runs[run].next) {
        const struct envelope *envelopes = outbox_run_envelopes(w, run, &bytes);
        uint8_t *base = segment_window(s, group->destination, active);
        for (uint64_t at = 0; at < bytes; at += 32, length += 32) {
            if (group->destination == s->dead_letters) {
                uint32_t type =
                    type_of_receiver(f, (const struct envelope *)((const uint8_t *)envelopes + at));
                *(struct segment_dead_letter *)(base + length) =
                    (struct segment_dead_letter){ .id = length + 1, .actor_type = type };
                length += sizeof(struct segment_dead_letter);
            }
            memcpy(base + length, (const uint8_t *)envelopes + at, 32);
        }
        if (run == group->last)
            break;
    }
    if (cut == CUT_COPIED)
        return;
    journal_arm(w, step, group->destination, length);
    if (cut == CUT_ARMED)
        return;
    store_relaxed(&queue->len[active], length);
    if (cut == CUT_PUBLISHED)
        return;
    store_relaxed(&queue->lock, 0);
}

/* The last of `steps` steps is cut; `times` recoveries. */
static void flush_cut(uint32_t steps, enum cut cut, unsigned times)
{
    struct engine_fixture f;
    fixture_begin(&f);
    queues_clear(&f);
    struct worker *w = f.engine->workers[0];
    uint32_t dead = f.engine->segment.dead_letters;
    queue_put(&f, 1, 0, 100); /* it is there already */
    static const struct {
        uint32_t destination;
        uint64_t number;
    } log[] = { { 1, 101 }, { 1, 102 }, { 0, 200 }, { 1, 103 },        { UINT32_MAX, 0 },
                { 2, 300 }, { 0, 201 }, { 2, 301 }, { UINT32_MAX, 0 }, { 1, 104 } };
    for (size_t i = 0; i < sizeof(log) / sizeof(log[0]); i++)
        outbox_put(w, log[i].destination == UINT32_MAX ? dead : log[i].destination, log[i].number);
    outbox_group(w, w->outbox.length);
    assert_int_equal(w->flush.n_groups, 4);
    commit_flip(w, 0, 0, 0, w->outbox.length, 0, 0);
    /* Written behind it and never committed: the last run's length says more than was committed. */
    memcpy(w->outbox.log + w->outbox.length, w->outbox.log + sizeof(struct outbox_run), 32);
    ((struct outbox_run *)(w->outbox.log + 8ul * w->flush.runs[w->flush.n_runs - 1].at) - 1)
        ->bytes = 64 / 8;
    for (uint32_t step = 1; step < steps; step++)
        step_cut(&f, w, step, CUT_UNLOCKED);
    if (steps > 0)
        step_cut(&f, w, steps, cut);
    struct engine_recovery report = reopen(&f);
    bool armed = cut == CUT_ARMED || cut == CUT_PUBLISHED;
    assert_int_equal(report.unflushed_outboxes, 1);
    assert_int_equal(report.armed_journals, steps > 0 && armed);
    assert_int_equal(report.held_locks, steps > 0 && cut != CUT_BEFORE && cut != CUT_UNLOCKED);
    for (unsigned i = 1; i < times; i++)
        assert_int_equal(reopen(&f).unflushed_outboxes, 0);
    run_all(&f);
    expect(0, 200, 2);
    expect(1, 100, 5);
    expect(2, 300, 2);
    assert_int_equal(dead_letters(&f, REASON_BAD_SIZE), 2);
    engine_fixture_close(&f);
}

static void test_flush_cut_anywhere(void **state)
{
    (void)state;
    for (uint32_t steps = 0; steps <= 4; steps++)
        for (enum cut cut = CUT_BEFORE; cut < CUT_N; cut++)
            flush_cut(steps, cut, 1 + steps % 2);
}

/* ---- locks and journals that decide nothing ---- */

static void test_held_lock_without_journal(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f);
    queues_clear(&f);
    queue_put(&f, 0, 0, 1);
    store_relaxed(&f.engine->segment.queues[0].lock, 1 | LOCK_WAITERS);
    store_relaxed(&f.engine->segment.queues[2].lock, 2); /* the control thread's */
    struct engine_recovery report = reopen(&f);
    assert_int_equal(report.held_locks, 2);
    assert_int_equal(report.armed_journals, 0);
    run_all(&f);
    expect(0, 1, 1);
    engine_fixture_close(&f);
}

static void test_journal_of_an_earlier_commit(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f);
    queues_clear(&f);
    struct worker *w = f.engine->workers[0];
    queue_put(&f, 0, 0, 1);
    journal_arm(w, 1, 0, 4096);
    commit_flip(w, 0, 0, 0, 0, 0, 0); /* with this it has become void */
    store_relaxed(&f.engine->segment.queues[0].lock, w->id + 1);
    struct engine_recovery report = reopen(&f);
    assert_int_equal(report.armed_journals, 0);
    assert_int_equal(report.held_locks, 1);
    assert_int_equal(load_relaxed(&f.engine->segment.queues[0].len[0]), 32);
    run_all(&f);
    expect(0, 1, 1);
    engine_fixture_close(&f);
}

/* The lock has changed hands since: the step is done, whatever the lengths are. */
static void test_journal_whose_lock_is_anothers(void **state)
{
    (void)state;
    for (unsigned held = 0; held < 2; held++) {
        struct engine_fixture f;
        fixture_begin(&f);
        queues_clear(&f);
        struct worker *w = f.engine->workers[0];
        for (uint64_t number = 1; number <= 3; number++)
            queue_put(&f, 0, 0, number);
        journal_arm(w, 1, 0, 32); /* when it published there was one */
        store_relaxed(&f.engine->segment.queues[0].lock, held ? 2 : 0);
        assert_int_equal(reopen(&f).armed_journals, 0);
        run_all(&f);
        expect(0, 1, 3);
        engine_fixture_close(&f);
    }
}

/* ---- spawns and ends ---- */

/* Free slots come in no promised order. */
static actor_ref spawn_in_slot(struct engine_fixture *f, uint32_t slot)
{
    actor_ref ref = 0;
    for (unsigned i = 0; i < ODEON_PORTS_MAX && (ref == 0 || actor_ref_slot(ref) != slot); i++)
        if (engine_actor_spawn(f->engine, probe_type, NULL, &(uint32_t){ 0 }, 4, &ref) < 0)
            break;
    assert_int_equal(actor_ref_slot(ref), slot);
    return ref;
}

static void test_spawn_that_was_not_committed(void **state)
{
    (void)state;
    for (unsigned committed = 0; committed < 2; committed++) {
        struct engine_fixture f;
        fixture_begin(&f);
        queues_clear(&f);
        struct worker *w = f.engine->workers[0];
        uint32_t queue = 0;
        struct engine_spawn spawn = { .name = "fresh", .args = &queue, .args_size = 4 };
        actor_ref ref, found;
        assert_int_equal(spawn_actor(w, probe_type, 0, &spawn, &ref), 0);
        place_newborn_settle(w);
        if (committed)
            commit_flip(w, 0, 0, 0, w->outbox.length, 0, 0);
        struct engine_recovery report = reopen(&f);
        assert_int_equal(report.spawns_undone, !committed);
        assert_int_equal(engine_actor_lookup(f.engine, "fresh", &found), committed ? 0 : -ENOENT);
        run_all(&f);
        assert_int_equal(n_inits, committed);
        if (!committed) { /* name and slot are free again, the reference is not */
            assert_int_equal(engine_actor_spawn(f.engine, probe_type, "fresh", &queue, 4, &found),
                             0);
            assert_int_equal(actor_ref_generation(spawn_in_slot(&f, actor_ref_slot(ref))), 2);
        }
        engine_fixture_close(&f);
    }
}

static void test_end_is_done_again_by_generation(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct engine_actor_view view;
    fixture_begin(&f);
    queues_clear(&f);
    struct worker *w = f.engine->workers[0];
    commit_flip(w, 0, 0, 0, 0, actors[0], ALLOCATION_DELETE);
    reopen(&f);
    assert_int_equal(engine_actor_get(f.engine, actors[0], &view), -ESRCH);
    types_register(&f);
    actor_ref again = spawn_in_slot(&f, actor_ref_slot(actors[0]));
    assert_int_equal(actor_ref_generation(again), 2);
    queues_clear(&f);
    w = f.engine->workers[0];
    commit_flip(w, 0, 0, 0, 0, actors[0], ALLOCATION_DELETE); /* the one before */
    reopen(&f);
    assert_int_equal(engine_actor_get(f.engine, again, &view), 0);
    assert_int_equal(engine_actor_get(f.engine, actors[1], &view), 0);
    engine_fixture_close(&f);
}

/* ---- batches ---- */

/* Four records in a batch of queue 0, the first `consumed` of them committed. */
static struct worker *batch_attach(struct engine_fixture *f, unsigned consumed)
{
    fixture_begin(f);
    queues_clear(f);
    struct segment_queue *queue = &f->engine->segment.queues[0];
    for (uint64_t number = 1; number <= 4; number++)
        queue_put(f, 0, 0, number);
    queue_gulp(queue, 0);
    for (uint64_t number = 5; number <= 6; number++)
        queue_put(f, 0, 1, number);
    struct worker *w = f->engine->workers[0];
    commit_flip(w, 1, 32 * consumed, 128, 0, 0, 0);
    return w;
}

static void test_gulped_and_not_attached(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct worker *w = batch_attach(&f, 0);
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    struct engine_recovery report = reopen(&f);
    assert_int_equal(report.parked_batches, 1);
    assert_int_equal(report.attached_batches, 0);
    run_all(&f);
    expect(0, 1, 6);
    engine_fixture_close(&f);
}

static void test_attached_batch_goes_on(void **state)
{
    (void)state;
    for (unsigned consumed = 0; consumed <= 4; consumed++) {
        struct engine_fixture f;
        struct worker *w = batch_attach(&f, consumed);
        store_relaxed(&w->durable->turn, 0); /* between handlers: a flush, say */
        struct engine_recovery report = reopen(&f);
        assert_int_equal(report.attached_batches, 1);
        assert_int_equal(report.running_handlers, 0);
        assert_int_equal(report.redeliveries, 0);
        run_all(&f);
        expect(0, 1 + consumed, 6 - consumed);
        assert_int_equal(seen[0].n_redelivered, 0);
        engine_fixture_close(&f);
    }
}

static void test_tail_appends_count_as_far_as_committed(void **state)
{
    (void)state;
    for (unsigned tails = 0; tails <= 2; tails++) {
        struct engine_fixture f;
        struct worker *w = batch_attach(&f, 1);
        /* the way behind the tail is open: nothing else waits */
        store_relaxed(&f.engine->segment.queues[0].len[1], 0);
        struct envelope *at = (struct envelope *)(segment_window(&f.engine->segment, 0, 0) + 128);
        for (uint64_t number = 5; number <= 6;
             number++, at = (struct envelope *)((uint8_t *)at + 32)) {
            *at = number_envelope(0);
            memcpy(envelope_payload(at), &number, 8);
        }
        commit_flip(w, 1, 32, 128 + 32 * tails, 0, 0, 0);
        assert_int_equal(reopen(&f).attached_batches, 1);
        run_all(&f);
        expect(0, 2, 3 + tails);
        engine_fixture_close(&f);
    }
}

static void test_running_message_is_marked(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct worker *w = batch_attach(&f, 2);
    store_relaxed(&w->durable->turn, 1);
    struct engine_recovery report = reopen(&f);
    assert_int_equal(report.running_handlers, 1);
    assert_int_equal(report.redeliveries, 1);
    assert_int_equal(report.faults, 0);
    assert_int_equal(reopen(&f).redeliveries, 0); /* the mark stays, the count does not grow */
    run_all(&f);
    expect(0, 3, 4);
    assert_int_equal(seen[0].n_redelivered, 1);
    engine_fixture_close(&f);
}

/* A batch that has gone on at the beginning of its buffer: 3 and 4, then `second` records from 5 on
 * in front of them; `consumed` of the first piece. Attached, or, with `parked`, set aside. */
static void batch_in_two(unsigned consumed, unsigned second, bool parked)
{
    struct engine_fixture f;
    struct worker *w = batch_attach(&f, 2);
    struct segment_queue *queue = &f.engine->segment.queues[0];
    uint64_t unreceived = 0;
    store_relaxed(&queue->len[1], 0); /* nothing else waits */
    for (uint64_t i = 0; i < second; i++) {
        struct envelope *at =
            (struct envelope *)(segment_window(&f.engine->segment, 0, 0) + 32 * i);
        *at = number_envelope(0);
        memcpy(envelope_payload(at), &(uint64_t){ 5 + i }, 8);
    }
    w->batch.wrap = 128;
    commit_flip(w, 1, 64 + 32 * consumed, 32 * second, 0, 0, 0);
    store_relaxed(&w->durable->turn, !parked);
    if (parked) {
        queue_park_batch(queue, 64 + 32 * consumed, 32 * second, 128);
        w->batch.wrap = 0;
        commit_flip(w, 0, 0, 0, 0, 0, 0);
    }
    unsigned left = 2 - consumed + second;
    for (unsigned times = 0; times < 2; times++) { /* the second recovery finds it set aside */
        struct engine_recovery report = reopen(&f);
        bool first = !parked && times == 0;
        assert_int_equal(report.attached_batches, first);
        assert_int_equal(report.parked_batches, !first);
        assert_int_equal(report.running_handlers, first && left > 0);
        assert_int_equal(report.redeliveries, first && left > 0);
        assert_int_equal(engine_drain(f.engine, 0, false, &unreceived), 1);
        assert_int_equal(unreceived, left);
    }
    run_all(&f);
    expect(0, 3 + consumed, left);
    assert_int_equal(seen[0].n_redelivered, !parked && left > 0);
    /* it lies elsewhere by now */
    assert_int_equal(load_relaxed(&f.engine->segment.queues[0].wrap), 0);
    engine_fixture_close(&f);
}

static void test_batch_in_two_pieces(void **state)
{
    (void)state;
    for (unsigned consumed = 0; consumed <= 2; consumed++)
        for (unsigned second = 0; second <= 2; second++) {
            batch_in_two(consumed, second, false);
            batch_in_two(consumed, second, true);
        }
}

/* Counts go on where the low part ends, records behind that are greater, and journals of before are
 * void. */
static void test_count_gets_a_new_high_part(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct worker *w = batch_attach(&f, 1);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t before = commit_count(w);
        /* as if so many messages had been run */
        store_relaxed(&w->slot->what, commit_what(0, COMMIT_LOW_MASK / 2 + i));
        assert_true(commit_count(w) > before);
        before = commit_count(w);
        journal_arm(w, 1, 0, 4096);
        commit_flip(w, 1, 64, 128, 0, 0, 0);
        assert_true(commit_count(w) > before);
        assert_true(segment_count(w->durable) == commit_count(w));
        assert_ptr_equal(segment_commit_valid(w->durable), w->slot);
    }
    store_relaxed(&w->durable->turn, 0);
    struct engine_recovery report = reopen(&f);
    assert_int_equal(report.attached_batches, 1);
    assert_int_equal(report.armed_journals, 0);
    run_all(&f);
    expect(0, 3, 4);
    engine_fixture_close(&f);
}

static void test_faults_are_counted_on_the_message(void **state)
{
    (void)state;
    for (uint32_t attempts = 1; attempts <= 3; attempts++)
        for (unsigned fresh = 0; fresh < 2; fresh++) {
            struct engine_fixture f;
            struct worker *w = batch_attach(&f, 3);
            store_relaxed(&w->durable->turn, 1);
            w->durable->fault = (struct segment_fault){
                .tag = commit_count(w) - !fresh, /* of an earlier message: void */
                .signal = 11,
                .attempts = attempts,
                .address = 0x1234,
                .actor = actors[0],
                .message_type = number_type,
                .actor_type = probe_type,
            };
            struct engine_recovery report = reopen(&f);
            struct engine_fault fault;
            assert_int_equal(report.faults, fresh);
            assert_int_equal(engine_fault_get(f.engine, 0, &fault), fresh ? 0 : -ENOENT);
            if (fresh) {
                assert_int_equal(fault.signal, 11);
                assert_int_equal(fault.address, 0x1234);
                assert_int_equal(fault.attempts, attempts);
                assert_string_equal(fault.actor_type, "probe");
                assert_string_equal(fault.plugin, "test");
                assert_string_equal(fault.message, "number");
                assert_int_equal(engine_fault_get(f.engine, 1, &fault), -ENOENT);
            }
            run_all(&f);
            bool given_up = fresh && attempts >= 3;
            assert_int_equal(dead_letters(&f, REASON_ATTEMPTS), given_up);
            assert_int_equal(seen[0].n, given_up ? 2 : 3);
            engine_fixture_close(&f);
        }
}

/* What is wrong with a death: nothing, or what keeps it from being counted. */
enum death {
    DEATH,
    DEATH_EXPLAINED,
    DEATH_FAULT,
    DEATH_OUTSIDE,
    DEATH_WAITING,
    DEATH_COUNTED,
    DEATH_N
};

/* The batch's last message is running when the executor dies; how many deaths it has then. */
static uint32_t death_of_last(struct engine_fixture *f, enum death death)
{
    struct worker *w = f->engine->workers[0];
    struct segment_worker *control = &f->engine->segment.workers[f->engine->segment.n_ids - 1];
    struct segment_suspicion *suspicion = &w->durable->suspicion;
    commit_flip(w, 1, 96, 128, 0, 0, 0);
    store_relaxed(&w->durable->turn, 1);
    store_relaxed(&suspicion->trial, death == DEATH_WAITING ? TRIAL_NONE : TRIAL_RUN);
    f->config.death_explained = death == DEATH_EXPLAINED;
    if (death == DEATH_FAULT)
        w->durable->fault =
            (struct segment_fault){ .tag = commit_count(w), .signal = 11, .attempts = 1 };
    if (death == DEATH_OUTSIDE)
        store_relaxed(&control->suspicion.verdict, VERDICT_EXPLAINED);
    if (death == DEATH_COUNTED) { /* and a recovery from it was killed; so its own end is another */
        store_relaxed(&control->suspicion.verdict, VERDICT_COUNTS);
        f->config.death_explained = true;
        suspicion->tag = commit_count(w);
    }
    (void)reopen(f);
    w = f->engine->workers[0];
    control = &f->engine->segment.workers[f->engine->segment.n_ids - 1];
    assert_int_equal(load_relaxed(&w->durable->suspicion.trial), TRIAL_NONE);
    assert_int_equal(load_relaxed(&control->suspicion.verdict), VERDICT_NONE);
    struct segment_queue *queue = &f->engine->segment.queues[0];
    unsigned inactive = queue_active(load_relaxed(&queue->sel)) ^ 1;
    return suspect_deaths(
        (const struct envelope *)(segment_window(&f->engine->segment, 0, inactive) +
                                  load_relaxed(&queue->cursor)));
}

/* suspect.S1 to suspect.S4, and suspect.S6 */
static void test_deaths_without_a_cause(void **state)
{
    (void)state;
    for (uint32_t limit = 0; limit <= 3; limit++) {
        struct engine_fixture f;
        struct engine_suspect suspect;
        (void)batch_attach(&f, 3);
        f.config.suspect_deaths = limit;
        for (uint32_t deaths = 1; deaths <= 3; deaths++) {
            uint32_t known = limit ? deaths - 1 : 0;
            for (enum death death = DEATH_EXPLAINED; death < DEATH_WAITING; death++)
                assert_int_equal(death_of_last(&f, death), known);
            if (known >= SUSPECT_ALONE)
                assert_int_equal(death_of_last(&f, DEATH_WAITING), known);
            known += limit > 0;
            assert_int_equal(death_of_last(&f, DEATH), known);
            bool told = limit > 0 && (known >= SUSPECT_ALONE || known >= limit);
            assert_int_equal(engine_suspect_get(f.engine, 0, &suspect), told ? 0 : -ENOENT);
            if (told) {
                assert_int_equal(suspect.deaths, known);
                assert_int_equal(suspect.actor, actors[0]);
                assert_string_equal(suspect.actor_type, "probe");
                assert_string_equal(suspect.plugin, "test");
                assert_string_equal(suspect.message, "number");
            }
            if (limit > 0)
                assert_int_equal(death_of_last(&f, DEATH_COUNTED), known);
        }
        run_all(&f);
        assert_int_equal(dead_letters(&f, REASON_SUSPECTED), limit > 0);
        assert_int_equal(seen[0].n, limit > 0 ? 2 : 3);
        engine_fixture_close(&f);
    }
}

/* Killed inside the release of a batch: after each of its stores. */
static void test_release_cut_anywhere(void **state)
{
    (void)state;
    for (unsigned stores = 0; stores <= 3; stores++) {
        struct engine_fixture f;
        (void)batch_attach(&f, 4);
        struct segment_queue *queue = &f.engine->segment.queues[0];
        if (stores > 0)
            store_relaxed(&queue->len[0], 0);
        if (stores > 1)
            store_relaxed(&queue->cursor, 0);
        if (stores > 2)
            store_relaxed(&queue->sel, SEL_ACTIVE);
        assert_int_equal(reopen(&f).attached_batches, stores <= 2);
        run_all(&f);
        expect(0, 5, 2);
        engine_fixture_close(&f);
    }
}

/* Killed while a batch is set aside, with what its messages sent still in the outbox. */
static void test_park_cut_anywhere(void **state)
{
    (void)state;
    for (unsigned stores = 0; stores <= 3; stores++) {
        struct engine_fixture f;
        struct worker *w = batch_attach(&f, 1);
        struct segment_queue *queue = &f.engine->segment.queues[0];
        w->batch.source = 1;
        outbox_put(w, 1, 100);
        outbox_group(w, w->outbox.length);
        commit_flip(w, 1, 64, 128, w->outbox.length, 0, 0);
        if (stores > 0) {
            step_cut(&f, w, 1, CUT_UNLOCKED);
            commit_flip(w, 1, 64, 128, 0, 0, 0);
        }
        if (stores > 1)
            queue_park_batch(queue, 64, 128, 0);
        if (stores > 2)
            commit_flip(w, 0, 0, 0, 0, 0, 0);
        struct engine_recovery report = reopen(&f);
        assert_int_equal(report.unflushed_outboxes, stores == 0);
        assert_int_equal(report.attached_batches, stores < 3);
        assert_int_equal(report.parked_batches, stores == 3);
        run_all(&f);
        expect(0, 3, 4);
        expect(1, 100, 1);
        engine_fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flush_cut_anywhere),
        cmocka_unit_test(test_held_lock_without_journal),
        cmocka_unit_test(test_journal_of_an_earlier_commit),
        cmocka_unit_test(test_journal_whose_lock_is_anothers),
        cmocka_unit_test(test_spawn_that_was_not_committed),
        cmocka_unit_test(test_end_is_done_again_by_generation),
        cmocka_unit_test(test_gulped_and_not_attached),
        cmocka_unit_test(test_attached_batch_goes_on),
        cmocka_unit_test(test_tail_appends_count_as_far_as_committed),
        cmocka_unit_test(test_running_message_is_marked),
        cmocka_unit_test(test_batch_in_two_pieces),
        cmocka_unit_test(test_count_gets_a_new_high_part),
        cmocka_unit_test(test_faults_are_counted_on_the_message),
        cmocka_unit_test(test_deaths_without_a_cause),
        cmocka_unit_test(test_release_cut_anywhere),
        cmocka_unit_test(test_park_cut_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
