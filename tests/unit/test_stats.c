/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a statistics file that the test has made. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <odeon/stats.h>

#include "proto/stats_layout.h"
#include "tests/run/scratch.h"
#include "tests/unit/clientlib_cmocka.h"

struct file {
    char directory[64], path[128];
    struct stats_header *header;
};

static struct stats_worker *worker_of(struct file *file, unsigned worker)
{
    return (struct stats_worker *)((char *)file->header + STATS_WORKER_OFFSET) + worker;
}

static void fill_header(struct stats_header *header)
{
#define STAT(name, doc)       snprintf(header->names[STAT_##name], STATS_STAT_NAME, "%s", #name);
#define STAT_GAUGE(name, doc) snprintf(header->names[STAT_##name], STATS_STAT_NAME, "%s", #name);
#include "proto/stats.def"
    header->version = STATS_VERSION;
    header->header_size = sizeof(*header);
    header->worker_size = sizeof(struct stats_worker);
    header->n_stats = STAT_N;
    header->worker_offset = STATS_WORKER_OFFSET;
    header->workers_max = ODEON_WORKERS_MAX;
    atomic_store(&header->n_workers, 2);
    atomic_store_explicit(&header->magic, STATS_MAGIC, memory_order_release);
}

static int setup(void **state)
{
    struct file *file = calloc(1, sizeof(*file));
    void *mapping;
    int fd;

    snprintf(file->directory, sizeof(file->directory), "/tmp/odeon-test.stats-XXXXXX");
    assert_non_null(scratch_make(file->directory));
    snprintf(file->path, sizeof(file->path), "%s/stats", file->directory);
    fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, STATS_SEGMENT_SIZE), 0);
    mapping = mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(mapping != MAP_FAILED);
    close(fd);
    file->header = mapping;
    fill_header(file->header);
    *state = file;
    return 0;
}

static int teardown(void **state)
{
    struct file *file = *state;

    munmap(file->header, STATS_SEGMENT_SIZE);
    unlink(file->path);
    rmdir(file->directory);
    free(file);
    return 0;
}

static struct odeon_stats *open_stats(struct file *file)
{
    struct odeon_stats *stats = NULL;
    int result = odeon_stats_open(file->path, &stats);

    if (result < 0)
        fail_msg("odeon_stats_open: %d, %s", result, odeon_error_text());
    return stats;
}

static size_t index_of(struct odeon_stats *stats, const char *name)
{
    for (size_t i = 0; i < odeon_stats_n(stats); i++)
        if (strcmp(odeon_stats_name(stats, i), name) == 0)
            return i;
    fail_msg("no statistic %s", name);
    return 0;
}

static double value(struct odeon_stats *stats, int worker, const char *name)
{
    return odeon_stats_value(stats, worker, index_of(stats, name));
}

static void test_names_docs_and_kinds(void **state)
{
    struct odeon_stats *stats = open_stats(*state);

    assert_int_equal(odeon_stats_n(stats), STAT_N + 2);
    assert_string_equal(odeon_stats_name(stats, STAT_gulps), "gulps");
    assert_string_equal(odeon_stats_doc(stats, STAT_gulps),
                        "times that a whole queue was taken at once");
    assert_int_equal(odeon_stats_kind(stats, STAT_gulps), ODEON_STATS_COUNTER);
    assert_int_equal(odeon_stats_kind(stats, index_of(stats, "state")), ODEON_STATS_GAUGE);
    assert_string_equal(odeon_stats_name(stats, STAT_N), "average_gulp_size");
    assert_string_equal(odeon_stats_doc(stats, STAT_N), "messages a gulp");
    assert_int_equal(odeon_stats_kind(stats, STAT_N + 1), ODEON_STATS_DERIVED);
    assert_null(odeon_stats_name(stats, STAT_N + 2));
    assert_string_equal(odeon_stats_doc(stats, STAT_N + 2), "");
    assert_true(odeon_stats_value(stats, 0, STAT_N + 2) == 0);
    odeon_stats_close(stats);
}

