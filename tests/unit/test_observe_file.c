/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the file of what actors do (client-lib/src/observe_file.h): what is there is found behind
 * holes of gigabytes, and what a plugin may have written there does no harm. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <odeon/client.h>

#include "client-lib/src/observe_file.h"
#include "tests/unit/pretended_clock.h"

enum { WORKERS = 1153, LAST = WORKERS - 1 };
#define NOW_NS UINT64_C(1000000000000)

static int fd;
static struct observed_header *header;

static struct observed_worker *worker(uint32_t id)
{
    return (struct observed_worker *)((char *)header + OBSERVED_WORKERS_OFFSET) + id;
}

static int begin(void **state)
{
    (void)state;
    /* it stands still: nothing is of the past because this gets no processor */
    pretended_ns = NOW_NS;
    fd = memfd_create("observed", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)OBSERVED_FILE_SIZE(WORKERS)), 0);
    header = mmap(NULL, OBSERVED_FILE_SIZE(WORKERS), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, fd, 0);
    assert_ptr_not_equal(header, MAP_FAILED);
    observed_header_fill(header, WORKERS);
    header->magic = OBSERVED_MAGIC;
    header->n_types = 3;
    strcpy(header->names[1].type, "one");
    strcpy(header->names[2].type, "two");
    return 0;
}

static int end(void **state)
{
    (void)state;
    munmap(header, OBSERVED_FILE_SIZE(WORKERS));
    close(fd);
    return 0;
}

static struct observe_file open_file(void)
{
    struct observe_file file;

    assert_int_equal(observe_file_open(&file, dup(fd)), 0);
    return file;
}

static void close_file(struct observe_file *file)
{
    close(file->fd);
}

static void test_sums_are_over_all_workers(void **state)
{
    struct observe_file file = open_file(), look;

    (void)state;
    worker(0)->types[1].messages = 5;
    worker(0)->types[2].messages = 7;
    worker(3)->types[2].run[4] = 9;
    worker(LAST)->types[2].messages = 11;
    worker(0)->types[2].failed = 2;
    worker(LAST)->types[2].failed = 1;
    assert_int_equal(observe_file_look(&file, &look), 0);
    assert_int_equal(look.n_types, 3);
    assert_string_equal(look.names[2].type, "two");
    assert_int_equal(look.types[1].messages, 5);
    assert_int_equal(look.types[2].messages, 18);
    assert_int_equal(look.types[2].failed, 3);
    assert_int_equal(look.types[2].run[4], 9);
    assert_int_equal(look.n_windows, 0);
    observe_file_forget(&look);
    close_file(&file);
}

/* Who is spawned by one worker and ended by another is alive in neither's count alone. */
static void test_who_lives_is_a_sum(void **state)
{
    struct observe_file file = open_file(), look;

    (void)state;
    header->names[2].state_size = 48;
    worker(0)->live[1] = 5;
    worker(LAST)->live[1] = -2;
    worker(3)->live[2] = -1;
    assert_int_equal(observe_file_look(&file, &look), 0);
    assert_int_equal(look.types[1].live, 3);
    assert_int_equal(look.types[2].live, 0); /* its spawning is not there yet */
    assert_int_equal(look.names[1].state_size, 0);
    assert_int_equal(look.names[2].state_size, 48);
    observe_file_forget(&look);
    close_file(&file);
}

static void test_windows_of_late_are_read_whole_or_not_at_all(void **state)
{
    struct observe_file file = open_file(), look;
    struct observed_window *window = &worker(LAST)->window[1];

    (void)state;
    window->begin_ns = NOW_NS - 500000000;
    window->last_ns = NOW_NS;
    window->actors[0][0].ref = 42;
    worker(2)->window[0].begin_ns = 1; /* of long ago */
    worker(2)->window[0].last_ns = 2;
    assert_int_equal(observe_file_look(&file, &look), 0);
    assert_int_equal(look.n_windows, 1);
    assert_false(look.windows[0].is_late[0]);
    assert_true(look.windows[0].is_late[1]);
    assert_int_equal(look.windows[0].window[1].actors[0][0].ref, 42);
    assert_int_equal(look.windows[0].span_ns, 500000000);
    observe_file_forget(&look);
    window->turns = 7; /* it is being written, and stays so */
    assert_int_equal(observe_file_look(&file, &look), 0);
    assert_int_equal(look.n_windows, 0);
    observe_file_forget(&look);
    close_file(&file);
}

static void expect_refused(const char *says)
{
    struct observe_file file;

    assert_int_equal(observe_file_open(&file, dup(fd)), -EPROTO);
    assert_int_equal(file.fd, -1);
    assert_non_null(strstr(odeon_error_text(), says));
}

