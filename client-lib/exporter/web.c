/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/web.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/exporter/accept.h"
#include "client-lib/exporter/expose.h"
#include "client-lib/exporter/page.h"
#include "client-lib/exporter/status.h"

/* ---- answers ---- */

struct web_body {
    struct web *web;
    char *bytes;
    size_t room; /* what there is of it, which may be twice what is said */
};

static void web_free_body(void *cls)
{
    struct web_body *body = cls;

    body->web->unread -= body->room;
    free(body->bytes);
    free(body);
}

static enum MHD_Result web_queue(struct MHD_Connection *connection, unsigned status,
                                 const char *type, struct MHD_Response *response)
{
    enum MHD_Result result;

    if (!response)
        return MHD_NO; /* no memory: the connection is closed */
    (void)MHD_add_response_header(response, "Content-Type", type);
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (status == MHD_HTTP_UNAUTHORIZED)
        (void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        (void)MHD_add_response_header(response, "Retry-After", "5");
    door_answered(connection);
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* `text` is static. */
static enum MHD_Result web_say(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return web_queue(connection, status, "text/plain; charset=utf-8",
                     MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
                                                     MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result web_refuse(struct web *web, struct MHD_Connection *connection,
                                  enum tally_refusal what)
{
    static const struct {
        unsigned status;
        const char *text;
    } refusals[TALLY_REFUSALS] = {
        [TALLY_METHOD] = { MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD are answered.\n" },
        [TALLY_HOST] = { MHD_HTTP_FORBIDDEN,
                         "This host's name is not one that odeon-exporter answers to: start it "
                         "with --host NAME if it should.\n" },
        [TALLY_TOKEN] = { MHD_HTTP_UNAUTHORIZED, "The token is not the right one.\n" },
        [TALLY_PATH] = { MHD_HTTP_NOT_FOUND, "There is nothing here: see / and /metrics.\n" },
        [TALLY_BUSY] = { MHD_HTTP_SERVICE_UNAVAILABLE, "There is no memory for the answer.\n" },
    };

    web->tally->refused[what]++;
    return web_say(connection, refusals[what].status, refusals[what].text);
}

/* The buffer's bytes are the answer's from now on. */
static enum MHD_Result web_give(struct web *web, struct MHD_Connection *connection,
                                const char *type, struct buffer *buffer)
{
    struct web_body *body = malloc(sizeof(*body));
    struct MHD_Response *response;

    if (!body) {
        buffer_free(buffer);
        return MHD_NO;
    }
    *body = (struct web_body){ .web = web, .bytes = buffer->bytes, .room = buffer->room };
    web->unread += body->room;
    response = MHD_create_response_from_buffer_with_free_callback_cls(buffer->n, body->bytes,
                                                                      web_free_body, body);
    if (!response)
        web_free_body(body);
    return web_queue(connection, MHD_HTTP_OK, type, response);
}

/* ---- what there is ---- */

/* Of a service that is away nothing is shown as if it were there. */
static bool web_may_observe(struct web *web)
{
    return web->figures->supervisor_up &&
           observed_look(web->observed, web->figures->service.supervisor_pid);
}

/* web.W1 */
static enum MHD_Result web_metrics(struct web *web, struct MHD_Connection *connection, bool token)
{
    enum metrics_format format =
        accept_format(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"));
    struct expose expose = { .figures = web->figures, .with_types = token, .tally = web->tally };
    struct buffer buffer = { .bytes = NULL };

    expose.readable = figures_look(web->figures) == 0;
    if (token && web_may_observe(web))
        expose.observed = web->observed;
    web->tally->scrapes++;
    if (expose_write(&expose, format, &buffer) < 0) {
        buffer_free(&buffer);
        return web_refuse(web, connection, TALLY_BUSY);
    }
    return web_give(web, connection, metrics_content_type(format), &buffer);
}

static enum MHD_Result web_status(struct web *web, struct MHD_Connection *connection, bool token)
{
    struct status status = { .figures = web->figures, .token = token, .asked = web->asked };
    struct buffer buffer = { .bytes = NULL };

    status.readable = figures_look(web->figures) == 0;
    if (token && web_may_observe(web))
        status.observed = web->observed;
    if (token)
        asked_look(web->asked);
    if (status_write(&status, &buffer) < 0) {
        buffer_free(&buffer);
        return web_refuse(web, connection, TALLY_BUSY);
    }
    return web_give(web, connection, "application/json", &buffer);
}

static enum MHD_Result web_page(struct MHD_Connection *connection, const struct page_file *file)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        file->n, (void *)(uintptr_t)file->bytes, MHD_RESPMEM_PERSISTENT);

    if (response) {
        (void)MHD_add_response_header(response, "Content-Security-Policy", PAGE_POLICY);
        (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    }
    return web_queue(connection, MHD_HTTP_OK, file->type, response);
}

/* web.W2: whose connection is ended keeps his answer until libmicrohttpd has noticed, and many may
 * ask before it does. */
static bool web_has_room(struct web *web)
{
    if (web->unread > WEB_UNREAD_LIMIT) { /* one goes all the same: they may hold nothing each */
        (void)door_end_reader(web->door);
        return false;
    }
    return web->unread <= WEB_UNREAD_MOST || door_end_reader(web->door);
}

static enum MHD_Result web_answer(struct web *web, struct MHD_Connection *connection,
                                  const char *url)
{
    enum guard_word word = guard_judge_token(
        web->guard, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization"));

    if (!guard_takes_host(web->guard,
                          MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
        return web_refuse(web, connection, TALLY_HOST);
    if (word == GUARD_WRONG)
        return web_refuse(web, connection, TALLY_TOKEN);
    if (!web_has_room(web))
        return web_refuse(web, connection, TALLY_BUSY);
    if (strcmp(url, "/metrics") == 0)
        return web_metrics(web, connection, word == GUARD_RIGHT);
    if (strcmp(url, "/api/status.json") == 0)
        return web_status(web, connection, word == GUARD_RIGHT);
    if (page_find(url))
        return web_page(connection, page_find(url));
    return web_refuse(web, connection, TALLY_PATH);
}

enum MHD_Result web_handle(void *cls, struct MHD_Connection *connection, const char *url,
                           const char *method, const char *version, const char *upload,
                           size_t *upload_size, void **request)
{
    static char begun;

    (void)version;
    (void)upload;
    if (!*request) {
        *request = &begun;
        /* at once: what else is sent with it is not read */
        if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
            return web_refuse(cls, connection, TALLY_METHOD);
        return MHD_YES;
    }
    if (*upload_size) {
        *upload_size = 0;
        return MHD_YES;
    }
    return web_answer(cls, connection, url);
}

void web_completed(void *cls, struct MHD_Connection *connection, void **request,
                   enum MHD_RequestTerminationCode how)
{
    (void)cls;
    (void)request;
    (void)how;
    door_completed(connection);
}
