/* SPDX-License-Identifier: Apache-2.0 */
/* What samples are kept in: marks of a buffer (daemon/engine/observe/marks.h), and who has most
 * (daemon/engine/observe/sketch.h) against a full count; cells of times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/engine/observe/marks.h"
#include "daemon/engine/observe/sketch.h"
#include "daemon/engine/observe/trace.h"

static uint64_t weight_of(const struct marks *marks)
{
    uint64_t sum = 0;
    for (uint32_t i = marks->next; i < marks->n; i++)
        sum += marks->mark[i].weight;
    return sum;
}

static void test_marks_thin_out_and_lose_no_weight(void **state)
{
    struct marks marks = { 0 };
    (void)state;
    for (uint64_t i = 0, n = 0; i < 1000; i++) {
        struct wait_mark mark = { .at = 24 * i, .ticks = 100 * i, .weight = 3 };
        if (!marks_may_add(&marks, mark.ticks))
            continue;
        marks_add(&marks, &mark);
        n += 3;
        assert_true(marks.n <= MARKS_MOST);
        assert_int_equal(weight_of(&marks), n);
        for (uint32_t k = 1; k < marks.n; k++) /* marks.M1 */
            assert_true(marks.mark[k - 1].at < marks.mark[k].at);
    }
    assert_int_equal(marks.mark[0].at, 0);
    /* they are spread over the whole buffer, not crowded at one end */
    assert_true(marks.n >= MARKS_MOST / 2 && marks.mark[marks.n - 1].ticks > 50000);
}

static void test_marks_that_were_reached_make_room(void **state)
{
    struct marks marks = { 0 };
    (void)state;
    for (uint64_t i = 0; i < MARKS_MOST; i++)
        marks_add(&marks, &(struct wait_mark){ .at = 8 * i, .weight = 1 });
    marks.next = MARKS_MOST - 1;
    marks_add(&marks, &(struct wait_mark){ .at = 800, .weight = 1 });
    assert_int_equal(marks.n, 2);
    assert_int_equal(marks_next(&marks), 8 * (MARKS_MOST - 1));
}

static void test_marks_behind_a_wrap_wait_for_it(void **state)
{
    struct marks marks = { 0 };
    (void)state;
    marks_add(&marks, &(struct wait_mark){ .at = 100 });
    marks_add(&marks, &(struct wait_mark){ .at = 4000 }); /* the next record, which goes to 0 */
    marks_add(&marks, &(struct wait_mark){ .at = 64, .second = true });
    assert_int_equal(marks_next(&marks), 100);
    marks_unwrap(&marks, 4000);
    assert_int_equal(marks_next(&marks), 0);
    marks.next++;
    assert_int_equal(marks_next(&marks), 64);
    marks.next++;
    assert_int_equal(marks_next(&marks), MARKS_NONE);
    marks_clear(&marks);
    marks_add(&marks, &(struct wait_mark){ .at = 8, .second = true });
    assert_int_equal(marks_next(&marks), MARKS_NONE);
}

enum { ACTORS = 1000, SAMPLES = 200000 };

/* Actor k has about 1/k of what the first one has, in no order. */
static uint64_t pick(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    uint64_t k = ACTORS / (1 + *random % ACTORS);
    return k ? k : 1;
}

static void test_who_has_most_is_there_and_no_figure_is_too_small(void **state)
{
    struct observed_worker *block = aligned_alloc(4096, sizeof(*block));
    static uint64_t truth[ACTORS + 1];
    uint64_t random = 88172645463325252ULL, all = 0;
    (void)state;
    assert_non_null(block);
    memset((void *)block, 0, sizeof(*block));
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint64_t who = pick(&random), add = 1 + i % 7;
        truth[who] += add;
        all += add;
        sketch_add(block, &(struct sketch_sample){ .now_ns = 5,
                                                   .ref = who,
                                                   .type = 1,
                                                   .add = { [OBSERVED_BY_RUN] = add },
                                                   .flow = who,
                                                   .flow_messages = add });
    }
    const struct observed_window *window = &block->window[load_relaxed(&block->present)];
    const struct observed_actor *actors = window->actors[OBSERVED_BY_RUN];
    for (uint64_t who = 1; who <= ACTORS; who++) { /* sketch.K1 */
        bool is_there = false;
        for (uint32_t i = 0; i < OBSERVED_ACTORS; i++) {
            uint64_t value = load_relaxed(&actors[i].value);
            if (load_relaxed(&actors[i].ref) != who)
                continue;
            is_there = true;
            assert_true(value >= truth[who]);
            assert_true(value - load_relaxed(&actors[i].error) <= truth[who]);
        }
        assert_true(is_there || truth[who] <= all / OBSERVED_ACTORS);
        for (uint32_t i = 0; i < OBSERVED_FLOWS; i++)
            if (load_relaxed(&window->flows[i].key) == who)
                assert_true(load_relaxed(&window->flows[i].messages) >= truth[who]);
    }
    assert_int_equal(load_relaxed(&window->turns) % 2, 0);
    free(block);
}

