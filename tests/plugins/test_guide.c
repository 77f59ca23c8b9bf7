/* SPDX-License-Identifier: Apache-2.0 */
/* The chat room of docs/plugins.md, linked to inproc.c: two clients' guests hear what one of them
 * says, the log has it, and the room is full at its limit. Who leaves, and who is left when it is
 * closed, test_room.c looks at. Argument: the plugin. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <odeon/admin.h>

#include "../../docs/examples/guide/room.h"

static const char *plugin;
static uint32_t id_enter, id_entered, id_say, id_close;

static int64_t enter(struct odeon_port *port, odeon_ref room, odeon_ref *ret_guest)
{
    const struct room_enter message = { .port = odeon_port_ref(port), .name = "somebody" };
    struct room_entered entered;
    struct odeon_delivery reply;
    assert_int_equal(odeon_port_call(port, room, id_enter, &message, sizeof(message), -1, &reply),
                     ODEON_CALL_REPLY);
    assert_int_equal(reply.type, id_entered);
    memcpy(&entered, reply.data, sizeof(entered));
    odeon_port_release(port);
    *ret_guest = entered.guest;
    return entered.error;
}

static void expect_heard(struct odeon_port *port, const char *text, uint64_t number)
{
    struct odeon_delivery delivery;
    struct room_say say;
    assert_int_equal(odeon_port_receive_wait(port, &delivery, 0), 1);
    assert_int_equal(delivery.type, id_say);
    assert_int_equal(delivery.size, sizeof(say) + strlen(text));
    memcpy(&say, delivery.data, sizeof(say));
    assert_int_equal(say.number, number);
    assert_memory_equal((const char *)delivery.data + sizeof(say), text, strlen(text));
    odeon_port_release(port);
}

/* As room.c's ODEON_ARGUMENTS. */
struct room_args {
    uint32_t limit;
    char log[64];
};

static void test_room(void **state)
{
    (void)state;
    struct odeon_client *client = NULL;
    struct odeon_port *port = NULL;
    odeon_ref room, first, second, third;
    struct room_args args = { .limit = 2, .log = "/tmp/odeon-room-XXXXXX" };
    int log = mkstemp(args.log);
    assert_true(log >= 0);

    assert_int_equal(odeon_client_connect(NULL, NULL, &client), 0);
    assert_int_equal(odeon_plugin_load(client, plugin), 0);
    assert_int_equal(odeon_port_open(client, NULL, &port), 0);
    assert_int_equal(odeon_message_id(client, odeon_message_of(room_enter), &id_enter), 0);
    assert_int_equal(odeon_message_id(client, odeon_message_of(room_entered), &id_entered), 0);
    assert_int_equal(odeon_message_id(client, odeon_message_of(room_say), &id_say), 0);
    assert_int_equal(odeon_message_id(client, odeon_message_of(room_close), &id_close), 0);
    assert_int_equal(odeon_actor_spawn(client, "room", NULL, &args, sizeof(args), &room), 0);

    assert_int_equal(enter(port, room, &first), 0);
    assert_int_equal(enter(port, room, &second), 0);
    assert_int_equal(enter(port, room, &third), -EMFILE);

    unsigned char message[sizeof(struct room_say) + 5];
    memcpy(message, &(struct room_say){ .number = 77 }, sizeof(struct room_say));
    memcpy(message + sizeof(struct room_say), "hello", 5);
    assert_int_equal(odeon_port_post(port, first, id_say, message, sizeof(message)), 0);
    expect_heard(port, "hello", 1);
    expect_heard(port, "hello", 1);

    char text[16];
    assert_int_equal(pread(log, text, sizeof(text), 0), 6);
    assert_memory_equal(text, "hello\n", 6);
    close(log);
    unlink(args.log);

    assert_int_equal(odeon_port_post(port, room, id_close, NULL, 0), 0);
    struct odeon_delivery delivery;
    assert_int_equal(odeon_port_receive(port, &delivery), 0);
    odeon_port_close(port);
    odeon_client_disconnect(client);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s room.so\n", argv[0]);
        return 2;
    }
    plugin = argv[1];
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_room) };
    return cmocka_run_group_tests_name("guide", tests, NULL, NULL);
}
