/* SPDX-License-Identifier: Apache-2.0 */
/* A segment is damaged in one word, and refused for it, before a byte of it is changed; with the
 * word put back it is recovered, and all that waited is run. And what the look costs with a million
 * messages. */
#include "daemon/engine/asks/monitor.h"
#include "daemon/engine/recovery/verify.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/timers/timers.h"
#include "engine_fixture.h"
#include "segment_state.h"

enum { ACTORS = STATE_QUEUES, PORT = STATE_PORT };

static uint16_t number_type;
static uint32_t probe_type;
static uint64_t n_seen;
static actor_ref actors[ACTORS];

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    n_seen++;
    return ALLOCATION_NODELETE;
}

static void types_register(struct engine_fixture *f)
{
    const struct engine_behaviour on[] = { { 0, 8, false, on_number } };
    struct engine_behaviour behaviour = on[0];
    number_type = behaviour.message_type = engine_fixture_message(f, "number", 8, false);
    probe_type = engine_fixture_type(f, "probe", 8, NULL, NULL, &behaviour, 1);
}

static void begin(struct engine_fixture *f, uint64_t limit)
{
    struct engine_config config = engine_fixture_config(1, ACTORS);
    config.timers_max = 8;
    config.timer_bytes = 1 << 17;
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = limit;
    config.outbox_bytes = 1 << 18;
    config.backlog_bytes = 1 << 16;
    config.dlq_bytes = 1 << 16;
    config.durable_bytes = STATE_KEPT_BYTES;
    engine_fixture_open(f, config);
    types_register(f);
    n_seen = 0;
    for (uint32_t i = 0; i < ACTORS; i++) {
        actor_ref ref = engine_fixture_spawn(f, probe_type, NULL, 0);
        struct engine_actor_view view;
        assert_int_equal(engine_actor_get(f->engine, ref, &view), 0);
        assert_in_range(view.queue, 0, ACTORS - 1);
        actors[view.queue] = ref;
    }
    for (uint32_t i = 0; i < ACTORS; i++)
        assert_int_not_equal(actors[i], 0);
}

/* ---- one word ---- */

static uint64_t sum_of(int fd)
{
    uint64_t sum = 0, word;
    for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0;) {
        off_t end = lseek(fd, at, SEEK_HOLE);
        for (; at < end; at += 8)
            if (pread(fd, &word, 8, at) == 8 && word)
                sum = (sum ^ word ^ (uint64_t)at) * 1099511628211u;
    }
    return sum;
}

static int refused_with = -EPROTO;
static void expect_refused(struct engine_fixture *f, const char *part)
{
    struct engine_recovery report;
    const char *text = "";
    uint64_t before = sum_of(f->segment_fd);
    int r = engine_open(&f->config, f->segment_fd, f->stats_fd, &f->engine, &text);
    if (r == 0) {
        r = engine_recover(f->engine, &report);
        text = report.damage;
    }
    if (r != refused_with || !strstr(text, part))
        fail_msg("%d, '%s'; expected: %d, '%s'", r, text, refused_with, part);
    f->engine = engine_close(f->engine);
    assert_true(sum_of(f->segment_fd) == before);
}

/* `bytes` at `at` become `value` (and zeros), are refused, and put back. */
static void damage(struct engine_fixture *f, void *at, uint64_t value, size_t bytes,
                   const char *part)
{
    off_t offset = (off_t)((uint8_t *)at - f->engine->segment.base);
    uint8_t was[256], now[256] = { 0 };
    assert_in_range(bytes, 1, sizeof(was));
    memcpy(now, &value, bytes < sizeof(value) ? bytes : sizeof(value));
    f->engine = engine_close(f->engine);
    assert_int_equal(pread(f->segment_fd, was, bytes, offset), bytes);
    assert_int_equal(pwrite(f->segment_fd, now, bytes, offset), bytes);
    print_message("   %zu bytes at %lld: %s\n", bytes, (long long)offset, part);
    expect_refused(f, part);
    assert_int_equal(pwrite(f->segment_fd, was, bytes, offset), bytes);
    const char *text;
    assert_int_equal(engine_open(&f->config, f->segment_fd, f->stats_fd, &f->engine, &text), 0);
}
static void damage_name(struct engine_fixture *f, char *name, const char *part)
{
    char was[ODEON_NAME_MAX];
    memcpy(was, name, sizeof(was));
    size_t offset = (size_t)((uint8_t *)name - f->engine->segment.base);
    memset(name, 'x', sizeof(was));
    damage(f, name + ODEON_NAME_MAX, 'x', 1, part);
    memcpy(f->engine->segment.base + offset, was, sizeof(was));
}
#define DAMAGE(field, value, part) damage(f, (void *)&(field), (value), sizeof(field), part)
/* Each time anew: an engine that is opened again may have its segment elsewhere. */
#define S       (&f->engine->segment)
#define TIMER   (&S->timers[0])
#define MESSAGE segment_timer_message(S, TIMER)

