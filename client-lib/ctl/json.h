/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON to a stream, as it comes, without building it in memory.
 *
 * Owned by its caller, one thread. `key` names the value inside an object and is NULL inside an
 * array.
 *
 * json.J1  Strings are valid UTF-8 on the way out, whatever they were: bytes that are not become
 *     U+FFFD.
 * json.J2  Numbers are finite: what JSON has no number for becomes null.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

struct json {
    FILE *out;
    unsigned depth;
    bool more[JSON_DEPTH_MAX]; /* a value has been written at this depth */
};

void json_init(struct json *json, FILE *out);
void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);
/* The outermost object, begun with "version", and its end with a line feed. */
void json_begin_document(struct json *json, FILE *out);
void json_end_document(struct json *json);
/* A line feed before the next value: one row a line in long arrays. */
void json_break_line(struct json *json);

void json_string(struct json *json, const char *key, const char *value);
void json_uint(struct json *json, const char *key, uint64_t value);
void json_double(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/* An object whose members have been written elsewhere, by json.J1 and json.J2. */
void json_object(struct json *json, const char *key, const char *members);
