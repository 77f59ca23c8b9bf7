/* SPDX-License-Identifier: Apache-2.0 */
/* Round trips on the control connection, and the events that come between; see connect.h.
 *
 * A request is answered when the service answers it; it has one deadline, the client's timeout
 * from its beginning, for its turn behind other threads' requests and for everything behind that.
 * Whatever makes it uncertain which record answers which request (a record that does not parse, is
 * too large, or has a strange id) ends the connection (connect.C2).
 */
#include "client-lib/src/request.h"

#include <errno.h>

#include "client-lib/src/error.h"
#include "client-lib/src/reconnect.h"
#include "client-lib/src/wait.h"

static void request_handle_event(struct odeon_client *client, const Odeon__Event *event)
{
    if (event->body_case == ODEON__EVENT__BODY_EXECUTOR_RESTARTED)
        client->boots = event->executor_restarted->boots; /* ports live on: nothing else to do */
    if (event->body_case != ODEON__EVENT__BODY_PORT_BROKEN)
        return;
    pthread_mutex_lock(&client->ports_mutex);
    for (struct odeon_port *port = client->ports; port; port = port->next)
        if (port->id == event->port_broken->port_id)
            port_mark_closed(
                port, -EPIPE,
                port_closed_by(atomic_load_explicit(&port->theirs->broken, memory_order_relaxed)),
                event->port_broken->reason);
    pthread_mutex_unlock(&client->ports_mutex);
}

/* A record with id 0: an event; or, with an error, the service's last word before it closes the
 * connection. */
static int request_handle_unasked(struct odeon_client *client, const Odeon__Reply *reply)
{
    if (reply->event)
        request_handle_event(client, reply->event);
    if (reply->error == 0)
        return 0;
    return client_lose(client, client_error_of(reply),
                       *reply->text ? reply->text : "the service ends the connection");
}

static int request_judge_reply(const struct client_answer *answer, Odeon__Reply__BodyCase expected)
{
    const Odeon__Reply *reply = answer->reply;

    if (reply->error != 0) {
        int error = client_error_of(reply);

        return error_set(error, "%s", *reply->text ? reply->text : error_describe(error));
    }
    if (reply->body_case != expected)
        return error_set(-EPROTO,
                         "the service answered with something else than was asked for (%d for %d)",
                         (int)reply->body_case, (int)expected);
    return 0;
}

/* Of closings, by requests that nobody waits for. */
static void request_close_ports(struct odeon_client *client)
{
    Odeon__PortClose close = ODEON__PORT_CLOSE__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    request.body_case = ODEON__REQUEST__BODY_PORT_CLOSE;
    request.port_close = &close;
    pthread_mutex_lock(&client->ports_mutex);
    while (client->n_closing > 0 && client->lost == 0 && client->link == LINK_UP) {
        struct client_closing *closing = &client->closing[client->n_closing - 1];

        close.port_id = closing->port_id;
        close.token.data = closing->token;
        close.token.len = closing->token_bytes;
        request.id = ++client->last_id;
        if (wire_send(client->socket, &request.base, client->frame, WIRE_NOW) < 0)
            break; /* it has no room; or has ended, which whoever reads it is told */
        client->n_late++;
        client->n_closing--;
    }
    pthread_mutex_unlock(&client->ports_mutex);
}

/* To a request whose time was over: nobody waits for it. A port that it brings is given back.
 * False: it answers nothing that was asked. */
static bool request_drop_late(struct odeon_client *client, const Odeon__Reply *reply)
{
    Odeon__PortClose close = ODEON__PORT_CLOSE__INIT;

    if (client->n_late == 0 || reply->id > client->last_id)
        return false;
    client->n_late--;
    if (reply->error != 0 || reply->body_case != ODEON__REPLY__BODY_PORT_OPEN)
        return true;
    close.port_id = reply->port_open->port_id;
    close.token = reply->port_open->token;
    client_close_later(client, &close);
    request_close_ports(client);
    return true;
}

static int request_give_up(struct odeon_client *client)
{
    client->n_late++;
    return error_set(-ETIMEDOUT,
                     "the service has not answered within %lld ms; whether the request is carried "
                     "out is not known, and an answer that comes later is dropped",
                     (long long)(client_timeout_ns(client) / 1000000));
}

/* What has come while an answer was waited for, and is none. */
static int request_handle_other(struct odeon_client *client, const Odeon__Reply *reply)
{
    if (reply->id == 0)
        return request_handle_unasked(client, reply);
    if (request_drop_late(client, reply))
        return 0;
    return client_lose(client, -EPROTO,
                       "rule connect.C1 is broken: the service answered a request that was not "
                       "made");
}

/* One try on a connection that is up. The reply is in `answer`, or the connection has ended, or the
 * time is over; `ret_sent`: the request may have reached the service. */
static int request_try_request(struct odeon_client *client, Odeon__Request *request,
                               int64_t deadline_ns, struct client_answer *answer, bool *ret_sent)
{
    int result;

    request->id = ++client->last_id;
    result = wire_send(client->socket, &request->base, client->frame, deadline_ns);
    *ret_sent = result == 0;
    if (result == -EMSGSIZE)
        return error_set_literal(-EMSGSIZE,
                                 "the request is larger than the control protocol allows");
    if (result == -EAGAIN)
        return error_set(-ETIMEDOUT,
                         "the service has taken nothing within %lld ms; the request was not made",
                         (long long)(client_timeout_ns(client) / 1000000));
    /* -EPIPE and -ECONNRESET: what the service said before it closed may still lie in the socket */
    if (result < 0 && result != -EPIPE && result != -ECONNRESET)
        return client_lose(client, result, error_describe(result));
    for (;;) {
        result = client_receive_reply(client, deadline_ns, answer);
        if (result == -EAGAIN)
            return request_give_up(client);
        if (result < 0 || answer->reply->id == request->id)
            return result;
        result = request_handle_other(client, answer->reply);
        client_answer_fini(answer);
        if (result < 0)
            return result;
        if (monotonic_ns() >= deadline_ns) /* events without end are no answer */
            return request_give_up(client);
    }
}

