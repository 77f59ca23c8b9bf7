/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on what there is only so much of (siege.h): ports and their memory, message types, names,
 * actors, threads. Each takes until it is refused. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/siege/siege.h"
#include "tests/system/probe.h"

enum {
    LARGE_RING = 1 << 22,
    ACTORS = 512, /* that are made and ended in one life; all there are, if they are kept */
    ACTORS_ALL = 1 << 20,
    THREADS = 64,
    LOOKS = 64
};

static struct odeon_client *connect_or_pause(struct besieger *b)
{
    struct odeon_client *client = NULL;

    if (!besieger_heard(b, odeon_client_connect(field.service->socket, "besieger", &client))) {
        pause_briefly();
        return NULL;
    }
    atomic_fetch_add(&b->offender.connects, 1);
    return client;
}

/* Ports, with large rings every other time, and the last ones as small as they get. */
void act_ports(struct besieger *b)
{
    bool large = offender_random(&b->offender) % 2;
    struct raw raw;
    int r = 0;

    if (!besieger_connect(b, &raw))
        return;
    while (besieger_goes_on(b) && (r >= 0 || large)) {
        Odeon__Request request = ODEON__REQUEST__INIT;
        Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;
        struct raw_answer answer;

        large = large && r >= 0;
        open.submission_bytes = open.delivery_bytes = large ? LARGE_RING : ODEON_RING_MIN;
        request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
        request.port_open = &open;
        r = raw_ask(&raw, &request, &answer);
        besieger_did(b, 1);
        if (besieger_heard(b, r))
            raw_answer_fini(&answer);
        else if (r == -ECONNRESET || r == -EPIPE)
            break;
    }
    if (r < 0)
        besieger_keep(b);
    raw_close(&raw);
}

/* Message types are known for ever, so it is told no for most of a siege. */
void act_types(struct besieger *b)
{
    struct odeon_client *client = connect_or_pause(b);
    int r = 0;

    for (unsigned n = 0; client && r == 0 && besieger_goes_on(b); n++) {
        char name[48];
        struct odeon_message_type type = {
            .struct_size = sizeof(type), .version = 1, .name = name, .fields = ""
        };
        uint32_t id;

        snprintf(name, sizeof(name), "siege.%d.%u", (int)getpid(), n);
        r = odeon_message_id(client, &type, &id);
        besieger_did(b, 1);
        (void)besieger_heard(b, r);
    }
    if (r < 0)
        besieger_keep(b);
    odeon_client_disconnect(client);
}

/* Names that come and go, and looks for others that never were. */
void act_names(struct besieger *b)
{
    struct odeon_client *client = connect_or_pause(b);
    int r = 0;

    for (unsigned n = 0; client && r == 0 && besieger_goes_on(b); n++) {
        odeon_ref ref = ODEON_NOBODY, none;
        char name[48];

        snprintf(name, sizeof(name), "siege.%llx",
                 (unsigned long long)offender_random(&b->offender));
        r = odeon_actor_spawn(client, "probe_echo", name, NULL, 0, &ref);
        besieger_did(b, 1);
        if (besieger_heard(b, r))
            besieger_stop_actor(b, client, ref);
        for (int i = 0; i < LOOKS && r == 0; i++) {
            snprintf(name, sizeof(name), "nobody.%llx",
                     (unsigned long long)offender_random(&b->offender));
            r = odeon_actor_find(client, name, &none) == -ENOENT ? 0 : -EAGAIN;
        }
    }
    odeon_client_disconnect(client);
}

/* Actors, which end as soon as there are many; or, if they are kept, all that it gets. */
void act_actors(struct besieger *b)
{
    static odeon_ref refs[ACTORS_ALL];
    struct odeon_client *client = connect_or_pause(b);
    bool keep = atomic_load(&b->keep);
    unsigned n = 0, most = keep ? ACTORS_ALL : ACTORS;
    int r = 0;

    while (client && n < most && besieger_goes_on(b)) {
        r = odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &refs[n]);
        besieger_did(b, 1);
        if (!besieger_heard(b, r))
            break;
        n++;
    }
    if (r < 0)
        besieger_keep(b);
    for (; client && n > 0 && !keep; n--)
        besieger_stop_actor(b, client, refs[n - 1]);
    odeon_client_disconnect(client);
}

/* Actors with threads of their own, which send to a port that goes meanwhile. */
void act_threads(struct besieger *b)
{
    struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                       .where = ODEON_WHERE_DETACHED };
    const struct probe_flood flood = { .count = 200 };
    struct odeon_client *client = connect_or_pause(b);
    struct odeon_port *port = NULL;
    odeon_ref refs[THREADS];
    int n = 0, r = 0;

    if (client)
        (void)besieger_heard(b, odeon_port_open(client, NULL, &port));
    while (client && n < THREADS && besieger_goes_on(b)) {
        r = odeon_actor_spawn_at(client, "probe_echo", NULL, NULL, 0, &where, &refs[n]);
        besieger_did(b, 1);
        if (!besieger_heard(b, r))
            break;
        if (port)
            (void)odeon_port_post(port, refs[n], field.flood_type, &flood, sizeof(flood));
        n++;
    }
    odeon_port_close(port);
    if (r < 0)
        besieger_keep(b);
    while (client && n > 0)
        besieger_stop_actor(b, client, refs[--n]);
    odeon_client_disconnect(client);
    besieger_pause(b, 100); /* `hang` wants such a thread, too, and is of the same user */
}