static void test_values_sums_and_derived_figures(void **state)
{
    struct file *file = *state;
    struct odeon_stats *stats = open_stats(file);

    /* two workers and the control thread, whose block is the last one */
    for (unsigned i = 0; i < 3; i++) {
        struct stats_worker *block = worker_of(file, i < 2 ? i : STATS_CONTROL_BLOCK);
        atomic_store(&block->value[STAT_gulps], 10 + i);
        atomic_store(&block->value[STAT_gulped_messages], 100 * (i + 1));
        atomic_store(&block->value[STAT_state], 3);
        atomic_store(&block->cpu, i < 2 ? i : UINT32_MAX);
    }
    atomic_store(&worker_of(file, 100)->value[STAT_gulps],
                 1000); /* of a worker that is no more: still part of the total */
    assert_true(value(stats, 1, "gulps") == 11);
    assert_true(value(stats, 2, "gulps") == 12);
    assert_true(value(stats, -1, "gulps") == 1033);
    assert_true(value(stats, 1, "state") == 3);
    assert_true(value(stats, -1, "state") == 0);
    assert_true(fabs(value(stats, 0, "average_gulp_size") - 10) < 1e-9);
    assert_true(fabs(value(stats, -1, "average_gulp_size") - 600.0 / 1033) < 1e-9);
    assert_true(value(stats, -1, "average_steal_size") == 0); /* nothing by nothing */
    assert_true(odeon_stats_value(stats, ODEON_WORKERS_MAX + 1, STAT_gulps) == 0);
    /* by blocks: who comes behind today's workers has its own number */
    assert_int_equal(odeon_stats_n_blocks(stats), ODEON_WORKERS_MAX + 1);
    assert_int_equal(odeon_stats_n_blocks(NULL), 0);
    atomic_store(&worker_of(file, 2)->value[STAT_gulps], 7);
    assert_true(odeon_stats_block_value(stats, 2, STAT_gulps) == 7);
    assert_true(odeon_stats_block_value(stats, STATS_CONTROL_BLOCK, STAT_gulps) == 12);
    assert_true(odeon_stats_block_value(stats, 100, STAT_gulps) == 1000);
    assert_true(odeon_stats_block_value(stats, 1, index_of(stats, "state")) == 3);
    assert_true(odeon_stats_block_value(stats, 0, STAT_N) == 0);
    assert_true(odeon_stats_block_value(stats, ODEON_WORKERS_MAX + 1, STAT_gulps) == 0);
    assert_true(odeon_stats_block_value(NULL, 0, STAT_gulps) == 0);
    assert_int_equal(odeon_stats_cpu(stats, 1), 1);
    assert_int_equal(odeon_stats_cpu(stats, 2), -1);
    assert_int_equal(odeon_stats_cpu(stats, -1), -1);
    assert_int_equal(odeon_stats_cpu(stats, ODEON_WORKERS_MAX + 1), -1);
    odeon_stats_close(stats);
}

/* stats_layout.S3: a service with other counters in another order. */
static void test_counters_go_by_their_names(void **state)
{
    struct file *file = *state;
    struct odeon_stats *stats;

    memset(file->header->names, 0, sizeof(file->header->names));
    strcpy(file->header->names[0], "gulped_messages");
    strcpy(file->header->names[1], "counted_later");
    strcpy(file->header->names[2], "gulps");
    memset(file->header->names[3], 'x', STATS_STAT_NAME); /* without its NUL */
    file->header->n_stats = 4;
    atomic_store(&worker_of(file, 0)->value[0], 30);
    atomic_store(&worker_of(file, 0)->value[1], 7);
    atomic_store(&worker_of(file, 0)->value[2], 3);
    stats = open_stats(file);
    assert_int_equal(odeon_stats_n(stats), 5); /* average_steal_size lacks its counters */
    assert_true(value(stats, 0, "gulps") == 3);
    assert_true(value(stats, 0, "counted_later") == 7);
    assert_string_equal(odeon_stats_doc(stats, 1), "");
    assert_int_equal(odeon_stats_kind(stats, 1), ODEON_STATS_COUNTER);
    assert_int_equal(strlen(odeon_stats_name(stats, 3)), STATS_STAT_NAME - 1);
    assert_true(value(stats, 0, "average_gulp_size") == 10);
    odeon_stats_close(stats);
}

static void test_service(void **state)
{
    struct file *file = *state;
    struct odeon_stats *stats = open_stats(file);
    struct odeon_stats_service service = { .struct_size = sizeof(service) },
                               small = { .struct_size = 16 };
    struct {
        struct odeon_stats_service service;
        uint64_t later;
    } larger = { .service.struct_size = sizeof(larger), .later = 77 };

    atomic_store(&file->header->service_state, SERVICE_EXECUTOR_DOWN);
    atomic_store(&file->header->n_clients, 3);
    atomic_store(&worker_of(file, 0)->value[STAT_actors_created], 12345678905);
    atomic_store(&worker_of(file, 1)->value[STAT_actors_ended], 4);
    atomic_store(&file->header->recovery_total.boots, 4);
    atomic_store(&file->header->recovery_total.held_locks, 5);
    atomic_store(&file->header->recovery_last.duration_ns, 6);
    for (unsigned step = 0; step < START_STEPS; step++)
        atomic_store(&file->header->start_ns[step], 100 + step);
    /* without its NUL */
    memset(file->header->stealing_name, 'n', sizeof(file->header->stealing_name));
    assert_int_equal(odeon_stats_service(stats, &service), 0);
    assert_int_equal(service.workers, 2);
    assert_int_equal(service.clients, 3);
    assert_int_equal(service.actors, 12345678901);
    assert_int_equal(service.boots, 4);
    assert_int_equal(service.recovered_held_locks, 5);
    assert_int_equal(service.recovery_last_ns, 6);
    assert_int_equal(service.start_noticed_ns, 100);
    assert_int_equal(service.start_forked_ns, 101);
    assert_int_equal(service.start_entered_ns, 102);
    assert_int_equal(service.start_placed_ns, 103);
    assert_int_equal(service.start_mapped_ns, 104);
    assert_int_equal(service.start_verified_ns, 105);
    assert_int_equal(service.start_recovered_ns, 106);
    assert_int_equal(service.start_loaded_ns, 107);
    assert_string_equal(service.state_name, "executor-down");
    assert_int_equal(strlen(service.stealing), 31);
    atomic_store(&file->header->service_state, 99);
    atomic_store(&file->header->n_workers, UINT32_MAX);
    assert_int_equal(odeon_stats_service(stats, &service), 0);
    assert_string_equal(service.state_name, "unknown");
    assert_int_equal(service.workers, ODEON_WORKERS_MAX);
    assert_int_equal(odeon_stats_service(stats, &small), -EINVAL);
    assert_int_equal(odeon_stats_service(stats, &larger.service), 0);
    assert_int_equal(larger.service.struct_size, sizeof(service));
    assert_int_equal(larger.later, 77);
    odeon_stats_close(stats);
}

