/* SPDX-License-Identifier: Apache-2.0 */
/* A file of trace events (trace.h). Times are microseconds with three places, and
 * begin a minute before the first message: readers keep them in numbers in which nanoseconds since
 * 1970 have no room. */
#include "client-lib/ctl/json.h"
#include "client-lib/ctl/trace/trace.h"
#include "client-lib/ctl/trace/trace_tree.h"

#include <odeon/names.h>

#include <inttypes.h>
#include <stdlib.h>

#define TRACE_BEFORE_NS UINT64_C(60000000000)
enum { TRACE_PROCESS = 1, TRACE_WAITS = 100000 }; /* tracks of what had waited are above these */

static void trace_file_next(struct trace_file *file)
{
    fputs(file->more ? ",\n" : "\n", file->out);
    file->more = true;
}

void trace_file_begin(struct trace_file *file, FILE *out)
{
    *file = (struct trace_file){ .out = out };
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
    trace_file_next(file);
    fprintf(out,
            "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"odeon\"}}",
            TRACE_PROCESS);
}

static void trace_file_name_track(struct trace_file *file, uint32_t worker)
{
    if (worker >= 64 * 64 || file->workers[worker / 64] >> worker % 64 & 1)
        return;
    file->workers[worker / 64] |= UINT64_C(1) << worker % 64;
    trace_file_next(file);
    fprintf(file->out,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":"
            "\"worker %u\"}}",
            TRACE_PROCESS, worker, worker);
    trace_file_next(file);
    fprintf(file->out,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_sort_index\",\"args\":{"
            "\"sort_index\":%u}}",
            TRACE_PROCESS, worker, worker);
}

static void trace_file_put_time(FILE *out, const char *key, uint64_t ns)
{
    fprintf(out, "\"%s\":%" PRIu64 ".%03" PRIu64 ",", key, ns / 1000, ns % 1000);
}

static void trace_file_put_names(struct json *json, const struct odeon_traced *m,
                                 const char *message)
{
    char ref[ODEON_REF_TEXT];

    json_begin_object(json, "args");
    json_string(json, "message", message);
    odeon_ref_format(m->to, ref);
    json_string(json, "to", ref);
    odeon_ref_format(m->from, ref);
    json_string(json, "from", m->from == ODEON_NOBODY ? "nobody" : ref);
    json_string(json, "from_type", m->from_type);
    json_uint(json, "sends", m->sends);
    json_uint(json, "stands_for", m->stands_for);
    if (m->at_least)
        json_bool(json, "at_least", true);
    if (m->reason != ODEON_REASON_NONE)
        json_string(json, "refused", odeon_reason_name(m->reason));
    if (m->trace)
        json_uint(json, "trace", m->trace);
    json_end_object(json);
}

/* A slice on the worker's track. */
static void trace_file_add_run(struct trace_file *file, const struct odeon_traced *m,
                               const char *message)
{
    struct json json;

    trace_file_next(file);
    fprintf(file->out, "{\"ph\":\"X\",\"cat\":\"run\",\"pid\":%d,\"tid\":%u,", TRACE_PROCESS,
            m->worker);
    trace_file_put_time(file->out, "ts", m->began_ns - file->zero_ns);
    trace_file_put_time(file->out, "dur", m->run_ns);
    json_init(&json, file->out);
    json_string(&json, "name", *m->type ? m->type : "?");
    trace_file_put_names(&json, m, message);
    fputc('}', file->out);
}

/* A slice of its own, from when a queue had accepted it; many overlap. */
static void trace_file_add_wait(struct trace_file *file, const struct odeon_traced *m)
{
    static const char *const phases[] = { "b", "e" };

    for (int i = 0; i < 2; i++) {
        struct json json;

        trace_file_next(file);
        fprintf(file->out,
                "{\"ph\":\"%s\",\"cat\":\"wait\",\"pid\":%d,\"tid\":%u,\"id\":\"%" PRIx64 ".%u\",",
                phases[i], TRACE_PROCESS, TRACE_WAITS + m->worker, m->began_ns, m->worker);
        trace_file_put_time(file->out, "ts",
                            m->began_ns - file->zero_ns - (i == 0 ? m->wait_ns : 0));
        json_init(&json, file->out);
        json_string(&json, "name", *m->type ? m->type : "?");
        fputc('}', file->out);
    }
}

/* Its arrow is drawn when its cause is known: at the end. */
static void trace_file_note(struct trace_file *file, const struct odeon_traced *m)
{
    struct odeon_traced *room;

    if (!file->traced)
        file->traced = calloc(TRACE_ARROWS_MOST, sizeof(*file->traced));
    if (!file->traced)
        return; /* no memory: slices without arrows */
    room = &file->traced[file->n_traced++ % TRACE_ARROWS_MOST];
    *room = *m;
    room->type = room->from_type = "";
}

static int trace_file_compare(const void *a, const void *b)
{
    const struct odeon_traced *one = a, *other = b;

    return (one->began_ns > other->began_ns) - (one->began_ns < other->began_ns);
}

/* One end of an arrow, within the slice of `m`. */
static void trace_file_add_end(struct trace_file *file, const struct odeon_traced *m, size_t id,
                               const char *phase, uint64_t ns)
{
    uint64_t end_ns = m->began_ns + m->run_ns;

    trace_file_next(file);
    fprintf(file->out,
            "{\"ph\":\"%s\",\"cat\":\"trace\",\"name\":\"trace %" PRIu64 "\",\"id\":%zu,"
            "\"pid\":%d,\"tid\":%u,%s",
            phase, m->trace, id, TRACE_PROCESS, m->worker, *phase == 'f' ? "\"bp\":\"e\"," : "");
    ns = ns > end_ns ? end_ns : ns < m->began_ns ? m->began_ns : ns;
    ns -= file->zero_ns;
    fprintf(file->out, "\"ts\":%" PRIu64 ".%03" PRIu64 "}", ns / 1000, ns % 1000);
}

/* From each cause to what it has caused. */
static void trace_file_add_arrows(struct trace_file *file)
{
    size_t n = file->n_traced < TRACE_ARROWS_MOST ? file->n_traced : TRACE_ARROWS_MOST;

    if (n == 0)
        return;
    qsort(file->traced, n, sizeof(*file->traced), trace_file_compare);
    for (size_t i = 0; i < n; i++) {
        const struct odeon_traced *m = &file->traced[i];
        size_t cause = trace_tree_cause(file->traced, i);

        if (cause == TRACE_TREE_ROOT)
            continue;
        trace_file_add_end(file, &file->traced[cause], i + 1, "s", trace_tree_sent_ns(m));
        trace_file_add_end(file, m, i + 1, "f", m->began_ns);
    }
}

void trace_file_add(struct trace_file *file, const struct odeon_traced *m, const char *message)
{
    if (!file->zero_ns)
        file->zero_ns = m->began_ns - TRACE_BEFORE_NS;
    if (m->began_ns < file->zero_ns)
        return; /* a clock was set back by more than a minute */
    trace_file_name_track(file, m->worker);
    trace_file_add_run(file, m, message);
    if (m->wait_ns > 0 && m->wait_ns <= m->began_ns - file->zero_ns)
        trace_file_add_wait(file, m);
    if (m->trace)
        trace_file_note(file, m);
}

bool trace_file_end(struct trace_file *file)
{
    bool failed;

    trace_file_add_arrows(file);
    free(file->traced);
    file->traced = NULL;
    fputs("\n]}\n", file->out);
    failed = fflush(file->out) == EOF || ferror(file->out);
    return fclose(file->out) == 0 && !failed;
}
