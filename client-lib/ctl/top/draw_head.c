/* SPDX-License-Identifier: Apache-2.0 */
/* The lines above the rows: how the service is, what all of it does (draw.h). */
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/top/draw.h"
#include "client-lib/ctl/top/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DRAW_NARROW = 40, /* columns: less is said in less words */
    DRAW_LABEL = 9,
    DRAW_FIGURE = 9,
    DRAW_WORKER_MIN = 16, /* number, bar and figure of one worker */
};

/* Pieces of a line, in the order of their importance: what does not fit any more is left out. */
static void draw_head_piece(const struct draw *draw, unsigned line, unsigned *at,
                            enum frame_style style, const char *text)
{
    unsigned blanks = *at ? 2 : 0;

    if (*at + blanks + strlen(text) > draw->frame->columns && *at)
        return;
    *at += blanks;
    *at += frame_put(draw->frame, line, *at, draw->frame->columns, style, text);
}

/* What an operator must see first. */
static void draw_head_alarm(const struct draw *draw, unsigned line, unsigned *at)
{
    const struct look *look = draw->browse->look;
    bool is_narrow = draw->frame->columns < DRAW_NARROW;
    char since[OUTPUT_DURATION_TEXT], text[128];

    if (!look) {
        draw_head_piece(draw, line, at, FRAME_DIM, "looking...");
    } else if (look->state != LOOK_UP) {
        bool is_away = look->state == LOOK_AWAY;

        output_format_duration(look->away_ns / 1000000000 * 1000000000, since);
        snprintf(text, sizeof(text),
                 is_narrow ? "%s %s"
                 : is_away ? "the service is %s since %s"
                           : "the executor is %s since %s",
                 is_away ? "away" : "down", look->away_ns < 1000000000 ? "just now" : since);
        draw_head_piece(draw, line, at, FRAME_BAD, text);
    }
    if (draw->browse->is_paused)
        draw_head_piece(draw, line, at, FRAME_WARN, "PAUSED");
}

static struct figure draw_head_share(double share)
{
    return isnan(share) ? (struct figure){ "-" } : figure_share(share);
}

static struct figure draw_head_wait(const struct look *look)
{
    return isnan(look->wait_p99_ns) ? (struct figure){ "-" }
                                    : figure_time((uint64_t)look->wait_p99_ns);
}

static void draw_state_in_short(const struct draw *draw, unsigned line, unsigned *at)
{
    const struct look *look = draw->browse->look;
    char text[128];

    snprintf(text, sizeof(text), "%s msgs/s",
             isnan(look->rate) ? "-" : figure_rate(look->rate).text);
    draw_head_piece(draw, line, at, FRAME_PLAIN, text);
    snprintf(text, sizeof(text), "busy %s", draw_head_share(look->busy).text);
    draw_head_piece(draw, line, at, FRAME_PLAIN, text);
    snprintf(text, sizeof(text), "wait p99 %s", draw_head_wait(look).text);
    draw_head_piece(draw, line, at, FRAME_PLAIN, text);
    snprintf(text, sizeof(text), "%u clients", look->clients);
    draw_head_piece(draw, line, at, FRAME_PLAIN, text);
}

void draw_state(const struct draw *draw, unsigned line, bool is_short)
{
    const struct look *look = draw->browse->look;
    char text[128], duration[OUTPUT_DURATION_TEXT];
    unsigned at = 0;

    draw_head_alarm(draw, line, &at);
    if (!look)
        return;
    if (is_short) {
        draw_state_in_short(draw, line, &at);
        return;
    }
    snprintf(text, sizeof(text), "%u clients", look->clients);
    draw_head_piece(draw, line, &at, FRAME_BOLD, text);
    snprintf(text, sizeof(text), "%" PRIu64 " actors", look->actors);
    draw_head_piece(draw, line, &at, FRAME_BOLD, text);
    snprintf(text, sizeof(text), "%u workers", look->workers);
    draw_head_piece(draw, line, &at, FRAME_BOLD, text);
    snprintf(text, sizeof(text), "up %s", output_format_duration(look->uptime_ns, duration));
    if (look->state == LOOK_UP && look->uptime_ns)
        draw_head_piece(draw, line, &at, FRAME_PLAIN, text);
    snprintf(text, sizeof(text), "every %g s", draw->browse->seconds);
    draw_head_piece(draw, line, &at, FRAME_DIM, text);
}