/* As if actors[0] had armed one for itself. */
static void timer_make(struct engine_fixture *f)
{
    struct segment_timer *timer = &S->timers[0];
    *timer = (struct segment_timer){ .owner = actors[0], .class = 1, .place = 3 };
    struct envelope *message = segment_timer_message(S, timer);
    *message = (struct envelope){
        .to = actors[0], .type = number_type, .length = 16, .prefix = PREFIX_KIND
    };
    envelope_word_put(message, PREFIX_KIND, envelope_kind_timer(0));
    store_relaxed(&timer->word, timer_word(1, TIMER_LIVE));
    store_relaxed(&S->header->timers_high, 1);
}

/* As if a group kept it for its member. */
static void damage_kept(struct engine_fixture *f)
{
    TIMER->stashed = TIMER_KEPT;
    MESSAGE->prefix = 0;
    DAMAGE(TIMER->period_ns, 1000000, "timer 0: no message");
    DAMAGE(TIMER->group, actors[1], "timer 0: no message");
    DAMAGE(MESSAGE->flags, ENVELOPE_REPLY, "timer 0: no message");
    DAMAGE(MESSAGE->prefix, PREFIX_KIND, "timer 0: no message");
    DAMAGE(MESSAGE->type, MESSAGE_TYPE_FIRST_PLAIN - 1, "timer 0: no message");
    TIMER->stashed = TIMER_NOT_STASHED;
    MESSAGE->prefix = PREFIX_KIND;
}

/* As if the client of PORT had posted it for later. */
static void damage_posted(struct engine_fixture *f)
{
    TIMER->owner = actor_ref_make(PORT, 1);
    TIMER->posted = TIMER_POSTED | 1001;
    DAMAGE(MESSAGE->prefix, 0, "timer 0: no message");
    DAMAGE(MESSAGE->flags, ENVELOPE_REPLY, "timer 0: no message");
    DAMAGE(MESSAGE->type, MESSAGE_TYPE_FIRST_PLAIN - 1, "timer 0: no message");
    TIMER->owner = actors[0];
    TIMER->posted = 0;
    refused_with = -ESRCH;
    DAMAGE(TIMER->owner, actor_ref_of(2, ODEON_PORTS_MAX, 1), "timer 0: a reference of executor 2");
    DAMAGE(MESSAGE->to, actor_ref_of(2, ODEON_PORTS_MAX, 1), "timer 0: a reference of executor 2");
    refused_with = -EPROTO;
}

static void damage_timers(struct engine_fixture *f)
{
    DAMAGE(S->header->timers_high, 1 << 20, "timers were used");
    DAMAGE(TIMER->word, timer_word(1, 7), "a state that there is not");
    DAMAGE(TIMER->word, timer_word(0, TIMER_LIVE), "timer 0: words");
    DAMAGE(TIMER->class, TIMER_CLASSES, "timer 0: words");
    DAMAGE(TIMER->place, 1 << 30, "timer 0: words");
    DAMAGE(TIMER->arm_worker, 77777, "timer 0: words");
    DAMAGE(TIMER->clock, TIMER_CLOCKS, "timer 0: words");
    DAMAGE(TIMER->posted, 2 * TIMER_POSTED, "timer 0: words");
    DAMAGE(TIMER->posted, TIMER_POSTED, "timer 0: no message"); /* whose owner is no port */
    DAMAGE(TIMER->stashed, 2, "timer 0: no message");
    TIMER->stashed = 1;
    DAMAGE(TIMER->period_ns, 1000000, "timer 0: no message");
    DAMAGE(MESSAGE->to, actors[1], "timer 0: no message");
    DAMAGE(MESSAGE->flags, ENVELOPE_REPLY, "timer 0: no message");
    TIMER->stashed = 0;
    DAMAGE(MESSAGE->length, 60000, "timer 0: no message");
    DAMAGE(MESSAGE->prefix, 0, "timer 0: no message");
    DAMAGE(MESSAGE->to, actor_ref_make((1 << 24) - 1, 1), "timer 0: no message");
    DAMAGE(TIMER->owner, actor_ref_make((1 << 24) - 1, 1), "timer 0: no message");
    DAMAGE(TIMER->group, actor_ref_make((1 << 24) - 1, 1), "timer 0: no message");
    DAMAGE(TIMER->member_place, 1, "timer 0: no message");      /* of no group */
    DAMAGE(TIMER->end, REASON_FINISHED, "timer 0: no message"); /* it watches nobody */
    TIMER->claim_count = 1;
    DAMAGE(TIMER->claim_worker, 77777, "timer 0: words");
    TIMER->claim_count = 0;
    TIMER->group = actors[1];
    DAMAGE(TIMER->member_place, S->n_timers, "timer 0: no message");
    TIMER->group = 0;
    MESSAGE->flags = ENVELOPE_REPLY;
    DAMAGE(MESSAGE->prefix, PREFIX_CORRELATION, "timer 0: no message");
    MESSAGE->flags = 0;
    damage_kept(f);
    damage_posted(f);
}

