/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl trace: messages one by one, as they are run. What is read are records that workers write
 * anyway (<odeon/observe.h>): nothing is switched on, and nobody is asked but for names. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/trace/trace.h"
#include "client-lib/ctl/trace/trace_client.h"

#include <odeon/observe.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { TRACE_PAUSE_MS = 5, TRACE_LOOK_MS = 500 };
#define TRACE_PATIENCE_NS INT64_C(5000000000) /* with a service that is started again */

struct trace {
    struct ctl *ctl;
    struct odeon_observer *observer;
    uint32_t odeond; /* whose file is read: its process */
    struct trace_names *names;
    const char *type; /* NULL: all */
    odeon_ref actor;  /* ODEON_NOBODY: all */
    struct trace_client client;
    uint64_t slower; /* ns */
    uint64_t id;     /* of their trace; 0: all */
    uint64_t left;   /* messages until the end */
    struct trace_file file;
    bool has_file;
    int signals; /* descriptor, of the file's time; -1: a signal ends the program by itself */
    sigset_t former;
};

/* ---- what is asked for ---- */

/* "250us", "1.5ms", "2s" */
static bool trace_parse_time(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
    char *end;
    double number;

    errno = 0;
    number = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (end != text && !errno && number >= 0 && number < 1e9 && !strcmp(end, units[i].unit)) {
            *ret_ns = (uint64_t)(number * units[i].ns);
            return true;
        }
    return false;
}

static int trace_parse(struct trace *trace)
{
    struct ctl *ctl = trace->ctl;
    const char *slower = ctl->option[OPTION_SLOWER], *count = ctl->option[OPTION_COUNT],
               *id = ctl->option[OPTION_ID];

    trace->type = ctl->option[OPTION_TYPE];
    trace->client.who = ctl->option[OPTION_CLIENT];
    trace->left = UINT64_MAX;
    if (slower && !trace_parse_time(slower, &trace->slower))
        return ctl_fail(ctl, CTL_USAGE,
                        "--slower-than: '%s' is no time. Write a number with its unit: 250us, "
                        "1.5ms, 2s",
                        slower);
    if (id && (!ctl_number_parse(id, &trace->id) || trace->id == 0))
        return ctl_fail(ctl, CTL_USAGE,
                        "--id: '%s' is not a number from 1 on. Name the id that a message was sent "
                        "with: odeonctl actor send --trace N",
                        id);
    if (count && (!ctl_number_parse(count, &trace->left) || trace->left == 0))
        return ctl_fail(ctl, CTL_USAGE, "--count: '%s' is not a number of messages", count);
    return 0;
}

static bool trace_wants(const struct trace *trace, const struct odeon_traced *m)
{
    if (trace->id && m->trace != trace->id)
        return false;
    if (trace->ctl->option[OPTION_FAILED] && m->reason == ODEON_REASON_NONE)
        return false;
    if (trace->type && strcmp(m->type, trace->type) != 0)
        return false;
    if (!trace_client_wants(&trace->client, m->from))
        return false;
    if (trace->actor != ODEON_NOBODY && m->to != trace->actor && m->from != trace->actor)
        return false;
    return m->run_ns >= trace->slower || (m->wait_ns != UINT64_MAX && m->wait_ns >= trace->slower);
}

/* ---- signals, so that a file gets its end ---- */

/* Lines need none, and who stands at a pipe that nobody reads would not look for signals. */

static void trace_take_signals(struct trace *trace)
{
    sigset_t ending;

    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    trace->signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    pthread_sigmask(SIG_BLOCK, &ending, &trace->former);
}

static void trace_give_back_signals(const struct trace *trace)
{
    struct signalfd_siginfo come;

    while (trace->signals >= 0 && read(trace->signals, &come, sizeof(come)) == sizeof(come))
        ;
    if (trace->signals >= 0)
        close(trace->signals);
    pthread_sigmask(SIG_SETMASK, &trace->former, NULL);
}

/* False: it is to end. */
static bool trace_pause(const struct trace *trace)
{
    struct pollfd of = { .fd = trace->signals, .events = POLLIN };

    return poll(&of, 1, TRACE_PAUSE_MS) <= 0;
}

/* ---- reading ---- */

/* The file is one odeond's: another one has another. */
static int trace_find_service(struct trace *trace)
{
    struct odeon_observer *observer = NULL;
    struct odeon_status *status = NULL;
    int r = odeon_service_status(trace->ctl->client, &status);

    if (r < 0)
        return ctl_refuse(trace->ctl, r, "the service does not answer");
    trace_names_ask_again(trace->names, status->executor_pid);
    if (status->supervisor_pid != trace->odeond) {
        r = odeon_observe_open(trace->ctl->client, &observer);
        trace->odeond = status->supervisor_pid;
    }
    odeon_result_free(status);
    if (r < 0)
        return ctl_refuse(trace->ctl, r, "cannot see what actors do");
    if (observer) {
        odeon_observe_close(trace->observer);
        trace->observer = observer;
    }
    r = odeon_observe_look(trace->observer, NULL); /* names of types */
    return r < 0 ? ctl_refuse(trace->ctl, r, "cannot read what actors do")
                 : trace_client_look(trace->ctl, &trace->client, false);
}

static void trace_show(struct trace *trace, const struct odeon_traced *m)
{
    const char *message = trace_names_get(trace->names, m->message);

    if (trace->has_file)
        trace_file_add(&trace->file, m, message);
    else if (trace->ctl->json)
        trace_print_json(trace->ctl, m, message, 0);
    else
        trace_print_line(trace->ctl, m, message, 0);
    trace->left--;
}

