/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and JSON of rows and properties (output.h). */
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/ctl.h"

#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *output_join(const char *const *items, size_t n)
{
    size_t size = 1, used = 0;
    char *text;

    for (size_t i = 0; i < n; i++)
        size += strlen(items[i]) + 2;
    text = malloc(size);
    if (!text)
        return NULL;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", items[i]);
    return text;
}

char *output_cell_text(const struct cell *cell)
{
    char buffer[ODEON_REF_TEXT + 8];

    switch (cell->kind) {
    case CELL_KIND_TEXT:
    case CELL_KIND_OBJECT:
        return strdup(*cell->text ? cell->text : "-");
    case CELL_KIND_NUMBER:
        if (cell->text)
            return strdup(cell->text);
        snprintf(buffer, sizeof(buffer), "%" PRIu64, cell->number);
        return strdup(buffer);
    case CELL_KIND_REAL:
        return strdup(cell->text);
    case CELL_KIND_FLAG:
        return strdup(cell->number ? "yes" : "no");
    case CELL_KIND_LIST:
        return cell->n_items ? output_join(cell->items, cell->n_items) : strdup("-");
    case CELL_KIND_REF:
        if (cell->number == ODEON_NOBODY)
            return strdup("-");
        odeon_ref_format(cell->number, buffer);
        return strdup(buffer);
    case CELL_KIND_NONE:
        break;
    }
    return strdup("-");
}

void output_json_cell(struct json *json, const char *key, const struct cell *cell)
{
    char ref[ODEON_REF_TEXT];

    switch (cell->kind) {
    case CELL_KIND_TEXT:
        json_string(json, key, cell->text);
        return;
    case CELL_KIND_NUMBER:
        json_uint(json, key, cell->number);
        return;
    case CELL_KIND_REAL:
        json_double(json, key, cell->real);
        return;
    case CELL_KIND_FLAG:
        json_bool(json, key, cell->number != 0);
        return;
    case CELL_KIND_LIST:
        json_begin_array(json, key);
        for (size_t i = 0; i < cell->n_items; i++)
            json_string(json, NULL, cell->items[i]);
        json_end_array(json);
        return;
    case CELL_KIND_OBJECT:
        json_object(json, key, cell->members);
        return;
    case CELL_KIND_REF:
        if (cell->number != ODEON_NOBODY) {
            odeon_ref_format(cell->number, ref);
            json_string(json, key, ref);
            return;
        }
        break;
    case CELL_KIND_NONE:
        break;
    }
    json_null(json, key);
}

static bool output_set_cell(struct libscols_line *line, size_t n, const struct cell *cell)
{
    char *text = output_cell_text(cell);

    if (!text)
        return false;
    if (scols_line_refer_data(line, n, text)) { /* takes it over when it succeeds */
        free(text);
        return false;
    }
    return true;
}

static struct libscols_table *output_table_new(const struct ctl *ctl, const struct column *columns,
                                               size_t n, bool headings)
{
    struct libscols_table *table = scols_new_table();

    if (!table)
        return NULL;
    scols_table_set_stream(table, ctl->out);
    scols_table_enable_noheadings(table, !headings);
    scols_table_enable_colors(table, *output_bold(ctl, true) != '\0');
    scols_table_set_column_separator(table, "  ");
    for (size_t i = 0; i < n; i++)
        if (!scols_table_new_column(table, columns[i].title, 0,
                                    columns[i].right ? SCOLS_FL_RIGHT : 0)) {
            scols_unref_table(table);
            return NULL;
        }
    return table;
}

static int output_no_memory(struct ctl *ctl)
{
    return ctl_fail(ctl, CTL_REFUSED,
                    "cannot print the answer: no memory. Free memory and try again");
}

static void output_listing_flush(struct listing *listing)
{
    if (!listing->table)
        return;
    if (listing->n_block && scols_print_table(listing->table))
        listing->failed = true;
    listing->printed |= listing->n_block != 0;
    listing->n_block = 0;
    scols_unref_table(listing->table);
    listing->table = NULL;
}

static struct libscols_line *output_listing_new_line(struct listing *listing)
{
    struct libscols_line *line;

    if (listing->n_block >= LISTING_BLOCK)
        output_listing_flush(listing);
    if (!listing->table)
        listing->table = output_table_new(listing->ctl, listing->columns, listing->n_columns,
                                          listing->ctl->legend && !listing->printed);
    line = listing->table ? scols_table_new_line(listing->table, NULL) : NULL;
    if (line)
        listing->n_block++;
    else
        listing->failed = true;
    return line;
}

void listing_begin(struct listing *listing, struct ctl *ctl, const char *key,
                   const struct column *columns, size_t n_columns)
{
    *listing = (struct listing){ .ctl = ctl, .columns = columns, .n_columns = n_columns };
    if (!ctl->json)
        return;
    listing->json = &listing->document;
    json_begin_document(listing->json, ctl->out);
    json_begin_array(listing->json, key);
}

