/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl listen: what actors send to a port of this program's own, a line a message.
 *
 * It ends when as many have come as --count says, at SIGINT and SIGTERM, when nobody reads what it
 * prints any more, and when the service has gone. The two signals are blocked and looked for, by a
 * descriptor that is polled beside that of the output: a reader that does not read holds up no
 * end. What is printed is put together first, and then written, as there is room for it.
 */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

/* How long it waits for a message before it looks whether it is to end. */
#define LISTEN_LOOK_NS INT64_C(250000000)
/* How long odeond may be away, when it is started again, before that is the end. */
#define LISTEN_PATIENCE_NS INT64_C(30000000000)

enum { LISTEN_BATCH = 64 }; /* messages that are written at once */

/* Of the process, while it listens. */
struct listen_signals {
    int fd; /* readable: one has come that ends it */
    sigset_t former;
    struct sigaction former_pipe;
};

struct listen {
    struct ctl *ctl; /* prints into memory */
    FILE *out;       /* what that goes to */
    struct odeon_port *port;
    struct listen_signals signals;
    uint64_t left;    /* messages until the end; UINT64_MAX: no number was given */
    uint64_t dropped; /* that have been told of */
    const char *name; /* NULL: none */
    /* what was waited for */
    bool has_come;
    struct odeon_delivery come;
    /* the message types that have come */
    struct odeon_message_info **known;
    size_t n_known;
};

/* Who started this program with SIGINT ignored, a shell in the background, goes on ignoring it. */
static int listen_take_signals(struct listen_signals *signals)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigset_t ending;

    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    signals->fd = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd < 0)
        return -errno;
    pthread_sigmask(SIG_BLOCK, &ending, &signals->former);
    sigaction(SIGPIPE, &ignore, &signals->former_pipe);
    return 0;
}

/* What has come has done its work. */
static void listen_give_back_signals(const struct listen_signals *signals)
{
    struct signalfd_siginfo come;

    while (read(signals->fd, &come, sizeof(come)) == (ssize_t)sizeof(come))
        ;
    close(signals->fd);
    sigaction(SIGPIPE, &signals->former_pipe, NULL);
    pthread_sigmask(SIG_SETMASK, &signals->former, NULL);
}

/* Whether it is to end; else, after at most `timeout_ms`, whether the output takes what is not
 * larger than PIPE_BUF. */
enum listen_look { LISTEN_ENDS, LISTEN_HAS_ROOM, LISTEN_HAS_NONE };

static enum listen_look listen_look(const struct listen *l, int timeout_ms)
{
    struct pollfd of[2] = { { .fd = l->signals.fd, .events = POLLIN },
                            { .fd = fileno(l->out), .events = timeout_ms ? POLLOUT : 0 } };

    if (poll(of, 2, timeout_ms) <= 0)
        return LISTEN_HAS_NONE;
    if (of[0].revents || (of[1].revents & (POLLERR | POLLHUP)))
        return LISTEN_ENDS;
    return LISTEN_HAS_ROOM;
}

/* False: it is to end, or cannot go on: then ctl_run() says why, by the error of the stream. */
static bool listen_write(const struct listen *l, const char *text, size_t size)
{
    int fd = fileno(l->out);

    if (fd < 0)
        return fwrite(text, 1, size, l->out) == size;
    while (size > 0) {
        enum listen_look look = listen_look(l, -1);
        ssize_t n = 0;

        if (look == LISTEN_ENDS)
            return false;
        if (look == LISTEN_HAS_ROOM)
            n = write(fd, text, size < PIPE_BUF ? size : PIPE_BUF);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            l->ctl->lost = errno;
            if (errno != EPIPE)
                (void)fwrite(text, 1, size, l->out);
            return false;
        }
        text += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* What the type of a delivery is; NULL: the service does not say. */
static const struct odeon_message_info *listen_find_type(struct listen *l, uint32_t id)
{
    struct odeon_message_info **known, *info = NULL;

    for (size_t i = 0; i < l->n_known; i++)
        if (l->known[i]->id == id)
            return l->known[i];
    if (odeon_message_show(l->ctl->client, id, &info) < 0)
        return NULL;
    known = realloc(l->known, (l->n_known + 1) * sizeof(struct odeon_message_info *));
    if (!known) {
        odeon_result_free(info);
        return NULL;
    }
    l->known = known;
    l->known[l->n_known++] = info;
    return info;
}

static void listen_print_json(struct ctl *ctl, const char *when,
                              const struct odeon_message_info *info, const char *fields,
                              const struct odeon_delivery *d)
{
    const struct cell from = CELL_REF(d->from);
    struct json json;

    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "received");
    json_string(&json, "time", when);
    output_json_cell(&json, "from", &from);
    if (info)
        json_string(&json, "message", info->name);
    else
        json_null(&json, "message");
    json_uint(&json, "type", d->type);
    json_uint(&json, "bytes", d->size);
    if (fields)
        json_object(&json, "fields", fields);
    else
        json_null(&json, "fields");
    json_end_object(&json);
    json_end_document(&json);
}

static void listen_print_words(struct ctl *ctl, const char *when,
                               const struct odeon_message_info *info, const char *fields,
                               const struct odeon_delivery *d)
{
    const struct cell from = CELL_REF(d->from);
    char *sender = output_cell_text(&from), name[32];

    snprintf(name, sizeof(name), "type-%" PRIu32, d->type);
    fprintf(ctl->out, "%s %s ", when, sender ? sender : "?");
    ctl_struct_print(ctl, info ? info->name : name, fields, d->size);
    free(sender);
}

