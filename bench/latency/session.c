/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of odeon-latency, and actors of the plugin `latency`. */
#include "session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disturb.h"
#include "work.h"

int session_error(int code, const char *format, ...)
{
    va_list ap;
    fputs("odeon-latency: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return code;
}

static int session_find_messages(struct session *session)
{
    const struct {
        const struct odeon_message_type *type;
        uint32_t *id;
    } messages[] = {
        { odeon_message_of(latency_step), &session->id_step },
        { odeon_message_of(latency_arm), &session->id_arm },
        { odeon_message_of(latency_request), &session->id_request },
        { odeon_message_of(latency_done), &session->id_done },
        { odeon_message_of(latency_small), &session->id_small },
        { odeon_message_of(latency_large), &session->id_large },
        { odeon_message_of(latency_ask), &session->id_ask },
        { odeon_message_of(latency_answer), &session->id_answer },
    };
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
        if (odeon_message_id(session->client, messages[i].type, messages[i].id) < 0)
            return session_error(SESSION_FAILED, "message %s: %s", messages[i].type->name,
                                 odeon_error_text());
    return 0;
}

int session_open(struct session *session, const struct options *options)
{
    struct odeon_status *status = NULL;
    struct odeon_port_options port = { .struct_size = sizeof(port),
                                       .submission_bytes = 4 << 20,
                                       /* room for what comes while this process has no processor */
                                       .delivery_bytes = 64 << 20 };

    session->options = options;
    if (odeon_client_connect(options->socket, "odeon-latency", &session->client) < 0)
        return session_error(SESSION_UNREACHABLE, "%s", odeon_error_text());
    if (odeon_service_status(session->client, &status) < 0)
        return session_error(SESSION_FAILED, "cannot ask for the status: %s", odeon_error_text());
    session->workers = status->workers;
    odeon_result_free(status);
    if (odeon_port_open(session->client, &port, &session->port) < 0)
        return session_error(SESSION_FAILED, "cannot open a port: %s", odeon_error_text());
    return session_find_messages(session);
}

void session_close(struct session *session)
{
    session->port = odeon_port_close(session->port);
    session->client = odeon_client_disconnect(session->client);
}

/* 0, or a negative error number, which is still to be said. */
static int session_try_spawn(struct session *session, const char *type, const void *args,
                             size_t args_size, odeon_ref *ret_ref)
{
    struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                       .where = session->options->detached ? ODEON_WHERE_DETACHED
                                                                           : ODEON_WHERE_ANY };
    int r = odeon_actor_spawn_at(session->client, type, NULL, args, args_size, &where, ret_ref);

    if (r != -ENOENT)
        return r;
    r = odeon_plugin_load(session->client, session->options->plugin);
    return r < 0 ? r
                 : odeon_actor_spawn_at(session->client, type, NULL, args, args_size, &where,
                                        ret_ref);
}

/* Who is disturbed while it spawns asks again: an actor whose spawn nobody has heard of is idle. */
int session_spawn(struct session *session, const char *type, const void *args, size_t args_size,
                  odeon_ref *ret_ref)
{
    int r;

    do
        r = session_try_spawn(session, type, args, args_size, ret_ref);
    while (r == -ECONNRESET && session->options->disturb != NULL);
    if (r < 0)
        return session_error(SESSION_FAILED, "no actor of type %s of %s: %s", type,
                             session->options->plugin, odeon_error_text());
    return 0;
}

int session_spawn_kind(struct session *session, uint64_t us, odeon_ref *ret_ref)
{
    char type[32];
    uint32_t kind = 0;

    for (uint64_t least = 10; kind < LATENCY_DECADES - 1 && us >= least; least *= 10)
        kind++;
    snprintf(type, sizeof(type), "latency_kind_%u",
             kind + (session->options->sleeps ? LATENCY_DECADES : 0));
    return session_spawn(session, type, NULL, 0, ret_ref);
}

void session_stop(struct session *session, odeon_ref actor)
{
    /* It may have ended by itself, and a service that is being killed will end it anyway. */
    (void)odeon_actor_stop(session->client, actor, ODEON_DELETE);
}