/* As if the client of PORT watched actors[0]. */
static void monitor_make(struct engine_fixture *f)
{
    struct segment_timer *timer = &S->timers[0];
    timer->owner = actor_ref_make(PORT, 1);
    timer->posted = TIMER_POSTED | 1001;
    timer->watched = actors[0];
    monitor_down_write(segment_timer_message(S, timer), timer->owner,
                       &(struct down){ .ref = actors[0], .monitor = 7 });
}

static void damage_monitors(struct engine_fixture *f)
{
    DAMAGE(TIMER->posted, 0, "timer 0: no message"); /* an actor's, whose owner is none */
    DAMAGE(TIMER->owner, actors[0], "timer 0: no message");
    DAMAGE(TIMER->watched, 0, "timer 0: no message"); /* no client can post that */
    DAMAGE(TIMER->watched, actor_ref_make((1 << 24) - 1, 1), "timer 0: no message");
    DAMAGE(TIMER->end, REASON_N, "timer 0: no message");
    DAMAGE(TIMER->period_ns, 1000000, "timer 0: no message");
    DAMAGE(TIMER->group, actors[1], "timer 0: no message");
    DAMAGE(TIMER->stashed, 1, "timer 0: no message");
    DAMAGE(MESSAGE->to, actor_ref_make(PORT + 1, 1), "timer 0: no message");
    DAMAGE(MESSAGE->to, actors[0], "timer 0: no message");
    DAMAGE(MESSAGE->type, number_type, "timer 0: no message");
    DAMAGE(MESSAGE->length, 8, "timer 0: no message");
    MESSAGE->length = 8; /* as a link has it: nobody ends with that */
    DAMAGE(MESSAGE->type, MESSAGE_TYPE_POISON_DELETE, "timer 0: no message");
}

static void damage_port_slot(struct engine_fixture *f)
{
    uint32_t queue = S->actors[PORT].queue;
    DAMAGE(S->actors[PORT].queue, 0, "slot 3 holds no actor");
    DAMAGE(S->actors[PORT].name, 60000, "slot 3 holds no actor");
    S->actors[PORT].queue = 0; /* where actors are, which a port's slot is none of */
    DAMAGE(S->actors[PORT].word, slot_word(1, probe_type, ACTOR_SLOT_LIVE),
           "slot 3 holds no actor");
    S->actors[PORT].queue = queue;
}

static void damage_phases(struct engine_fixture *f)
{
    store_relaxed(&S->header->n_phases, 2);
    S->phases[1].type = probe_type;
    DAMAGE(S->phases[1].type, 70, "phase 1 is none that can be, of type 70");
    damage_name(f, S->phases[1].name, "phase 1 is none that can be");
    S->phases[1].type = 0;
    store_relaxed(&S->header->n_phases, 1);
}

