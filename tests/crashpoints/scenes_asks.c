/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: asked, answered, and not answered; each has one outcome. */
#include "crash.h"
#include "daemon/engine/timers/shelf.h"
#include "daemon/engine/timers/timer_fire.h"

enum { ITEMS = 2 };

/* What the asker is told to do has a trace's id, and so has all that comes of it. */
static bool traced;

static void setup_questions_of(struct life *life, uint64_t timeout_ns, bool by_clerk)
{
    struct asker_plan plan = {
        .row = 1, .answer_row = 2, .silent_row = 4, .timeout_ns = timeout_ns
    };
    row_expect(0, ITEMS, 0, 0);
    row_expect(1, ITEMS, 0, 0);
    row_expect(2, ITEMS, 0, 0);
    row_expect(3, ITEMS, 0, 0); /* that there is no answer */
    row_expect(4, ITEMS, 0, 0);
    plan.echo = cast_spawn(life->engine, CAST_ECHO, 1, NULL, 0);
    if (by_clerk) {
        struct plan its = { 0 };
        plan_out(&its, plan.echo, 0);
        plan.echo = cast_spawn(life->engine, CAST_CLERK, 3, &its, sizeof(its));
    }
    plan.silent = sink_make(life, 1);
    actor_ref asker = cast_spawn(life->engine, CAST_ASKER, 0, &plan, sizeof(plan));
    life_quiesce(life);
    ledger->actor[0] = asker;
    if (traced)
        cast_send_traced(life->engine, asker, 0, ITEMS);
    else
        cast_send(life->engine, asker, 0, ITEMS);
}

static void setup_questions(struct life *life)
{
    setup_questions_of(life, 1, false);
}

static void setup_shelved(struct life *life)
{
    setup_questions_of(life, SHELF_TIMEOUT_MIN_NS, false);
}

/* Questions lie on the worker's shelf at first (timers/shelf.h), however slowly they are asked. A
 * shelf is of one life: recovery knows of none (shelf.SH3), so that the routine has to ask. */
static void prepare_shelf(struct life *life)
{
    life->engine->timers.shelves.sparse_ns = UINT64_MAX;
}

static void ask(struct life *life)
{
    life_run_queue(life, 0, 0);
}

static void setup_asked(struct life *life)
{
    setup_questions(life);
    ask(life);
}

static void setup_for_clerk(struct life *life)
{
    setup_questions_of(life, 1, true);
    ask(life);
}

static void setup_traced(struct life *life)
{
    traced = true;
    setup_questions_of(life, 1, true);
    traced = false;
}

static void pass_on(struct life *life)
{
    life_run_queue(life, 3, 1);
    life_run_queue(life, 1, 0);
    life_run_queue(life, 0, 0);
}

static void answer(struct life *life)
{
    life_run_queue(life, 1, 1);
    life_run_queue(life, 0, 0);
}

/* What has no answer, has none in time. */
static void setup_answered(struct life *life)
{
    setup_asked(life);
    answer(life);
}

static void give_up(struct life *life)
{
    timer_fire_due(life->engine, UINT64_MAX / 2);
    life_run_queue(life, 0, 0);
}

static void ask_and_answer(struct life *life)
{
    ask(life);
    answer(life);
    give_up(life);
}

static void ask_and_pass_on(struct life *life)
{
    ask(life);
    pass_on(life);
}

static void ask_on_a_shelf(struct life *life)
{
    ask(life);
    if (shelf_count(life->engine) != 2 * ITEMS)
        fail("%u questions lie on a shelf, of %d", shelf_count(life->engine), 2 * ITEMS);
}

static void ask_and_answer_on_a_shelf(struct life *life)
{
    ask_on_a_shelf(life);
    answer(life);
    if (shelf_count(life->engine) != ITEMS)
        fail("answers have taken other questions off a shelf than their own");
    give_up(life);
}

const struct scene scenes_asks[] = {
    { "questions are asked", setup_questions, NULL, ask, 1, true, NULL, false },
    { "questions are answered", setup_asked, NULL, answer, 1, true, NULL, false },
    { "questions are passed on", setup_for_clerk, NULL, pass_on, 2, true, NULL, false },
    { "traced questions are asked, and passed on", setup_traced, NULL, ask_and_pass_on, 2, true,
      NULL, false },
    { "questions stay without an answer", setup_answered, NULL, give_up, 1, true, NULL, false },
    { "questions from beginning to end", setup_questions, NULL, ask_and_answer, 1, true, NULL,
      false },
    { "questions on a shelf are asked", setup_shelved, prepare_shelf, ask_on_a_shelf, 1, true, NULL,
      false },
    { "questions on a shelf from beginning to end", setup_shelved, prepare_shelf,
      ask_and_answer_on_a_shelf, 1, true, NULL, false },
    { .name = NULL },
};