static void session_note_gap(struct gaps *gaps, uint64_t now_ns)
{
    uint64_t events = disturb_events(), gap_ns = now_ns - gaps->last_ns;

    if (events != gaps->events) { /* a time that an event lies in belongs to that event */
        if (gaps->open)
            histogram_add(&gaps->times, gaps->longest_ns);
        gaps->open = 1;
        gaps->events = events;
        gaps->longest_ns = gap_ns;
    } else if (gap_ns > gaps->longest_ns) {
        gaps->longest_ns = gap_ns;
    }
    gaps->last_ns = now_ns;
}

int session_look(struct session *session, struct odeon_delivery *ret, uint64_t *ret_now_ns)
{
    int r = odeon_port_receive(session->port, ret);

    if (r < 0)
        return session_error(r, "%s", odeon_error_text());
    if (r == 0)
        return 0;
    *ret_now_ns = work_now_ns();
    if (session->options->disturb != NULL)
        session_note_gap(&session->gaps, *ret_now_ns);
    if (ret->type == ODEON_MSG_REFUSAL)
        session->refused++;
    return 1;
}

void session_release(struct session *session)
{
    odeon_port_release(session->port);
}

int session_wait_done(struct session *session, struct latency_done *ret, uint64_t *ret_now_ns)
{
    uint64_t end_ns = work_now_ns() + session->options->timeout_s * WORK_SECOND_NS;
    struct odeon_delivery delivery;

    for (uint32_t looks = 1;; looks++) {
        int r = session_look(session, &delivery, ret_now_ns);
        if (r < 0)
            return SESSION_FAILED;
        if (r == 1 && delivery.type == session->id_done && delivery.size == sizeof(*ret)) {
            memcpy(ret, delivery.data, sizeof(*ret));
            session_release(session);
            return 0;
        }
        if (r == 1) {
            session_release(session);
            if (session->refused != 0)
                return session_error(SESSION_FAILED, "the service refused a message");
        }
        work_relax();
        if (looks % 1024 == 0 && work_now_ns() > end_ns)
            return session_error(SESSION_FAILED, "nothing has come for %llu s; --timeout",
                                 (unsigned long long)session->options->timeout_s);
    }
}

void session_begin(struct session *session)
{
    struct odeon_delivery delivery;

    while (odeon_port_receive(session->port, &delivery) > 0)
        session_release(session);
    memset(&session->gaps, 0, sizeof(session->gaps));
    session->gaps.events = disturb_events();
    session->gaps.last_ns = work_now_ns();
}

/* ---- lines ---- */

static int report_compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

static uint64_t report_quantile(const struct histogram *times, uint32_t rounds, uint32_t share)
{
    uint64_t values[OPTIONS_ROUNDS_MAX];

    for (uint32_t i = 0; i < rounds; i++)
        values[i] = histogram_quantile(&times[i], share);
    qsort(values, rounds, sizeof(values[0]), report_compare);
    return values[share == HISTOGRAM_ALL ? rounds - 1 : rounds / 2];
}

void report_rounds(const char *prefix, const struct histogram *times, uint32_t rounds)
{
    static const struct {
        const char *name;
        uint32_t share;
    } shares[] = { { "p50", 500000 },  { "p90", 900000 },   { "p99", 990000 },
                   { "p999", 999000 }, { "p9999", 999900 }, { "most", HISTOGRAM_ALL } };

    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        printf(" %s%s_us=%.3f", prefix, shares[i].name,
               (double)report_quantile(times, rounds, shares[i].share) / 1000.0);
}

void report_times(const char *prefix, const struct histogram *times)
{
    report_rounds(prefix, times, 1);
}

void report_end(struct session *session)
{
    struct gaps *gaps = &session->gaps;

    if (session->options->disturb != NULL) {
        if (gaps->open)
            histogram_add(&gaps->times, gaps->longest_ns);
        printf(" disturb=%s events=%llu gap_p50_us=%.1f gap_p99_us=%.1f gap_most_us=%.1f",
               session->options->disturb, (unsigned long long)gaps->times.count,
               (double)histogram_quantile(&gaps->times, 500000) / 1000.0,
               (double)histogram_quantile(&gaps->times, 990000) / 1000.0,
               (double)gaps->times.most / 1000.0);
    }
    if (odeon_port_dropped(session->port) != 0) /* so far, and the machine is too busy */
        printf(" dropped=%llu", (unsigned long long)odeon_port_dropped(session->port));
    putchar('\n');
    fflush(stdout);
}
