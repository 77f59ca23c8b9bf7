/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `odeonctl top` and what they are drawn with, without a terminal: order, filter, which
 * columns have room, names of others, bars. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client-lib/ctl/top/clean.h"
#include "client-lib/ctl/top/columns.h"
#include "client-lib/ctl/top/spark.h"
#include "client-lib/ctl/top/table.h"
#include "client-lib/ctl/top/view.h"

static const struct table_column test_columns[] = {
    { "NAME", TABLE_TEXT, 0 },
    { "MSGS/S", TABLE_RATE, 1 },
    { "WAIT P99", TABLE_TIME, 2 },
    { "BYTES", TABLE_BYTES, 3 },
};

static struct table *table_of_three(void)
{
    static const struct {
        const char *name, *scope;
        double rate, wait;
    } rows[] = { { "beta", "x", 10, NAN }, { "Alpha", "y", 2000, 1500 }, { "gamma", "x", 10, 7 } };
    struct table *table = table_new(test_columns, 4);

    assert_non_null(table);
    for (size_t i = 0; i < 3; i++) {
        struct table_row *row = table_add(table, rows[i].name);

        assert_non_null(row);
        row->scope[0] = table_copy(rows[i].scope);
        row->cell[0].text = table_copy(rows[i].name);
        row->cell[1].number = rows[i].rate;
        row->cell[2].number = rows[i].wait;
        row->cell[3].number = 2048;
    }
    return table;
}

/* The keys of what is chosen, one after the other. */
static void check_order(const struct table *table, const struct table_order *order,
                        const char *expected)
{
    const struct table_row *rows[3];
    size_t n = table_choose(table, order, rows);
    char found[64] = "";

    for (size_t i = 0; i < n; i++) {
        strcat(found, rows[i]->key);
        strcat(found, " ");
    }
    assert_string_equal(found, expected);
}

static void test_rows_are_sorted_and_chosen(void **state)
{
    struct table *table = table_of_three();

    (void)state;
    check_order(table, &(struct table_order){ .column = 1 }, "Alpha beta gamma ");
    check_order(table, &(struct table_order){ .column = 1, .reversed = true }, "beta gamma Alpha ");
    check_order(table, &(struct table_order){ .column = 0 }, "Alpha beta gamma ");
    check_order(table, &(struct table_order){ .column = 0, .reversed = true }, "gamma beta Alpha ");
    /* what is not known is less than all that is */
    check_order(table, &(struct table_order){ .column = 2 }, "Alpha gamma beta ");
    check_order(table, &(struct table_order){ .column = 1, .filter = "ALPH" }, "Alpha ");
    check_order(table, &(struct table_order){ .column = 1, .filter = "2.00 k" }, "Alpha ");
    check_order(table, &(struct table_order){ .column = 1, .filter = "nothing" }, "");
    check_order(table, &(struct table_order){ .column = 1, .scope = "x" }, "beta gamma ");
    check_order(table, &(struct table_order){ .column = 1, .scope = "x", .filter = "ta" }, "beta ");
    table_free(table);
}

static void test_cells_are_written(void **state)
{
    struct table *table = table_of_three();
    char text[TABLE_CELL_TEXT];

    (void)state;
    table_cell_text(table, &table->rows[1], 1, text);
    assert_string_equal(text, "2.00 k");
    table_cell_text(table, &table->rows[1], 2, text);
    assert_string_equal(text, "1.50 us");
    table_cell_text(table, &table->rows[0], 2, text);
    assert_string_equal(text, "-");
    table_cell_text(table, &table->rows[0], 3, text);
    assert_string_equal(text, "2 KiB");
    table_free(table);
}

static void test_columns_have_room_by_importance(void **state)
{
    const struct table_row *rows[3];
    struct table *table = table_of_three();
    size_t n = table_choose(table, &(struct table_order){ .column = 1 }, rows);
    struct columns chosen;

    (void)state;
    for (unsigned width = 0; width < 120; width++) {
        unsigned sum = 0;

        columns_choose(test_columns, 4, 1, rows, n, width, &chosen);
        for (size_t i = 0; i < chosen.n; i++) {
            assert_true(chosen.width[i] > 0);
            assert_true(i == 0 || chosen.column[i] > chosen.column[i - 1]);
            sum += chosen.width[i] + (i ? 1 : 0);
        }
        assert_true(sum <= width);
        assert_true(chosen.n >= (width ? 1 : 0));
    }
    assert_int_equal(chosen.n, 4);
    columns_choose(test_columns, 4, 1, rows, n, 5, &chosen);
    assert_int_equal(chosen.n, 1);
    assert_int_equal(chosen.width[0], 5);
    columns_choose(test_columns, 4, 1, rows, n, 20, &chosen);
    assert_int_equal(chosen.n, 2);
    assert_int_equal(chosen.column[1], 1);
    /* the one that is sorted by goes before what is more important otherwise */
    columns_choose(test_columns, 4, 3, rows, n, 20, &chosen);
    assert_int_equal(chosen.n, 2);
    assert_int_equal(chosen.column[1], 3);
    table_free(table);
}