void listing_add(struct listing *listing, const struct cell *cells)
{
    struct libscols_line *line;

    listing->n_rows++;
    if (listing->json) {
        json_break_line(listing->json);
        json_begin_object(listing->json, NULL);
        for (size_t i = 0; i < listing->n_columns; i++)
            output_json_cell(listing->json, listing->columns[i].key, &cells[i]);
        json_end_object(listing->json);
        return;
    }
    line = output_listing_new_line(listing);
    for (size_t i = 0; line && i < listing->n_columns; i++)
        if (!output_set_cell(line, i, &cells[i]))
            listing->failed = true;
}

void listing_heading(struct listing *listing, const char *title)
{
    struct libscols_line *line;
    struct libscols_cell *cell;

    if (listing->json)
        return;
    line = listing->n_rows ? output_listing_new_line(listing)
                           : NULL; /* a blank one between the groups */
    if (line && scols_line_set_data(line, 0, ""))
        listing->failed = true;
    line = output_listing_new_line(listing);
    if (!line || scols_line_set_data(line, 0, title)) {
        listing->failed = true;
        return;
    }
    cell = scols_line_get_cell(line, 0);
    if (*output_bold(listing->ctl, true))
        (void)scols_cell_set_color(cell, "bold");
}

/* `next` NULL: no page goes on from here. */
static int output_listing_end(struct listing *listing, bool more, const uint64_t *next)
{
    struct ctl *ctl = listing->ctl;

    if (listing->json) {
        fputc('\n', ctl->out);
        json_end_array(listing->json);
        json_bool(listing->json, "more", more);
        if (more && next)
            json_uint(listing->json, "next", *next);
        else
            json_null(listing->json, "next");
        json_end_document(listing->json);
        return 0;
    }
    /* headings of an empty list: it has been looked at */
    if (!listing->printed && !listing->n_block && ctl->legend)
        for (size_t i = 0; i < listing->n_columns; i++)
            fprintf(ctl->out, "%s%s", listing->columns[i].title,
                    i + 1 < listing->n_columns ? "  " : "\n");
    output_listing_flush(listing);
    if (more && ctl->legend && next)
        fprintf(ctl->out, "(%" PRIu64 " rows; there are more: --after %" PRIu64 ")\n",
                listing->n_rows, *next);
    else if (more && ctl->legend)
        fprintf(ctl->out, "(%" PRIu64 " rows; there are more: --limit)\n", listing->n_rows);
    return listing->failed ? output_no_memory(ctl) : 0;
}

int listing_end(struct listing *listing, bool more, uint64_t next)
{
    return output_listing_end(listing, more, &next);
}

int listing_end_sorted(struct listing *listing, bool more)
{
    return output_listing_end(listing, more, NULL);
}

enum { PAGE_ROWS = 256 }; /* the service gives no more at once */

static int output_fetch(struct ctl *ctl, const struct listing_source *source, uint64_t after,
                        uint32_t rows, struct odeon_list **ret)
{
    int r = source->fetch(ctl->client, source->filter, after, rows, ret);

    if (r < 0 && source->by_type && source->filter)
        return ctl_type_refuse(ctl, r, source->what, source->filter);
    return r < 0 ? ctl_refuse(ctl, r, "%s", source->what) : 0;
}

/* A page that leads back would be fetched for ever. */
static int output_check_page(struct ctl *ctl, const struct listing_source *source, uint64_t after,
                             const struct odeon_list *list)
{
    if (!list->more || list->next > after)
        return 0;
    return ctl_fail(ctl, CTL_REFUSED,
                    "%s: the service's page after %" PRIu64 " leads back to %" PRIu64
                    ". Report this with both versions",
                    source->what, after, list->next);
}

int listing_walk(struct ctl *ctl, const struct listing_source *source, uint64_t after,
                 int (*page)(struct ctl *ctl, void *userdata, const struct odeon_list *list),
                 void *userdata)
{
    bool more = true;
    int code = 0;

    while (more && !code) {
        struct odeon_list *list = NULL;

        code = output_fetch(ctl, source, after, PAGE_ROWS, &list);
        if (code)
            break;
        code = page(ctl, userdata, list);
        if (!code)
            code = output_check_page(ctl, source, after, list);
        more = list->more != 0;
        after = list->next;
        odeon_list_free(list);
    }
    return code;
}

/* Where a listing has come to. */
struct walk {
    struct ctl *ctl;
    const struct listing_source *source;
    uint64_t after, left;
    bool more;
};

static void output_add_page(struct listing *listing, struct walk *walk,
                            const struct odeon_list *list)
{
    const struct listing_source *source = walk->source;

    walk->more = list->more != 0;
    for (size_t i = 0; i < list->n; i++) {
        const char *row = (const char *)list->rows + i * source->row_size;

        if (source->wants && !source->wants(walk->ctl, row))
            continue;
        source->add(listing, row);
        if (--walk->left == 0 && i + 1 < list->n && source->after) {
            walk->more = true;
            walk->after = source->after(row);
            return;
        }
    }
    walk->after = list->next;
}