static unsigned draw_head_spark(const struct draw *draw, unsigned line, unsigned at,
                                const struct spark *spark)
{
    char text[SPARK_LOOKS * SPARK_BYTES + 1];

    if (at >= draw->frame->columns)
        return 0;
    spark_draw(spark, SPARK_LOOKS, draw->unicode, text, sizeof(text));
    return frame_put(draw->frame, line, at, SPARK_LOOKS, FRAME_GOOD, text);
}

/* A label, a figure and its last looks; returns where they end. */
static unsigned draw_head_figure(const struct draw *draw, unsigned line, const char *label,
                                 const char *figure, const struct spark *spark)
{
    frame_fill(draw->frame, line, 0, DRAW_LABEL, FRAME_PLAIN, FRAME_LEFT, label);
    frame_fill(draw->frame, line, DRAW_LABEL, DRAW_FIGURE, FRAME_BOLD, FRAME_RIGHT, figure);
    (void)draw_head_spark(draw, line, DRAW_LABEL + DRAW_FIGURE + 1, spark);
    return DRAW_LABEL + DRAW_FIGURE + 1 + SPARK_LOOKS + 2;
}

void draw_rate(const struct draw *draw, unsigned line)
{
    const struct look *look = draw->browse->look;
    unsigned at = draw_head_figure(draw, line, "MSGS/S",
                                   !look || isnan(look->rate) ? "-" : figure_rate(look->rate).text,
                                   &draw->browse->rates);

    if (!look || at >= draw->frame->columns)
        return;
    at += frame_put(draw->frame, line, at, draw->frame->columns, FRAME_PLAIN, "BUSY ");
    (void)frame_put(draw->frame, line, at, draw->frame->columns, FRAME_BOLD,
                    draw_head_share(look->busy).text);
}

void draw_wait(const struct draw *draw, unsigned line)
{
    const struct look *look = draw->browse->look;
    unsigned at = draw_head_figure(draw, line, "WAIT P99", look ? draw_head_wait(look).text : "-",
                                   &draw->browse->waits);

    if (look && *look->wait_type && at < draw->frame->columns)
        (void)frame_put(draw->frame, line, at, draw->frame->columns, FRAME_PLAIN, look->wait_type);
}

/* As many workers as have room beside each other; the view of workers has all. */
void draw_workers(const struct draw *draw, unsigned line)
{
    const struct look *look = draw->browse->look;
    unsigned columns = draw->frame->columns;
    size_t n = look ? look->n_shares : 0, shown = columns / DRAW_WORKER_MIN;
    unsigned each;

    if (shown > n)
        shown = n;
    each = shown ? columns / (unsigned)shown : 0;
    if (each > 2 * DRAW_WORKER_MIN + 8)
        each = 2 * DRAW_WORKER_MIN + 8;
    for (size_t i = 0; i < shown; i++) {
        char number[16], bar[256];
        double share = look->shares[i];
        unsigned at = (unsigned)i * each, width = each - 11;
        enum frame_style style = share > 0.9 ? FRAME_BAD : share > 0.6 ? FRAME_WARN : FRAME_GOOD;

        snprintf(number, sizeof(number), "%zu", i);
        frame_fill(draw->frame, line, at, 3, FRAME_PLAIN, FRAME_RIGHT, number);
        spark_bar(share, width, draw->unicode, bar, sizeof(bar));
        frame_fill(draw->frame, line, at + 4, width, style, FRAME_LEFT, bar);
        snprintf(number, sizeof(number), "%.0f %%", share * 100);
        frame_fill(draw->frame, line, at + 4 + width, 6, FRAME_PLAIN, FRAME_RIGHT,
                   isnan(share) ? "-" : number);
    }
}

void draw_tabs(const struct draw *draw, unsigned line)
{
    const struct browse *b = draw->browse;
    unsigned at = 0;
    char text[BROWSE_TEXT + 64];

    if (*b->at.scope) {
        snprintf(text, sizeof(text), "%s %s", views[b->at.view].of, b->at.scope);
        at += frame_put(draw->frame, line, at, draw->frame->columns, FRAME_BOLD, text);
        (void)frame_put(draw->frame, line, at, draw->frame->columns, FRAME_DIM, "  (Esc: back)");
        return;
    }
    for (unsigned i = 0; i < VIEW_N; i++) {
        snprintf(text, sizeof(text), " %u %s ", i + 1, views[i].title);
        at += frame_put(draw->frame, line, at, draw->frame->columns,
                        i == b->at.view ? FRAME_TITLE : FRAME_PLAIN, text);
    }
}
