/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor/port_table: numbers, memory, and what is refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/memfd.h"
#include "daemon/common/page.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/port_table.h"
#include "daemon/supervisor/registry.h"
#include "proto/envelope.h"
#include "proto/port_layout.h"
#include "proto/registry_layout.h"

static int make_table(void **state)
{
    struct port_table *table = malloc(sizeof(*table));

    port_table_init(table);
    *state = table;
    return 0;
}

static int free_table(void **state)
{
    port_table_fini(*state);
    free(*state);
    return 0;
}

static void test_all_ports_once(void **state)
{
    struct port_table *table = *state;
    bool seen[ODEON_PORTS_MAX] = { false };

    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = port_table_allocate(table, 1);

        assert_non_null(port);
        assert_false(seen[port->index]);
        seen[port->index] = true;
        assert_int_equal(port->generation, 1);
        assert_int_equal(port->state, PORT_OPENING);
    }
    assert_null(port_table_allocate(table, 1));
    assert_int_equal(table->n_used, ODEON_PORTS_MAX);
}

static void test_generations(void **state)
{
    struct port_table *table = *state;
    struct seat_port *port = port_table_allocate(table, 1), *again = NULL;
    uint32_t index = port->index;

    port_table_release(table, port);
    assert_int_equal(table->n_used, 0);
    assert_null(port_table_find(table, index, 1));
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) { /* round the table */
        again = port_table_allocate(table, 2);
        if (again->index == index)
            break;
        port_table_release(table, again);
    }
    assert_int_equal(again->index, index);
    assert_int_equal(again->generation, 2);
    assert_null(port_table_find(table, index, 1));
    assert_ptr_equal(port_table_find(table, index, 2), again);
    assert_null(port_table_find(table, ODEON_PORTS_MAX, 1));
    assert_null(port_table_find(table, UINT32_MAX, 1));
}

/* The last generation is one like any other, and there is none behind it. */
static void test_an_index_is_spent(void **state)
{
    struct port_table *table = *state;
    struct seat_port *port;

    table->ports[0].generation = UINT32_MAX - 1;
    port = port_table_allocate(table, 1);
    assert_int_equal(port->index, 0);
    assert_int_equal(port->generation, UINT32_MAX);
    assert_int_equal(port_table_count_spent(table), 0);
    assert_ptr_equal(port_table_find(table, 0, UINT32_MAX), port);
    port_table_release(table, port);
    assert_int_equal(port_table_count_spent(table), 1);
    for (uint32_t i = 1; i < ODEON_PORTS_MAX; i++) {
        port = port_table_allocate(table, 1);
        assert_non_null(port);
        assert_int_not_equal(port->index, 0);
    }
    assert_null(port_table_allocate(table, 1));
}

static void test_finding(void **state)
{
    struct port_table *table = *state;
    struct seat_port *port = port_table_allocate(table, 7);

    assert_null(port_table_find_of_client(table, port->index, 7)); /* not open yet */
    port->state = PORT_OPEN;
    assert_ptr_equal(port_table_find_of_client(table, port->index, 7), port);
    assert_null(port_table_find_of_client(table, port->index, 8)); /* somebody else's */
    assert_null(port_table_find_of_client(table, ODEON_PORTS_MAX, 7));
    port->state = PORT_CLOSING;
    assert_null(port_table_find_of_client(table, port->index, 7));
    port->add_id = 11;
    port->remove_id = 12;
    assert_ptr_equal(port_table_find_command(table, 11), port);
    assert_ptr_equal(port_table_find_command(table, 12), port);
    assert_null(port_table_find_command(table, 13));
    assert_null(port_table_find_command(table, 0));
}

static void test_sizes(void **state)
{
    char text[PORT_TEXT_MAX];
    uint64_t a = 0, b = ODEON_RING_MAX;
    static const uint64_t bad[] = {
        1,          ODEON_RING_MIN / 2, ODEON_RING_MIN + 8, ODEON_RING_MAX * 2ULL,
        UINT64_MAX, UINT64_C(1) << 63
    };

    (void)state;
    assert_int_equal(port_check_sizes(&a, &b, text), 0);
    assert_int_equal(a, ODEON_RING_DEFAULT);
    assert_int_equal(b, ODEON_RING_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        a = bad[i];
        b = 0;
        assert_int_equal(port_check_sizes(&a, &b, text), -EINVAL);
        assert_non_null(strstr(text, "submission ring"));
        a = 0;
        b = bad[i];
        assert_int_equal(port_check_sizes(&a, &b, text), -EINVAL);
        assert_non_null(strstr(text, "delivery ring"));
    }
}

