/* SPDX-License-Identifier: Apache-2.0 */
/* Each request that there is, from users who have one role each: who may ask for it, and what the
 * others are told. What docs/access.md says is written down here once more. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/hostile/raw.h"
#include "tests/system/user.h"

enum { OBSERVE, POST, REGISTER, LOAD, RECONFIGURE, ROLES };
static const char *const names[ROLES] = { "observe", "post", "register", "load", "reconfigure" };
enum { FIRST_USER = 41001 }; /* who has the first role; the next one has the second, ... */

#define OF(role_) (1u << (role_))
#define ANY       ((1u << ROLES) - 1)
static const struct {
    Odeon__Request__BodyCase body;
    unsigned roles;
} needs[] = {
    { ODEON__REQUEST__BODY_HELLO, ANY },
    { ODEON__REQUEST__BODY_PORT_OPEN, OF(POST) },
    { ODEON__REQUEST__BODY_PORT_CLOSE, OF(POST) },
    { ODEON__REQUEST__BODY_ACTOR_SEND, OF(POST) },
    { ODEON__REQUEST__BODY_LOOKUP, OF(OBSERVE) | OF(POST) },
    { ODEON__REQUEST__BODY_MESSAGE_TYPE_FIND, OF(OBSERVE) | OF(POST) },
    { ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN, OF(POST) | OF(REGISTER) },
    { ODEON__REQUEST__BODY_STATUS, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_CLIENT_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_CLIENT_SHOW, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_USER_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_MEMORY_SHOW, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_OBSERVE, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_PLUGIN_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_TYPE_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_ACTOR_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_ACTOR_SHOW, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_EXECUTOR_SHOW, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_QUEUE_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_TIMER_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_MONITOR_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_GROUP_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_MEMBER_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_MESSAGE_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_MESSAGE_SHOW, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_DEAD_LETTER_LIST, OF(OBSERVE) },
    { ODEON__REQUEST__BODY_SPAWN, OF(REGISTER) },
    { ODEON__REQUEST__BODY_ACTOR_STOP, OF(REGISTER) },
    { ODEON__REQUEST__BODY_PORT_REGISTER, OF(REGISTER) },
    { ODEON__REQUEST__BODY_PLUGIN_LOAD, OF(LOAD) },
    { ODEON__REQUEST__BODY_PLUGIN_UNLOAD, OF(LOAD) },
    { ODEON__REQUEST__BODY_EXECUTOR_SET, OF(RECONFIGURE) },
    { ODEON__REQUEST__BODY_CLIENT_KICK, OF(RECONFIGURE) },
    { ODEON__REQUEST__BODY_DEAD_LETTER_SHOW, OF(RECONFIGURE) },
    { ODEON__REQUEST__BODY_DEAD_LETTER_REPLAY, OF(RECONFIGURE) },
    { ODEON__REQUEST__BODY_DEAD_LETTER_PURGE, OF(RECONFIGURE) },
    { ODEON__REQUEST__BODY_TYPE_RELEASE, OF(RECONFIGURE) },
    { ODEON__REQUEST__BODY_START_ACTOR, OF(RECONFIGURE) }, /* odeond's own, for no client */
};

static struct service service;

/* Those of the request's fields that are something to ask for. */
static bool is_a_body(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_MESSAGE && field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

static unsigned roles_of(const ProtobufCFieldDescriptor *field)
{
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].body == (Odeon__Request__BodyCase)field->id)
            return needs[i].roles;
    fail_msg("%s has no line in this test, and perhaps none in docs/access.md", field->name);
    return 0;
}

/* The kernel says of a connection who its process was when it connected. */
static struct raw connect_as(uid_t user)
{
    struct raw raw;

    assert_int_equal(seteuid(user), 0);
    raw = raw_connect(&service);
    assert_int_equal(seteuid(0), 0);
    raw_hello(&raw);
    return raw;
}

/* An empty one: what it asks for cannot be, but that comes second. */
static int ask(struct raw *raw, const ProtobufCFieldDescriptor *field, char *text, size_t size)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    const ProtobufCMessageDescriptor *body = field->descriptor;
    ProtobufCMessage *message = calloc(1, body->sizeof_message);
    struct raw_answer answer;
    int error;

    assert_non_null(message);
    body->message_init(message);
    request.body_case = (Odeon__Request__BodyCase)field->id;
    *(ProtobufCMessage **)((char *)&request + field->offset) = message;
    raw_send(raw, &request, NULL, 0);
    do
        assert_int_equal(raw_receive(raw, &answer), 1);
    while (answer.reply->id != raw->last_id && (raw_answer_fini(&answer), true));
    error = answer.reply->error;
    snprintf(text, size, "%s", answer.reply->text);
    raw_answer_fini(&answer);
    free(message);
    return error;
}

/* What is said to who has none of these. */
static void describe(unsigned roles, char *words, size_t size)
{
    size_t n = (size_t)snprintf(words, size, "%s",
                                roles & (roles - 1) ? "one of the roles " : "the role ");

    for (unsigned role = 0, told = 0; role < ROLES; role++)
        if (roles & OF(role))
            n += (size_t)snprintf(words + n, size - n, "%s%s", told++ ? ", " : "", names[role]);
}

static void check(struct raw *raw, unsigned role, const ProtobufCFieldDescriptor *field)
{
    unsigned roles = roles_of(field);
    char text[1024], words[160], wanted[256];
    int error = ask(raw, field, text, sizeof(text));

    describe(roles, words, sizeof(words));
    snprintf(wanted, sizeof(wanted), "%s needs %s; user %u has here: %s;", field->name, words,
             FIRST_USER + role, names[role]);
    bool refused = error == -EACCES && strncmp(text, wanted, strlen(wanted)) == 0;
    if (refused == ((roles & OF(role)) != 0))
        fail_msg("%s, by who has the role %s: %d (%s)", field->name, names[role], error, text);
}

static void test_each_request_needs_its_role(void **state)
{
    const ProtobufCMessageDescriptor *request = &odeon__request__descriptor;
    struct raw raw[ROLES];

    (void)state;
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    for (unsigned role = 0; role < ROLES; role++)
        raw[role] = connect_as(FIRST_USER + role);
    for (unsigned i = 0; i < request->n_fields; i++)
        for (unsigned role = 0; is_a_body(&request->fields[i]) && role < ROLES; role++)
            if (request->fields[i].id != ODEON__REQUEST__BODY_HELLO) /* it has been said */
                check(&raw[role], role, &request->fields[i]);
    for (unsigned role = 0; role < ROLES; role++)
        raw_close(&raw[role]);
}

static int setup(void **state)
{
    const char *arguments[32] = { SMALL_SERVICE, "--set", "socket-mode=0666" };
    static char settings[ROLES][48];
    size_t n = 0;

    (void)state;
    if (!user_can_change())
        return 0;
    while (arguments[n])
        n++;
    for (unsigned role = 0; role < ROLES; role++) {
        snprintf(settings[role], sizeof(settings[role]), "role-%s=%u", names[role],
                 FIRST_USER + role);
        arguments[n++] = "--set";
        arguments[n++] = settings[role];
    }
    assert_int_equal(setgroups(0, NULL), 0);
    service_make_dir(&service);
    assert_int_equal(chmod(service.dir, 0755), 0);
    service_spawn(&service, arguments);
    service_wait_ready(&service);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_request_needs_its_role, setup, teardown),
    };

    return cmocka_run_group_tests_name("roles", tests, NULL, NULL);
}