static void damage_tables(struct engine_fixture *f)
{
    DAMAGE(S->header->magic, 0, "its magic number is gone");
    DAMAGE(S->header->magic, 77, "not an engine segment");
    DAMAGE(S->header->windows_offset, UINT64_MAX / 2, "header is damaged");
    DAMAGE(S->header->coming.timers.offset, 4096, "header is damaged");
    DAMAGE(S->header->coming.blocks.offset, 4096, "header is damaged");
    DAMAGE(S->header->version, 5, "is of layout 1 (before ABI 2), this build has layout 2");
    DAMAGE(S->header->version, 6, "is of an earlier build of layout 2, which knew less");
    DAMAGE(S->header->version, 7, "is of an earlier build of layout 2, which knew less");
    DAMAGE(S->header->version, 8, "is of an earlier build of layout 2, which knew less");
    DAMAGE(S->header->version, 9, "is of an earlier build of layout 2, which knew less");
    DAMAGE(S->header->version, 12, "newer than this build's");
    DAMAGE(S->header->state_stride, 8, "header is damaged");
    DAMAGE(S->header->n_message_types, 3, "3 message types");
    DAMAGE(S->header->n_actor_types, 70000, "70000 actor types");
    DAMAGE(S->header->slots_high, 1 << 30, "slots of actors");
    damage_name(f, S->message_types[number_type].name, "message type");
    damage_name(f, S->actor_types[probe_type].plugin, "actor type");
    DAMAGE(S->actor_types[probe_type].restart, 9, "a policy that there is not");
    DAMAGE(S->actor_types[probe_type].overflow, 9, "a policy that there is not");
    uint32_t slot = actor_ref_slot(actors[0]);
    DAMAGE(S->actors[slot].word, slot_word(1, 77, ACTOR_SLOT_LIVE), "type 77");
    DAMAGE(S->actors[slot].word, slot_word(0, probe_type, ACTOR_SLOT_LIVE), "no actor that can be");
    DAMAGE(S->actors[slot].word, slot_word(1, probe_type, 7), "state 7");
    DAMAGE(S->actors[slot].word, slot_word(1, 0, ACTOR_SLOT_PORT), "no actor that can be");
    DAMAGE(S->actors[slot].queue, 60000, "queue 60000");
    DAMAGE(S->actors[slot].queue, S->aside_first, "no actor that can be");
    DAMAGE(S->actors[slot].args_size, 60000, "no actor that can be");
    DAMAGE(S->actors[slot].name, 60000, "no actor that can be");
    DAMAGE(S->actors[slot].reserved, 1, "no actor that can be");
    uint64_t mine = slot_word(slot_word_generation(load_relaxed(&S->actors[slot].word)), 0, 0);
    DAMAGE(S->actors[slot].phase, mine | 7 << 16, "no actor that can be");
    DAMAGE(S->actors[slot].phase, mine | 7, "no actor that can be");
    DAMAGE(S->actors[slot].word, slot_word(1, probe_type, ACTOR_SLOT_SPENT), "no actor that can");
    DAMAGE(S->actors[slot].word, slot_word(1, 0, ACTOR_SLOT_LIVE), "no actor that can be");
    S->actors[slot].name = 1;
    damage_name(f, S->names[0].name, "no actor that can be");
    S->actors[slot].name = 0;
    store_relaxed(&S->actors[slot].phase, mine);
    DAMAGE(S->actors[slot].phase_worker, 77, "no actor that can be");
    store_relaxed(&S->actors[slot].phase, 0);
    damage_port_slot(f);
    damage_phases(f);
    DAMAGE(S->header->n_message_types, ODEON_MESSAGE_TYPES_MAX + 1, "message types");
    DAMAGE(S->header->n_actor_types, 0, "0 actor types");
    DAMAGE(S->header->slots_high, ODEON_PORTS_MAX - 1, "slots of actors");
    damage_name(f, S->actor_types[probe_type].name, "actor type");
    DAMAGE(S->header->n_phases, 0, "0 phases");
    DAMAGE(S->header->n_phases, 5000, "5000 phases");
    DAMAGE(S->header->n_phases, 2, "phase 1 is none that can be, of type 0");
    DAMAGE(S->actor_types[probe_type].first_phase, 1, "a first phase that there is not");
    DAMAGE(S->ports[PORT].ref, actor_ref_make(PORT + 1, 1), "port 3 has");
    DAMAGE(S->ports[PORT].submission_bytes, 12345, "port 3 has");
    DAMAGE(S->ports[PORT].delivery_bytes, UINT64_C(1) << 40, "port 3 has");
    DAMAGE(S->ports[PORT].dtail, 7, "port 3 has");
    DAMAGE(S->ports[PORT].pcur, 65, "port 3 has");
}

