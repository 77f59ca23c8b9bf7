/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of odeon-savina, and what an iteration is. */
#include "odeon_savina.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <odeon/admin.h>
#include <odeon/codec.h>
#include <odeon/monitor.h>

/* Correlation ids. */
enum { SESSION_QUESTION = 1, SESSION_END = 2 };

static uint64_t session_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((format(printf, 3, 4))) static int session_error(struct savina_session *session,
                                                               int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(session->why, sizeof(session->why), format, ap);
    va_end(ap);
    fprintf(stderr, "odeon-savina: %s\n", session->why);
    return code;
}

static int session_find_messages(struct savina_session *session)
{
    const struct {
        const struct odeon_message_type *type;
        uint32_t *id;
    } messages[] = {
        { odeon_message_of(savina_run), &session->id_run },
        { odeon_message_of(savina_done), &session->id_done },
        { odeon_message_of(savina_check), &session->id_check },
        { odeon_message_of(savina_verdict), &session->id_verdict },
    };
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
        if (odeon_message_id(session->client, messages[i].type, messages[i].id) < 0)
            return session_error(session, SAVINA_FAILED, "message %s: %s", messages[i].type->name,
                                 odeon_error_text());
    return 0;
}

/* The fields that a head of this type is made with, -ENOENT: there is no such type. */
static int session_find_fields(struct savina_session *session, const char *type, char *ret,
                               size_t size)
{
    uint64_t after = 0;
    int more = 1, found = -ENOENT;
    while (more && found != 0) {
        struct odeon_list *list = NULL;
        int r = odeon_type_list(session->client, after, 0, &list);
        if (r < 0)
            return r;
        const struct odeon_type_info *types = list->rows;
        for (size_t i = 0; i < list->n; i++)
            if (types[i].loaded && strcmp(types[i].name, type) == 0) {
                snprintf(ret, size, "%s", types[i].args_fields);
                found = 0;
            }
        after = list->next;
        more = list->more;
        odeon_list_free(list);
    }
    return found;
}

static int session_fill_arguments(struct savina_session *session,
                                  const struct savina_options *options)
{
    char type[64], fields[512];
    struct odeon_layout *layout = NULL;
    snprintf(type, sizeof(type), "savina_%s", options->name);
    int r = session_find_fields(session, type, fields, sizeof(fields));
    if (r == -ENOENT) {
        r = odeon_plugin_load(session->client, options->plugin);
        if (r < 0 && r != -EEXIST) /* loaded already, and without such a program */
            return session_error(session, SAVINA_FAILED, "cannot load %s: %s", options->plugin,
                                 odeon_error_text());
        r = session_find_fields(session, type, fields, sizeof(fields));
    }
    if (r == -ENOENT)
        return session_error(session, SAVINA_USAGE, "no such program: %s", options->name);
    if (r == 0)
        r = odeon_layout_parse(fields, &layout);
    if (r == 0)
        r = odeon_payload_fill(layout, options->words, options->n_words, 0, &session->args,
                               &session->args_size);
    odeon_layout_free(layout);
    return r < 0 ? session_error(session, SAVINA_USAGE, "%s", odeon_error_text()) : 0;
}

int savina_session_open(struct savina_session *session, const struct savina_options *options)
{
    *session = (struct savina_session){ .client = NULL };
    if (odeon_client_connect(options->socket, "odeon-savina", &session->client) < 0)
        return session_error(session, SAVINA_UNREACHABLE, "%s", odeon_error_text());
    struct odeon_status *status = NULL;
    if (odeon_service_status(session->client, &status) < 0)
        return session_error(session, SAVINA_FAILED, "cannot ask for the status: %s",
                             odeon_error_text());
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/stats", status->runtime_dir);
    session->workers = status->workers;
    odeon_result_free(status);
    if (odeon_stats_open(path, &session->stats) < 0 ||
        odeon_port_open(session->client, NULL, &session->port) < 0)
        return session_error(session, SAVINA_FAILED, "%s", odeon_error_text());
    int r = session_find_messages(session);
    return r != 0 ? r : session_fill_arguments(session, options);
}

void savina_session_close(struct savina_session *session)
{
    odeon_payload_free(session->args);
    if (session->port != NULL)
        session->port = odeon_port_close(session->port);
    if (session->stats != NULL)
        session->stats = odeon_stats_close(session->stats);
    if (session->client != NULL)
        session->client = odeon_client_disconnect(session->client);
}

static uint64_t session_actors(struct savina_session *session)
{
    struct odeon_stats_service service = { .struct_size = sizeof(service) };
    return odeon_stats_service(session->stats, &service) < 0 ? 0 : service.actors;
}

