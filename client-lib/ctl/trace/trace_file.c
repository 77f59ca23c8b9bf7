/* SPDX-License-Identifier: Apache-2.0 */
/* A file of trace events (trace.h). Times are microseconds with three places, and
 * begin a minute before the first message: readers keep them in numbers in which nanoseconds since
 * 1970 have no room. */
#include "client-lib/ctl/json.h"
#include "client-lib/ctl/trace/trace.h"

#include <inttypes.h>

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
}

bool trace_file_end(struct trace_file *file)
{
    bool failed;

    fputs("\n]}\n", file->out);
    failed = fflush(file->out) == EOF || ferror(file->out);
    return fclose(file->out) == 0 && !failed;
}
