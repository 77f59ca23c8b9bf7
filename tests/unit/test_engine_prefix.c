/* SPDX-License-Identifier: Apache-2.0 */
/* Optional words (envelope.E4), known and unknown: carried from a port through a queue, a recovery,
 * a handler, the dead letters and a replay, unchanged, with the payload where it belongs.
 *
 * A port lets through what a client may set (the others break it: unit/engine_port); what a client
 * may not set is put into the record where it waits, as a build that knows it would have. */
#include "daemon/engine/ports/port.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"
#include "engine_client.h"
#include "engine_fixture.h"

enum { PORT = 3, PAYLOAD = 77, WORD = 1000 };

static struct engine_fixture f;
static struct client client;
static uint16_t number_type;
static actor_ref hearing, deaf;
static struct {
    unsigned n;
    uint64_t number, size, correlation;
} seen;

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    seen.n++;
    seen.number = *(const uint64_t *)message;
    seen.size = ctx->message_size;
    seen.correlation = ctx->correlation;
    return ALLOCATION_NODELETE;
}

static uint32_t types[2];

static void types_register(void)
{
    number_type = engine_fixture_message(&f, "number", 8, false);
    const struct engine_behaviour on[] = { { number_type, 8, false, on_number } };
    types[0] = engine_fixture_type(&f, "hearing", 8, NULL, NULL, on, 1);
    types[1] = engine_fixture_type(&f, "deaf", 8, NULL, NULL, on, 0);
}

static void run_port(void)
{
    uint32_t source = engine_source_of_port(f.engine, PORT);

    assert_true(owner_take(&f.engine->sources[source], 0, 0));
    assert_int_equal(port_run(f.engine->workers[0], PORT, false), -1);
}

static void run_queues(void)
{
    for (uint32_t q = 0; q < f.engine->segment.n_mailboxes; q++)
        while (queue_has_work(&f.engine->segment.queues[q]) &&
               owner_take(&f.engine->sources[q], 0, 0))
            mailbox_run(f.engine->workers[0], q, false);
}

static void begin(void)
{
    struct engine_config config = engine_fixture_config(1, 1);

    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.stealing = STEAL_NONE;
    engine_fixture_open(&f, config);
    types_register();
    hearing = engine_fixture_spawn(&f, types[0], NULL, 0);
    deaf = engine_fixture_spawn(&f, types[1], NULL, 0);
    client_open(&f, &client, PORT, 1);
    run_queues(); /* their init records */
    memset(&seen, 0, sizeof(seen));
}

static void end(void)
{
    engine_fixture_close(&f);
    client_free(&client);
}

/* The executor dies, and the next one takes the segment up. */
static void recover(void)
{
    struct engine_recovery report;

    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    types_register();
}

/* ---- a record with optional words */

static uint16_t length_of(unsigned prefix)
{
    return (uint16_t)(envelope_prefix_bytes(prefix) + 8);
}

static void expect_words(const struct envelope *at, unsigned prefix)
{
    const uint64_t *words = envelope_payload_behind(at, 0);
    uint32_t n = envelope_prefix_bytes(prefix) / 8;

    assert_int_equal(at->type, number_type);
    assert_int_equal(at->prefix, prefix);
    assert_int_equal(at->length, length_of(prefix));
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(words[i], WORD + i);
    assert_int_equal(words[n], PAYLOAD);
}

static struct envelope *waiting(actor_ref to)
{
    uint32_t queue =
        actor_key_destination(load_relaxed(&f.engine->actors.table[actor_ref_slot(to)].key));
    uint32_t sel = load_relaxed(&f.engine->segment.queues[queue].sel);

    assert_true(queue_has_work(&f.engine->segment.queues[queue]));
    assert_false(queue_has_batch(sel));
    return (struct envelope *)segment_window(&f.engine->segment, queue, queue_active(sel));
}

static const struct envelope *letter(void)
{
    const struct segment *s = &f.engine->segment;
    struct segment_queue *queue = &s->queues[s->dead_letters];
    const uint8_t *base =
        segment_window(s, s->dead_letters, queue_active(load_relaxed(&queue->sel)));

    assert_true(load_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel))]) > 0);
    return (const struct envelope *)(base + sizeof(struct segment_dead_letter));
}

/* From the client's ring into the receiver's queue, and over the end of an executor. */
static void bring(actor_ref to, unsigned prefix)
{
    bool allowed = (prefix & ~(unsigned)PREFIX_CLIENT_MAY_SET) == 0;
    struct envelope header = { .to = to,
                               .type = number_type,
                               .length = length_of(prefix),
                               .prefix = (uint8_t)(allowed ? prefix : 0) };
    uint64_t words[PREFIX_WORDS_MAX + 1];
    uint32_t n = envelope_prefix_bytes(prefix) / 8;

    for (uint32_t i = 0; i < n; i++)
        words[i] = WORD + i;
    words[n] = PAYLOAD;
    client_post_as(&client, header, words);
    run_port();
    assert_int_equal(load_relaxed(&client.executor->broken), 0);
    waiting(to)->prefix = (uint8_t)prefix;
    expect_words(waiting(to), prefix);
    recover();
    expect_words(waiting(to), prefix);
    assert_int_equal(waiting(to)->to, to);
    assert_int_equal(waiting(to)->from, client.ref);
}

static void expect_heard(unsigned prefix)
{
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.number, PAYLOAD);
    assert_int_equal(seen.size, 8);
    assert_int_equal(seen.correlation, prefix & PREFIX_CORRELATION ? WORD : 0);
}

static void check_handler(unsigned prefix)
{
    begin();
    bring(hearing, prefix);
    run_queues();
    expect_heard(prefix);
    end();
}

static void check_dead_letter(unsigned prefix)
{
    struct engine_dead_letters_done done;
    struct engine_dead_letter row;
    uint8_t payload[ODEON_PAYLOAD_MAX];
    uint64_t number;

    begin();
    bring(deaf, prefix);
    run_queues();
    for (unsigned i = 0; i < 2; i++) {
        expect_words(letter(), prefix);
        assert_int_equal(engine_dead_letter_get(f.engine, 1, &row, payload), 0);
        assert_int_equal(row.reason, REASON_NOT_ACCEPTED);
        assert_int_equal(row.size, 8);
        memcpy(&number, payload, sizeof(number));
        assert_int_equal(number, PAYLOAD);
        recover();
    }
    engine_dead_letters_replay(f.engine, NULL, 0, hearing, &done);
    assert_int_equal(done.done, 1);
    expect_words(waiting(hearing), prefix);
    run_queues();
    expect_heard(prefix);
    end();
}

static const unsigned prefixes[] = {
    PREFIX_CORRELATION,
    PREFIX_TRACE,
    PREFIX_CORRELATION | PREFIX_TRACE,
    PREFIX_KNOWN,
    PREFIX_TRACE | 0x40,
    0xff & ~PREFIX_KNOWN,
    0xff,
};

static void test_through_a_handler(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        check_handler(prefixes[i]);
}

static void test_through_the_dead_letters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        check_dead_letter(prefixes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_through_a_handler),
        cmocka_unit_test(test_through_the_dead_letters),
    };
    return cmocka_run_group_tests_name("prefix", tests, NULL, NULL);
}