/* reference.Q1: nothing here has another executor's number, and nothing of it is believed. */
static void damage_references(struct engine_fixture *f)
{
    unsigned valid = segment_commit_valid(&S->workers[0]) == &S->workers[0].slot[1];
    refused_with = -ESRCH;
    DAMAGE(S->ports[PORT].ref, actor_ref_of(2, PORT, 1), "port 3: a reference of executor 2");
    DAMAGE(S->workers[0].slot[valid].redo, actor_ref_of(9, ODEON_PORTS_MAX, 1),
           "worker 0: a reference of executor 9, and this one is 1");
    DAMAGE(((struct envelope *)segment_window(S, 0, 0))->to, actor_ref_of(2, ODEON_PORTS_MAX, 1),
           "queue 0: a reference of executor 2");
    refused_with = -EPROTO;
}

static void damage_workers(struct engine_fixture *f)
{
    unsigned valid = segment_commit_valid(&S->workers[0]) == &S->workers[0].slot[1];
    unsigned control =
        segment_commit_valid(&S->workers[S->n_ids - 1]) == &S->workers[S->n_ids - 1].slot[1];
#define SLOT (S->workers[0].slot[valid])
    DAMAGE(SLOT.source, 60000, "is none");
    DAMAGE(SLOT.source, S->dead_letters + 1, "is none");
    DAMAGE(S->workers[S->n_ids - 1].slot[control].source, 1, "which another worker has");
    DAMAGE(SLOT.redo, actor_ref_make(60000, 1), "commit record");
    DAMAGE(SLOT.redo_how, COMMIT_ASIDE, "sets an actor aside");
    DAMAGE(SLOT.redo_how, COMMIT_IN_PLACE, "ends an actor in place");
    DAMAGE(SLOT.redo_how, commit_end_how(ALLOCATION_DELETE, REASON_N), "commit record");
    DAMAGE(SLOT.base, 8, "commit record");
    DAMAGE(SLOT.where, commit_where(64, 32), "its batch");
    DAMAGE(SLOT.where, commit_where(0, UINT64_C(1) << 34), "its batch");
    DAMAGE(SLOT.where, commit_where(8, 64), "no record can be at byte 8");
    DAMAGE(SLOT.wrap, 7, "its batch");
    DAMAGE(SLOT.what, commit_what(1 << 20, commit_low(&SLOT)), "in its outbox");
    DAMAGE(SLOT.what, commit_what(24, commit_low(&SLOT)), "outbox");
    DAMAGE(((struct outbox_run *)segment_outbox(S, 0))->destination, 60000, "no run of its outbox");
    DAMAGE(((struct outbox_run *)segment_outbox(S, 0))->bytes, 5, "outbox"); /* of 8 bytes each */
    DAMAGE(S->workers[0].entry[1].destination, 1, "its journal names");
    DAMAGE(S->workers[0].entry[1].destination, JOURNAL_RING, "as a ring");
    DAMAGE(S->workers[0].entry[1].length, 9, "its journal names");
    DAMAGE(S->workers[0].entry[1].length, UINT64_C(1) << 40, "in a buffer of");
    DAMAGE(S->workers[0].entry[1].length, 160 + 32, "no record can be");
    DAMAGE(S->workers[0].arm, S->workers[0].arm + 1, "its journal names step 2");
    DAMAGE(segment_undo(S, 0)->slot, 60000, "are to be undone");
    DAMAGE(segment_undo(S, 0)->size, 60000, "are to be undone");
    DAMAGE(S->workers[S->n_ids - 1].slot[control].where, commit_where(1 << 20, 1 << 20),
           "attached to port 3");
    DAMAGE(S->ports[PORT].generation, 0, "attached to port 3");
    damage(f, &S->workers[S->n_ids - 1].slot[control].redo_how, COMMIT_LETTERS | UINT64_C(9) << 32,
           8, "the dead letters' words");
    DAMAGE(S->workers[0].slot, 0, "worker 0 has no valid commit record");
}

