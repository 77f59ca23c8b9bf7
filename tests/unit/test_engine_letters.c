/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters by the thousand, asked for by id: all of them in one pass, whatever is asked for.
 * And a few that are replayed: which stay, and why. */
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/stuck/letter_marks.h"
#include "engine_fixture.h"

enum { LETTERS = 20000, WAVE = 100 };

static struct engine_fixture f;
static uint16_t number_type;
static actor_ref deaf;

static void run_queues(void)
{
    for (uint32_t q = 0; q < f.engine->segment.n_mailboxes; q++)
        while (queue_has_work(&f.engine->segment.queues[q]) &&
               owner_take(&f.engine->sources[q], 0, 0))
            mailbox_run(f.engine->workers[0], q, false);
}

/* Ids 1 to LETTERS. */
static int setup(void **state)
{
    struct engine_config config = engine_fixture_config(1, 1);

    (void)state;
    config.stealing = STEAL_NONE;
    config.dlq_bytes = 8 << 20;
    engine_fixture_open(&f, config);
    number_type = engine_fixture_message(&f, "number", 8, false);
    deaf =
        engine_fixture_spawn(&f, engine_fixture_type(&f, "deaf", 8, NULL, NULL, NULL, 0), NULL, 0);
    run_queues();
    for (uint64_t i = 1; i <= LETTERS; i++) {
        assert_int_equal(engine_actor_send(f.engine, deaf, number_type, &i, sizeof(i)), 0);
        if (i % WAVE == 0)
            run_queues();
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    engine_fixture_close(&f);
    return 0;
}

static uint64_t letter_first(uint64_t from)
{
    struct engine_dead_letter row = { 0 };
    bool more;

    return engine_dead_letters_list(f.engine, from, &row, 1, &more) ? row.id : 0;
}

static void test_whether_they_are_there(void **state)
{
    static uint64_t ids[LETTERS + 1];
    uint64_t missing = 0;

    (void)state;
    for (uint64_t i = 0; i <= LETTERS; i++)
        ids[i] = i + 1;
    assert_true(engine_dead_letters_exist(f.engine, ids, LETTERS, &missing));
    assert_true(engine_dead_letters_exist(f.engine, NULL, 0, &missing));
    assert_false(engine_dead_letters_exist(f.engine, ids, LETTERS + 1, &missing));
    assert_int_equal(missing, LETTERS + 1);
    assert_false(engine_dead_letters_exist(f.engine, (const uint64_t[]){ 0, 1 }, 2, &missing));
    assert_int_equal(missing, 0);
    assert_true(engine_dead_letters_exist(f.engine, (const uint64_t[]){ 7, 7, 9 }, 3, &missing));
}

static void test_every_second_one_goes(void **state)
{
    static uint64_t ids[LETTERS / 2];
    struct engine_dead_letters_done done;
    uint64_t missing = 0;

    (void)state;
    for (uint64_t i = 0; i < LETTERS / 2; i++)
        ids[i] = 2 * i + 1;
    engine_dead_letters_purge(f.engine, ids, LETTERS / 2, &done);
    assert_int_equal(done.done, LETTERS / 2);
    assert_false(engine_dead_letters_exist(f.engine, ids, 1, &missing));
    assert_int_equal(missing, 1);
    for (uint64_t i = 1; i < LETTERS; i += 1999)
        assert_int_equal(letter_first(i), i + i % 2);
    /* those that are not there, and the same ones twice */
    engine_dead_letters_purge(f.engine, (const uint64_t[]){ 1, 2, 2, 3, LETTERS, LETTERS + 5 }, 6,
                              &done);
    assert_int_equal(done.done, 2);
    assert_int_equal(letter_first(1), 4);
}

/* letter_marks.LM2: page by page, each letter is looked at about once, and a page in the middle is
 * found at once; marks of letters that have moved mislead nobody. */
static void test_page_by_page(void **state)
{
    enum { PAGE = 50 };
    struct engine_dead_letter rows[PAGE];
    struct letter_marks *marks = &f.engine->letter_marks;
    struct engine_dead_letters_done done;
    uint64_t next = 1, before = marks->looked;
    bool more = true;

    (void)state;
    while (more) {
        size_t n = engine_dead_letters_list(f.engine, next, rows, PAGE, &more);

        assert_int_equal(n, more ? PAGE : LETTERS - next + 1);
        assert_int_equal(rows[0].id, next);
        next = rows[n - 1].id + 1;
    }
    assert_int_equal(next, LETTERS + 1);
    assert_true(marks->looked - before < 4 * LETTERS);
    before = marks->looked;
    assert_int_equal(letter_first(LETTERS / 2), LETTERS / 2);
    assert_int_equal(letter_first(LETTERS), LETTERS);
    assert_true(marks->looked - before < LETTERS / 50);
    engine_dead_letters_purge(f.engine, (const uint64_t[]){ 1, 2, 3 }, 3, &done);
    assert_int_equal(done.done, 3);
    for (uint64_t i = 4; i <= LETTERS; i += 997)
        assert_int_equal(letter_first(i), i);
    assert_int_equal(letter_first(1), 4);
}

/* letter_marks.LM2: of a store that is as large as one can be there are no more marks than there is
 * room for, at each step, and they are where they were. */
static void test_no_more_marks_than_there_is_room_for(void **state)
{
    static struct letter_marks marks;
    uint64_t at = 0;

    (void)state;
    for (uint64_t id = 1; id <= 64 * LETTER_MARKS; id++, at += LETTER_MARKS_STRIDE) {
        letter_marks_note(&marks, id, at);
        assert_in_range(marks.n, 1, LETTER_MARKS);
    }
    for (uint64_t id = 1; id <= 64 * LETTER_MARKS; id++) {
        const struct letter_mark *mark = letter_marks_find(&marks, id);
        assert_non_null(mark);
        assert_in_range(id - mark->id, 0, marks.stride / LETTER_MARKS_STRIDE - 1);
        assert_int_equal(mark->at, (mark->id - 1) * LETTER_MARKS_STRIDE);
    }
    assert_null(letter_marks_find(&marks, 0));
}

/* ---- replayed */

enum { LARGE = 16000, MANY = 40, HEARD_MAX = 2 * MANY };

static uint16_t large_type;
static actor_ref hearing;
static uint64_t heard[HEARD_MAX];
static uint32_t n_heard;

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)ctx;
    assert_true(n_heard < HEARD_MAX);
    memcpy(&heard[n_heard++], message, sizeof(*heard));
    return ALLOCATION_NODELETE;
}

