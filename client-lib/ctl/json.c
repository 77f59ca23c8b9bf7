/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer (json.h). */
#include "client-lib/ctl/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <odeon/codec.h>

enum { JSON_VERSION = 1 }; /* of the documents' shape: changes when a name or a meaning does */

static void json_write_string(FILE *out, const char *value)
{
    char *text;

    if (odeon_text_quote_json(value, strlen(value), &text) < 0) { /* no memory */
        fputs("null", out);
        return;
    }
    fputs(text, out);
    odeon_payload_free(text);
}

static void json_begin_value(struct json *json, const char *key)
{
    if (json->more[json->depth])
        fputc(',', json->out);
    json->more[json->depth] = true;
    if (key) {
        json_write_string(json->out, key);
        fputc(':', json->out);
    }
}

static void json_open(struct json *json, const char *key, char bracket)
{
    json_begin_value(json, key);
    fputc(bracket, json->out);
    assert(json->depth + 1 < JSON_DEPTH_MAX);
    json->more[++json->depth] = false;
}

static void json_close(struct json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    fputc(bracket, json->out);
}

void json_init(struct json *json, FILE *out)
{
    *json = (struct json){ .out = out };
}

void json_begin_object(struct json *json, const char *key)
{
    json_open(json, key, '{');
}

void json_end_object(struct json *json)
{
    json_close(json, '}');
}

void json_begin_array(struct json *json, const char *key)
{
    json_open(json, key, '[');
}

void json_end_array(struct json *json)
{
    json_close(json, ']');
}

void json_begin_document(struct json *json, FILE *out)
{
    json_init(json, out);
    json_begin_object(json, NULL);
    json_uint(json, "version", JSON_VERSION);
}

void json_end_document(struct json *json)
{
    json_end_object(json);
    assert(json->depth == 0);
    fputc('\n', json->out);
}

void json_break_line(struct json *json)
{
    if (json->more[json->depth])
        fputs(",\n", json->out);
    else
        fputc('\n', json->out);
    json->more[json->depth] = false; /* the comma is written */
}

void json_string(struct json *json, const char *key, const char *value)
{
    json_begin_value(json, key);
    json_write_string(json->out, value);
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
    json_begin_value(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void json_double(struct json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    json_begin_value(json, key);
    if (value == floor(value) && fabs(value) < 1e18)
        fprintf(json->out, "%.0f", value);
    else
        fprintf(json->out, "%.6g", value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    json_begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
    json_begin_value(json, key);
    fputs("null", json->out);
}

void json_object(struct json *json, const char *key, const char *members)
{
    json_begin_value(json, key);
    fprintf(json->out, "{%s}", members);
}
