/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/ctl/topology/picture.h"

#include "client-lib/ctl/output.h"

#include <inttypes.h>
#include <string.h>

enum { BOX_WIDTH = 132, BOX_HEIGHT = 76, GAP = 10, HEAD = 22, A_LINE = 6 };

/* What lies together: rows [begin, end) that share a node, or a node and a cache. */
struct picture_group {
    size_t begin, end;
};

static bool picture_is_same(const struct topology_row *a, const struct topology_row *b, bool cache)
{
    return (a->cpu == ROWS_NONE) == (b->cpu == ROWS_NONE) && a->place.node == b->place.node &&
           (!cache || a->place.l3 == b->place.l3);
}

static struct picture_group picture_group(const struct rows *rows, size_t begin, size_t most,
                                          bool cache)
{
    struct picture_group group = { begin, begin };

    while (group.end < most && picture_is_same(&rows->row[begin], &rows->row[group.end], cache))
        group.end++;
    return group;
}

static int picture_cache_height(struct picture_group cache)
{
    int lines = (int)((cache.end - cache.begin + A_LINE - 1) / A_LINE);

    return HEAD + lines * (BOX_HEIGHT + GAP) + GAP;
}

static int picture_node_height(const struct rows *rows, struct picture_group node)
{
    int height = HEAD + GAP;

    for (size_t at = node.begin; at < node.end;) {
        struct picture_group cache = picture_group(rows, at, node.end, true);

        height += picture_cache_height(cache) + GAP;
        at = cache.end;
    }
    return height;
}

static void picture_text(FILE *out, int x, int y, const char *class, const char *text)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, class, text);
}

/* A processor, or a worker without one. All words are this program's own. */
static void picture_box(FILE *out, int x, int y, const struct topology_row *row)
{
    const char *state = row->worker == ROWS_NONE ? "none" : row->state ? row->state : "none";
    char text[96], bytes[OUTPUT_BYTES_TEXT];

    fprintf(out, "<g class=\"%s\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n",
            state, x, y, BOX_WIDTH, BOX_HEIGHT);
    if (row->cpu == ROWS_NONE)
        snprintf(text, sizeof(text), "no CPU");
    else
        snprintf(text, sizeof(text), "CPU %d, core %d", row->cpu, row->place.core);
    picture_text(out, x + 8, y + 18, "s", text);
    if (row->worker != ROWS_NONE) {
        snprintf(text, sizeof(text), "worker %d: %s", row->worker, row->state ? row->state : "?");
        picture_text(out, x + 8, y + 36, "b", text);
        snprintf(text, sizeof(text), "%" PRIu64 " queues, %" PRIu64 " actors", row->queues,
                 row->actors);
        picture_text(out, x + 8, y + 52, "s", text);
        snprintf(text, sizeof(text), "%s wait", output_format_bytes(row->bytes, bytes));
        picture_text(out, x + 8, y + 67, "s", text);
    }
    fputs("</g>\n", out);
}

static void picture_frame(FILE *out, int x, int y, int width, int height, const char *title)
{
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" class=\"frame\"/>\n",
            x, y, width, height);
    picture_text(out, x + GAP, y + 16, "s", title);
}

static void picture_cache(FILE *out, const struct rows *rows, struct picture_group cache, int y)
{
    const struct topology_row *first = &rows->row[cache.begin];
    char title[64] = "";

    if (first->cpu != ROWS_NONE && first->place.l3 >= 0)
        snprintf(title, sizeof(title), "third-level cache of CPU %d on", first->place.l3);
    picture_frame(out, 2 * GAP, y, A_LINE * (BOX_WIDTH + GAP) + GAP, picture_cache_height(cache),
                  title);
    for (size_t i = cache.begin; i < cache.end; i++) {
        size_t k = i - cache.begin;

        picture_box(out, 3 * GAP + (int)(k % A_LINE) * (BOX_WIDTH + GAP),
                    y + HEAD + (int)(k / A_LINE) * (BOX_HEIGHT + GAP), &rows->row[i]);
    }
}

static void picture_node(FILE *out, const struct rows *rows, struct picture_group node, int y)
{
    const struct topology_row *first = &rows->row[node.begin];
    int width = A_LINE * (BOX_WIDTH + GAP) + 3 * GAP, at_y = y + HEAD;
    char title[64] = "workers that are bound to no CPU";

    if (first->cpu != ROWS_NONE && first->place.node >= 0)
        snprintf(title, sizeof(title), "memory node %d", first->place.node);
    else if (first->cpu != ROWS_NONE)
        snprintf(title, sizeof(title), "memory nodes are not known");
    picture_frame(out, GAP, y, width, picture_node_height(rows, node), title);
    for (size_t at = node.begin; at < node.end;) {
        struct picture_group cache = picture_group(rows, at, node.end, true);

        picture_cache(out, rows, cache, at_y);
        at_y += picture_cache_height(cache) + GAP;
        at = cache.end;
    }
}

void picture_write(FILE *out, const struct rows *rows)
{
    int width = A_LINE * (BOX_WIDTH + GAP) + 5 * GAP, height = GAP, y = GAP;

    for (size_t at = 0; at < rows->n;) {
        struct picture_group node = picture_group(rows, at, rows->n, false);

        height += picture_node_height(rows, node) + GAP;
        at = node.end;
    }
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\">\n"
            "<style>text{font-family:sans-serif;fill:#222}.s{font-size:11px}"
            ".b{font-size:12px;font-weight:bold}.frame{fill:none;stroke:#999}"
            "g rect{stroke:#444;fill:#fff}.none rect{stroke-dasharray:3 3}"
            ".busy rect{fill:#555}.busy text{fill:#fff}.searching rect{fill:#ccc}</style>\n",
            width, height, width, height);
    for (size_t at = 0; at < rows->n;) {
        struct picture_group node = picture_group(rows, at, rows->n, false);

        picture_node(out, rows, node, y);
        y += picture_node_height(rows, node) + GAP;
        at = node.end;
    }
    fputs("</svg>\n", out);
}
