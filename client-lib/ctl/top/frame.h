/* SPDX-License-Identifier: Apache-2.0 */
/* One picture of the screen as pieces of text, before a terminal has it.
 *
 * Owned by the program, one thread. Without memory, pieces are missing.
 *
 * frame.F1  Nothing lies outside of the lines and columns that there are, whatever is put there.
 * frame.F2  All text has gone through clean_text().
 */
#pragma once

#include <stddef.h>

enum frame_style {
    FRAME_PLAIN,
    FRAME_BOLD,
    FRAME_DIM,
    FRAME_TITLE,  /* of columns, and of the view that is shown */
    FRAME_CHOSEN, /* the marked row */
    FRAME_GOOD,
    FRAME_WARN,
    FRAME_BAD,
    FRAME_STYLES,
};

struct frame_piece {
    unsigned line, column;
    enum frame_style style;
    char *text;
};

struct frame {
    unsigned lines, columns;
    size_t n, room;
    struct frame_piece *pieces;
};

void frame_init(struct frame *frame, unsigned lines, unsigned columns);
void frame_fini(struct frame *frame);

/* Puts text there, cut to `width` columns. Returns the columns that it takes. */
unsigned frame_put(struct frame *frame, unsigned line, unsigned column, unsigned width,
                   enum frame_style style, const char *text);
/* The same with blanks behind it, or before it when it is to stand at the `right`, up to the
 * width. */
enum frame_side { FRAME_LEFT, FRAME_RIGHT };
void frame_fill(struct frame *frame, unsigned line, unsigned column, unsigned width,
                enum frame_style style, enum frame_side side, const char *text);
/* A line of the frame as text alone, with blanks where there is nothing; to be freed; NULL: no
 * memory. */
char *frame_text(const struct frame *frame, unsigned line);
