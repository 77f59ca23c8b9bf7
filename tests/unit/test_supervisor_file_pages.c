/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a sparse file, counted by parts and by instalments (file_pages.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/memfd.h"
#include "daemon/supervisor/file_pages.h"

enum { PAGE = 4096 };
#define LARGE (UINT64_C(1) << 40)

static int file;

static int begin(void **state)
{
    (void)state;
    file = memfd_make_sealed("file-pages", LARGE);
    return file < 0;
}

static int end(void **state)
{
    (void)state;
    return close(file);
}

static void touch(uint64_t offset)
{
    assert_int_equal(pwrite(file, "x", 1, (off_t)offset), 1);
}

static unsigned count(struct file_part *parts, size_t n)
{
    struct file_pages pages;
    unsigned steps = 1;

    file_pages_begin(&pages, file, parts, n);
    while (!file_pages_step(&pages))
        steps++;
    return steps;
}

/* A stretch that lies in two parts, one beside all, one at the very end. */
static void test_each_page_once(void **state)
{
    struct file_part parts[] = { { .from = 0, .to = 2 * PAGE, .bytes = 77 },
                                 { .from = 2 * PAGE, .to = 100 * PAGE },
                                 { .from = 200 * PAGE, .to = UINT64_MAX } };

    (void)state;
    assert_int_equal(count(parts, 3), 1);
    assert_int_equal(parts[0].bytes, 0);
    touch(PAGE);
    touch(2 * PAGE);
    touch(99 * PAGE);
    touch(100 * PAGE);
    touch(LARGE - 1);
    assert_int_equal(count(parts, 3), 1);
    assert_int_equal(parts[0].bytes, PAGE);
    assert_int_equal(parts[1].bytes, 2 * PAGE);
    assert_int_equal(parts[2].bytes, PAGE);
    assert_int_equal(file_pages_all(file), 5 * PAGE);
    assert_int_equal(file_pages_all(-1), 0);
}

/* file_pages.FP1 */
static void test_by_instalments(void **state)
{
    struct file_part all = { .to = UINT64_MAX };

    (void)state;
    for (uint64_t i = 0; i < 3 * FILE_PAGES_STEP; i++)
        touch(i * 16 * PAGE);
    assert_int_equal(count(&all, 1), 4);
    assert_int_equal(all.bytes, 3 * FILE_PAGES_STEP * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_page_once, begin, end),
        cmocka_unit_test_setup_teardown(test_by_instalments, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