/* Where those begin that are the last ones, as many as are to be shown. */
static size_t trace_last(const struct trace *trace, const struct odeon_list *list)
{
    const struct odeon_traced *rows = list->rows;
    uint64_t left = trace->left;
    size_t at = list->n;

    while (at > 0 && left > 0)
        left -= trace_wants(trace, &rows[--at]);
    return at;
}

/* None of a trace is shown. */
static int trace_refuse(const struct trace *trace, const struct odeon_list *list)
{
    const struct odeon_traced *rows = list->rows;
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++)
        kept += rows[i].trace == trace->id;
    if (kept > 0)
        return ctl_fail(trace->ctl, CTL_REFUSED,
                        "none of the %zu messages of trace %" PRIu64
                        " that are kept is what else is asked for. Ask for --id alone",
                        kept, trace->id);
    return ctl_fail(trace->ctl, CTL_REFUSED,
                    "no message of trace %" PRIu64
                    " is kept: none has had this id, or a worker has run 2,047 others since. Send "
                    "one with odeonctl actor send --trace %" PRIu64,
                    trace->id, trace->id);
}

/* Of a trace: those that are wanted, the last ones, each below its cause. */
static int trace_show_tree(struct trace *trace, const struct odeon_list *list)
{
    const struct odeon_traced *rows = list->rows;
    struct odeon_traced *wanted = calloc(list->n + 1, sizeof(*wanted));
    size_t n = 0;

    if (!wanted)
        return ctl_fail(trace->ctl, CTL_REFUSED,
                        "cannot show the trace: no memory. Free memory and try again");
    for (size_t i = trace_last(trace, list); i < list->n; i++)
        if (trace_wants(trace, &rows[i]))
            wanted[n++] = rows[i];
    trace_print_tree(trace->ctl, wanted, n, trace->names);
    free(wanted);
    return n > 0 ? 0 : trace_refuse(trace, list);
}

/* One look at the records: nothing of it is shown, or what is kept of before, or all. */
enum trace_which { TRACE_NONE, TRACE_PAST, TRACE_ALL };

static int trace_look(struct trace *trace, enum trace_which which)
{
    struct odeon_list *list = NULL;
    const struct odeon_traced *rows;
    uint64_t lost = 0;
    int r = odeon_observe_traced(trace->observer, &lost, &list);

    if (r < 0)
        return ctl_refuse(trace->ctl, r, "cannot read what messages came to");
    rows = list->rows;
    if (trace->id && !trace->has_file) {
        r = trace_show_tree(trace, list);
        odeon_list_free(list);
        return r;
    }
    for (size_t i = which == TRACE_PAST ? trace_last(trace, list) : 0;
         i < list->n && trace->left > 0 && which != TRACE_NONE; i++)
        if (trace_wants(trace, &rows[i]))
            trace_show(trace, &rows[i]);
    odeon_list_free(list);
    if (lost && which == TRACE_ALL)
        trace_print_lost(trace->ctl, lost);
    return 0;
}

static int trace_run(struct trace *trace)
{
    bool past = trace->ctl->option[OPTION_PAST] || trace->id;
    int code = trace_find_service(trace), passed = 0;

    /* a signal may end it anywhere: a line is written whole, or not at all */
    if (trace->ctl->out == stdout && !past && !trace->has_file)
        (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (!code)
        code = trace_look(trace, past ? TRACE_PAST : TRACE_NONE);
    while (!code && !past && trace->left > 0) {
        if (!ctl_flush(trace->ctl))
            break; /* ctl_run() says so */
        if (!trace_pause(trace))
            break;
        passed += TRACE_PAUSE_MS;
        if (passed >= TRACE_LOOK_MS) {
            passed = 0;
            code = trace_find_service(trace);
        }
        if (!code)
            code = trace_look(trace, TRACE_ALL);
    }
    return code;
}

static int trace_run_into_file(struct trace *trace)
{
    const char *path = trace->ctl->option[OPTION_PERFETTO];
    FILE *out = fopen(path, "we");
    int code;

    if (!out)
        return ctl_fail(trace->ctl, CTL_REFUSED, "cannot write %s: %s. Name another file", path,
                        strerror(errno));
    trace_file_begin(&trace->file, out);
    trace->has_file = true;
    trace_take_signals(trace);
    code = trace_run(trace);
    if (!trace_file_end(&trace->file) && !code)
        code = ctl_fail(trace->ctl, CTL_REFUSED,
                        "cannot write all of %s: %s. See that its end is open and has room", path,
                        strerror(errno));
    trace_give_back_signals(trace);
    return code;
}

/* All that the words ask for is there: the records are shown. */
static int trace_show_records(struct trace *trace)
{
    struct ctl *ctl = trace->ctl;
    int code;

    trace->names = calloc(1, sizeof(*trace->names));
    if (!trace->names)
        return ctl_fail(ctl, CTL_REFUSED, "cannot begin: no memory. Free memory and try again");
    trace->names->ctl = ctl;
    (void)odeon_client_set_patience(ctl->client, TRACE_PATIENCE_NS);
    code = ctl->option[OPTION_PERFETTO] ? trace_run_into_file(trace) : trace_run(trace);
    odeon_observe_close(trace->observer);
    free(trace->names);
    return code;
}

int ctl_trace(struct ctl *ctl)
{
    struct trace trace = { .ctl = ctl, .signals = -1 };
    int code = trace_parse(&trace);

    if (!code)
        code = ctl_connect(ctl);
    if (!code && ctl->n_words)
        code = ctl_ref_find(ctl, ctl->words[0], &trace.actor);
    if (!code)
        code = trace_client_look(ctl, &trace.client, true);
    if (!code)
        code = trace_show_records(&trace);
    trace_client_free(&trace.client);
    return code;
}