int listing_fetch(struct ctl *ctl, const char *key, const struct column *columns, size_t n_columns,
                  const struct listing_source *source)
{
    struct walk walk = {
        .ctl = ctl, .source = source, .after = ctl->after, .left = ctl->limit, .more = true
    };
    struct listing listing;
    bool begun = false;
    int code = ctl_connect(ctl), end;

    if (code)
        return code;
    while (walk.more && walk.left && !code) {
        struct odeon_list *list = NULL;
        bool all = source->wants || walk.left > PAGE_ROWS;

        code = output_fetch(ctl, source, walk.after, all ? PAGE_ROWS : (uint32_t)walk.left, &list);
        if (code)
            break;
        if (!begun)
            listing_begin(&listing, ctl, key, columns, n_columns);
        begun = true;
        code = output_check_page(ctl, source, walk.after, list);
        output_add_page(&listing, &walk, list);
        odeon_list_free(list);
    }
    if (!begun)
        return code;
    end = listing_end(&listing, walk.more, walk.after);
    return code ? code : end;
}

void properties_begin(struct properties *properties, struct ctl *ctl, const char *key)
{
    static const struct column columns[] = { { .title = "NAME" }, { .title = "VALUE" } };

    *properties = (struct properties){ .ctl = ctl };
    if (ctl->json) {
        properties->json = &properties->document;
        json_begin_document(properties->json, ctl->out);
        json_begin_object(properties->json, key);
        return;
    }
    properties->table = output_table_new(ctl, columns, 2, false);
    properties->failed = !properties->table;
}

void properties_add(struct properties *properties, const char *title, const char *key,
                    struct cell cell)
{
    struct libscols_line *line;

    if (properties->json) {
        output_json_cell(properties->json, key, &cell);
        return;
    }
    line = properties->table ? scols_table_new_line(properties->table, NULL) : NULL;
    if (!line || scols_line_set_data(line, 0, title) || !output_set_cell(line, 1, &cell))
        properties->failed = true;
}

int properties_end(struct properties *properties)
{
    if (properties->json) {
        json_end_object(properties->json);
        json_end_document(properties->json);
        return 0;
    }
    if (!properties->failed && scols_print_table(properties->table))
        properties->failed = true;
    if (properties->table)
        scols_unref_table(properties->table);
    return properties->failed ? output_no_memory(properties->ctl) : 0;
}

const char *output_format_duration(uint64_t ns, char text[static OUTPUT_DURATION_TEXT])
{
    uint64_t s = ns / 1000000000;

    if (s >= 86400)
        snprintf(text, OUTPUT_DURATION_TEXT, "%" PRIu64 " d %" PRIu64 " h", s / 86400,
                 s / 3600 % 24);
    else if (s >= 3600)
        snprintf(text, OUTPUT_DURATION_TEXT, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
                 s / 60 % 60);
    else if (s >= 60)
        snprintf(text, OUTPUT_DURATION_TEXT, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    else if (s)
        snprintf(text, OUTPUT_DURATION_TEXT, "%.1f s", (double)ns / 1e9);
    else if (ns < 1000000)
        snprintf(text, OUTPUT_DURATION_TEXT, "%.0f us", (double)ns / 1e3);
    else
        snprintf(text, OUTPUT_DURATION_TEXT, "%.3f ms", (double)ns / 1e6);
    return text;
}

const char *output_format_bytes(uint64_t bytes, char text[static OUTPUT_BYTES_TEXT])
{
    if (bytes >= UINT64_C(1) << 30)
        snprintf(text, OUTPUT_BYTES_TEXT, "%.1f GiB", (double)bytes / (1 << 30));
    else if (bytes >= UINT64_C(1) << 20)
        snprintf(text, OUTPUT_BYTES_TEXT, "%.1f MiB", (double)bytes / (1 << 20));
    else if (bytes >= UINT64_C(1) << 10)
        snprintf(text, OUTPUT_BYTES_TEXT, "%.0f KiB", (double)bytes / (1 << 10));
    else
        snprintf(text, OUTPUT_BYTES_TEXT, "%u B", (unsigned)bytes);
    return text;
}

const char *output_format_time(uint64_t time_ns, char text[static OUTPUT_TIME_TEXT])
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm parts;
    size_t n = gmtime_r(&seconds, &parts)
                   ? strftime(text, OUTPUT_TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &parts)
                   : 0;

    snprintf(text + n, OUTPUT_TIME_TEXT - n, ".%03" PRIu64 "Z", time_ns / 1000000 % 1000);
    return text;
}

const char *output_bold(const struct ctl *ctl, bool on)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    if (!ctl->terminal || (no && *no) || !term || !strcmp(term, "dumb"))
        return "";
    return on ? "\033[1m" : "\033[0m";
}
