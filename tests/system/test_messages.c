/* SPDX-License-Identifier: Apache-2.0 */
/* What the service tells of message types: their fields, who declares them, and who accepts them;
 * over pages that are cut by their size, an executor that dies, and a plugin that goes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/probe.h"
#include "tests/system/stage.h"
#include "tests/system/user.h"

enum { MANY = 300, OUTPUT = 1 << 16 };

static struct stage stage;
static char output[OUTPUT];

static const struct user stranger = { .uid = 41001, .gid = 41001, .group = 41900 };

static void shows(const char *part)
{
    if (!strstr(output, part))
        fail_msg("'%s' is not in:\n%s", part, output);
}

static struct odeon_message_detail *detail_of(const char *name)
{
    struct odeon_message_detail *detail = NULL;

    assert_int_equal(odeon_message_detail(stage.client, name, 0, &detail), 0);
    return detail;
}

/* probe_number is what seven of the plugin's types accept; probe_told is what they answer. */
static void check_of_the_plugin(void)
{
    assert_int_equal(ctl(&stage.service, output, OUTPUT, "message show probe_number --json"), 0);
    shows("\"name\":\"probe_number\",\"version\":1,\"bytes\":16,\"tail\":false,"
          "\"plugins\":[\"probe\"],\"user\":null,\"accepting\":7,\"accepted_by\":[\"probe_echo\"");
    shows("\"fields\":[{\"name\":\"n\",\"type\":\"uint64_t\",\"offset\":0,\"bytes\":8},"
          "{\"name\":\"origin\",\"type\":\"uint64_t\",\"offset\":8,\"bytes\":8}]");
    assert_int_equal(ctl(&stage.service, output, OUTPUT, "message list --json"), 0);
    shows("{\"name\":\"probe_told\",\"version\":1,\"bytes\":72,\"tail\":false,\"accepting\":0,"
          "\"plugins\":[\"probe\"],\"user\":null}");
    shows("{\"name\":\"probe_note\",\"version\":1,\"bytes\":4,\"tail\":true,\"accepting\":1,"
          "\"plugins\":[\"probe\"],\"user\":null}");
}

static void test_of_a_plugin(void **state)
{
    (void)state;
    check_of_the_plugin();
    stage_kill_executor(&stage);
    check_of_the_plugin();
    assert_int_equal(ctl(&stage.service, output, OUTPUT, "message show probe_note"), 0);
    shows("text");
    shows("char[]");
    /* a type stays known when its plugin goes */
    assert_int_equal(unload_plugin(stage.client, "probe"), 0);
    assert_int_equal(ctl(&stage.service, output, OUTPUT, "message show probe_number --json"), 0);
    shows("\"plugins\":[],\"user\":null,\"accepting\":0,\"accepted_by\":[]");
}

static void test_of_clients(void **state)
{
    static const struct odeon_message_type own = { .struct_size = sizeof(own),
                                                   .name = "own",
                                                   .version = 1,
                                                   .size = 4,
                                                   .fields = "{ uint32_t n; }" };
    static const struct odeon_message_type newer = { .struct_size = sizeof(newer),
                                                     .name = "own",
                                                     .version = 7,
                                                     .size = 8,
                                                     .fields = "{ uint64_t n; }" };
    struct odeon_message_detail *detail;

    (void)state;
    (void)message_id(stage.client, &own);
    (void)message_id(stage.client, &newer);
    detail = detail_of("own");
    assert_int_equal(detail->message.version, 7);
    assert_int_equal(detail->by_user, 1);
    assert_int_equal(detail->user, geteuid());
    assert_int_equal(detail->n_plugins, 0);
    odeon_result_free(detail);
    assert_int_equal(ctl(&stage.service, output, OUTPUT, "message show own 1"), 0);
    shows("uint32_t");
    assert_int_equal(ctl(&stage.service, output, OUTPUT, "message show own 2"), 1);
    shows("no message type 'own' of version 2 is known");
    assert_int_equal(ctl(&stage.service, output, OUTPUT, "message show others"), 1);
    shows("cannot show the message 'others': no message type 'others' is known: a plugin or "
          "client that uses it makes it known");
}

/* Each has as long a description as there may be, so that a frame ends a page before its rows
 * do. */
static void make_many_known(void)
{
    static char fields[448];
    size_t n = (size_t)sprintf(fields, "{ uint8_t ");

    while (n < sizeof(fields) - 8)
        fields[n++] = 'x'; /* a name that is too long to be laid out */
    strcpy(fields + n, "; }");
    for (unsigned i = 0; i < MANY; i++) {
        char name[32];
        const struct odeon_message_type type = {
            .struct_size = sizeof(type), .name = name, .version = 1, .size = 1, .fields = fields
        };
        uint32_t id;

        snprintf(name, sizeof(name), "many_%03u", i);
        assert_int_equal(odeon_message_id(stage.client, &type, &id), 0);
    }
}

static void test_pages(void **state)
{
    uint64_t after = 0;
    unsigned seen = 0, pages = 0;
    int more = 1;

    (void)state;
    make_many_known();
    for (; more; pages++) {
        struct odeon_list *list = NULL;
        const struct odeon_message_detail *rows;

        assert_int_equal(odeon_message_list(stage.client, after, 256, &list), 0);
        rows = list->rows;
        for (size_t i = 0; i < list->n; i++) {
            char name[32];

            snprintf(name, sizeof(name), "many_%03u", seen);
            seen += strcmp(rows[i].message.name, name) == 0;
        }
        more = list->more;
        after = list->next;
        odeon_list_free(list);
    }
    assert_int_equal(seen, MANY);
    assert_true(pages > 2); /* fewer rows than were asked for */
    assert_int_equal(ctl(&stage.service, output, OUTPUT, "message list --limit 3"), 0);
    shows("(3 rows; there are more: --after 19)");
    assert_int_equal(ctl(&stage.service, output, OUTPUT, "message show many_000"), 0);
    shows("Not laid out");
}

static int ask_for_all(struct odeon_client *client, void *argument)
{
    struct odeon_list *list = NULL;
    int r = odeon_message_list(client, 0, 0, &list);

    (void)argument;
    odeon_list_free(list);
    return r;
}

static int ask_for_one(struct odeon_client *client, void *argument)
{
    struct odeon_message_detail *detail = NULL;
    int r = odeon_message_detail(client, argument, 0, &detail);

    odeon_result_free(detail);
    return r;
}

static void test_role(void **state)
{
    static char name[] = "probe_number";
    struct service service = { 0 };

    (void)state;
    if (!user_can_change())
        skip();
    service_start_for_users(&service, (const char *const[]){ NULL });
    user_expects(&service, stranger, ask_for_all, NULL, -EACCES,
                 "message_list needs the role observe; user 41001 has here: post");
    user_expects(&service, stranger, ask_for_one, name, -EACCES, "the role observe");
    service_end(&service);
}

static int setup(void **state)
{
    (void)state;
    stage_begin(&stage, TEST_PROBE, "messages");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_end(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_of_a_plugin, setup, teardown),
        cmocka_unit_test_setup_teardown(test_of_clients, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages, setup, teardown),
        cmocka_unit_test(test_role),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
