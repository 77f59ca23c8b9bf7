/* SPDX-License-Identifier: Apache-2.0 */
/* One picture of the screen (frame.h). */
#include "client-lib/ctl/top/frame.h"
#include "client-lib/ctl/top/clean.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_COLUMN_BYTES = 4 };

void frame_init(struct frame *frame, unsigned lines, unsigned columns)
{
    *frame = (struct frame){ .lines = lines, .columns = columns };
}

void frame_fini(struct frame *frame)
{
    for (size_t i = 0; i < frame->n; i++)
        free(frame->pieces[i].text);
    free(frame->pieces);
    *frame = (struct frame){ 0 };
}

/* Takes the text over. */
static void frame_add(struct frame *frame, unsigned line, unsigned column, enum frame_style style,
                      char *text)
{
    if (frame->n == frame->room) {
        size_t room = frame->room ? frame->room * 2 : 128;
        struct frame_piece *pieces = realloc(frame->pieces, room * sizeof(*pieces));

        if (!pieces) {
            free(text);
            return;
        }
        frame->pieces = pieces;
        frame->room = room;
    }
    frame->pieces[frame->n++] =
        (struct frame_piece){ .line = line, .column = column, .style = style, .text = text };
}

/* Columns that are there for a piece: frame.F1. */
static unsigned frame_room(const struct frame *frame, unsigned line, unsigned column,
                           unsigned width)
{
    if (line >= frame->lines || column >= frame->columns)
        return 0;
    return width < frame->columns - column ? width : frame->columns - column;
}

/* Cleaned, and cut to `width`; NULL: no memory. */
static char *frame_clean(const char *text, unsigned width)
{
    size_t size = strlen(text) * FRAME_COLUMN_BYTES + 1;
    char *copy = malloc(size + width);

    if (!copy)
        return NULL;
    clean_text(text, copy, size);
    clean_cut(copy, width);
    return copy;
}

unsigned frame_put(struct frame *frame, unsigned line, unsigned column, unsigned width,
                   enum frame_style style, const char *text)
{
    unsigned room = frame_room(frame, line, column, width), taken;
    char *copy = room ? frame_clean(text, room) : NULL;

    if (!copy)
        return 0;
    taken = clean_width(copy);
    frame_add(frame, line, column, style, copy);
    return taken;
}

void frame_fill(struct frame *frame, unsigned line, unsigned column, unsigned width,
                enum frame_style style, enum frame_side side, const char *text)
{
    unsigned room = frame_room(frame, line, column, width), taken, blanks;
    char *copy = room ? frame_clean(text, room) : NULL;
    size_t n;

    if (!copy)
        return;
    taken = clean_width(copy);
    blanks = room - taken;
    n = strlen(copy);
    if (side == FRAME_RIGHT) {
        memmove(copy + blanks, copy, n + 1);
        memset(copy, ' ', blanks);
    } else {
        memset(copy + n, ' ', blanks);
        copy[n + blanks] = '\0';
    }
    frame_add(frame, line, column, style, copy);
}

/* Over what has been put there before. A wide character leaves the cell behind it empty. */
static void frame_lay(const struct frame_piece *piece, unsigned columns,
                      char (*cells)[FRAME_COLUMN_BYTES + 1])
{
    unsigned at = piece->column;

    for (const char *text = piece->text; *text && at < columns;) {
        unsigned width;
        size_t n = clean_character(text, &width);

        snprintf(cells[at], sizeof(cells[at]), "%.*s", (int)n, text);
        for (unsigned i = 1; i < width && at + i < columns; i++)
            cells[at + i][0] = '\0';
        at += width;
        text += n ? n : 1;
    }
}

char *frame_text(const struct frame *frame, unsigned line)
{
    char(*cells)[FRAME_COLUMN_BYTES + 1] = calloc(frame->columns, sizeof(*cells));
    char *text = calloc(frame->columns + 1, FRAME_COLUMN_BYTES);
    size_t used = 0;

    if (!cells || !text) {
        free(cells);
        free(text);
        return NULL;
    }
    for (unsigned i = 0; i < frame->columns; i++)
        cells[i][0] = ' ';
    for (size_t i = 0; i < frame->n; i++)
        if (frame->pieces[i].line == line)
            frame_lay(&frame->pieces[i], frame->columns, cells);
    for (unsigned i = 0; i < frame->columns; i++)
        for (const char *c = cells[i]; *c; c++)
            text[used++] = *c;
    free(cells);
    return text;
}