static void open_again(void)
{
    struct engine_recovery report;

    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
}

static uint32_t register_hearing(void)
{
    struct engine_behaviour on[] = { { number_type, 8, false, on_number },
                                     { large_type, LARGE, false, on_number } };

    return engine_fixture_type(&f, "hearing", 8, NULL, NULL, on, 2);
}

/* One who takes nothing, one who takes all, and an outbox with room for some sixteen large ones. */
static int setup_replay(void **state)
{
    struct engine_config config = engine_fixture_config(1, 1);

    (void)state;
    config.stealing = STEAL_NONE;
    config.outbox_bytes = 1 << 18;
    engine_fixture_open(&f, config);
    number_type = engine_fixture_message(&f, "number", 8, false);
    large_type = engine_fixture_message(&f, "large", LARGE, false);
    deaf =
        engine_fixture_spawn(&f, engine_fixture_type(&f, "deaf", 8, NULL, NULL, NULL, 0), NULL, 0);
    hearing = engine_fixture_spawn(&f, register_hearing(), NULL, 0);
    run_queues();
    n_heard = 0;
    return 0;
}

static void letter_make(uint16_t type, uint64_t number)
{
    uint8_t bytes[LARGE] = { 0 };

    memcpy(bytes, &number, sizeof(number));
    assert_int_equal(engine_actor_send(f.engine, deaf, type, bytes, type == large_type ? LARGE : 8),
                     0);
    run_queues();
}

static void expect_letter(uint64_t id, enum envelope_reason reason)
{
    struct engine_dead_letter rows[2];
    bool more;

    assert_int_equal(engine_dead_letters_list(f.engine, 0, rows, 2, &more), 1);
    assert_int_equal(rows[0].id, id);
    assert_int_equal(rows[0].reason, reason);
}

static void replay(actor_ref to, uint64_t n_done, uint64_t gone, uint64_t full)
{
    struct engine_dead_letters_done done;

    engine_dead_letters_replay(f.engine, NULL, 0, to, &done);
    assert_int_equal(done.done, n_done);
    assert_int_equal(done.gone, gone);
    assert_int_equal(done.full, full);
    assert_false(done.more);
}

