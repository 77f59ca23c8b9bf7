/* SPDX-License-Identifier: Apache-2.0 */
/* How actors and message objects end: the four allocation results of behaviours, the three poison
 * messages, the four results of objects, over the real service. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <odeon/codec.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

static struct service service;
static struct odeon_client *client;
static struct odeon_port *port;
static uint32_t ask_type, end_type, number_type, object_type;

static int setup(void **state)
{
    (void)state;
    /* one worker, one queue: what is kept for the next of its kind is kept by a worker */
    service_start(&service,
                  (const char *const[]){ "--set", "workers=1", "--set", "queues-per-worker=1",
                                         "--set", "actors=1024", "--set", "affinity=none",
                                         "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "actors");
    port = port_open_or_fail(client, 0, 0, false);
    ask_type = message_id(client, odeon_message_of(probe_ask));
    end_type = message_id(client, odeon_message_of(probe_end));
    number_type = message_id(client, odeon_message_of(probe_number));
    object_type = message_id(client, odeon_message_of(probe_object));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_client_disconnect(client);
    /* killed: the storage of finished actors is nobody's, which a leak checker would report at an
     * orderly end */
    service_end(&service);
    return 0;
}

static struct probe_told ask(odeon_ref ledger)
{
    struct odeon_delivery reply;
    struct probe_told told;

    assert_int_equal(odeon_port_call(port, ledger, ask_type, NULL, 0, SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REPLY);
    memcpy(&told, reply.data, sizeof(told));
    odeon_port_release(port);
    return told;
}

/* Of all ledgers: by one that is made for it, and stays. */
static struct probe_told ask_totals(void)
{
    static odeon_ref witness;

    if (!witness)
        witness = spawn(client, "probe_ledger", "witness", NULL, 0);
    return ask(witness);
}

static void expect_gone(odeon_ref ref)
{
    struct odeon_delivery reply;
    odeon_ref found;

    assert_int_equal(odeon_port_call(port, ref, ask_type, NULL, 0, SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REFUSED);
    assert_int_equal(((const struct odeon_refusal *)reply.data)->reason,
                     ODEON_REASON_NO_SUCH_ACTOR);
    odeon_port_release(port);
    assert_int_equal(odeon_actor_find(client, "mortal", &found), -ENOENT);
}

enum { BY_RESULT, BY_POISON_POSTED, BY_REQUEST };

static void end(odeon_ref ref, int how, int by)
{
    struct probe_number number = { .n = 3 };
    struct probe_end message = { .how = how };

    /* what was sent before the end is handled first */
    assert_int_equal(odeon_port_post(port, ref, number_type, &number, sizeof(number)), 0);
    switch (by) {
    case BY_RESULT:
        assert_int_equal(odeon_port_post(port, ref, end_type, &message, sizeof(message)), 0);
        break;
    case BY_POISON_POSTED:
        assert_int_equal(odeon_port_post(port, ref,
                                         (uint32_t)(ODEON_MSG_POISON_DELETE + how - ODEON_DELETE),
                                         NULL, 0),
                         0);
        break;
    default:
        assert_int_equal(odeon_actor_stop(client, ref, (enum odeon_allocation)how), 0);
    }
}

static void check_ends(int how)
{
    for (int by = BY_RESULT; by <= BY_REQUEST; by++) {
        odeon_ref mortal = spawn(client, "probe_ledger", "mortal", NULL, 0);
        uint64_t ended, reused;
        unsigned finis;

        assert_int_equal(ask(mortal).count, 0);
        struct probe_told before = ask_totals();
        ended = service_figure(&service, "actors_ended");
        end(mortal, how, by);
        expect_gone(mortal);
        struct probe_told after = ask_totals();
        finis = how == ODEON_FINISHED ? 0 : 1;
        assert_int_equal(after.finis, before.finis + finis);
        /* whoever ends it counts it behind the moment in which others find it gone */
        assert_true(wait_until(service_figure(&service, "actors_ended") >= ended + 1));
        assert_int_equal(service_figure(&service, "actors_ended"), ended + 1);
        /* the name is free again; the next one is another, with a fresh state */
        reused = after.reused;
        odeon_ref next = spawn(client, "probe_ledger", "mortal", NULL, 0);
        assert_true(next != mortal);
        assert_int_equal(ask(next).count, 0);
        assert_int_equal(ask_totals().inits, after.inits + 1);
        if (how == ODEON_DESTROY)
            assert_int_equal(ask_totals().reused, reused + 1); /* the storage was kept for it */
        assert_int_equal(odeon_actor_stop(client, next, ODEON_DELETE), 0);
        expect_gone(next);
    }
}

static void test_nodelete_goes_on(void **state)
{
    odeon_ref ledger = spawn(client, "probe_ledger", NULL, NULL, 0);

    (void)state;
    end(ledger, ODEON_NODELETE, BY_RESULT);
    assert_int_equal(ask(ledger).count, 1);
}

static void test_delete(void **state)
{
    (void)state;
    check_ends(ODEON_DELETE);
}

static void test_destroy(void **state)
{
    (void)state;
    check_ends(ODEON_DESTROY);
}

static void test_finished(void **state)
{
    (void)state;
    check_ends(ODEON_FINISHED);
}

/* The object's message comes back to its maker, who counts it. */
static void check_object(int how, uint64_t delivered, int second, uint64_t finis)
{
    odeon_ref ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    struct probe_object message = { .how = how };
    uint64_t before = ask_totals().object_finis;

    assert_int_equal(odeon_port_post(port, ledger, object_type, &message, sizeof(message)), 0);
    assert_true(wait_until(ask(ledger).count == delivered));
    struct probe_told told = ask(ledger);
    assert_int_equal(told.sum, delivered * 7);
    assert_int_equal(told.first, 0);
    assert_int_equal(told.second, second);
    assert_int_equal(told.object_finis, before + finis);
    assert_int_equal(odeon_actor_stop(client, ledger, ODEON_DELETE), 0);
}

static void test_message_objects(void **state)
{
    (void)state;
    check_object(ODEON_NODELETE, 2, 0, 0);
    check_object(ODEON_DELETE, 1, 0, 1);
    check_object(ODEON_DESTROY, 1, 0, 1);
    check_object(ODEON_FINISHED, 1, -ESTALE, 0);
}

static void test_names_and_arguments(void **state)
{
    unsigned char args[233] = { 0 };
    odeon_ref ref = ODEON_NOBODY, first = spawn(client, "probe_ledger", "taken", NULL, 0);

    (void)state;
    assert_int_equal(odeon_actor_spawn(client, "probe_ledger", "taken", NULL, 0, &ref), -EEXIST);
    assert_non_null(strstr(odeon_error_text(), "taken"));
    assert_int_equal(odeon_actor_spawn(client, "no_such_type", NULL, NULL, 0, &ref), -ENOENT);
    assert_non_null(strstr(odeon_error_text(), "no_such_type"));
    assert_int_equal(odeon_actor_spawn(client, "probe_relay", NULL, args, sizeof(args), &ref),
                     -E2BIG);
    assert_int_equal(odeon_actor_find(client, "nobody is called so", &ref), -ENOENT);
    /* an init that refuses: its first message is refused, too */
    struct odeon_delivery reply;
    assert_int_equal(odeon_actor_spawn(client, "probe_relay", NULL, args, 3, &ref), 0);
    assert_int_equal(odeon_port_call(port, ref, number_type, args, 16, SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REFUSED);
    odeon_port_release(port);
    assert_int_equal(odeon_actor_stop(client, first, ODEON_DELETE), 0);
}

/* How many actors of a type the log says could not begin. */
static unsigned unbegun_logged(const char *type)
{
    char *log = service_read_log(&service), one[64], many[64];
    unsigned n = 0, some;

    snprintf(one, sizeof(one), " of type %s could not begin: init-failed", type);
    snprintf(many, sizeof(many), " actors of type %s could not begin; the last one, ", type);
    for (const char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
        const char *at = strstr(line, many);

        n += strstr(line, one) != NULL;
        while (at && at > line && at[-1] >= '0' && at[-1] <= '9')
            at--;
        n += at && sscanf(at, "%u", &some) == 1 ? some : 0;
    }
    free(log);
    return n;
}

/* Each is counted, though not each has a line. */
static void test_who_cannot_begin_is_logged(void **state)
{
    enum { UNBEGUN = 100 };
    static const char args[3] = "no";
    const struct probe_number number = { .n = 1 };
    unsigned before = unbegun_logged("probe_relay");

    (void)state;
    for (unsigned i = 0; i < UNBEGUN; i++) {
        struct odeon_delivery reply;
        odeon_ref ref;

        assert_int_equal(odeon_actor_spawn(client, "probe_relay", NULL, args, sizeof(args), &ref),
                         0);
        assert_int_equal(odeon_port_call(port, ref, number_type, &number, sizeof(number),
                                         SECONDS(PATIENCE_S), &reply),
                         ODEON_CALL_REFUSED);
        odeon_port_release(port);
    }
    assert_true(wait_until(unbegun_logged("probe_relay") == before + UNBEGUN));
}

/* The table of actors is finite: the error says so, and there is room again when some have
 * ended. */
static void test_actor_table_is_bounded(void **state)
{
    static odeon_ref refs[1024];
    unsigned n = 0;
    int r;

    (void)state;
    while (n < 1024 && (r = odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &refs[n])) == 0)
        n++;
    assert_true(n > 500 && n < 1024);
    assert_int_equal(r, -ENOSPC);
    assert_true(strlen(odeon_error_text()) > 10);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(odeon_actor_stop(client, refs[i], ODEON_DELETE), 0);
    assert_true(wait_until(odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &refs[0]) == 0));
}

/* A name that is looked up as a reference names nobody: refused, whoever asks. */
static void test_names_like_references(void **state)
{
    static const char *const names[] = { "319.1", "1.319.1", "a/b", "a:b" };
    odeon_ref ref;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(odeon_actor_spawn(client, "probe_echo", names[i], NULL, 0, &ref), -EINVAL);
        assert_non_null(strstr(odeon_error_text(), names[i]));
        assert_non_null(strstr(odeon_error_text(), "none that a reference is written like"));
    }
}

static void test_a_port_takes_nothing_from_here(void **state)
{
    static const char *const messages[] = { "probe_number", "nothing" };
    struct probe_number number = { .n = 1 };

    (void)state;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        assert_int_equal(
            odeon_actor_send(client, odeon_port_ref(port), messages[i], &number, sizeof(number)),
            -EOPNOTSUPP);
        assert_non_null(strstr(odeon_error_text(), "is a client's port, not an actor"));
    }
}

