/* SPDX-License-Identifier: Apache-2.0 */
/* A client that writes at random for some seconds, into its rings, its words and the control
 * connection, while another one's traffic has to be complete and in order. The seed is printed;
 * ODEON_TEST_SEED=N repeats a run's choices. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/hostile/raw.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"

enum { RING = 1 << 16, RUN_S = 6, RUN_QUICK_S = 3 };

static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t random_below(uint64_t n)
{
    return random_next() % n;
}

struct fuzz {
    struct service service;
    struct numbers bystander;
    struct odeon_client *client;
    odeon_ref receivers[4];
    uint16_t types[6], harmful[5];
    uint64_t ports, records;
};

/* Would a receiver do as it is told, whatever that is? */
static bool is_harmful(const struct fuzz *fuzz, uint16_t type)
{
    for (size_t i = 0; i < sizeof(fuzz->harmful) / sizeof(fuzz->harmful[0]); i++)
        if (fuzz->harmful[i] == type)
            return true;
    return false;
}

/* Nearly right, which goes further than noise: one field in some is wrong. */
static void put_record(struct fuzz *fuzz, struct raw_port *port)
{
    struct envelope envelope = {
        .to = fuzz->receivers[random_below(4)],
        .from = random_next(),
        .type = fuzz->types[random_below(6)],
        .length = (uint16_t)(random_below(3) ? 16 : random_below(64)),
        .behaviour = (uint8_t)random_next(),
        .flags = (uint8_t)random_below(4),
    };
    unsigned char payload[64];

    for (size_t i = 0; i < sizeof(payload); i++)
        payload[i] = (unsigned char)random_next();
    switch (random_below(400)) {
    case 0:
        envelope.to = random_next();
        break;
    case 1:
        envelope.length = (uint16_t)random_next();
        break;
    case 2:
        envelope.flags = (uint8_t)random_next();
        break;
    case 3:
        envelope.type = (uint16_t)random_next();
        if (is_harmful(fuzz, envelope.type))
            envelope.type = fuzz->types[0];
        break;
    case 4:
        memset(&envelope, 0, sizeof(envelope));
        break;
    case 5:
        envelope.attempts = (uint8_t)random_next();
        break;
    default:
        break;
    }
    /* as far as the mapping reaches; the executor must not believe the length either */
    raw_port_put(port, &envelope, envelope.length <= sizeof(payload) ? payload : NULL);
    fuzz->records++;
}

static void scribble(struct raw_port *port)
{
    switch (random_below(6)) {
    case 0:
        atomic_store(&port->mine->delivery_head, random_next());
        break;
    case 1:
        atomic_store(&port->mine->delivery_wait, (uint32_t)random_next());
        break;
    case 2:
        atomic_store(&port->mine->room_wait, (uint32_t)random_next());
        break;
    case 3:
        port->submission[random_below(2 * RING)] = (uint8_t)random_next();
        break;
    case 4:
        memset(port->submission + random_below(RING), (int)random_next(), random_below(RING));
        break;
    default:
        (void)fallocate(port->client_memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)(4096 * random_below(17)), 4096);
    }
}

/* All of it, or the port is broken. */
static bool is_taken(struct raw_port *port)
{
    return atomic_load(&port->theirs->submission_head) == port->tail ||
           atomic_load(&port->theirs->broken) != PORT_OK;
}

/* One port's life: until it is broken, or for some hundred steps. */
static void fuzz_port(struct fuzz *fuzz)
{
    uint64_t steps = 1 + random_below(300), published = 0;
    struct raw_port port;

    raw_port_open(&port, &fuzz->service, RING);
    fuzz->ports++;
    while (steps-- > 0 && atomic_load(&port.theirs->broken) == PORT_OK) {
        if (published == port.tail && random_below(50) && !wait_until(is_taken(&port)))
            fail_msg("what was published lies there: tail %llu, head %llu, need_wakeup %u",
                     (unsigned long long)published,
                     (unsigned long long)atomic_load(&port.theirs->submission_head),
                     atomic_load(&port.theirs->need_wakeup));
        for (uint64_t n = random_below(20); n > 0; n--)
            put_record(fuzz, &port);
        if (random_below(60) == 0)
            scribble(&port);
        if (random_below(10)) /* mostly it receives */
            atomic_store(&port.mine->delivery_head, atomic_load(&port.theirs->delivery_tail));
        published = random_below(200) ? port.tail : random_next();
        raw_port_publish(&port, published);
    }
    raw_port_close(&port);
}

static void fuzz_control(struct fuzz *fuzz)
{
    static uint8_t bytes[2048];
    struct raw raw = raw_connect(&fuzz->service);
    size_t size = random_below(sizeof(bytes));

    if (random_below(4))
        raw_hello(&raw);
    /* the beginning of a request, so that some of it parses */
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)random_next();
    bytes[0] = 0x08;
    bytes[1] = 1 + (uint8_t)random_below(100);
    bytes[2] = (uint8_t)((2 + random_below(14)) << 3 | 2);
    bytes[3] = (uint8_t)random_below(40);
    raw_send_bytes(&raw, bytes, size < 4 ? 4 : size);
    if (random_below(2)) {
        struct raw_answer answer;

        if (raw_receive(&raw, &answer) == 1)
            raw_answer_fini(&answer);
    }
    raw_close(&raw);
}

