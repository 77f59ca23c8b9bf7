/* SPDX-License-Identifier: Apache-2.0 */
/* How odeonctl trace writes single messages: as lines for people, as JSON, as a file for Perfetto.
 *
 * Owned by the command, one thread.
 */
#pragma once

#include "client-lib/ctl/ctl.h"

#include <odeon/observe.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Names of message types, asked for once each, and of an executor that has not answered no more. */
struct trace_names {
    struct ctl *ctl;
    uint32_t executor; /* whom they are asked of: its process, 0: nobody */
    bool is_silent;    /* it has not answered */
    struct {
        bool asked;
        char name[72]; /* "" where nobody knows */
    } known[4096];
};
/* This executor answers now: what another one has not told is asked for again. */
void trace_names_ask_again(struct trace_names *names, uint32_t executor);
/* Never NULL; one that the service does not tell is "type 17". */
const char *trace_names_get(struct trace_names *names, uint32_t message);

/* One message: a line, `depth` causes below a root. */
void trace_print_line(struct ctl *ctl, const struct odeon_traced *m, const char *message,
                      unsigned depth);
void trace_print_json(struct ctl *ctl, const struct odeon_traced *m, const char *message,
                      unsigned depth);
/* So many have not been read in time. */
void trace_print_lost(struct ctl *ctl, uint64_t lost);

/* Messages of one trace, in the order of their beginnings: each cause with what it has caused below
 * it, as lines or documents. */
void trace_print_tree(struct ctl *ctl, const struct odeon_traced *rows, size_t n,
                      struct trace_names *names);

/* A file of trace events (the JSON that Perfetto and Chromium read): a track for each worker, on it
 * a slice for each message, above it how long it had waited, and arrows from cause to effect. */
enum { TRACE_ARROWS_MOST = 8192 }; /* of the last messages with a trace's id */
struct trace_file {
    FILE *out;
    bool more;
    uint64_t zero_ns;     /* what times are counted from; 0: nothing has been added */
    uint64_t workers[64]; /* bits: those whose track has its name */
    /* with a trace's id, the last TRACE_ARROWS_MOST, without their texts; NULL: none yet */
    struct odeon_traced *traced;
    size_t n_traced;
};
void trace_file_begin(struct trace_file *file, FILE *out);
void trace_file_add(struct trace_file *file, const struct odeon_traced *m, const char *message);
/* Ends the document; false: it could not be written. The stream is closed. */
bool trace_file_end(struct trace_file *file);