static void listen_print(struct listen *l, const struct odeon_delivery *d)
{
    const struct odeon_message_info *info = listen_find_type(l, d->type);
    enum odeon_payload_form form = l->ctl->json ? ODEON_PAYLOAD_JSON : ODEON_PAYLOAD_WORDS;
    char *fields = info ? ctl_struct_describe(info, d->data, d->size, form) : NULL;
    char when[OUTPUT_TIME_TEXT];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    output_format_time((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, when);
    if (l->ctl->json)
        listen_print_json(l->ctl, when, info, fields, d);
    else
        listen_print_words(l->ctl, when, info, fields, d);
    odeon_payload_free(fields);
}

static int listen_say_reference(struct listen *l)
{
    struct ctl *ctl = l->ctl;
    const char *name = l->name;
    char ref[ODEON_REF_TEXT];
    struct json json;

    odeon_ref_format(odeon_port_ref(l->port), ref);
    if (!ctl->json) {
        fprintf(ctl->err, "listening as %s%s%s%s\n", ref, name ? " (" : "", name ? name : "",
                name ? ")" : "");
        fflush(ctl->err);
        return CTL_DONE;
    }
    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "listening");
    json_string(&json, "ref", ref);
    if (name)
        json_string(&json, "name", name);
    else
        json_null(&json, "name");
    json_end_object(&json);
    json_end_document(&json);
    return CTL_DONE;
}

static void listen_say_dropped(struct listen *l)
{
    uint64_t dropped = odeon_port_dropped(l->port);

    if (dropped == l->dropped)
        return;
    ctl_fail(l->ctl, CTL_DONE,
             "%" PRIu64 " messages have been dropped: they came faster than they were read",
             dropped - l->dropped);
    l->dropped = dropped;
}

/* What has come, a batch at most, each message on its line. 0, or an error of the library's behind
 * them. */
static int listen_print_batch(struct listen *l)
{
    int r = l->has_come;

    for (int i = 0; i < LISTEN_BATCH && l->left > 0; i++) {
        if (!l->has_come)
            r = odeon_port_receive(l->port, &l->come);
        l->has_come = false;
        if (r <= 0)
            break;
        listen_print(l, &l->come);
        odeon_port_release(l->port);
        l->left -= l->left != UINT64_MAX;
    }
    return r < 0 ? r : 0;
}

/* Prints into memory by `print`, and writes that. False: as of listen_write(). */
static bool listen_put(struct listen *l, int (*print)(struct listen *l), int *ret_result)
{
    char *text = NULL;
    size_t size = 0;
    bool written;

    l->ctl->out = open_memstream(&text, &size);
    if (!l->ctl->out) {
        l->ctl->out = l->out;
        *ret_result = ctl_fail(l->ctl, CTL_REFUSED, "cannot print: no memory");
        return false;
    }
    *ret_result = print(l);
    fclose(l->ctl->out);
    l->ctl->out = l->out;
    written = listen_write(l, text, size);
    free(text);
    return written;
}

static int listen_run(struct listen *l)
{
    int r = 0;

    if (!listen_put(l, listen_say_reference, &r))
        return r;
    while (l->left > 0 && listen_look(l, 0) != LISTEN_ENDS) {
        if (!listen_put(l, listen_print_batch, &r))
            return r > 0 ? r : CTL_DONE;
        listen_say_dropped(l);
        if (r < 0)
            return ctl_refuse(l->ctl, r, "nothing more can be received");
        if (l->left == 0)
            break;
        /* an error comes again, from the batch */
        l->has_come = odeon_port_receive_wait(l->port, &l->come, LISTEN_LOOK_NS) > 0;
    }
    return CTL_DONE;
}

static int listen_begin(struct listen *l)
{
    int code, r = l->name ? odeon_port_register(l->port, l->name) : 0;

    if (r < 0)
        return ctl_refuse(l->ctl, r, "cannot listen as '%s'", l->name);
    r = listen_take_signals(&l->signals);
    if (r < 0)
        return ctl_fail(l->ctl, CTL_REFUSED, "cannot listen: no descriptor for signals: %s",
                        odeon_strerror(r));
    code = listen_run(l);
    listen_give_back_signals(&l->signals);
    return code;
}

int ctl_listen(struct ctl *ctl)
{
    struct listen l = { .ctl = ctl,
                        .out = ctl->out,
                        .left = UINT64_MAX,
                        .name = ctl->n_words > 0 ? ctl->words[0] : NULL };
    const char *count = ctl->option[OPTION_COUNT];
    int code, r;

    if (count && (!ctl_number_parse(count, &l.left) || l.left == 0))
        return ctl_fail(ctl, CTL_USAGE,
                        "--count: '%s' is not a number of messages. Write 1 or more", count);
    if (l.name && !*l.name)
        return ctl_fail(ctl, CTL_USAGE,
                        "listen: the name is empty. Write another, or leave it out");
    code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_client_set_patience(ctl->client, LISTEN_PATIENCE_NS);
    if (r == 0)
        r = odeon_port_open(ctl->client, NULL, &l.port);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot open a port to listen at");
    code = listen_begin(&l);
    odeon_port_close(l.port);
    for (size_t i = 0; i < l.n_known; i++)
        odeon_result_free(l.known[i]);
    free(l.known);
    return code;
}