static void begin(struct fuzz *fuzz)
{
    const char *seed = getenv("ODEON_TEST_SEED");

    *fuzz = (struct fuzz){ 0 };
    random_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time_ns() * 2 + 1;
    print_message("# fuzz: seed %llu\n", (unsigned long long)random_state);
    service_start(&fuzz->service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "backlog-bytes=144K", "--set",
                                         "restart-delay-max-ms=20", "--set", "offender-hold-ms=0",
                                         "--plugin", TEST_PROBE, "--log-level", "notice", NULL });
    fuzz->client = service_connect(&fuzz->service, "fuzz");
    numbers_start(&fuzz->bystander, &fuzz->service, 64);
    fuzz->receivers[0] = spawn(fuzz->client, "probe_echo", NULL, NULL, 0);
    fuzz->receivers[1] = spawn(fuzz->client, "probe_ledger", NULL, NULL, 0);
    fuzz->receivers[2] = spawn(fuzz->client, "probe_echo", NULL, NULL, 0);
    assert_int_equal(odeon_actor_stop(fuzz->client, fuzz->receivers[2], ODEON_DELETE), 0);
    fuzz->receivers[3] = UINT64_C(1) << 32 | 1023;
    /* messages whose content, random as it is, harms nobody */
    fuzz->types[0] = (uint16_t)message_id(fuzz->client, odeon_message_of(probe_number));
    fuzz->types[1] = (uint16_t)message_id(fuzz->client, odeon_message_of(probe_ask));
    fuzz->types[2] = (uint16_t)message_id(fuzz->client, odeon_message_of(probe_told));
    fuzz->types[3] = fuzz->types[0];
    fuzz->types[4] = 9;
    fuzz->types[5] = fuzz->types[1];
    fuzz->harmful[0] = (uint16_t)message_id(fuzz->client, odeon_message_of(probe_work));
    fuzz->harmful[1] = (uint16_t)message_id(fuzz->client, odeon_message_of(probe_crash));
    fuzz->harmful[2] = (uint16_t)message_id(fuzz->client, odeon_message_of(probe_sleep));
    fuzz->harmful[3] = (uint16_t)message_id(fuzz->client, odeon_message_of(probe_flood));
    fuzz->harmful[4] = (uint16_t)message_id(fuzz->client, odeon_message_of(probe_note));
}

static void end(struct fuzz *fuzz, uint64_t kills)
{
    numbers_wait(&fuzz->bystander, 200);
    print_message("# fuzz: %llu records through %llu ports, %llu of them broken, %llu refusals, "
                  "%llu kills; beside them "
                  "%llu numbers in order\n",
                  (unsigned long long)fuzz->records, (unsigned long long)fuzz->ports,
                  (unsigned long long)service_figure(&fuzz->service, "ports_broken"),
                  (unsigned long long)service_figure(&fuzz->service, "refusals"),
                  (unsigned long long)kills,
                  (unsigned long long)atomic_load(&fuzz->bystander.received));
    assert_true(service_figure(&fuzz->service, "ports_broken") > 0);
    assert_true(service_figure(&fuzz->service, "refusals") > 0);
    numbers_finish(&fuzz->bystander);
    odeon_client_disconnect(fuzz->client);
    assert_true(wait_until(service_state(&fuzz->service).ports == 0 &&
                           service_state(&fuzz->service).clients == 0));
    assert_int_equal(service_state(&fuzz->service).executor_restarts, kills); /* by nothing else */
    assert_int_equal(service_stop(&fuzz->service, SIGTERM), 0);
    service_end(&fuzz->service);
}

static int64_t run_ns(void)
{
    return SECONDS(getenv("ODEON_TEST_QUICK") ? RUN_QUICK_S : RUN_S);
}

/* As long as it is to, and on a slow machine until something has come of it. */
static bool goes_on(struct fuzz *fuzz, int64_t until)
{
    return time_ns() < until || service_figure(&fuzz->service, "ports_broken") == 0 ||
           service_figure(&fuzz->service, "refusals") == 0;
}

static void test_random_writes(void **state)
{
    static struct fuzz fuzz;
    int64_t until;

    (void)state;
    begin(&fuzz);
    until = time_ns() + run_ns();
    while (goes_on(&fuzz, until)) {
        fuzz_port(&fuzz);
        if (random_below(4) == 0)
            fuzz_control(&fuzz);
    }
    end(&fuzz, 0);
}

/* The recovery reads rings that are full of the same. */
static void test_random_writes_and_kills(void **state)
{
    static struct fuzz fuzz;
    int64_t until, next = 0;
    pid_t former = 0;
    uint64_t kills = 0;

    (void)state;
    begin(&fuzz);
    until = time_ns() + run_ns();
    while (goes_on(&fuzz, until) || kills < 2) {
        struct odeon_stats_service service = service_state(&fuzz.service);

        if (time_ns() > next && service.executor_pid != 0 &&
            (pid_t)service.executor_pid != former && strcmp(service.state_name, "running") == 0) {
            former = (pid_t)service.executor_pid;
            assert_int_equal(kill(former, SIGKILL), 0);
            kills++;
            next = time_ns() + (int64_t)random_below(100000000);
        }
        fuzz_port(&fuzz);
    }
    if (former != 0)
        service_wait_executor(&fuzz.service, former);
    assert_true(kills > 1);
    end(&fuzz, kills);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_writes),
                                        cmocka_unit_test(test_random_writes_and_kills) };

    return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
}