static void test_names_of_others_do_no_harm(void **state)
{
    char text[64];

    (void)state;
    assert_string_equal(clean_text("a\033[31mb\n\x7f", text, sizeof(text)),
                        "a\\x1b[31mb\\x0a\\x7f");
    assert_string_equal(clean_text("\xff\xc3", text, sizeof(text)), "\\xff\\xc3");
    assert_string_equal(clean_text("abcdef", text, 4), "abc");
    assert_string_equal(clean_text("a\tb", text, 5), "a"); /* no half of an escape */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    assert_string_equal(clean_text("ä漢", text, sizeof(text)), "ä漢");
    assert_int_equal(clean_width(text), 3);
    clean_cut(text, 2);
    assert_string_equal(text, "ä"); /* no half of a wide one */
    /* one that turns the line round, and a control character of eight bits */
    assert_string_equal(clean_text("a\u202eb\xc2\x85", text, sizeof(text)),
                        "a\\xe2\\x80\\xaeb\\xc2\\x85");
    setlocale(LC_CTYPE, "C");
    assert_string_equal(clean_text("ä", text, sizeof(text)), "\\xc3\\xa4");
}

static void test_bars_and_sparks(void **state)
{
    struct spark spark = { .n = 0 };
    char text[SPARK_LOOKS * SPARK_BYTES + 1];

    (void)state;
    assert_int_equal(spark_draw(&spark, SPARK_LOOKS, false, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    spark_add(&spark, 0);
    spark_add(&spark, (double)NAN);
    spark_add(&spark, 50);
    spark_add(&spark, 100);
    assert_int_equal(spark_draw(&spark, SPARK_LOOKS, false, text, sizeof(text)), 4);
    assert_string_equal(text, "_ =#");
    spark_draw(&spark, SPARK_LOOKS, true, text, sizeof(text));
    assert_string_equal(text, "▁ ▅█");
    assert_int_equal(spark_draw(&spark, 2, false, text, sizeof(text)), 2);
    assert_string_equal(text, "=#");
    for (unsigned i = 0; i < 100; i++)
        spark_add(&spark, i);
    assert_int_equal(spark_draw(&spark, SPARK_LOOKS, true, text, sizeof(text)), SPARK_LOOKS);
    assert_int_equal(spark_draw(&spark, SPARK_LOOKS, true, text, 8), 2); /* what has room */
    spark_bar(0.5, 4, false, text, sizeof(text));
    assert_string_equal(text, "||  ");
    spark_bar(7, 4, false, text, sizeof(text));
    assert_string_equal(text, "||||");
    spark_bar((double)NAN, 4, true, text, sizeof(text));
    assert_string_equal(text, "    ");
    spark_bar(0.625, 4, true, text, sizeof(text));
    assert_string_equal(text, "██▌ ");
}

static void test_actors_of_three_lists_are_one(void **state)
{
    struct odeon_actor_figures run[] = { { 1, "a", 0.5, 0.25 }, { 2, "b", 0.25, 0 } },
                               messages[] = { { 2, "b", 100, 90 }, { 3, "c", 50, 0 } };
    struct odeon_list lists[] = { { .n = 2, .rows = run }, { .n = 2, .rows = messages } };
    struct odeon_list *by[3] = { &lists[0], &lists[1], NULL };
    struct table *table = view_table(VIEW_ACTORS);

    (void)state;
    assert_true(view_add_actors(table, by));
    assert_int_equal(table->n, 3);
    assert_string_equal(table->rows[1].cell[1].text, "b");
    assert_true(table->rows[1].cell[2].number == 0.25);
    assert_true(table->rows[1].cell[3].number == 100);
    assert_true(isnan(table->rows[2].cell[2].number));
    table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_sorted_and_chosen),
        cmocka_unit_test(test_cells_are_written),
        cmocka_unit_test(test_columns_have_room_by_importance),
        cmocka_unit_test(test_names_of_others_do_no_harm),
        cmocka_unit_test(test_bars_and_sparks),
        cmocka_unit_test(test_actors_of_three_lists_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
