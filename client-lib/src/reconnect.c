/* SPDX-License-Identifier: Apache-2.0 */
/* Coming back after the end of odeond; see reconnect.h.
 *
 * Ports need none of this to go on: the next executor has them from odeond, which has them from the
 * service manager. What comes back is the control connection, and with it the client's right to its
 * ports, which it proves by their tokens.
 */
#include "client-lib/src/reconnect.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "client-lib/src/error.h"
#include "client-lib/src/wait.h"

/* The ports that the client goes on with, which stay while the list is held.  How many. */
static size_t reconnect_list_claims(const struct odeon_client *client, Odeon__PortClaim *claims,
                                    Odeon__PortClaim **list)
{
    size_t n = 0;

    for (struct odeon_port *port = client->ports; port && n < ODEON_PORTS_PER_CLIENT_MAX;
         port = port->next) {
        if (!port_open(port))
            continue;
        odeon__port_claim__init(&claims[n]);
        claims[n].port_id = port->id;
        claims[n].token.data = port->token;
        claims[n].token.len = sizeof(port->token);
        list[n] = &claims[n];
        n++;
    }
    return n;
}

static int reconnect_greet(struct odeon_client *client)
{
    Odeon__PortClaim claims[ODEON_PORTS_PER_CLIENT_MAX], *list[ODEON_PORTS_PER_CLIENT_MAX];
    Odeon__Resume resume = ODEON__RESUME__INIT;
    int result;

    result = client_open_socket(client, WIRE_NOW, &client->socket);
    if (result < 0)
        return client_break(client, "the service is not there");
    resume.client_id = client->client_id;
    resume.instance = client->instance;
    resume.token.data = client->token;
    resume.token.len = sizeof(client->token);
    pthread_mutex_lock(&client->ports_mutex);
    resume.n_ports = reconnect_list_claims(client, claims, list);
    resume.ports = list;
    client->n_closing = 0; /* connect.C7 */
    result = client_send_hello(client, &resume);
    pthread_mutex_unlock(&client->ports_mutex);
    if (result < 0)
        return client_break(client, "the service does not listen");
    client->link = LINK_GREETING;
    return -EAGAIN;
}

static bool reconnect_is_among(const Odeon__HelloReply *hello, uint64_t id)
{
    for (size_t i = 0; i < hello->n_ports; i++)
        if (hello->ports[i] == id)
            return true;
    return false;
}

static int reconnect_take_welcome(struct odeon_client *client, const Odeon__HelloReply *hello)
{
    if (hello->instance != client->instance)
        return client_lose(client, -ECONNRESET, "another service answers where this client's was");
    client_take_identity(client, hello);
    client->link = LINK_UP;
    pthread_mutex_lock(&client->ports_mutex);
    for (struct odeon_port *port = client->ports; port; port = port->next)
        if (!reconnect_is_among(hello, port->id))
            port_mark_closed(port, -EPIPE, ODEON_CLOSED_BY_SERVICE,
                             "the service closed the port while its client was not connected");
    pthread_mutex_unlock(&client->ports_mutex);
    return 0;
}

/* The service has been greeted and says no.  What passes is tried again. */
static int reconnect_take_refusal(struct odeon_client *client, const Odeon__Reply *reply)
{
    switch (reply->error) {
    case -EBUSY:
    case -EUSERS:
    case -EDQUOT: /* somebody else of its user has taken its place */
    case -ENOMEM:
        return client_break(client, reply->text);
    case -ESTALE:
        return client_lose(client, -ECONNRESET, reply->text);
    default:
        return client_lose(client, client_error_of(reply),
                           *reply->text ? reply->text : "the service refuses this client");
    }
}

static int reconnect_take_answer(struct odeon_client *client)
{
    struct client_answer answer = { 0 };
    int result = client_receive_reply(client, WIRE_NOW, &answer);

    if (result < 0)
        return result; /* -EAGAIN, or broken again */
    if (answer.reply->error < 0)
        result = reconnect_take_refusal(client, answer.reply);
    else if (answer.reply->id != client->last_id ||
             answer.reply->body_case != ODEON__REPLY__BODY_HELLO)
        result =
            client_lose(client, -EPROTO, "the service answered a greeting with something else");
    else
        result = reconnect_take_welcome(client, answer.reply->hello);
    client_answer_fini(&answer);
    return result;
}

static int reconnect_check_patience(struct odeon_client *client)
{
    int64_t patience_ns = client_patience_ns(client);
    char why[96];

    if (patience_ns < 0 || monotonic_ns() - client->away_ns < patience_ns)
        return -EAGAIN;
    snprintf(why, sizeof(why), "the service has not come back within %lld ms",
             (long long)(patience_ns / 1000000));
    return client_lose(client, -ECONNRESET, why);
}

int client_come_back(struct odeon_client *client)
{
    int result = -EAGAIN;

    if (client->lost)
        return error_set(client->lost, "the connection to the service is gone (%s): connect again",
                         error_describe(client->lost));
    if (client->link == LINK_AWAY && monotonic_ns() >= client->retry_ns)
        result = reconnect_greet(client);
    if (client->link == LINK_GREETING)
        result = reconnect_take_answer(client);
    if (client->link == LINK_UP && !client->lost)
        return 0;
    return client->lost ? result : reconnect_check_patience(client);
}

int64_t client_next_step_ns(const struct odeon_client *client, int64_t now_ns)
{
    int64_t wait_ns = CONNECT_RETRY_MAX_NS, patience_ns = client_patience_ns(client), left_ns;

    if (client->link == LINK_AWAY)
        wait_ns = client->retry_ns > now_ns ? client->retry_ns - now_ns : 0;
    if (patience_ns <= 0) /* for ever; where there is none the client has been lost */
        return wait_ns;
    /* no sum of the patience, which may be as large as there are numbers */
    left_ns = patience_ns - (now_ns - client->away_ns);
    if (left_ns < wait_ns)
        wait_ns = left_ns > 0 ? left_ns : 0;
    return wait_ns;
}

/* Behind a wait: another thread's request has the connection, or it has come back too late. */
static int reconnect_late(const struct odeon_client *client)
{
    return error_set(-ETIMEDOUT,
                     "the service was away, and within %lld ms it was not this request's turn "
                     "behind that; the request was not made",
                     (long long)(client_timeout_ns(client) / 1000000));
}

int client_wait_back(struct odeon_client *client, int64_t deadline_ns, bool *ret_held)
{
    bool waited = false;
    int result;

    *ret_held = true;
    while ((result = client_come_back(client)) == -EAGAIN) {
        struct pollfd look = { .fd = client->link == LINK_GREETING ? client->socket : -1,
                               .events = POLLIN };
        int64_t now_ns = monotonic_ns(), wait_ns = client_next_step_ns(client, now_ns);

        if (now_ns >= deadline_ns)
            return error_set(-ETIMEDOUT,
                             "the service is not there, and has not come back within %lld ms; the "
                             "request was not made",
                             (long long)(client_timeout_ns(client) / 1000000));
        if (deadline_ns - now_ns < wait_ns)
            wait_ns = deadline_ns - now_ns;
        pthread_mutex_unlock(&client->mutex);
        poll(&look, 1, wait_ns > 0 ? (int)(wait_ns / 1000000) + 1 : 0);
        waited = true;
        *ret_held = mutex_lock_until(&client->mutex, deadline_ns);
        if (!*ret_held)
            return reconnect_late(client);
    }
    return result == 0 && waited && monotonic_ns() >= deadline_ns ? reconnect_late(client) : result;
}
