/* SPDX-License-Identifier: Apache-2.0 */
/* `odeonctl top` without a terminal: looks made by hand, keys, and the picture that comes of them
 * at every size. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client-lib/ctl/top/browse.h"
#include "client-lib/ctl/top/clean.h"
#include "client-lib/ctl/top/draw.h"

static struct browse browse;
static struct frame frame;

static struct look *look_of(enum view_id view)
{
    struct look *look = calloc(1, sizeof(*look));

    assert_non_null(look);
    *look = (struct look){ .view = view,
                           .is_fresh = true,
                           .seconds = 1,
                           .workers = 2,
                           .clients = 3,
                           .actors = 20,
                           .rate = 12300,
                           .busy = 0.425,
                           .wait_p99_ns = 1500,
                           .n_shares = 2,
                           .shares = calloc(2, sizeof(double)) };
    snprintf(look->wait_type, sizeof(look->wait_type), "type7");
    assert_non_null(look->shares);
    look->shares[0] = 0.85;
    return look;
}

/* Types type0 to type39, the last one with the most. */
static struct look *look_of_types(void)
{
    struct odeon_type_figures figures[40] = { 0 };
    struct odeon_list list = { .n = 40, .rows = figures };
    struct look *look = look_of(VIEW_TYPES);
    char names[40][16];

    for (unsigned i = 0; i < 40; i++) {
        snprintf(names[i], sizeof(names[i]), "type%u", i);
        figures[i] = (struct odeon_type_figures){ .type = names[i],
                                                  .plugin = "p",
                                                  .messages = i + 1,
                                                  .run_ns = (i + 1) * UINT64_C(1000000) };
    }
    look->table = view_table(VIEW_TYPES);
    assert_true(view_add_types(look->table, &list, 1));
    return look;
}

static struct look *look_of_actors(void)
{
    struct odeon_actor_figures run[] = { { 1, "type39", 0.5, 0.25 }, { 2, "other", 0.75, 0 } };
    struct odeon_list list = { .n = 2, .rows = run };
    struct odeon_list *by[3] = { &list, NULL, NULL };
    struct look *look = look_of(VIEW_ACTORS);

    look->table = view_table(VIEW_ACTORS);
    assert_true(view_add_actors(look->table, by));
    return look;
}