/* As if worker 0 had taken its batch straight from PORT. */
static void damage_direct(struct engine_fixture *f)
{
    unsigned valid = segment_commit_valid(&S->workers[0]) == &S->workers[0].slot[1];
    struct segment_commit was = SLOT;
    SLOT.redo_how = COMMIT_DIRECT;
    SLOT.redo = STATE_PORT_CURSOR;
    SLOT.port = PORT;
    SLOT.port_generation = 1;
    DAMAGE(SLOT.port, ODEON_PORTS_MAX, "its record came from port");
    DAMAGE(SLOT.redo, STATE_PORT_CURSOR + 4, "its record came from port");
    DAMAGE(SLOT.redo, 64 + ODEON_RING_MIN + 8, "moves the cursor of port 3 too far");
    SLOT.redo_how = COMMIT_TIMER;
    store_relaxed(&S->header->timers_high, 2); /* it is not the control thread */
    DAMAGE(SLOT.redo, 1, "its record is of a timer that cannot be");
    store_relaxed(&S->header->timers_high, 0);
    SLOT.redo_how = was.redo_how;
    SLOT.redo = was.redo;
    SLOT.port = was.port;
    SLOT.port_generation = was.port_generation;
}

/* As if worker 0 had set an actor of queue 1 aside, up to the commit. */
static void damage_aside(struct engine_fixture *f)
{
    unsigned valid = segment_commit_valid(&S->workers[0]) == &S->workers[0].slot[1];
    uint32_t aside = S->aside_first, n = 2 * S->n_queues;
    struct segment_commit was = SLOT;
    const char *why = "worker 0: its record sets an actor aside";
    SLOT.source = aside + 1;
    SLOT.redo_how = COMMIT_ASIDE;
    SLOT.redo = 1;
    SLOT.port_generation = 2 << 16 | 3;
    DAMAGE(SLOT.source, 1, why);
    DAMAGE(SLOT.wrap, 8, why);
    DAMAGE(SLOT.port_generation, n << 16 | 3, why);
    DAMAGE(SLOT.port_generation, 2 << 16 | n, why);
    DAMAGE(S->queues[1].sel, 0, why);
    SLOT.source = was.source;
    SLOT.redo_how = was.redo_how;
    SLOT.redo = was.redo;
    SLOT.port_generation = was.port_generation;
}

static void damage_letters(struct engine_fixture *f)
{
    uint32_t id = S->dead_letters;
#define LETTER (*(struct envelope *)(segment_window(S, id, 0) + sizeof(struct segment_dead_letter)))
    DAMAGE(S->queues[id].len[0], load_relaxed(&S->queues[id].len[0]) + 4,
           "the dead letters' words");
    DAMAGE(LETTER.to, actor_ref_make(60000, 1), "the dead letters: no record");
    refused_with = -ESRCH;
    DAMAGE(LETTER.to, actor_ref_of(2, ODEON_PORTS_MAX, 1), "a reference of executor 2");
    refused_with = -EPROTO;
}

static void damage_queues(struct engine_fixture *f)
{
#define RECORD (*(struct envelope *)segment_window(S, 0, 0))
    uint32_t backlog = segment_port_destination(S, PORT);
    DAMAGE(S->queues[0].window[1], 60000, "window 60000 is none");
    DAMAGE(S->queues[0].window[1], load_relaxed(&S->queues[1].window[0]), "or another's");
    DAMAGE(S->queues[0].sel, 77, "its words cannot be");
    DAMAGE(S->queues[0].sel, 0, "a worker has a batch of it that there is not");
    DAMAGE(S->queues[1].lock, 77, "its words cannot be");
    DAMAGE(S->queues[1].ring, UINT64_C(1) << 40, "its words cannot be");
    DAMAGE(S->queues[1].cursor, UINT64_C(1) << 40, "its batch");
    DAMAGE(S->queues[1].cursor, 100, "its batch");
    DAMAGE(S->queues[1].wrap, 96 + 8, "no record can be");
    DAMAGE(S->queues[1].len[1], 128, "its batch");
    DAMAGE(S->queues[1].len[0], 5, "in a buffer of");
    DAMAGE(S->queues[1].len[0], S->header->window_bytes, "in a buffer of");
    DAMAGE(S->queues[backlog].len[0], 1 << 20, "in a buffer of");
    DAMAGE(S->queues[S->dead_letters].len[0], 40, "the dead letters: no record");
    DAMAGE(S->queues[S->dead_letters].len[0], UINT64_C(1) << 40, "the dead letters' words");
    DAMAGE(S->queues[S->dead_letters].sel, SEL_BATCH, "the dead letters' words");
    /* of correlated ones alone */
    DAMAGE(RECORD.length, ODEON_PAYLOAD_MAX + 8, "no record can be at byte 0");
    DAMAGE(RECORD.type, 0, "no record can be at byte 0");
    DAMAGE(RECORD.length, 40000, "no record can be at byte 0");
    DAMAGE(RECORD.length, 17, "no record can be"); /* the next one begins elsewhere */
    /* which the loop of the turns would have taken for "as the one before" */
    DAMAGE(RECORD.to, 0, "no record can be at byte 0");
    DAMAGE(RECORD.to, actor_ref_make(60000, 1), "no record can be at byte 0");
}

