/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of odeon-bench, and actors of the plugin `bench`. */
#include "odeon_bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <odeon/admin.h>

uint64_t bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int bench_error(int code, const char *format, ...)
{
    va_list ap;
    fputs("odeon-bench: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return code;
}

static int session_find_messages(struct bench_session *session)
{
    const struct {
        const struct odeon_message_type *type;
        uint32_t *id;
    } messages[] = {
        { odeon_message_of(bench_run), &session->id_run },
        { odeon_message_of(bench_result), &session->id_result },
        { odeon_message_of(bench_post), &session->id_post },
        { odeon_message_of(bench_wide), &session->id_wide },
        { odeon_message_of(bench_sink_get), &session->id_sink_get },
        { odeon_message_of(bench_sink_value), &session->id_sink_value },
        { odeon_message_of(bench_quit), &session->id_quit },
        { odeon_message_of(bench_wake), &session->id_wake },
        { odeon_message_of(bench_woken), &session->id_woken },
    };
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        int r = odeon_message_id(session->client, messages[i].type, messages[i].id);
        if (r < 0)
            return bench_error(BENCH_FAILED, "message %s: %s", messages[i].type->name,
                               odeon_error_text());
    }
    return 0;
}

int bench_session_open(struct bench_session *session, const struct bench_options *options)
{
    *session = (struct bench_session){ .client = NULL };
    int r = odeon_client_connect(options->socket, "odeon-bench", &session->client);
    if (r < 0)
        return bench_error(BENCH_UNREACHABLE, "%s", odeon_error_text());
    struct odeon_status *status = NULL;
    r = odeon_service_status(session->client, &status);
    if (r < 0)
        return bench_error(BENCH_FAILED, "cannot ask for the status: %s", odeon_error_text());
    session->workers = status->workers;
    odeon_result_free(status);
    r = odeon_port_open(session->client, NULL, &session->port);
    if (r < 0)
        return bench_error(BENCH_FAILED, "cannot open a port: %s", odeon_error_text());
    return session_find_messages(session);
}

void bench_session_close(struct bench_session *session)
{
    if (session->port != NULL)
        session->port = odeon_port_close(session->port);
    session->client = odeon_client_disconnect(session->client);
}

int bench_session_spawn(struct bench_session *session, const struct bench_options *options,
                        const char *type, odeon_ref *ret_ref)
{
    int r = odeon_actor_spawn(session->client, type, NULL, NULL, 0, ret_ref);
    if (r == -ENOENT) {
        r = odeon_plugin_load(session->client, options->plugin);
        if (r < 0)
            return bench_error(BENCH_FAILED, "cannot load %s: %s", options->plugin,
                               odeon_error_text());
        r = odeon_actor_spawn(session->client, type, NULL, NULL, 0, ret_ref);
    }
    if (r < 0)
        return bench_error(r == -ENOENT ? BENCH_USAGE : BENCH_FAILED, "no actor of type %s: %s",
                           type, odeon_error_text());
    return 0;
}