static void test_memory(void **state)
{
    struct port_table *table = *state;
    struct seat_port *port = port_table_allocate(table, 1), *other = port_table_allocate(table, 1);
    const uint8_t none[PORT_TOKEN_SIZE] = { 0 };
    int fd;

    assert_int_equal(port_make_memory(port, ODEON_RING_MIN, ODEON_RING_MIN * 2, true), 0);
    assert_int_equal(memfd_check(port->client_fd, port_ring_offset(page_bytes()) + ODEON_RING_MIN),
                     0);
    assert_int_equal(
        memfd_check(port->client_fd, port_ring_offset(page_bytes()) + ODEON_RING_MIN + 1), -EBADFD);
    assert_int_equal(
        memfd_check(port->executor_fd, port_ring_offset(page_bytes()) + ODEON_RING_MIN * 2), 0);
    for (const int *one =
             (const int[]){ port->doorbell_fd, port->pipe_read_fd, port->pipe_write_fd, -1 };
         *one >= 0; one++) {
        assert_true(fcntl(*one, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(*one, F_GETFD) & FD_CLOEXEC);
    }
    assert_int_equal(port_make_memory(other, ODEON_RING_MIN, ODEON_RING_MIN, false), 0);
    assert_int_equal(other->pipe_read_fd, -1);
    assert_memory_not_equal(port->token, none, PORT_TOKEN_SIZE);
    assert_memory_not_equal(port->token, other->token, PORT_TOKEN_SIZE);
    fd = port->executor_fd;
    port_table_release(table, port);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_memory_equal(port->token, none, PORT_TOKEN_SIZE);
}

static void test_payload_fits(void **state)
{
    struct seat_port port = { .submission_bytes = ODEON_RING_MAX };

    (void)state;
    assert_int_equal(port_payload_max(&port), ODEON_PAYLOAD_MAX);
    port.submission_bytes = 4096;
    assert_int_equal(envelope_size(port_payload_max(&port)), 4096);
}

/* Recorded as another odeond does, and read by the next one: what was true of the port and its
 * client is so again, above all what its client may not do, and what its user pays for it. */
static void test_a_port_outlives_odeond(void **state)
{
    struct port_table *table = *state, *next = malloc(sizeof(*next));
    struct client client = {
        .id = 7, .uid = 41001, .pid = 4321, .peer.gid = 41002, .name = "posts", .token = { 5 }
    };
    struct persist persist = { 0 };
    const struct registry_client *about = NULL;
    struct seat_port *port = port_table_allocate(table, client.id), *again;
    uint32_t index = port->index;

    assert_non_null(next);
    port_table_init(next);
    assert_int_equal(registry_make(&persist.registry, 0), 0);
    port->uid = 41001;
    port->submission_bytes = 1 << 16;
    port->delivery_bytes = 1 << 17;
    port->overflow = PORT_OVERFLOW_DISCONNECT;
    port->may_not_stop = true;
    port->held = (struct holding){ .amounts = { [QUOTA_PORTS] = 1,
                                                [QUOTA_RING_BYTES] = 3 << 16,
                                                [QUOTA_BACKLOG_BYTES] = 1 << 20 } };
    memset(port->token, 9, sizeof(port->token));
    assert_int_equal(persist_record_port(&persist, &client, port), 0);
    about = &persist.registry.map->clients[0];
    assert_int_equal(about->id, 7);
    assert_int_equal(about->uid, 41001);
    assert_int_equal(about->gid, 41002);
    assert_int_equal(about->pid, 4321);
    assert_string_equal(about->name, "posts");
    assert_int_equal(about->token[0], 5);
    registry_set_port_ref(&persist.registry, index, 77, 1000);
    for (int i = 0; i < 2; i++) {
        atomic_store(&persist.registry.map->ports[index].state,
                     i == 0 ? REGISTRY_OPEN : REGISTRY_CLOSING);
        again = port_table_restore(next, index, &persist.registry.map->ports[index]);
        assert_int_equal(again->state, i == 0 ? PORT_OPEN : PORT_CLOSING);
        assert_int_equal(again->generation, port->generation);
        assert_int_equal(again->client_id, 7);
        assert_int_equal(again->uid, 41001);
        assert_int_equal(again->submission_bytes, port->submission_bytes);
        assert_int_equal(again->delivery_bytes, port->delivery_bytes);
        assert_int_equal(again->overflow, PORT_OVERFLOW_DISCONNECT);
        assert_true(again->may_not_stop);
        assert_true(again->known);
        assert_int_equal(again->ref, 77);
        assert_int_equal(again->actors_max, 1000);
        assert_memory_equal(&again->held, &port->held, sizeof(port->held));
        assert_memory_equal(again->token, port->token, sizeof(port->token));
        port_table_release(next, again);
    }
    registry_close(&persist.registry);
    free(next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_ports_once, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_generations, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_an_index_is_spent, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_finding, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_sizes, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_memory, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_payload_fits, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_a_port_outlives_odeond, make_table, free_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
