/* SPDX-License-Identifier: Apache-2.0 */
/* What the macros of groups call, of a service and of one that is older. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <odeon/plugin.h>

ODEON_MESSAGE(price, 1, { int64_t amount, item; });
ODEON_SIGNAL(closed, 1);

static struct call {
    const char *what;
    uint32_t type;
    size_t size;
    uint8_t bytes[sizeof(struct price)];
} last;
static int answer;

static int host_join(struct odeon_context *ctx, const char *group)
{
    (void)ctx;
    assert_string_equal(group, "prices");
    last = (struct call){ .what = "join" };
    return answer;
}

static int host_leave(struct odeon_context *ctx, const char *group)
{
    (void)ctx;
    assert_string_equal(group, "prices");
    last = (struct call){ .what = "leave" };
    return answer;
}

static int host_publish(struct odeon_context *ctx, const char *group, uint32_t type,
                        const void *head, size_t head_size, const void *tail, size_t tail_size)
{
    (void)ctx;
    assert_string_equal(group, "prices");
    assert_null(tail);
    assert_int_equal(tail_size, 0);
    last = (struct call){ .what = "publish", .type = type, .size = head_size };
    assert_true(head_size <= sizeof(last.bytes));
    if (head_size)
        memcpy(last.bytes, head, head_size);
    return answer;
}

static const struct odeon_host host = {
    .struct_size = sizeof(struct odeon_host),
    .minor = ODEON_PLUGIN_ABI_MINOR,
    .join = host_join,
    .leave = host_leave,
    .publish = host_publish,
};

static void test_of_this_service(void **state)
{
    const struct price published = { .amount = 3, .item = 7 };
    struct odeon_context ctx = { .host = &host };

    (void)state;
    odeon_message_of(price)->id = 40;
    odeon_message_of(closed)->id = 41;
    answer = 0;
    assert_int_equal(odeon_join(&ctx, "prices"), 0);
    assert_string_equal(last.what, "join");
    assert_int_equal(odeon_publish(&ctx, "prices", price, .item = 7, .amount = 3), 0);
    assert_string_equal(last.what, "publish");
    assert_int_equal(last.type, 40);
    assert_int_equal(last.size, sizeof(published));
    assert_memory_equal(last.bytes, &published, sizeof(published));
    assert_int_equal(odeon_publish_signal(&ctx, "prices", closed), 0);
    assert_int_equal(last.type, 41);
    assert_int_equal(last.size, 0);
    answer = -ENOENT;
    assert_int_equal(odeon_leave(&ctx, "prices"), -ENOENT);
    assert_string_equal(last.what, "leave");
}

/* Its table ends before: nothing behind it is read. */
static void test_of_an_older_service(void **state)
{
    struct odeon_host older = host;
    struct odeon_context ctx = { .host = &older };

    (void)state;
    older.struct_size = offsetof(struct odeon_host, join);
    last.what = "nothing";
    assert_int_equal(odeon_join(&ctx, "prices"), -ENOSYS);
    assert_int_equal(odeon_leave(&ctx, "prices"), -ENOSYS);
    assert_int_equal(odeon_publish(&ctx, "prices", price, .item = 7), -ENOSYS);
    assert_int_equal(odeon_publish_signal(&ctx, "prices", closed), -ENOSYS);
    assert_string_equal(last.what, "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_this_service),
        cmocka_unit_test(test_of_an_older_service),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