/* A batch of one record that has been delivered; only a message queue's goes on at the beginning of
 * its buffer. */
static void damage_backlog(struct engine_fixture *f)
{
    uint32_t id = segment_port_destination(S, PORT);
    (void)state_put(segment_window(S, id, 1), 0, S->ports[PORT].ref, number_type);
    store_relaxed(&S->queues[id].sel, SEL_BATCH);
    queue_park_batch(&S->queues[id], 32, 32, 0);
    DAMAGE(S->queues[id].wrap, 32, "its batch");
    queue_release_batch(&S->queues[id]);
}

static void test_one_word(void **state)
{
    (void)state;
    struct engine_fixture fixture, *f = &fixture;
    struct engine_recovery report;
    begin(f, 1 << 16);
    state_make(f->engine, actors, number_type);
    damage_references(f);
    damage_workers(f);
    damage_direct(f);
    damage_aside(f);
    damage_queues(f);
    damage_letters(f);
    damage_backlog(f);
    damage_tables(f);
    timer_make(f);
    damage_timers(f);
    monitor_make(f);
    damage_monitors(f);
    monitor_make(f); /* as it is, it is believed */
    f->engine = engine_close(f->engine);
    engine_fixture_reopen(f, &report);
    assert_int_equal(report.armed_journals, 1);
    assert_int_equal(report.attached_batches, 1);
    assert_int_equal(report.states_undone, 1);
    types_register(f);
    assert_int_equal(engine_start(f->engine), 0);
    assert_true(engine_fixture_wait(f, TEST_DEADLINE_NS));
    engine_stop(f->engine);
    assert_int_equal(n_seen, STATE_MESSAGES);
    engine_fixture_close(f);
}

/* ---- words that mean nothing ---- */

/* Of a batch that there is not: a message queue's and a backlog's, which whoever runs them next
 * would have found with its first batch. */
static void test_words_without_a_batch(void **state)
{
    (void)state;
    struct engine_fixture fixture, *f = &fixture;
    struct engine_recovery report;
    begin(f, 1 << 16);
    const uint32_t ids[] = { 0, segment_port_destination(S, PORT) };
    for (int i = 0; i < 2; i++)
        queue_park_batch(&S->queues[ids[i]], 216, 195, 64);
    f->engine = engine_close(f->engine);
    engine_fixture_reopen(f, &report);
    for (int i = 0; i < 2; i++) {
        const struct segment_queue *queue = &S->queues[ids[i]];
        assert_int_equal(load_relaxed(&queue->sel), 0);
        assert_int_equal(load_relaxed(&queue->len[1]), 0);
        assert_int_equal(load_relaxed(&queue->cursor), 0);
        assert_int_equal(load_relaxed(&queue->wrap), 0);
    }
    engine_fixture_close(f);
}

/* ---- what it costs ---- */

static void test_a_million_messages(void **state)
{
    (void)state;
    enum { N = 1000000 };
    struct engine_fixture f;
    struct engine_recovery report;
    char text[VERIFY_TEXT_MAX];
    begin(&f, 32 << 20);
    for (uint32_t q = 0; q < ACTORS; q++) {
        uint8_t *base = segment_window(&f.engine->segment, q, 0);
        uint64_t end = 0;
        for (unsigned i = 0; i < N / ACTORS; i++)
            end = state_put(base, end, actors[q], number_type);
        store_relaxed(&f.engine->segment.queues[q].len[0], end);
    }
    f.engine = engine_close(f.engine);
    uint64_t start = clock_now_ns();
    engine_fixture_reopen(&f, &report);
    uint64_t all = clock_now_ns() - start;
    start = clock_now_ns();
    assert_int_equal(verify_segment(f.engine, text), 0);
    printf("# bench=verify messages=%d open_ms=%.1f recovery_ms=%.1f verify_again_ms=%.1f\n", N,
           (double)all / 1e6, (double)report.duration_ns / 1e6,
           (double)(clock_now_ns() - start) / 1e6);
    engine_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_word),
        cmocka_unit_test(test_words_without_a_batch),
        cmocka_unit_test(test_a_million_messages),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
