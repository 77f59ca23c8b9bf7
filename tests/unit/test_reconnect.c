/* SPDX-License-Identifier: Apache-2.0 */
/* A client whose service has gone away: how long it waits, and that a request keeps its time,
 * whatever other threads do meanwhile. The service has ended its connection and greets nobody; its
 * socket is still there. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "client-lib/src/reconnect.h"
#include "client-lib/src/request.h"
#include "tests/run/patience.h"
#include "tests/unit/connection_service.h"

#include "tests/unit/clientlib_cmocka.h"

/* Less than a client that greets waits for its answer before it looks again. */
enum { REQUEST_NS = CONNECT_RETRY_MAX_NS / 2 };

struct asker {
    struct odeon_client *client;
    pthread_t thread;
    int result;
    char text[256];
    _Atomic bool ended;
};

static void *asker_main(void *argument)
{
    struct asker *asker = argument;
    odeon_ref ref;

    asker->result = odeon_actor_find(asker->client, "A", &ref);
    snprintf(asker->text, sizeof(asker->text), "%s", odeon_error_text());
    atomic_store(&asker->ended, true);
    return NULL;
}

static void end(struct asker *asker)
{
    pthread_join(asker->thread, NULL);
    assert_int_equal(asker->result, -ETIMEDOUT);
    assert_non_null(strstr(asker->text, "was not made"));
    assert_int_equal(asker->client->n_late, 0); /* nor is it sent */
    odeon_client_disconnect(asker->client);
}

/* Its request has found the service gone, and waits; the mutex is the caller's. */
static void begin(struct asker *asker, struct service *s)
{
    *asker = (struct asker){ .client = connection_service_client(s) };
    asker->client->instance = 1; /* of a service that comes back */
    assert_int_equal(odeon_client_set_timeout(asker->client, REQUEST_NS), 0);
    shutdown(s->connection, SHUT_RDWR);
    assert_int_equal(pthread_create(&asker->thread, NULL, asker_main, asker), 0);
    pthread_mutex_lock(&asker->client->mutex);
    while (asker->client->link != LINK_GREETING) {
        pthread_mutex_unlock(&asker->client->mutex);
        if (atomic_load(&asker->ended)) {
            end(asker);
            print_message("# skipped: the request had no processor in its time\n");
            skip();
        }
        (void)poll(NULL, 0, 1);
        pthread_mutex_lock(&asker->client->mutex);
    }
}

/* As another thread does whose request has no end. */
static void test_somebody_else_has_the_connection(void **state)
{
    int64_t end_ns = monotonic_ns() + PATIENCE_NS;
    struct asker asker;
    bool in_time;

    begin(&asker, *state);
    while (!atomic_load(&asker.ended) && monotonic_ns() < end_ns)
        (void)poll(NULL, 0, 1);
    in_time = atomic_load(&asker.ended);
    assert_int_equal(pthread_mutex_trylock(&asker.client->mutex), EBUSY); /* still */
    pthread_mutex_unlock(&asker.client->mutex);
    end(&asker);
    assert_true(in_time);
}

/* The asker sees it when it has waited for all of its time. */
static void test_the_service_comes_back_too_late(void **state)
{
    struct asker asker;

    begin(&asker, *state);
    asker.client->link = LINK_UP;
    pthread_mutex_unlock(&asker.client->mutex);
    end(&asker);
}

static void test_patience_of_any_length(void **state)
{
    static const int64_t lengths[] = { INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, 1000000000 };
    struct odeon_client client = { .link = LINK_AWAY, .away_ns = INT64_C(1) << 60 };
    const int64_t now_ns = client.away_ns + 1000;

    (void)state;
    client.retry_ns = now_ns + 5000000;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        client.patience_ns = lengths[i];
        assert_int_equal(client_next_step_ns(&client, now_ns), 5000000);
    }
    client.patience_ns = 3000;
    assert_int_equal(client_next_step_ns(&client, now_ns), 2000);
    assert_int_equal(client_next_step_ns(&client, now_ns + 9000), 0);
    client.patience_ns = -1;
    assert_int_equal(client_next_step_ns(&client, now_ns), 5000000);
    client.patience_ns = INT64_MIN; /* for ever, too: a sanitizer sees sums of it */
    assert_int_equal(client_next_step_ns(&client, now_ns), 5000000);
}

/* A service that comes back and refuses its client with -EAGAIN has ended it, as with any other
 * error: who waits for it would look again and again, without rest. */