/* By odeonctl, with a message that is known and one that is not: an actor's refusal would list what
 * it accepts, of which a port has nothing. */
static void test_odeonctl_knows_a_port(void **state)
{
    static const struct {
        const char *verb, *rest, *says;
    } commands[] = {
        { "send", "probe_number n=1", "its client receives what actors send it" },
        { "send", "nothing", "its client receives what actors send it" },
        { "stop", "", "its client closes it" },
    };
    char which[ODEON_REF_TEXT], text[1024];

    (void)state;
    odeon_ref_format(odeon_port_ref(port), which);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        /* with the executor's number, and without it, as people write it */
        for (const char *at = which; at; at = at == which ? strchr(which, '.') + 1 : NULL) {
            assert_int_equal(ctl(&service, text, sizeof(text), "actor %s %s %s", commands[i].verb,
                                 at, commands[i].rest),
                             1);
            assert_non_null(strstr(text, at));
            assert_non_null(strstr(text, "is a client's port, not an actor"));
            assert_non_null(strstr(text, commands[i].says));
            assert_null(strstr(text, "ccept"));
            assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodelete_goes_on),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_destroy),
        cmocka_unit_test(test_finished),
        cmocka_unit_test(test_message_objects),
        cmocka_unit_test(test_names_and_arguments),
        cmocka_unit_test(test_names_like_references),
        cmocka_unit_test(test_a_port_takes_nothing_from_here),
        cmocka_unit_test(test_odeonctl_knows_a_port),
        cmocka_unit_test(test_who_cannot_begin_is_logged),
        cmocka_unit_test(test_actor_table_is_bounded),
    };

    return cmocka_run_group_tests_name("actors", tests, setup, teardown);
}
