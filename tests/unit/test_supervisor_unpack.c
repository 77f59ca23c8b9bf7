/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor/unpack: what may be made of a record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/supervisor/unpack.h"
#include "proto/bounds.h"

enum { IDS = 10000, SETTINGS = 64 };

static struct frame frame;

static enum unpack_end unpack(size_t *ret_bytes)
{
    enum unpack_end end;
    Odeon__Request *request = unpack_request(&frame, &end, ret_bytes);

    assert_int_equal(request != NULL, end == UNPACK_DONE);
    odeon__request__free_unpacked(request, NULL);
    assert_true(*ret_bytes <= UNPACK_BASE + UNPACK_TIMES * frame.size);
    return end;
}

/* With half of the bound to spare. */
static void expect_cheap(const Odeon__Request *request)
{
    size_t bytes;

    frame.size = odeon__request__get_packed_size(request);
    assert_true(frame.size <= sizeof(frame.data));
    odeon__request__pack(request, frame.data);
    assert_int_equal(unpack(&bytes), UNPACK_DONE);
    assert_true(2 * bytes <= UNPACK_BASE + UNPACK_TIMES * frame.size);
}

/* ---- what is asked for */

static void test_a_client_that_comes_back_with_all_its_ports(void **state)
{
    uint8_t token[16] = { 1 };
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Hello hello = ODEON__HELLO__INIT;
    Odeon__Resume resume = ODEON__RESUME__INIT;
    Odeon__PortClaim claims[ODEON_PORTS_PER_CLIENT_MAX], *ports[ODEON_PORTS_PER_CLIENT_MAX];

    (void)state;
    for (size_t i = 0; i < ODEON_PORTS_PER_CLIENT_MAX; i++) {
        ports[i] = &claims[i];
        odeon__port_claim__init(ports[i]);
        claims[i].port_id = i;
        claims[i].token = (ProtobufCBinaryData){ sizeof(token), token };
    }
    resume.n_ports = ODEON_PORTS_PER_CLIENT_MAX;
    resume.ports = ports;
    hello.resume = &resume;
    hello.name = (char[]){ "who comes back" };
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    expect_cheap(&request);
}

static void test_long_lists(void **state)
{
    static uint64_t ids[IDS];
    static Odeon__Setting settings[SETTINGS], *of[SETTINGS];
    static char key[] = "queues-per-worker", value[] = "4";
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__DeadLetterPurge purge = ODEON__DEAD_LETTER_PURGE__INIT;
    Odeon__ExecutorSet set = ODEON__EXECUTOR_SET__INIT;

    (void)state;
    for (size_t i = 0; i < IDS; i++)
        ids[i] = 1000000 + i;
    purge.n_ids = IDS;
    purge.ids = ids;
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_DEAD_LETTER_PURGE;
    request.dead_letter_purge = &purge;
    expect_cheap(&request);
    for (size_t i = 0; i < SETTINGS; i++) {
        of[i] = &settings[i];
        odeon__setting__init(of[i]);
        settings[i].key = key;
        settings[i].value = value;
    }
    set.n_settings = SETTINGS;
    set.settings = of;
    request.body_case = ODEON__REQUEST__BODY_EXECUTOR_SET;
    request.executor_set = &set;
    expect_cheap(&request);
}

static void test_large_arguments(void **state)
{
    static uint8_t args[32768];
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Spawn spawn = ODEON__SPAWN__INIT;

    (void)state;
    spawn.args = (ProtobufCBinaryData){ sizeof(args), args };
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_SPAWN;
    request.spawn = &spawn;
    expect_cheap(&request);
}

/* ---- what nobody asks for */

/* A request, in it hello, of it `n` times `pattern`. */
static void make_hello_of(const uint8_t *pattern, size_t size, size_t n)
{
    size_t inside = n * size, at = 0;

    frame.data[at++] = 0x08; /* id = 1 */
    frame.data[at++] = 0x01;
    frame.data[at++] = 0x12; /* hello, and its length in three bytes */
    frame.data[at++] = (uint8_t)(inside | 0x80);
    frame.data[at++] = (uint8_t)(inside >> 7 | 0x80);
    frame.data[at++] = (uint8_t)(inside >> 14);
    for (size_t i = 0; i < n; i++, at += size)
        memcpy(frame.data + at, pattern, size);
    frame.size = at;
    assert_true(frame.size <= sizeof(frame.data));
}

/* Each of them copies the list of all before it. */
static void test_a_message_that_comes_again_and_again(void **state)
{
    static const uint8_t claim[] = { 0x22, 0x02, 0x22, 0x00 };
    size_t bytes;

    (void)state;
    make_hello_of(claim, sizeof(claim), 3);
    assert_int_equal(unpack(&bytes), UNPACK_DONE);
    make_hello_of(claim, sizeof(claim), 16000);
    assert_int_equal(unpack(&bytes), UNPACK_TOO_COSTLY);
}

/* Each of them is kept, in fifty bytes. */
static void test_fields_that_nobody_knows(void **state)
{
    static const uint8_t unknown[] = { 0x78, 0x00 };
    size_t bytes;

    (void)state;
    make_hello_of(unknown, sizeof(unknown), 100);
    assert_int_equal(unpack(&bytes), UNPACK_DONE);
    make_hello_of(unknown, sizeof(unknown), 32000);
    assert_int_equal(unpack(&bytes), UNPACK_TOO_COSTLY);
}

static void test_no_request(void **state)
{
    size_t bytes;

    (void)state;
    memset(frame.data, 0xff, frame.size = 100);
    assert_int_equal(unpack(&bytes), UNPACK_SENSELESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_that_comes_back_with_all_its_ports),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_large_arguments),
        cmocka_unit_test(test_a_message_that_comes_again_and_again),
        cmocka_unit_test(test_fields_that_nobody_knows),
        cmocka_unit_test(test_no_request),
    };

    return cmocka_run_group_tests_name("unpack", tests, NULL, NULL);
}