static void test_an_end_is_not_tried_again(void **state)
{
    struct odeon_client client = { .link = LINK_AWAY, .socket = -1, .patience_ns = -1 };
    bool held = false;

    (void)state;
    assert_int_equal(client_lose(&client, -EAGAIN, "the service is busy"), -ECONNRESET);
    assert_int_equal(client.lost, -ECONNRESET);
    pthread_mutex_lock(&client.mutex);
    assert_int_equal(client_wait_back(&client, INT64_MAX, &held), -ECONNRESET);
    assert_true(held);
    pthread_mutex_unlock(&client.mutex);
}

/* Somebody else of its user has taken its place meanwhile, and goes. */
static void test_a_quota_passes(void **state)
{
    struct service *s = *state;
    struct odeon_client *client;
    odeon_ref ref;

    s->instance = 7;
    client = connection_service_client(s);
    atomic_store(&s->hello_error, -EDQUOT);
    atomic_store(&s->ends, 1);
    assert_int_equal(odeon_client_set_timeout(client, REQUEST_NS), 0);
    while (atomic_load(&s->greetings) < 3) /* its own, and two that are refused */
        assert_int_equal(odeon_actor_find(client, "A", &ref), -ETIMEDOUT);
    atomic_store(&s->hello_error, 0);
    assert_int_equal(odeon_client_set_timeout(client, -1), 0);
    assert_int_equal(odeon_actor_find(client, "A", &ref), 0);
    odeon_client_disconnect(client);
}

static bool name_ends(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);

    return n >= n_end && strcmp(name + n - n_end, end) == 0;
}

/* What changes nothing, or says the same twice. */
static bool is_harmless(const char *name)
{
    static const char *const harmless[] = {
        "status",    "observe",       "lookup", "message_type_find", "message_type_intern",
        "port_open", "port_register",
    };

    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
        if (strcmp(name, harmless[i]) == 0)
            return true;
    return name_ends(name, "_list") || name_ends(name, "_show");
}

/* Asks while the service ends, and comes back: -ENOSYS is its answer to what is made once more. */
static void ask_over_an_end(struct service *s, struct odeon_client *client,
                            const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessageDescriptor *what = field->descriptor;
    Odeon__Request request = ODEON__REQUEST__INIT;
    ProtobufCMessage *body = calloc(1, what->sizeof_message);
    int result;

    assert_non_null(body);
    protobuf_c_message_init(what, body);
    request.body_case = (Odeon__Request__BodyCase)field->id;
    memcpy((char *)&request + field->offset, &body, sizeof(body));
    atomic_store(&s->ends, 1);
    result = client_call(client, &request, ODEON__REPLY__BODY__NOT_SET, NULL);
    if (result != (is_harmless(field->name) ? -ENOSYS : -ECONNRESET))
        fail_msg("%s, over an end of the service: %d, %s", field->name, result, odeon_error_text());
    if (result == -ECONNRESET)
        assert_non_null(strstr(odeon_error_text(), "whether it was carried out is not known"));
    free(body);
}

static void test_what_only_looks_is_asked_again(void **state)
{
    const ProtobufCMessageDescriptor *requests = &odeon__request__descriptor;
    struct service *s = *state;
    struct odeon_client *client;
    unsigned n = 0;

    s->instance = 7;
    s->knows_nothing = true;
    client = connection_service_client(s);
    for (unsigned i = 0; i < requests->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &requests->fields[i];

        if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->id == ODEON__REQUEST__BODY_HELLO)
            continue;
        ask_over_an_end(s, client, field);
        n++;
    }
    assert_true(n >= 37);
    odeon_client_disconnect(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_somebody_else_has_the_connection,
                                        connection_service_setup, connection_service_teardown),
        cmocka_unit_test_setup_teardown(test_the_service_comes_back_too_late,
                                        connection_service_setup, connection_service_teardown),
        cmocka_unit_test(test_patience_of_any_length),
        cmocka_unit_test(test_an_end_is_not_tried_again),
        cmocka_unit_test_setup_teardown(test_a_quota_passes, connection_service_setup,
                                        connection_service_teardown),
        cmocka_unit_test_setup_teardown(test_what_only_looks_is_asked_again,
                                        connection_service_setup, connection_service_teardown),
    };

    return cmocka_run_group_tests_name("coming back", tests, NULL, NULL);
}
