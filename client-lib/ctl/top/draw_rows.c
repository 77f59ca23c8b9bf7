/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the view, and the help that may be in their place (draw.h). */
#include "client-lib/ctl/top/columns.h"
#include "client-lib/ctl/top/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Titles are one line of their own; the column that is sorted by is marked. */
static void draw_rows_titles(const struct draw *draw, const struct columns *columns, unsigned line)
{
    const struct browse *b = draw->browse;
    const struct view *view = &views[b->at.view];
    unsigned at = 0;

    frame_fill(draw->frame, line, 0, draw->frame->columns, FRAME_TITLE, FRAME_LEFT, "");
    for (size_t i = 0; i < columns->n; i++) {
        size_t c = columns->column[i];
        bool is_text = view->columns[c].unit == TABLE_TEXT || view->columns[c].unit == TABLE_BAR;

        frame_fill(draw->frame, line, at, columns->width[i],
                   c == b->sort[b->at.view] ? FRAME_CHOSEN : FRAME_TITLE,
                   is_text ? FRAME_LEFT : FRAME_RIGHT, view->columns[c].title);
        at += columns->width[i] + 1;
    }
}

static void draw_row(const struct draw *draw, const struct columns *columns,
                     const struct table_row *row, unsigned line, enum frame_style style)
{
    const struct table *table = draw->browse->table;
    unsigned at = 0;

    if (style != FRAME_PLAIN)
        frame_fill(draw->frame, line, 0, draw->frame->columns, style, FRAME_LEFT, "");
    for (size_t i = 0; i < columns->n; i++) {
        size_t c = columns->column[i];
        enum table_unit unit = table->columns[c].unit;
        char text[TABLE_CELL_TEXT];

        if (unit == TABLE_BAR)
            spark_bar(isnan(row->cell[c].number) ? 0 : row->cell[c].number, columns->width[i],
                      draw->unicode, text, sizeof(text));
        else
            table_cell_text(table, row, c, text);
        frame_fill(draw->frame, line, at, columns->width[i], style,
                   unit == TABLE_TEXT || unit == TABLE_BAR ? FRAME_LEFT : FRAME_RIGHT, text);
        at += columns->width[i] + 1;
    }
}

/* Why there is nothing; on several lines where one is too short. */
static void draw_rows_nothing(const struct draw *draw, unsigned line, unsigned lines)
{
    const struct browse *b = draw->browse;
    const char *text = b->look && *b->look->note ? b->look->note
                       : !b->table               ? "..."
                       : *b->filter              ? "no row has that in it"
                                                 : views[b->at.view].empty;
    unsigned columns = draw->frame->columns;

    for (unsigned i = 0; i < lines && *text; i++) {
        size_t n = strlen(text), cut = n;
        char part[512];

        if (n > columns) {
            cut = columns;
            while (cut && text[cut] != ' ')
                cut--;
            cut = cut ? cut : columns;
        }
        snprintf(part, sizeof(part), "%.*s", (int)cut, text);
        (void)frame_put(draw->frame, line + i, 0, columns, FRAME_DIM, part);
        text += cut;
        while (*text == ' ')
            text++;
    }
}

void draw_rows(const struct draw *draw, unsigned line, unsigned lines)
{
    struct browse *b = draw->browse;
    const struct view *view = &views[b->at.view];
    struct columns columns;
    size_t page = lines > 1 ? lines - 1 : lines, shown;

    browse_fit(b, page);
    shown = b->n_rows - b->first < page ? b->n_rows - b->first : page;
    columns_choose(view->columns, view->n_columns, b->sort[b->at.view], b->rows + b->first, shown,
                   draw->frame->columns, &columns);
    if (lines > 1)
        draw_rows_titles(draw, &columns, line++);
    if (!shown)
        draw_rows_nothing(draw, line, (unsigned)page);
    for (size_t i = 0; i < shown; i++)
        draw_row(draw, &columns, b->rows[b->first + i], line + (unsigned)i,
                 b->first + i == b->chosen ? FRAME_CHOSEN : FRAME_PLAIN);
}

void draw_help(const struct draw *draw, unsigned line, unsigned lines)
{
    static const char *const text[] = {
        "q              quit",
        "1 2 3...  tab  another view",
        "Enter  d       from a type to its actors, from an actor to its flows,",
        "               from a user to its clients",
        "Esc  backspace back, or without the filter",
        "<  >  s        sort by the column to the left, to the right",
        "r              the other way round",
        "/              only rows with a text in them",
        "space          stand still: nothing is looked at, nothing asked for",
        "arrows  j  k   the row above, below; page up, page down; home, end",
        "?              this help, and away from it",
        "",
        "RUNS: share of one processor. WAITING: messages that wait, in the mean.",
        "WAIT: from when a queue had accepted a message to its behaviour.",
        "BUSY: processor time of the workers' threads. Figures are estimates.",
        "odeonctl(1) says more.",
    };

    for (unsigned i = 0; i < lines && i < sizeof(text) / sizeof(text[0]); i++)
        (void)frame_put(draw->frame, line + i, 0, draw->frame->columns, FRAME_PLAIN, text[i]);
}
