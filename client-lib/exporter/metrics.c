/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int metrics_begin(struct metrics *metrics, struct buffer *out, enum metrics_format format,
                  size_t most)
{
    *metrics = (struct metrics){ .out = out, .format = format, .most = most, .skip = true };
    metrics->families = calloc(METRICS_FAMILIES, sizeof(*metrics->families));
    return metrics->families ? 0 : -ENOMEM;
}

void metrics_end(struct metrics *metrics)
{
    if (metrics->format == METRICS_OPEN)
        buffer_text(metrics->out, "# EOF\n");
    free(metrics->families);
    metrics->families = NULL;
}

const char *metrics_content_type(enum metrics_format format)
{
    return format == METRICS_OPEN ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8";
}

const char *metrics_number(double value, char text[static METRICS_NUMBER])
{
    if (isnan(value))
        return "NaN";
    if (isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, METRICS_NUMBER, "%.*g", digits, value);
        if (value == floor(value) && fabs(value) < 1e18)
            snprintf(text, METRICS_NUMBER, "%.0f", value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

/* ---- names and texts (metrics.M1) ---- */

static bool metrics_is_name(const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n >= METRICS_NAME || (*name >= '0' && *name <= '9'))
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

/* How many bytes the character has that begins there; 0: none that UTF-8 has. */
static size_t metrics_character(const unsigned char *at)
{
    static const unsigned char first[] = { 0, 0, 0xc2, 0xe0, 0xf0 };
    size_t n = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    if (n == 1)
        return 1;
    if (at[0] < first[n] || at[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return n;
}

static void metrics_escape(struct metrics *metrics, const char *text, bool quotes)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at) {
        size_t n = metrics_character(at);

        if (n == 0) {
            buffer_text(metrics->out, "\xef\xbf\xbd"); /* U+FFFD */
            n = 1;
        } else if (*at == '\\') {
            buffer_text(metrics->out, "\\\\");
        } else if (*at == '\n') {
            buffer_text(metrics->out, "\\n");
        } else if (*at == '"' && quotes) {
            buffer_text(metrics->out, "\\\"");
        } else if (*at < 0x20 || *at == 0x7f) {
            buffer_print(metrics->out, "\\\\x%02x", *at);
        } else {
            buffer_add(metrics->out, (const char *)at, n);
        }
        at += n;
    }
}

static bool metrics_note_family(struct metrics *metrics, const char *name)
{
    if (!metrics_is_name(name) || metrics->n_families == METRICS_FAMILIES)
        return false;
    for (size_t i = 0; i < metrics->n_families; i++)
        if (strcmp(metrics->families[i], name) == 0)
            return false;
    snprintf(metrics->families[metrics->n_families++], METRICS_NAME, "%s", name);
    return true;
}

/* ---- families and series ---- */

void metrics_family(struct metrics *metrics, const char *name, enum metrics_type type,
                    const char *unit, const char *help)
{
    static const char *const types[2][4] = {
        [METRICS_TEXT] = { "counter", "gauge", "untyped", "histogram" },
        [METRICS_OPEN] = { "counter", "gauge", "unknown", "histogram" },
    };
    bool is_open = metrics->format == METRICS_OPEN;
    /* what the older format calls a metric is what the newer one calls a sample */
    const char *end = type == METRICS_COUNTER && !is_open ? "_total" : "";
    struct buffer *out = metrics->out;

    metrics->type = type;
    metrics->skip = !metrics_note_family(metrics, name);
    if (metrics->skip)
        return;
    buffer_print(out, "# HELP %s%s ", name, end);
    metrics_escape(metrics, help, is_open);
    buffer_print(out, "\n# TYPE %s%s %s\n", name, end, types[metrics->format][type]);
    if (is_open && *unit)
        buffer_print(out, "# UNIT %s %s\n", name, unit);
}

void metrics_leave_out(struct metrics *metrics, size_t series)
{
    metrics->left_out += series;
}

/* metrics.M2 */
static bool metrics_take(struct metrics *metrics, size_t series)
{
    if (metrics->skip || metrics->series + series > metrics->most) {
        metrics->left_out += series;
        return false;
    }
    metrics->series += series;
    return true;
}

static void metrics_line(struct metrics *metrics, const char *end,
                         const struct metrics_label *labels, size_t n, const char *top,
                         double value)
{
    struct buffer *out = metrics->out;
    char text[METRICS_NUMBER];

    buffer_print(out, "%s%s", metrics->families[metrics->n_families - 1], end);
    for (size_t i = 0; i < n; i++) {
        buffer_print(out, "%s%s=\"", i ? "," : "{", labels[i].name);
        metrics_escape(metrics, labels[i].value, true);
        buffer_text(out, "\"");
    }
    if (top)
        buffer_print(out, "%sle=\"%s\"", n ? "," : "{", top);
    buffer_print(out, "%s %s\n", n || top ? "}" : "", metrics_number(value, text));
}

void metrics_value(struct metrics *metrics, const struct metrics_label *labels, size_t n,
                   double value)
{
    if (metrics_take(metrics, 1))
        metrics_line(metrics, metrics->type == METRICS_COUNTER ? "_total" : "", labels, n, NULL,
                     value);
}

/* The newer format wants to see that it is no integer. */
static const char *metrics_top(const struct metrics *metrics, double top,
                               char text[static METRICS_NUMBER])
{
    (void)metrics_number(top, text);
    if (metrics->format == METRICS_OPEN && !strpbrk(text, ".e"))
        snprintf(text + strlen(text), METRICS_NUMBER - strlen(text), ".0");
    return text;
}

void metrics_histogram(struct metrics *metrics, const struct metrics_label *labels, size_t n,
                       const double *tops, const uint64_t *counts, size_t n_tops, double sum)
{
    char text[METRICS_NUMBER];
    uint64_t below = 0;

    if (!metrics_take(metrics, n_tops + 3))
        return;
    for (size_t i = 0; i < n_tops; i++) {
        below += counts[i];
        metrics_line(metrics, "_bucket", labels, n, metrics_top(metrics, tops[i], text),
                     (double)below);
    }
    below += counts[n_tops];
    metrics_line(metrics, "_bucket", labels, n, "+Inf", (double)below);
    metrics_line(metrics, "_sum", labels, n, NULL, sum);
    metrics_line(metrics, "_count", labels, n, NULL, (double)below);
}