static void test_where_it_is_found(void **state)
{
    struct file *file = *state;
    struct odeon_stats *stats = NULL;
    char socket[160];

    setenv("ODEON_STATS", file->path, 1);
    assert_int_equal(odeon_stats_open(NULL, &stats), 0);
    stats = odeon_stats_close(stats);
    unsetenv("ODEON_STATS");
    snprintf(socket, sizeof(socket), "%s/control.sock", file->directory);
    setenv("ODEON_SOCKET", socket, 1);
    assert_int_equal(odeon_stats_open(NULL, &stats), 0);
    stats = odeon_stats_close(stats);
    unsetenv("ODEON_SOCKET");
    assert_int_equal(odeon_stats_open("/nonexistent/odeon/stats", &stats), -ENOENT);
    assert_null(stats);
    assert_int_equal(odeon_stats_open(file->directory, &stats), -EPROTO);
    assert_int_equal(odeon_stats_open("/dev/null", &stats), -EPROTO);
}

/* Is cancelled already: opening would be where that takes effect, and leave a descriptor. */
static void *open_cancelled(void *argument)
{
    struct odeon_stats *stats = NULL;
    int state, r;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    r = odeon_stats_open(argument, &stats);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    odeon_stats_close(stats);
    return r == 0 && state == PTHREAD_CANCEL_ENABLE ? argument : NULL;
}

static void test_opening_is_no_place_to_end(void **state)
{
    struct file *file = *state;
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, open_cancelled, file->path), 0);
    pthread_join(thread, &result);
    assert_ptr_equal(result, file->path);
}

static void expect_refused(struct file *file, const char *why)
{
    struct odeon_stats *stats = NULL;

    assert_int_equal(odeon_stats_open(file->path, &stats), -EPROTO);
    assert_null(stats);
    if (!strstr(odeon_error_text(), why))
        fail_msg("expected \"%s\" in \"%s\"", why, odeon_error_text());
    fill_header(file->header);
    stats = open_stats(file);
    odeon_stats_close(stats);
}

static void test_impossible_headers(void **state)
{
    struct file *file = *state;

    atomic_store(&file->header->magic, 1);
    expect_refused(file, "not a statistics segment");
    file->header->version = STATS_VERSION + 1;
    expect_refused(file, "version");
    file->header->n_stats = STATS_SLOTS + 1;
    expect_refused(file, "contradicts");
    file->header->header_size = 8;
    expect_refused(file, "contradicts");
    file->header->worker_size = 64;
    expect_refused(file, "contradicts");
    file->header->worker_size = UINT32_MAX & ~127u;
    expect_refused(file, "contradicts");
    file->header->worker_offset = 8;
    expect_refused(file, "contradicts");
    file->header->worker_offset = UINT32_MAX & ~127u;
    expect_refused(file, "contradicts");
    file->header->workers_max = UINT32_MAX;
    expect_refused(file, "contradicts");
    file->header->workers_max = ODEON_WORKERS_MAX + 1;
    expect_refused(file, "contradicts");
    assert_int_equal(truncate(file->path, 100), 0);
    assert_int_equal(odeon_stats_open(file->path, &(struct odeon_stats *){ NULL }), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_docs_and_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values_sums_and_derived_figures, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counters_go_by_their_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_service, setup, teardown),
        cmocka_unit_test_setup_teardown(test_opening_is_no_place_to_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_where_it_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impossible_headers, setup, teardown),
    };

    return cmocka_run_group_tests_name("client stats", tests, NULL, NULL);
}
