/* SPDX-License-Identifier: Apache-2.0 */
/* See root.h: root's requests. */
#include "tests/siege/root.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/probe.h"

enum { ROUNDS_A_PROGRAM = 16, CALLS_A_QUEUE = 40 };

static void answered(struct root *root, int r, const char *what)
{
    root->requests++;
    if (r < 0)
        fail_msg("root: %s: %d, %s", what, r, odeon_error_text());
}

static bool is_attacker(uint32_t uid)
{
    for (int i = 0; i < ATTACKERS; i++)
        if (attackers[i].uid == uid)
            return true;
    return false;
}

/* What comes and goes may have gone. */
static void look_and_kick(struct root *root, struct odeon_client *client, uint64_t id)
{
    struct odeon_client_detail *detail = NULL;
    int r = odeon_client_show(client, id, &detail);

    if (r == 0)
        odeon_result_free(detail);
    answered(root, r == -ENOENT ? 0 : r, "a look at a client");
    r = odeon_client_kick(client, id);
    root->kicked += r == 0;
    answered(root, r == -ENOENT ? 0 : r, "kicking a client");
}

/* All clients, page by page; each attacker's with a chance of one in `one_in` is kicked. */
static unsigned visit_clients(struct root *root, struct odeon_client *client, unsigned one_in)
{
    uint64_t after = 0;
    unsigned n = 0;

    for (bool more = true; more;) {
        struct odeon_list *list = NULL;

        answered(root, odeon_client_list(client, after, 0, &list), "a list of clients");
        for (size_t i = 0; i < list->n; i++) {
            const struct odeon_client_info *row =
                &((const struct odeon_client_info *)list->rows)[i];

            root->random = root->random * 6364136223846793005U + 1442695040888963407U;
            if (!is_attacker(row->uid) || (root->random >> 33) % one_in != 0)
                continue;
            look_and_kick(root, client, row->id);
            n++;
        }
        more = list->more;
        after = list->next;
        odeon_list_free(list);
    }
    return n;
}

static void make_call_and_stop(struct root *root, struct odeon_client *client)
{
    const struct odeon_port_options options = { .struct_size = sizeof(options) };
    const struct probe_number number = { .n = root->rounds };
    struct odeon_port *port = NULL;
    odeon_ref echo, found = ODEON_NOBODY;
    struct odeon_delivery answer;
    char name[32];

    snprintf(name, sizeof(name), "root.%llu", (unsigned long long)root->rounds);
    answered(root, odeon_actor_spawn(client, "probe_echo", name, NULL, 0, &echo), "spawning");
    answered(root, odeon_actor_find(client, name, &found), "looking up");
    assert_true(found == echo);
    answered(root, odeon_port_open(client, &options, &port), "opening a port");
    assert_int_equal(odeon_port_call(port, echo, field.number_type, &number, sizeof(number),
                                     SECONDS(PATIENCE_S), &answer),
                     ODEON_CALL_REPLY);
    odeon_port_release(port);
    root->requests++;
    odeon_port_close(port);
    answered(root, odeon_actor_stop(client, echo, ODEON_DELETE), "stopping");
}

void root_round(struct root *root)
{
    struct odeon_client *client = service_connect(root->service, "root");
    struct odeon_status *status = NULL;
    struct odeon_list *list = NULL;

    root->rounds++;
    answered(root, odeon_service_status(client, &status), "the status");
    assert_string_equal(status->state, "running");
    odeon_result_free(status);
    (void)visit_clients(root, client, 64);
    answered(root, odeon_actor_list(client, NULL, 0, 0, &list), "a list of actors");
    odeon_list_free(list);
    answered(root, odeon_queue_list(client, NULL, 0, 0, &list), "a list of queues");
    odeon_list_free(list);
    make_call_and_stop(root, client);
    odeon_client_disconnect(client);
    if (root->rounds % ROUNDS_A_PROGRAM == 1) {
        char output[16384];

        if (ctl(root->service, output, sizeof(output), "--json status") != 0)
            fail_msg("odeonctl status: %s", output);
        root->requests++;
    }
}

unsigned root_kick_all(struct root *root)
{
    struct odeon_client *client = service_connect(root->service, "root");
    unsigned n = visit_clients(root, client, 1);

    odeon_client_disconnect(client);
    return n;
}

static bool is_kept(odeon_ref ref, const odeon_ref *kept, unsigned n)
{
    while (n > 0)
        if (kept[--n] == ref)
            return true;
    return false;
}

unsigned root_stop_actors(struct root *root, const odeon_ref *kept, unsigned n_kept)
{
    struct odeon_client *client = service_connect(root->service, "root");
    uint64_t after = 0;
    unsigned n = 0;

    for (bool more = true; more;) {
        struct odeon_list *list = NULL;

        answered(root, odeon_actor_list(client, NULL, after, 0, &list), "a list of actors");
        for (size_t i = 0; i < list->n; i++) {
            const struct odeon_actor_info *row = &((const struct odeon_actor_info *)list->rows)[i];
            int r;

            if (row->kind[0] == '\0' || is_kept(row->ref, kept, n_kept))
                continue;
            r = odeon_actor_stop(client, row->ref, ODEON_DELETE);
            answered(root, r == -ESRCH || r == -ENOENT ? 0 : r, "stopping an actor");
            n++;
        }
        more = list->more;
        after = list->next;
        odeon_list_free(list);
    }
    odeon_client_disconnect(client);
    return n;
}

/* Actors go to the queues in turn. */
void root_use_queues(struct root *root)
{
    struct odeon_client *client = service_connect(root->service, "root");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    struct odeon_status *status = NULL;

    answered(root, odeon_service_status(client, &status), "the status");
    for (unsigned i = 0; i < 2 * status->queues; i++) {
        odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);

        assert_int_equal(user_calls(port, echo, field.number_type, CALLS_A_QUEUE), 0);
        answered(root, odeon_actor_stop(client, echo, ODEON_DELETE), "stopping");
    }
    odeon_result_free(status);
    odeon_port_close(port);
    odeon_client_disconnect(client);
}