static int begin(void **state)
{
    (void)state;
    browse_init(&browse, VIEW_TYPES, ODEON_BY_RUN, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    frame_fini(&frame);
    browse_fini(&browse);
    return 0;
}

static void draw(unsigned lines, unsigned columns)
{
    frame_fini(&frame);
    frame_init(&frame, lines, columns);
    draw_all(&(struct draw){ .frame = &frame, .browse = &browse });
    for (size_t i = 0; i < frame.n; i++) {
        const struct frame_piece *piece = &frame.pieces[i];

        if (piece->line >= lines || piece->column + clean_width(piece->text) > columns)
            fail_msg("%ux%u: '%s' is outside, at %u,%u", columns, lines, piece->text, piece->column,
                     piece->line);
    }
}

static bool line_has(unsigned line, const char *text)
{
    char *found = frame_text(&frame, line);
    bool has = found && strstr(found, text);

    free(found);
    return has;
}

static void check_line(unsigned line, const char *text)
{
    char *found = frame_text(&frame, line);

    if (!found || !strstr(found, text))
        fail_msg("'%s' is not in line %u: '%s'", text, line, found ? found : "");
    free(found);
}

static void press(const char *keys)
{
    for (; *keys; keys++)
        browse_press(&browse, (wint_t)*keys);
}

static void test_the_picture(void **state)
{
    (void)state;
    draw(24, 80);
    check_line(0, "looking...");
    browse_take(&browse, look_of_types());
    draw(24, 80);
    check_line(0, "3 clients  20 actors  2 workers");
    check_line(1, "MSGS/S      12.3 k #");
    check_line(1, "BUSY 42.5 %");
    check_line(2, "1.50 us #");
    check_line(2, "type7");
    check_line(3, "||||");
    check_line(3, "85 %");
    check_line(4, "1 Types");
    check_line(5, "TYPE");
    check_line(6, "type39");
    check_line(22, "type23");
    check_line(23, "q quit");
}

static void test_every_size_has_a_picture(void **state)
{
    (void)state;
    browse_take(&browse, look_of_types());
    for (unsigned help = 0; help < 2; help++, press("?"))
        for (unsigned lines = 1; lines < 30; lines++)
            for (unsigned columns = 1; columns < 130; columns++)
                draw(lines, columns);
    draw(5, 20);
    check_line(0, "12.3 k msgs/s");
    check_line(1, "TYPE");
    check_line(2, "type39");
    check_line(2, "4.0 %");
    check_line(4, "type37");
    draw(1, 20);
    check_line(0, "type39");
    draw(200, 400);
    check_line(45, "type0");
    assert_false(line_has(46, "type"));
}

static void test_keys_sort_and_move(void **state)
{
    (void)state;
    browse_take(&browse, look_of_types());
    press("r");
    draw(24, 80);
    check_line(6, "type0");
    press("r<"); /* by messages */
    assert_int_equal(browse.sort[VIEW_TYPES], 1);
    press("<");
    draw(24, 80);
    check_line(7, "type1 "); /* by name: type0, type1, type10 */
    check_line(8, "type10");
    press("s");
    browse_press(&browse, BROWSE_PAGE_DOWN);
    browse_press(&browse, BROWSE_DOWN);
    draw(24, 80);
    assert_int_equal(browse.chosen, 18);
    check_line(22, "type21");
    /* it stays chosen wherever it is: browse.B1 */
    press("r");
    assert_string_equal(browse.rows[browse.chosen]->key, "type21");
    browse_take(&browse, look_of_types());
    assert_string_equal(browse.rows[browse.chosen]->key, "type21");
    browse_press(&browse, BROWSE_END);
    assert_int_equal(browse.chosen, 39);
    browse_press(&browse, BROWSE_HOME);
    assert_int_equal(browse.chosen, 0);
    browse_press(&browse, BROWSE_UP);
    assert_int_equal(browse.chosen, 0);
}

static void test_a_filter_is_written(void **state)
{
    (void)state;
    browse_take(&browse, look_of_types());
    press("/");
    assert_true(browse.is_typing);
    press("type3q"); /* no command while it is written */
    assert_false(browse.is_over);
    draw(24, 80);
    check_line(23, "filter: type3q");
    check_line(6, "no row has that in it");
    browse_press(&browse, BROWSE_BACK);
    browse_press(&browse, BROWSE_ENTER);
    draw(24, 80);
    assert_int_equal(browse.n_rows, 11); /* type3, type30 to type39 */
    check_line(23, "filter type3");
    draw(5, 20);
    press("/x");
    draw(5, 20);
    check_line(0, "filter: type3x"); /* where there is no foot, too */
    browse_press(&browse, BROWSE_ESCAPE);
    assert_int_equal(browse.n_rows, 11);
    browse_press(&browse, BROWSE_ESCAPE);
    assert_int_equal(browse.n_rows, 40);
}

static void test_pausing_keeps_what_is_shown(void **state)
{
    struct look *look = look_of_types();

    (void)state;
    browse_take(&browse, look_of_types());
    press(" ");
    draw(24, 80);
    check_line(0, "PAUSED");
    look->rate = 1;
    browse_take(&browse, look); /* browse.B2 */
    draw(24, 80);
    check_line(1, "12.3 k");
    press(" ");
    draw(24, 80);
    assert_false(line_has(0, "PAUSED"));
}

static void test_from_types_to_actors_and_back(void **state)
{
    (void)state;
    browse_take(&browse, look_of_types());
    press("/type\r");
    browse_press(&browse, BROWSE_ENTER);
    browse_press(&browse, BROWSE_ENTER);
    assert_int_equal(browse.at.view, VIEW_ACTORS);
    draw(24, 80);
    check_line(4, "Actors of the type type39  (Esc: back)");
    check_line(6, "...");
    browse_take(&browse, look_of_types()); /* that was on its way */
    draw(24, 80);
    check_line(6, "...");
    browse_take(&browse, look_of_actors());
    draw(24, 80);
    assert_int_equal(browse.n_rows, 1);
    check_line(6, "type39");
    press("d");
    assert_int_equal(browse.at.view, VIEW_FLOWS);
    press("d"); /* leads nowhere */
    assert_int_equal(browse.at.view, VIEW_FLOWS);
    browse_press(&browse, BROWSE_ESCAPE);
    assert_int_equal(browse.at.view, VIEW_ACTORS);
    browse_press(&browse, BROWSE_BACK);
    assert_int_equal(browse.at.view, VIEW_TYPES);
    browse_press(&browse, BROWSE_ESCAPE);
    assert_int_equal(browse.at.view, VIEW_TYPES);
    browse_press(&browse, BROWSE_NEXT);
    assert_int_equal(browse.at.view, VIEW_ACTORS);
    assert_string_equal(browse.at.scope, "");
    browse_press(&browse, BROWSE_BACK_TAB);
    browse_press(&browse, BROWSE_BACK_TAB);
    assert_int_equal(browse.at.view, VIEW_N - 1);
    press("1");
    assert_int_equal(browse.at.view, VIEW_TYPES);
    press("q");
    assert_true(browse.is_over);
}

static void test_a_service_that_is_away(void **state)
{
    struct look *look = look_of(VIEW_TYPES);

    (void)state;
    browse_take(&browse, look_of_types());
    look->state = LOOK_AWAY;
    look->away_ns = UINT64_C(12500000000);
    browse_take(&browse, look);
    draw(24, 80);
    check_line(0, "the service is away since 12");
    check_line(6, "type39"); /* what was last seen stays */
    draw(5, 20);
    check_line(0, "away 12");
    look = look_of(VIEW_TYPES);
    look->state = LOOK_EXECUTOR_DOWN;
    snprintf(look->note, sizeof(look->note), "why\033[2J not");
    browse_take(&browse, look);
    draw(24, 80);
    check_line(0, "the executor is down since just now");
    check_line(23, "why\\x1b[2J not");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_picture, begin, end),
        cmocka_unit_test_setup_teardown(test_every_size_has_a_picture, begin, end),
        cmocka_unit_test_setup_teardown(test_keys_sort_and_move, begin, end),
        cmocka_unit_test_setup_teardown(test_a_filter_is_written, begin, end),
        cmocka_unit_test_setup_teardown(test_pausing_keeps_what_is_shown, begin, end),
        cmocka_unit_test_setup_teardown(test_from_types_to_actors_and_back, begin, end),
        cmocka_unit_test_setup_teardown(test_a_service_that_is_away, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