static void test_a_window_begins_anew_and_the_one_before_is_kept(void **state)
{
    struct observed_worker *block = aligned_alloc(4096, sizeof(*block));
    struct sketch_sample sample = { .ref = 7, .add = { [OBSERVED_BY_MESSAGES] = 5 } };
    (void)state;
    assert_non_null(block);
    memset((void *)block, 0, sizeof(*block));
    sample.now_ns = SKETCH_WINDOW_NS;
    sketch_add(block, &sample);
    uint64_t first = load_relaxed(&block->present);
    sample.now_ns += SKETCH_WINDOW_NS;
    sample.ref = 8;
    sketch_add(block, &sample);
    assert_int_not_equal(load_relaxed(&block->present), first);
    for (uint32_t i = 0; i < 2; i++) { /* sketch.K2 */
        const struct observed_window *window = &block->window[first ^ i];
        const struct observed_actor *actor = &window->actors[OBSERVED_BY_MESSAGES][0];
        assert_int_equal(load_relaxed(&actor->ref), 7 + i);
        assert_int_equal(load_relaxed(&actor->value), 5);
        assert_int_equal(load_relaxed(&window->begin_ns), (1 + i) * SKETCH_WINDOW_NS);
    }
    free(block);
}

static void test_a_cell_of_times_is_at_most_an_eighth_wide(void **state)
{
    (void)state;
    for (uint64_t ns = 0; ns < UINT64_C(1) << 40; ns += 1 + ns / 97) {
        uint32_t cell = time_cell(ns);
        uint64_t top = time_cell_top(cell);
        assert_true(cell < TIME_CELLS);
        assert_true(top >= ns && top - ns <= ns / 8 + 32);
        assert_int_equal(time_cell(top), cell);
    }
    assert_int_equal(time_cell(UINT64_MAX), TIME_CELLS - 1);
}

/* trace.T1 */
static void test_the_last_records_are_there(void **state)
{
    enum { N = 3 * OBSERVED_RECORDS + 5 };
    struct observed_trace *trace = calloc(1, sizeof(*trace));
    (void)state;
    assert_non_null(trace);
    for (uint64_t i = 1; i <= N; i++) {
        trace_add(trace, &(struct trace_message){ .began_ns = i,
                                                  .to = i + 1,
                                                  .from = i + 2,
                                                  .run_ns = i + 3,
                                                  .wait_ns = i + 4,
                                                  .weight = i + 5,
                                                  .what = observed_what(1, 2, 3, 70000) });
        assert_int_equal(load_relaxed(&trace->n), i);
    }
    for (uint64_t i = N - OBSERVED_RECORDS + 1; i <= N; i++) {
        const struct observed_record *record = &trace->record[i % OBSERVED_RECORDS];
        assert_int_equal(load_relaxed(&record->began_ns), i);
        assert_int_equal(load_relaxed(&record->to), i + 1);
        assert_int_equal(load_relaxed(&record->from), i + 2);
        assert_int_equal(load_relaxed(&record->run_ns), i + 3);
        assert_int_equal(load_relaxed(&record->wait_ns), i + 4);
        assert_int_equal(load_relaxed(&record->weight), i + 5);
        assert_int_equal(observed_what_type(load_relaxed(&record->what)), 1);
        assert_int_equal(observed_what_sender(load_relaxed(&record->what)), 2);
        assert_int_equal(observed_what_message(load_relaxed(&record->what)), 3);
        assert_int_equal(observed_what_sends(load_relaxed(&record->what)), 65535);
    }
    free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_thin_out_and_lose_no_weight),
        cmocka_unit_test(test_marks_that_were_reached_make_room),
        cmocka_unit_test(test_marks_behind_a_wrap_wait_for_it),
        cmocka_unit_test(test_who_has_most_is_there_and_no_figure_is_too_small),
        cmocka_unit_test(test_a_window_begins_anew_and_the_one_before_is_kept),
        cmocka_unit_test(test_the_last_records_are_there),
        cmocka_unit_test(test_a_cell_of_times_is_at_most_an_eighth_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
