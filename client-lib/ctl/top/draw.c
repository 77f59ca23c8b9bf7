/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts a picture has, and where (draw.h). */
#include "client-lib/ctl/top/draw.h"

#include <stdio.h>

/* Lines that a screen must have for each part: draw.D1. */
enum {
    DRAW_STATE = 3,
    DRAW_FOOT = 6,
    DRAW_RATE = 7,
    DRAW_TABS = 8,
    DRAW_WAIT = 10,
    DRAW_WORKERS = 12,
};

void draw_foot(const struct draw *draw, unsigned line)
{
    const struct browse *b = draw->browse;
    struct frame *frame = draw->frame;
    unsigned at = 0;

    if (b->is_typing || *b->filter) {
        at += frame_put(frame, line, at, frame->columns, FRAME_BOLD,
                        b->is_typing ? "filter: " : "filter ");
        at += frame_put(frame, line, at, frame->columns, FRAME_PLAIN, b->filter);
        at += frame_put(frame, line, at, frame->columns, FRAME_PLAIN, b->is_typing ? "_  " : "  ");
        (void)frame_put(frame, line, at, frame->columns, FRAME_DIM,
                        b->is_typing ? "Enter keeps it, Esc does not" : "Esc shows all");
        return;
    }
    if (b->look && *b->look->note && b->table && b->n_rows) {
        (void)frame_put(frame, line, 0, frame->columns, FRAME_WARN, b->look->note);
        return;
    }
    (void)frame_put(frame, line, 0, frame->columns, FRAME_DIM,
                    "q quit  ? help  / filter  < > sort  r reverse  space pause  Enter into  "
                    "Esc back");
}

void draw_all(const struct draw *draw)
{
    unsigned lines = draw->frame->lines, line = 0, foot = lines >= DRAW_FOOT ? 1 : 0;

    if (lines >= DRAW_STATE && !(draw->browse->is_typing && !foot))
        draw_state(draw, line++, lines < DRAW_RATE);
    else if (lines >= DRAW_STATE)
        draw_foot(draw, line++); /* what is being written has to be seen */
    if (lines >= DRAW_RATE)
        draw_rate(draw, line++);
    if (lines >= DRAW_WAIT)
        draw_wait(draw, line++);
    if (lines >= DRAW_WORKERS)
        draw_workers(draw, line++);
    if (lines >= DRAW_TABS)
        draw_tabs(draw, line++);
    if (draw->browse->is_help)
        draw_help(draw, line, lines - line - foot);
    else
        draw_rows(draw, line, lines - line - foot);
    if (foot)
        draw_foot(draw, lines - 1);
}