/* Looks into the statistics until there are so many; it asks nobody for that, and sleeps in
 * between, as the workers may want this processor. */
static int session_wait_for_actors(struct savina_session *session,
                                   const struct savina_options *options, uint64_t actors)
{
    const struct timespec pause = { .tv_nsec = 20000 };
    uint64_t deadline_ns = session_now_ns() + options->timeout_s * 1000000000u, are;
    while ((are = session_actors(session)) != actors) {
        if (session_now_ns() > deadline_ns)
            return session_error(session, SAVINA_FAILED,
                                 "%" PRIu64 " actors instead of %" PRIu64 " at the end", are,
                                 actors);
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Says what came instead of an answer. */
static int session_no_answer(struct savina_session *session, const struct odeon_delivery *delivery)
{
    struct odeon_refusal refusal;
    struct odeon_down down;
    if (delivery->type == ODEON_MSG_REFUSAL) {
        memcpy(&refusal, delivery->data, sizeof(refusal));
        return session_error(session, SAVINA_FAILED, "the head does not answer: %s",
                             odeon_reason_name(refusal.reason));
    }
    memcpy(&down, delivery->data, sizeof(down));
    return session_error(session, SAVINA_FAILED, "there is no result, the head has ended: %s",
                         odeon_reason_name(down.reason));
}

/* Does it say that no answer comes? The end of an earlier head does not, nor that this one's is not
 * monitored. */
static bool session_is_without_answer(const struct odeon_delivery *delivery, odeon_ref head)
{
    struct odeon_down down;
    if (delivery->type != ODEON_MSG_DOWN)
        return delivery->type == ODEON_MSG_REFUSAL && delivery->correlation == SESSION_QUESTION;
    memcpy(&down, delivery->data, sizeof(down));
    return down.ref == head;
}

/* Asks the head, which is monitored: states are lost when the executor dies, and where a head's is
 * not kept, nobody answers. Copies an answer of the expected type. */
static int session_call(struct savina_session *session, const struct savina_options *options,
                        odeon_ref head, uint32_t question, uint32_t answer, void *ret, size_t size)
{
    int64_t timeout_ns = (int64_t)(options->timeout_s * 1000000000u);
    struct odeon_delivery delivery;
    int r = odeon_port_post_with(session->port, head, question, NULL, 0,
                                 ODEON_POST_OPTIONS(.correlation = SESSION_QUESTION,
                                                    .within_ns = timeout_ns, .wait_ns = -1));
    while (r == 0 && (r = odeon_port_receive_wait(session->port, &delivery, 2 * timeout_ns)) == 1) {
        bool came = delivery.type == answer && delivery.size == size;
        r = 0;
        if (came)
            memcpy(ret, delivery.data, size);
        else if (session_is_without_answer(&delivery, head))
            r = session_no_answer(session, &delivery);
        odeon_port_release(session->port);
        if (came || r != 0)
            return r;
    }
    return session_error(session, SAVINA_FAILED, "the head does not answer: %s",
                         odeon_error_text());
}

int savina_session_run(struct savina_session *session, const struct savina_options *options,
                       struct savina_run_figure *ret)
{
    char type[64];
    odeon_ref head;
    struct savina_done done;
    struct savina_verdict verdict;
    uint64_t before = session_actors(session);
    snprintf(type, sizeof(type), "savina_%s", options->name);
    if (odeon_actor_spawn(session->client, type, NULL, session->args, session->args_size, &head) <
        0)
        return session_error(session, SAVINA_FAILED, "no actor of type %s: %s", type,
                             odeon_error_text());
    if (odeon_port_monitor(session->port, head, SESSION_END) < 0)
        return session_error(session, SAVINA_FAILED, "%s", odeon_error_text());
    int r = session_wait_for_actors(session, options, before + 1);
    if (r != 0)
        return r;

    uint64_t begin_ns = session_now_ns();
    r = session_call(session, options, head, session->id_run, session->id_done, &done,
                     sizeof(done));
    if (r == 0 && done.error != 0)
        r = session_error(session, SAVINA_FAILED, "%.*s", (int)sizeof(done.what), done.what);
    if (r == 0)
        r = session_wait_for_actors(session, options, before + 1);
    *ret = (struct savina_run_figure){ .elapsed_ns = session_now_ns() - begin_ns,
                                       .messages = done.messages };
    if (r == 0)
        r = session_call(session, options, head, session->id_check, session->id_verdict, &verdict,
                         sizeof(verdict));
    if (r == 0 && verdict.error != 0)
        r = session_error(session, SAVINA_FAILED, "%.*s", (int)sizeof(verdict.what), verdict.what);
    return r != 0 ? r : session_wait_for_actors(session, options, before);
}