static void test_spoilt_files_are_refused_or_read(void **state)
{
    struct observed_header good;
    struct observe_file file, look;

    (void)state;
    memcpy(&good, header, sizeof(good));
    header->magic = 1;
    expect_refused("is no file of what actors do");
    memcpy(header, &good, sizeof(good));
    header->version = OBSERVED_VERSION + 1;
    expect_refused("version 4 is its own");
    memcpy(header, &good, sizeof(good));
    header->n_workers = WORKERS + 1; /* more than the file has */
    expect_refused("sizes that this library does not know");
    memcpy(header, &good, sizeof(good));
    header->worker_size = 8;
    expect_refused("sizes that this library does not know");
    memcpy(header, &good, sizeof(good));
    header->types_max = UINT32_MAX;
    expect_refused("sizes that this library does not know");
    memcpy(header, &good, sizeof(good));
    header->type_size--;
    expect_refused("sizes that this library does not know");
    memcpy(header, &good, sizeof(good));
    header->trace_offset += 8;
    expect_refused("sizes that this library does not know");
    memcpy(header, &good, sizeof(good));
    header->workers_offset = sizeof(good) - 8; /* the first worker would be made of names */
    expect_refused("sizes that this library does not know");
    memcpy(header, &good, sizeof(good));
    /* behind the first look: names without an end, a number of types beyond all */
    file = open_file();
    memset(header->names, 'x', sizeof(header->names));
    header->n_types = UINT32_MAX;
    header->worker_size = 1;
    assert_int_equal(observe_file_look(&file, &look), 0);
    assert_int_equal(look.n_types, ODEON_ACTOR_TYPES_MAX);
    assert_int_equal(strlen(look.names[7].type), ODEON_NAME_MAX);
    observe_file_forget(&look);
    close_file(&file);
    assert_int_equal(ftruncate(fd, 100), 0);
    expect_refused("is no file of what actors do");
}

static struct observed_record read_records[OBSERVED_RECORDS];

/* As a worker writes them, its number k in every word. */
static void add_records(uint32_t id, uint64_t until)
{
    struct observed_trace *trace = &worker(id)->trace;

    for (uint64_t k = trace->n + 1; k <= until; k++) {
        trace->record[k % OBSERVED_RECORDS].began_ns = k;
        trace->record[k % OBSERVED_RECORDS].what = k;
        trace->n = k;
    }
}

static void expect_records(const struct observe_file *file, uint64_t *after, uint64_t first,
                           uint32_t n, uint64_t lost)
{
    uint64_t lost_now;

    assert_int_equal(observe_file_trace(file, LAST, after, read_records, &lost_now), n);
    assert_int_equal(lost_now, lost);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(read_records[i].began_ns, first + i);
        assert_int_equal(read_records[i].what, first + i);
    }
}

/* observed_layout.V5 */
static void test_records_are_read_once_and_whole(void **state)
{
    struct observe_file file = open_file();
    uint64_t after = 0;

    (void)state;
    assert_int_equal(observe_file_next_worker(&file, 0), WORKERS);
    expect_records(&file, &after, 0, 0, 0);
    add_records(LAST, 10);
    assert_int_equal(observe_file_next_worker(&file, 0), LAST);
    assert_int_equal(observe_file_next_worker(&file, LAST), LAST);
    expect_records(&file, &after, 1, 10, 0);
    expect_records(&file, &after, 0, 0, 0);
    add_records(LAST, OBSERVED_RECORDS + 5); /* round the ring's end */
    expect_records(&file, &after, 11, OBSERVED_RECORDS - 5, 0);
    assert_int_equal(after, OBSERVED_RECORDS + 5);
    /* the oldest is being written over, if anything is */
    add_records(LAST, 2 * OBSERVED_RECORDS + 5);
    expect_records(&file, &after, OBSERVED_RECORDS + 7, OBSERVED_RECORDS - 1, 1);
    add_records(LAST, 9 * OBSERVED_RECORDS);
    expect_records(&file, &after, 8 * OBSERVED_RECORDS + 2, OBSERVED_RECORDS - 1,
                   6 * OBSERVED_RECORDS - 4);
    /* one more than there is room for, to the record */
    add_records(LAST, 10 * OBSERVED_RECORDS + 1);
    expect_records(&file, &after, 9 * OBSERVED_RECORDS + 3, OBSERVED_RECORDS - 1, 2);
    worker(LAST)->trace.n = 3; /* a plugin has written there: nothing that is not there */
    expect_records(&file, &after, 0, 0, 0);
    worker(LAST)->trace.n = UINT64_MAX;
    (void)observe_file_trace(&file, LAST, &after, read_records, &(uint64_t){ 0 });
    assert_int_equal(observe_file_trace(&file, WORKERS, &after, read_records, &(uint64_t){ 0 }), 0);
    close_file(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums_are_over_all_workers, begin, end),
        cmocka_unit_test_setup_teardown(test_who_lives_is_a_sum, begin, end),
        cmocka_unit_test_setup_teardown(test_windows_of_late_are_read_whole_or_not_at_all, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_spoilt_files_are_refused_or_read, begin, end),
        cmocka_unit_test_setup_teardown(test_records_are_read_once_and_whole, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
