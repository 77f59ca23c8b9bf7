/* SPDX-License-Identifier: Apache-2.0 */
/* The four allocation results of message objects, and what is counted of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/executor/message_object.h"
#include "proto/bounds.h"

static const struct odeon_message_type fixed = {
    .struct_size = sizeof(fixed), .version = 1, .name = "fixed", .fields = "", .size = 24, .id = 20
};
static const struct odeon_message_type tailed = { .struct_size = sizeof(tailed),
                                                  .version = 1,
                                                  .name = "tailed",
                                                  .fields = "",
                                                  .size = 8,
                                                  .has_tail = 1,
                                                  .tail_offset = 8,
                                                  .id = 21 };
static unsigned n_fini;
static void *fini_payload;

static void count_fini(void *payload)
{
    n_fini++;
    fini_payload = payload;
}

static struct message_pool *pool;

static int setup(void **state)
{
    (void)state;
    n_fini = 0;
    return message_pool_new(2, &pool);
}

static int teardown(void **state)
{
    (void)state;
    pool = message_pool_free(pool);
    return 0;
}

static struct odeon_message_object *make(enum odeon_allocation allocation)
{
    struct odeon_message_object *object = message_object_new(pool, 0, &fixed, 0);

    assert_non_null(object);
    object->allocation = allocation;
    object->fini = count_fini;
    return object;
}

static void assert_totals(uint64_t made, uint64_t sent, uint64_t freed_unsent)
{
    struct message_pool_totals totals;

    message_pool_get_totals(pool, &totals);
    assert_int_equal(totals.made, made);
    assert_int_equal(totals.sent, sent);
    assert_int_equal(totals.freed_unsent, freed_unsent);
}

static void test_nodelete(void **state)
{
    struct odeon_message_object *object = make(ODEON_NODELETE);

    (void)state;
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(message_object_check(pool, object, 24), 0);
        message_object_sent(pool, 1, object);
        assert_int_equal(object->sent, i);
    }
    assert_totals(1, 1, 0); /* an object counts once */
    assert_int_equal(n_fini, 0);
    assert_int_equal(message_object_free(pool, 0, object), 0);
    assert_totals(1, 1, 0);
}

static void test_delete(void **state)
{
    struct odeon_message_object *object = make(ODEON_DELETE);
    void *payload = object->payload;

    (void)state;
    message_object_sent(pool, 0, object);
    assert_int_equal(n_fini, 1);
    assert_ptr_equal(fini_payload, payload);
    assert_totals(1, 1, 0);
}

static void test_destroy_keeps_storage(void **state)
{
    struct odeon_message_object *object = make(ODEON_DESTROY), *other, *again;

    (void)state;
    memset(object->payload, 0xff, 24);
    message_object_sent(pool, 0, object);
    assert_int_equal(n_fini, 1);
    assert_int_equal(message_object_check(pool, object, 0), -ESTALE);
    other = message_object_new(pool, 1, &fixed, 0); /* another worker has storage of its own */
    assert_ptr_not_equal(other, object);
    again = message_object_new(pool, 0, &fixed, 0);
    assert_ptr_equal(again, object);
    for (unsigned i = 0; i < 24; i++)
        assert_int_equal(((unsigned char *)again->payload)[i], 0);
    assert_null(again->fini);
    assert_int_equal(again->sent, 0);
    assert_int_equal(again->allocation, ODEON_NODELETE);
    assert_int_equal(message_object_free(pool, 0, again), 1);
    assert_int_equal(message_object_free(pool, 1, other), 1);
    assert_totals(3, 1, 2);
}

static void test_finished(void **state)
{
    struct odeon_message_object *object = make(ODEON_FINISHED);

    (void)state;
    message_object_sent(pool, 0, object);
    assert_int_equal(n_fini, 0);
    assert_int_equal(message_object_check(pool, object, 8), -ESTALE);
    assert_int_equal(message_object_free(pool, 0, object), 0);
}

static void test_bounds(void **state)
{
    static const struct odeon_message_type unknown = { .struct_size = sizeof(unknown),
                                                       .name = "unknown",
                                                       .size = 8 };
    static const struct odeon_message_type huge = {
        .struct_size = sizeof(huge), .name = "huge", .size = ODEON_PAYLOAD_MAX + 1, .id = 22
    };
    struct odeon_message_object *object, *larger;

    (void)state;
    assert_null(message_object_new(pool, 0, NULL, 0));
    assert_null(message_object_new(pool, 0, &unknown, 0));
    assert_int_equal(errno, EINVAL);
    assert_null(message_object_new(pool, 0, &fixed, 1));
    assert_null(message_object_new(pool, 0, &huge, 0));
    assert_int_equal(errno, EMSGSIZE);
    assert_null(message_object_new(pool, 0, &tailed, SIZE_MAX));
    object = message_object_new(pool, 0, &tailed, 100);
    assert_non_null(object);
    memset(object->payload, 1, 108);
    assert_int_equal(message_object_check(pool, object, 108), 0);
    assert_int_equal(message_object_check(pool, object, 109), -EMSGSIZE);
    object->allocation = 4;
    assert_int_equal(message_object_check(pool, object, 8), -EINVAL);
    assert_int_equal(message_object_check(pool, NULL, 8), -ESTALE);
    assert_int_equal(message_object_free(pool, 0, NULL), -ESTALE);
    /* a kept object that is too small is passed over */
    object->allocation = ODEON_DESTROY;
    message_object_sent(pool, 0, object);
    larger = message_object_new(pool, 0, &tailed, 101);
    assert_ptr_not_equal(larger, object);
    assert_int_equal(message_object_free(pool, 0, larger), 1);
    assert_totals(2, 1, 1);
}

/* The numbers of unsent objects grow one by one: they tell which ones to write to the log. */
static void test_unsent_numbers(void **state)
{
    (void)state;
    for (int i = 1; i <= 5; i++)
        assert_int_equal(message_object_free(pool, 1, message_object_new(pool, 1, &fixed, 0)), i);
    assert_totals(5, 0, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nodelete, setup, teardown),
        cmocka_unit_test_setup_teardown(test_delete, setup, teardown),
        cmocka_unit_test_setup_teardown(test_destroy_keeps_storage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_finished, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unsent_numbers, setup, teardown),
    };

    return cmocka_run_group_tests_name("executor message objects", tests, NULL, NULL);
}