/* It stays, whoever has its receiver's slot now, or if nobody can. */
static void test_its_receiver_has_ended(void **state)
{
    (void)state;
    letter_make(number_type, 7);
    assert_int_equal(engine_actor_send(f.engine, deaf, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    run_queues();
    replay(0, 0, 1, 0);
    replay(actor_ref_make(actor_ref_slot(hearing), actor_ref_generation(hearing) + 1), 0, 1, 0);
    replay(actor_ref_make(f.config.actors_max, 1), 0, 1, 0);
    expect_letter(1, REASON_NOT_ACCEPTED);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters_replayed), 0);
    replay(hearing, 1, 0, 0);
    run_queues();
    assert_int_equal(n_heard, 1);
    assert_int_equal(heard[0], 7);
    assert_int_equal(letter_first(0), 0);
}

/* It stays where there is no room, and goes when there is. */
static void test_its_receiver_is_full(void **state)
{
    struct segment_header *header = f.engine->segment.header;
    uint64_t limit = header->limit_bytes, word = 1;

    (void)state;
    letter_make(number_type, 7);
    assert_int_equal(engine_actor_send(f.engine, hearing, number_type, &word, sizeof(word)), 0);
    header->limit_bytes = 0;
    replay(hearing, 0, 0, 1);
    header->limit_bytes = limit;
    expect_letter(1, REASON_NOT_ACCEPTED);
    replay(hearing, 1, 0, 0);
    run_queues();
    assert_int_equal(n_heard, 2);
    assert_int_equal(heard[1], 7); /* behind what waited */
}

/* Who is not run takes it as it takes anything: it is a dead letter again, and a new one. */
static void test_the_type_of_its_receiver_is_unknown(void **state)
{
    (void)state;
    letter_make(number_type, 7);
    open_again();
    replay(hearing, 1, 0, 0);
    run_queues();
    expect_letter(2, REASON_TYPE_NOT_LOADED);
    (void)register_hearing();
    replay(0, 1, 0, 0);
    run_queues();
    assert_int_equal(n_heard, 1);
    assert_int_equal(heard[0], 7);
    assert_int_equal(letter_first(0), 0);
}

/* One that has been replayed and is refused again can be replayed again, and says what has become
 * of it this time. */
static void test_replayed_again(void **state)
{
    (void)state;
    letter_make(number_type, 7);
    for (uint64_t id = 1; id <= 3; id++) {
        expect_letter(id, REASON_NOT_ACCEPTED);
        replay(0, 1, 0, 0);
        assert_int_equal(letter_first(0), 0);
        run_queues();
    }
    expect_letter(4, REASON_NOT_ACCEPTED);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters_replayed), 3);
    replay(hearing, 1, 0, 0);
    run_queues();
    assert_int_equal(n_heard, 1);
    assert_int_equal(heard[0], 7);
}

/* As many as an outbox holds, and the others with the next calls. */
static void test_only_some_fit(void **state)
{
    struct engine_dead_letters_done done;
    uint64_t n = 0;

    (void)state;
    for (uint64_t i = 0; i < MANY; i++)
        letter_make(i % 4 == 3 ? number_type : large_type, i);
    for (bool more = true; more; n += done.done) {
        engine_dead_letters_replay(f.engine, NULL, 0, hearing, &done);
        more = done.more;
        assert_in_range(done.done, 1, MANY - 1);
        assert_int_equal(more, n + done.done < MANY);
        assert_int_equal(letter_first(0), more ? n + done.done + 1 : 0);
        run_queues();
    }
    assert_int_equal(n_heard, MANY);
    for (uint64_t i = 0; i < MANY; i++)
        assert_int_equal(heard[i], i); /* a small one does not overtake a large one */
}

#define REPLAY_TEST(test) cmocka_unit_test_setup_teardown(test, setup_replay, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whether_they_are_there, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_second_one_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_page_by_page, setup, teardown),
        cmocka_unit_test(test_no_more_marks_than_there_is_room_for),
        REPLAY_TEST(test_its_receiver_has_ended),
        REPLAY_TEST(test_its_receiver_is_full),
        REPLAY_TEST(test_the_type_of_its_receiver_is_unknown),
        REPLAY_TEST(test_replayed_again),
        REPLAY_TEST(test_only_some_fit),
    };

    return cmocka_run_group_tests_name("engine_letters", tests, NULL, NULL);
}
