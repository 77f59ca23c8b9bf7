/* SPDX-License-Identifier: Apache-2.0 */
/* Messages as lines, for people and as JSON; names of their types (trace.h). */
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/printable.h"
#include "client-lib/ctl/trace/trace.h"
#include "client-lib/ctl/trace/trace_tree.h"

#include <odeon/names.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Those that have no entry in the service's table, as everybody has them. */
static const char *trace_names_fixed(uint32_t message)
{
    static const char *const fixed[] = { [1] = "init",
                                         [ODEON_MSG_POISON_DELETE] = "stop (delete)",
                                         [ODEON_MSG_POISON_DESTROY] = "stop (destroy)",
                                         [ODEON_MSG_POISON_FINISHED] = "stop (finished)",
                                         [ODEON_MSG_REFUSAL] = "refusal",
                                         [ODEON_MSG_DOWN] = "down" };

    return message < sizeof(fixed) / sizeof(fixed[0]) ? fixed[message] : NULL;
}

void trace_names_ask_again(struct trace_names *names, uint32_t executor)
{
    if (names->executor != executor)
        names->is_silent = false;
    names->executor = executor;
}

static void trace_names_ask(struct trace_names *names, uint32_t message)
{
    struct odeon_message_info *info = NULL;
    int r = -ETIMEDOUT;

    if (!names->is_silent)
        r = odeon_message_show(names->ctl->client, message, &info);
    if (r == 0)
        snprintf(names->known[message].name, sizeof(names->known[message].name), "%s", info->name);
    else
        snprintf(names->known[message].name, sizeof(names->known[message].name), "type %u",
                 message);
    names->known[message].asked = r == 0 || r == -ENOENT || r == -EINVAL;
    names->is_silent = !names->known[message].asked;
    odeon_result_free(info);
}

const char *trace_names_get(struct trace_names *names, uint32_t message)
{
    if (trace_names_fixed(message))
        return trace_names_fixed(message);
    if (message >= sizeof(names->known) / sizeof(names->known[0]))
        return "?";
    if (!names->known[message].asked)
        trace_names_ask(names, message);
    return names->known[message].name;
}

/* "17:12:13.123456", of this machine's time of day */
static void trace_format_time(uint64_t ns, char text[static 32])
{
    time_t seconds = (time_t)(ns / UINT64_C(1000000000));
    char clock[16];
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || strftime(clock, sizeof(clock), "%H:%M:%S", &tm) == 0)
        strcpy(clock, "?");
    snprintf(text, 32, "%s.%06" PRIu64, clock, ns % UINT64_C(1000000000) / 1000);
}

/* Most behaviours take less than what durations are shown in elsewhere. */
static const char *trace_format_duration(uint64_t ns, char text[static OUTPUT_DURATION_TEXT])
{
    if (ns >= 10000)
        return output_format_duration(ns, text);
    snprintf(text, OUTPUT_DURATION_TEXT, "%" PRIu64 " ns", ns);
    return text;
}

/* ctl.C2 */
static void trace_print_party(FILE *out, const char *type, odeon_ref ref)
{
    char text[ODEON_REF_TEXT];

    if (ref == ODEON_NOBODY) {
        fputs("nobody", out);
        return;
    }
    printable_put(out, *type ? type : "?", false);
    odeon_ref_format(ref, text);
    fprintf(out, " %s", text);
}

void trace_print_line(struct ctl *ctl, const struct odeon_traced *m, const char *message,
                      unsigned depth)
{
    char time[32], ran[OUTPUT_DURATION_TEXT], waited[OUTPUT_DURATION_TEXT];

    trace_format_time(m->began_ns, time);
    fprintf(ctl->out, "%s w%u %*s", time, m->worker, (int)(2 * depth), "");
    trace_print_party(ctl->out, m->from_type, m->from);
    fputs(" -> ", ctl->out);
    trace_print_party(ctl->out, m->type, m->to);
    fputs(": ", ctl->out);
    printable_put(ctl->out, message, false);
    if (m->reason == ODEON_REASON_NONE)
        fprintf(ctl->out, " ran %s%s", m->at_least ? "at least " : "",
                trace_format_duration(m->run_ns, ran));
    else
        fprintf(ctl->out, " was not run: %s", odeon_reason_name(m->reason));
    if (m->wait_ns != UINT64_MAX)
        fprintf(ctl->out, ", waited %s", trace_format_duration(m->wait_ns, waited));
    if (m->sends)
        fprintf(ctl->out, ", sent %u", m->sends);
    if (m->stands_for > 1)
        fprintf(ctl->out, ", 1 of %" PRIu64, m->stands_for);
    fputc('\n', ctl->out);
}