/* Doing it twice is as good as once. A port that was opened and whose answer did not come is closed
 * by the service: nobody claims it. Descriptors that came without their answer have been closed. */
static bool request_is_repeatable(const Odeon__Request *request)
{
    switch (request->body_case) {
    case ODEON__REQUEST__BODY_PORT_OPEN:
    case ODEON__REQUEST__BODY_STATUS:
    case ODEON__REQUEST__BODY_CLIENT_LIST:
    case ODEON__REQUEST__BODY_CLIENT_SHOW:
    case ODEON__REQUEST__BODY_USER_LIST:
    case ODEON__REQUEST__BODY_MEMORY_SHOW:
    case ODEON__REQUEST__BODY_OBSERVE:
    case ODEON__REQUEST__BODY_LOOKUP:
    case ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN:
    case ODEON__REQUEST__BODY_MESSAGE_TYPE_FIND:
    case ODEON__REQUEST__BODY_PLUGIN_LIST:
    case ODEON__REQUEST__BODY_TYPE_LIST:
    case ODEON__REQUEST__BODY_ACTOR_LIST:
    case ODEON__REQUEST__BODY_ACTOR_SHOW:
    case ODEON__REQUEST__BODY_EXECUTOR_SHOW:
    case ODEON__REQUEST__BODY_QUEUE_LIST:
    case ODEON__REQUEST__BODY_TIMER_LIST:
    case ODEON__REQUEST__BODY_MONITOR_LIST:
    case ODEON__REQUEST__BODY_GROUP_LIST:
    case ODEON__REQUEST__BODY_MEMBER_LIST:
    case ODEON__REQUEST__BODY_MESSAGE_LIST:
    case ODEON__REQUEST__BODY_MESSAGE_SHOW:
    case ODEON__REQUEST__BODY_DEAD_LETTER_LIST:
    case ODEON__REQUEST__BODY_DEAD_LETTER_SHOW:
    case ODEON__REQUEST__BODY_PORT_REGISTER:
        return true;
    default:
        return false;
    }
}

/* Under the mutex, which is given away while the service is not there, and may not be had again
 * (`ret_held`). */
static int request_round_trip(struct odeon_client *client, Odeon__Request *request,
                              Odeon__Reply__BodyCase expected, int64_t deadline_ns,
                              struct client_answer *answer, bool *ret_held)
{
    for (;;) {
        bool sent = false;
        int result = client_wait_back(client, deadline_ns, ret_held);

        if (result < 0)
            return result;
        result = request_try_request(client, request, deadline_ns, answer, &sent);
        if (result == 0) {
            answer->hellos = client->hellos;
            return request_judge_reply(answer, expected);
        }
        if (client->lost || client->link == LINK_UP)
            return result;
        if (sent && !request_is_repeatable(request))
            return error_set_literal(
                -ECONNRESET,
                "odeond ended while the request was under way; whether it was carried out is not "
                "known: look, then ask again");
    }
}

int client_call(struct odeon_client *client, Odeon__Request *request,
                Odeon__Reply__BodyCase expected, struct client_answer *ret_answer)
{
    WITHOUT_CANCELLATION;
    struct client_answer answer = { 0 };
    int64_t deadline_ns;
    int result = client_check(client);
    bool held;

    if (result < 0)
        return result;
    deadline_ns = deadline_after(client_timeout_ns(client));
    if (!mutex_lock_until(&client->mutex, deadline_ns))
        return error_set(-ETIMEDOUT,
                         "requests of other threads have been under way for all of the %lld ms; "
                         "the request was not made",
                         (long long)(client_timeout_ns(client) / 1000000));
    error_keep();
    result =
        error_settle(request_round_trip(client, request, expected, deadline_ns, &answer, &held));
    if (held) {
        request_close_ports(client);
        pthread_mutex_unlock(&client->mutex);
    }
    if (result < 0 || !ret_answer)
        client_answer_fini(&answer);
    else
        *ret_answer = answer;
    return result;
}

bool client_call_now(struct odeon_client *client, Odeon__Request *request)
{
    WITHOUT_CANCELLATION;
    struct client_answer answer = { 0 };
    int64_t deadline_ns = deadline_after(client_timeout_ns(client));
    bool sent = false, to_make;

    if (!mutex_lock_until(&client->mutex, deadline_ns))
        return false;
    error_keep();
    to_make = client->lost == 0 && client->link == LINK_GREETING;
    if (client->lost == 0 && client->link == LINK_UP) {
        (void)request_try_request(client, request, deadline_ns, &answer, &sent);
        to_make = !sent && client->lost == 0 && client->link == LINK_UP;
    }
    pthread_mutex_unlock(&client->mutex);
    (void)error_settle(0);
    client_answer_fini(&answer);
    return !to_make;
}

void client_poll_events(struct odeon_client *client)
{
    WITHOUT_CANCELLATION;
    struct client_answer answer = { 0 };

    if (pthread_mutex_trylock(&client->mutex) != 0)
        return;
    error_keep();
    if (client->lost == 0 && client->link != LINK_UP)
        client_come_back(client);
    while (client->lost == 0 && client->link == LINK_UP &&
           client_receive_reply(client, WIRE_NOW, &answer) == 0) {
        (void)request_handle_other(client, answer.reply);
        client_answer_fini(&answer);
    }
    request_close_ports(client);
    (void)error_settle(0);
    pthread_mutex_unlock(&client->mutex);
}
