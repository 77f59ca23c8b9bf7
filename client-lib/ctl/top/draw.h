/* SPDX-License-Identifier: Apache-2.0 */
/* `odeonctl top` as a picture: what somebody looks at becomes a frame of any size.
 *
 * Plain functions of their arguments, one thread.
 *
 * draw.D1  Where there are too few lines, those that matter least are left out, whole.
 */
#pragma once

#include "client-lib/ctl/top/browse.h"
#include "client-lib/ctl/top/frame.h"

#include <stdbool.h>

struct draw {
    struct frame *frame;
    struct browse *browse;
    bool unicode; /* bars of characters that are not in ASCII */
};

/* Fills an empty frame. Tells the browse how many rows there are on it. */
void draw_all(const struct draw *draw);

/* The parts, each from `line` on. */
void draw_state(const struct draw *draw, unsigned line, bool is_short);
void draw_rate(const struct draw *draw, unsigned line);
void draw_wait(const struct draw *draw, unsigned line);
void draw_workers(const struct draw *draw, unsigned line);
void draw_tabs(const struct draw *draw, unsigned line);
void draw_rows(const struct draw *draw, unsigned line, unsigned lines);
void draw_help(const struct draw *draw, unsigned line, unsigned lines);
void draw_foot(const struct draw *draw, unsigned line);