void trace_print_json(struct ctl *ctl, const struct odeon_traced *m, const char *message,
                      unsigned depth)
{
    char time[OUTPUT_TIME_TEXT], ref[ODEON_REF_TEXT];
    struct json json;

    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "message");
    json_string(&json, "began", output_format_time(m->began_ns, time));
    json_uint(&json, "began_ns", m->began_ns);
    json_uint(&json, "worker", m->worker);
    if (m->from == ODEON_NOBODY) {
        json_null(&json, "from");
    } else {
        odeon_ref_format(m->from, ref);
        json_string(&json, "from", ref);
    }
    json_string(&json, "from_type", m->from_type);
    odeon_ref_format(m->to, ref);
    json_string(&json, "to", ref);
    json_string(&json, "type", m->type);
    json_string(&json, "name", message);
    json_uint(&json, "run_ns", m->run_ns);
    if (m->wait_ns == UINT64_MAX)
        json_null(&json, "wait_ns");
    else
        json_uint(&json, "wait_ns", m->wait_ns);
    json_uint(&json, "sends", m->sends);
    json_uint(&json, "stands_for", m->stands_for);
    if (m->at_least)
        json_bool(&json, "at_least", true);
    if (m->reason != ODEON_REASON_NONE)
        json_string(&json, "refused", odeon_reason_name(m->reason));
    if (m->trace) {
        json_uint(&json, "trace", m->trace);
        json_uint(&json, "depth", depth);
    }
    json_end_object(&json);
    json_end_document(&json);
}

/* What has been caused by one, below it. */
struct trace_printer {
    struct ctl *ctl;
    struct trace_names *names;
    const struct odeon_traced *rows;
    const size_t *cause; /* [n] */
    size_t n;
};

/* The next one of the same cause, from `at` on; `n`: there is none. */
static size_t trace_print_sibling(const struct trace_printer *p, size_t cause, size_t at)
{
    while (at < p->n && p->cause[at] != cause)
        at++;
    return at;
}

/* Without recursion: a chain may be long. A cause stands before what it causes, so that it comes to
 * an end. */
static void trace_print_all(const struct trace_printer *p)
{
    size_t cause = TRACE_TREE_ROOT, at = trace_print_sibling(p, cause, 0);
    unsigned depth = 0;

    for (;;) {
        if (at < p->n) {
            const char *message = trace_names_get(p->names, p->rows[at].message);

            if (p->ctl->json)
                trace_print_json(p->ctl, &p->rows[at], message, depth);
            else
                trace_print_line(p->ctl, &p->rows[at], message, depth);
            cause = at;
            at = trace_print_sibling(p, cause, 0);
            depth++;
        } else if (cause != TRACE_TREE_ROOT) {
            at = trace_print_sibling(p, p->cause[cause], cause + 1);
            cause = p->cause[cause];
            depth--;
        } else {
            return;
        }
    }
}

void trace_print_tree(struct ctl *ctl, const struct odeon_traced *rows, size_t n,
                      struct trace_names *names)
{
    size_t *cause = calloc(n + 1, sizeof(*cause));
    const struct trace_printer printer = {
        .ctl = ctl, .names = names, .rows = rows, .cause = cause, .n = n
    };

    for (size_t i = 0; cause && i < n; i++)
        cause[i] = trace_tree_cause(rows, i);
    if (cause)
        trace_print_all(&printer);
    else
        (void)ctl_fail(ctl, CTL_REFUSED, "cannot order them: no memory. Free memory, try again");
    free(cause);
}

void trace_print_lost(struct ctl *ctl, uint64_t lost)
{
    struct json json;

    if (!ctl->json) {
        fprintf(ctl->err, "odeonctl: %" PRIu64 " were not read in time\n", lost);
        return;
    }
    json_begin_document(&json, ctl->out);
    json_uint(&json, "lost", lost);
    json_end_document(&json);
}
