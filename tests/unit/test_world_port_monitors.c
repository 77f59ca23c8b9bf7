/* SPDX-License-Identifier: Apache-2.0 */
/* Clients' monitors in the simulator, over many schedules: one client monitors, and gives up,
 * while another one has actors end, and an executor dies at moments that are drawn. */
#include <string.h>

#include <odeon/monitor.h>
#include <odeon/test.h>

#include "tests/system/ends.h"

enum { ACTORS = 6, SCHEDULES = 300, ENDS_PORT = 0, EAR_PORT = 1, SECOND = 1000000000 };

/* What the ear has had of each; the first one is nobody's. */
struct ear {
    unsigned downs, refusals, words;
};
static ends_kept_ref actors[ACTORS + 1];
static struct ear ears[ACTORS + 1];

static void open_ears(struct odeon_test *world)
{
    memset(ears, 0, sizeof(ears));
    for (uint64_t i = 1; i <= ACTORS; i++) {
        actors[i] = odeon_test_spawn(world, ends_kept);
        odeon_test_monitor(world, EAR_PORT, actors[i].ref, i);
    }
}

static void note(const struct odeon_test_message *message)
{
    struct odeon_refusal refusal;
    struct odeon_down down;

    if (message->type == ODEON_MSG_DOWN) {
        memcpy(&down, message->payload, sizeof(down));
        odeon_test_assert(down.monitor >= 1 && down.monitor <= ACTORS);
        odeon_test_assert(down.ref == actors[down.monitor].ref && message->sender == down.ref);
        odeon_test_assert(down.reason == ODEON_REASON_FINISHED);
        odeon_test_assert(ears[down.monitor].words == 1); /* behind the last word */
        ears[down.monitor].downs++;
    } else if (message->type == ODEON_MSG_REFUSAL) {
        memcpy(&refusal, message->payload, sizeof(refusal));
        odeon_test_assert(refusal.type == ODEON_MSG_DEMONITOR);
        odeon_test_assert(refusal.reason == ODEON_REASON_NO_SUCH_MONITOR);
        odeon_test_assert(refusal.correlation >= 1 && refusal.correlation <= ACTORS);
        ears[refusal.correlation].refusals++;
    } else {
        odeon_test_assert(strcmp(message->name, "ends_word") == 0);
        ears[((const struct ends_word *)message->payload)->number].words++;
    }
}

/* A monitor that came too late for who ends to see it is looked at a while later. */
static void hear(struct odeon_test *world)
{
    struct odeon_test_message message;

    for (int looks = 0; looks < 2; looks++) {
        while (odeon_test_receive(world, EAR_PORT, &message))
            note(&message);
        odeon_test_advance(world, SECOND);
    }
    odeon_test_expect_none(world);
}

static void end(struct odeon_test *world, uint64_t number)
{
    odeon_test_send_from(world, ENDS_PORT, actors[number], ends_now,
                         .to = odeon_test_port_ref(world, EAR_PORT), .number = number);
}

/* The record and the end, whichever comes first. */
static void each_end_is_told_once(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    open_ears(world);
    for (uint64_t i = 1; i <= ACTORS; i++)
        end(world, i);
    hear(world);
    for (uint64_t i = 1; i <= ACTORS; i++)
        odeon_test_assert(ears[i].downs == 1 && ears[i].words == 1 && ears[i].refusals == 0);
}

/* A word and a refusal, or neither. */
static void given_up_while_it_ends(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    open_ears(world);
    hear(world);
    for (uint64_t i = 1; i <= ACTORS; i++) {
        end(world, i);
        odeon_test_demonitor(world, EAR_PORT, actors[i].ref, i);
    }
    hear(world);
    for (uint64_t i = 1; i <= ACTORS; i++)
        odeon_test_assert(ears[i].downs <= 1 && ears[i].downs == ears[i].refusals &&
                          ears[i].words == 1);
}

/* Every other one, twice: the first time it works. */
static void given_up_before(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    open_ears(world);
    for (uint64_t i = 1; i <= ACTORS; i += 2)
        for (int twice = 0; twice < 2; twice++)
            odeon_test_demonitor(world, EAR_PORT, actors[i].ref, i);
    hear(world);
    for (uint64_t i = 1; i <= ACTORS; i++)
        end(world, i);
    hear(world);
    for (uint64_t i = 1; i <= ACTORS; i++)
        odeon_test_assert(ears[i].downs == (i % 2 == 0) && ears[i].refusals == i % 2 &&
                          ears[i].words == 1);
}

int main(void)
{
    odeon_test_explore(SCHEDULES, each_end_is_told_once, NULL, .plugin = &odeon_plugin_descriptor,
                       .ports = 2, .workers = 3, .crashes = 3);
    odeon_test_explore(SCHEDULES, given_up_while_it_ends, NULL, .plugin = &odeon_plugin_descriptor,
                       .ports = 2, .workers = 3, .crashes = 3);
    odeon_test_explore(SCHEDULES, given_up_before, NULL, .plugin = &odeon_plugin_descriptor,
                       .ports = 2, .workers = 3, .crashes = 3);
    return odeon_test_done();
}
