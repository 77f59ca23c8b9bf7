/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's settings: ranges, refusals and their texts, all or nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/memfd.h"
#include "daemon/executor/settings_change.h"
#include "daemon/executor/settings_sizes.h"
#include "proto/stats_layout.h"

static void assert_text_has(const struct explain *explain, const char *part)
{
    if (!strstr(explain->text, part))
        fail_msg("'%s' is missing in: %s", part, explain->text);
}

static void refuse(const char *key, const char *value, int error, const char *part)
{
    struct settings settings, before;
    struct explain explain;

    settings_init(&settings, 4);
    before = settings;
    explain_init(&explain);
    assert_int_equal(settings_parse(&settings, key, value, &explain), error);
    assert_memory_equal(&settings, &before, sizeof(settings));
    assert_text_has(&explain, key);
    assert_text_has(&explain, part);
}

static void accept(struct settings *settings, const char *key, const char *value)
{
    struct explain explain;

    explain_init(&explain);
    if (settings_parse(settings, key, value, &explain) != 0)
        fail_msg("%s = %s: %s", key, value, explain.text);
}

static void test_defaults(void **state)
{
    struct settings settings;
    struct explain explain;

    (void)state;
    settings_init(&settings, 6);
    explain_init(&explain);
    assert_int_equal(settings.workers, 6);
    assert_int_equal(settings.queues_per_worker, 4);
    assert_int_equal(settings.actors, 1048576);
    assert_int_equal(settings.workers_max, 6);
    assert_int_equal(settings.attempts, 3);
    assert_int_equal(settings.suspect_deaths, 10);
    assert_int_equal(settings.detached, 8);
    assert_int_equal(settings.memory, MEMORY_LOCAL);
    assert_false(settings.smt);
    assert_true(settings.packing);
    assert_int_equal(settings.spin_us, 50);
    assert_string_equal(settings.affinity, "auto");
    assert_int_equal(settings_check(&settings, &explain), 0);
    settings_init(&settings, 0);
    assert_int_equal(settings.workers, 1);
    settings_init(&settings, 100000);
    assert_int_equal(settings.workers, ODEON_WORKERS_MAX);
}

static void test_numbers(void **state)
{
    struct settings settings;

    (void)state;
    settings_init(&settings, 2);
    accept(&settings, "workers", "1152");
    assert_int_equal(settings.workers, 1152);
    accept(&settings, "spin-us", "0");
    assert_int_equal(settings.spin_us, 0);
    accept(&settings, "limit-bytes", "16M");
    assert_int_equal(settings.limit_bytes, 16 << 20);
    accept(&settings, "outbox-bytes", "144K");
    assert_int_equal(settings.outbox_bytes, 144 << 10);
    accept(&settings, "limit-bytes", "8G");
    assert_int_equal(settings.limit_bytes, UINT64_C(8) << 30);

    refuse("workers", "0", -ERANGE, "from 1 to 1152");
    refuse("actors", "16777217", -ERANGE, "to 16777216"); /* a slot has 24 bits */
    refuse("workers", "1153", -ERANGE, "1153");
    refuse("workers-max", "0", -ERANGE, "from 1 to 1152");
    refuse("workers-max", "1153", -ERANGE, "1153");
    refuse("detached", "65", -ERANGE, "from 0 to 64");
    refuse("detached", "some", -EINVAL, "not a number");
    refuse("queues-per-worker", "0", -ERANGE, "from 1");
    refuse("workers", "", -EINVAL, "not a number");
    refuse("workers", "-1", -EINVAL, "not a number");
    refuse("workers", " 1", -EINVAL, "not a number");
    refuse("workers", "1x", -EINVAL, "'1x'");
    refuse("workers", "2K", -EINVAL, "'2K'");
    refuse("limit-bytes", "1T", -EINVAL, "suffix");
    refuse("limit-bytes", "1KK", -EINVAL, "suffix");
    refuse("limit-bytes", "99999999999999999999999", -ERANGE, "out of range");
    refuse("limit-bytes", "18446744073709551615G", -ERANGE, "out of range");
    refuse("attempts", "256", -ERANGE, "from 1 to 255");
    refuse("suspect-deaths", "256", -ERANGE, "from 0 to 255");
}

static void test_names(void **state)
{
    struct settings settings;
    struct explain explain;
    char list[SETTINGS_AFFINITY_MAX + 8];

    (void)state;
    settings_init(&settings, 2);
    accept(&settings, "stealing", "none");
    assert_int_equal(settings.stealing, STEAL_NONE);
    accept(&settings, "affinity", "none");
    accept(&settings, "affinity", "3,1,4-6");
    assert_string_equal(settings.affinity, "3,1,4-6");

    accept(&settings, "memory", "interleave");
    assert_int_equal(settings.memory, MEMORY_INTERLEAVE);
    accept(&settings, "memory", "first-touch");
    assert_int_equal(settings.memory, MEMORY_FIRST_TOUCH);
    accept(&settings, "smt", "yes");
    assert_true(settings.smt);
    accept(&settings, "smt", "no");
    assert_false(settings.smt);

    refuse("memory", "far", -EINVAL, "first-touch");
    refuse("smt", "true", -EINVAL, "neither yes nor no");
    refuse("stealing", "greedy", -EINVAL, "random");
    refuse("affinity", "", -EINVAL, "list");
    refuse("affinity", "1,,2", -EINVAL, "list");
    refuse("affinity", "1,1", -EINVAL, "different");
    refuse("affinity", "4-2", -EINVAL, "list");
    refuse("affinity", "1,2,", -EINVAL, "list");
    /* what hwloc's reader of lists takes: docs/why/2026-11-22-by-hand.md */
    refuse("affinity", "2-", -EINVAL, "list");
    refuse("affinity", " 1", -EINVAL, "list");
    refuse("affinity", "1 2", -EINVAL, "list");
    refuse("affinity", "1;2", -EINVAL, "list");
    refuse("affinity", "0x3", -EINVAL, "list");
    refuse("affinity", "+1", -EINVAL, "list");
    refuse("affinity", "0-8000", -ERANGE, "at most");
    refuse("affinity", "99999999999", -ERANGE, "at most");
    memset(list, '1', sizeof(list) - 1);
    list[sizeof(list) - 1] = '\0';
    refuse("affinity", list, -ERANGE, "too long");
    refuse("colour", "red", -EINVAL, "unknown setting");
    /* one of odeond's, written wrongly outside a section, comes here */
    refuse("drain-timout-ms", "3", -EINVAL, ": the executor's are workers, workers-max,");
    refuse("drain-timout-ms", "3", -EINVAL, "; those of odeond are in odeond.conf(5)");
    explain_init(&explain);
    assert_int_equal(settings_parse(&settings, "colour", "red", &explain), -EINVAL);
    assert_text_has(&explain, "throughput"); /* the known ones are listed */
}

/* four cores of two threads; as many as a service does not use all of */
static const struct settings_machine small = { .cores = 4,
                                               .threads = 8,
                                               .address_bytes = UINT64_C(1) << 46 },
                                     huge = { .cores = 2048,
                                              .threads = 4096,
                                              .address_bytes = UINT64_C(1) << 46 };

static void test_check_queues(void **state)
{
    struct settings settings;
    struct explain explain;

    (void)state;
    settings_init(&settings, 128);
    explain_init(&explain);
    accept(&settings, "outbox-bytes", "1M");
    accept(&settings, "queues-per-worker", "64");
    assert_int_equal(settings_check(&settings, &explain), 0);
    accept(&settings, "queues-per-worker", "65");
    assert_int_equal(settings_check(&settings, &explain), -ERANGE);
    assert_text_has(&explain, "8320");
    /* Room counts, not only what runs. */
    accept(&settings, "workers", "1");
    assert_int_equal(settings_check(&settings, &explain), -ERANGE);
    accept(&settings, "workers-max", "126");
    assert_int_equal(settings_check(&settings, &explain), 0);
    accept(&settings, "workers", "127");
    assert_int_equal(settings_check(&settings, &explain), -ERANGE);
    assert_text_has(&explain, "workers-max = 126");
}

static void read_start(struct settings *settings, const struct setting_pair *pairs, size_t n_pairs,
                       unsigned workers, unsigned workers_max)
{
    struct explain explain;

    explain_init(&explain);
    if (settings_read_start(settings, pairs, n_pairs, &small, &explain) != 0)
        fail_msg("%s", explain.text);
    assert_int_equal(settings->workers, workers);
    assert_int_equal(settings->workers_max, workers_max);
}

/* What is not said follows the machine: four cores of two threads. */
static void test_read_start(void **state)
{
    const struct setting_pair few[] = { { "workers", "2" } }, many[] = { { "workers", "6" } },
                              smt[] = { { "smt", "yes" } }, room[] = { { "workers-max", "20" } },
                              few_smt[] = { { "workers", "2" }, { "smt", "yes" } },
                              all[] = { { "workers", "1152" } }, most[] = { { "detached", "40" } },
                              both[] = { { "workers-max", "1144" }, { "detached", "9" } },
                              tight[] = { { "workers-max", "3" } },
                              wrong[] = { { "smt", "perhaps" } };
    struct settings settings;
    struct explain explain;

    (void)state;
    read_start(&settings, NULL, 0, 4, 4);
    read_start(&settings, few, 1, 2, 4);
    read_start(&settings, many, 1, 6, 6);
    read_start(&settings, smt, 1, 8, 8);
    read_start(&settings, room, 1, 4, 20);
    read_start(&settings, few_smt, 2, 2, 8);
    assert_int_equal(settings.detached, 8);
    /* Threads in all are bounded: what was said goes before what was not, workers before the
     * others. */
    read_start(&settings, all, 1, 1152, 1152);
    assert_int_equal(settings.detached, 0);
    explain_init(&explain);
    assert_int_equal(settings_read_start(&settings, most, 1, &huge, &explain), 0);
    assert_int_equal(settings.workers, 1112);
    assert_int_equal(settings.detached, 40);
    assert_int_equal(settings_read_start(&settings, both, 2, &small, &explain), -ERANGE);
    assert_text_has(&explain, "make 1153 threads");
    explain_init(&explain);
    assert_int_equal(settings_read_start(&settings, tight, 1, &small, &explain), -ERANGE);
    assert_text_has(&explain, "4 are more than workers-max = 3");
    assert_int_equal(settings_read_start(&settings, wrong, 1, &small, &explain), -EINVAL);
}

/* Any machine starts with what nobody has set, and what somebody has set is not touched. */
static void test_sizes_fit_the_machine(void **state)
{
    static const unsigned cores[] = { 1, 2, 16, 64, 128, 256, 1024, 4096 };

    (void)state;
    for (unsigned bits = 38; bits <= 46; bits += 8)
        for (unsigned i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
            const struct settings_machine machine = { .cores = cores[i],
                                                      .threads = 2 * cores[i],
                                                      .address_bytes = UINT64_C(1) << bits };
            struct settings settings, usual;
            struct engine_config config;
            struct explain explain;

            if (bits == 38 && cores[i] > 128)
                continue; /* they do not come so large */
            explain_init(&explain);
            settings_init(&usual, cores[i]);
            if (settings_read_start(&settings, NULL, 0, &machine, &explain) != 0)
                fail_msg("%u cores, %u bits: %s", cores[i], bits, explain.text);
            settings_get_config(&settings, &config);
            assert_true(engine_segment_size(&config) <= machine.address_bytes);
            assert_int_equal(settings.workers, usual.workers);
            if (bits == 46 && cores[i] <= 128) {
                assert_int_equal(settings.outbox_bytes, usual.outbox_bytes);
                assert_int_equal(settings.queues_per_worker, usual.queues_per_worker);
            }
        }
}

static void test_given_sizes_do_not_shrink(void **state)
{
    const struct setting_pair outbox[] = { { "outbox-bytes", "64M" } },
                              both[] = { { "workers", "128" }, { "queues-per-worker", "64" } };
    const struct settings_machine machine = { .cores = 512,
                                              .threads = 512,
                                              .address_bytes = UINT64_C(1) << 46 },
                                  fewer = { .cores = 128,
                                            .threads = 128,
                                            .address_bytes = UINT64_C(1) << 46 },
                                  narrow = { .cores = 2, .threads = 2, .address_bytes = 1 << 30 };
    struct settings settings;
    struct explain explain;

    (void)state;
    explain_init(&explain);
    assert_int_equal(settings_read_start(&settings, outbox, 1, &machine, &explain), -ERANGE);
    assert_text_has(&explain, "outbox-bytes = 67108864");
    assert_int_equal(settings_read_start(&settings, both, 2, &fewer, &explain), 0);
    assert_int_equal(settings.queues_per_worker, 64);
    assert_true(settings.outbox_bytes < 64 << 20);
    explain_init(&explain);
    assert_int_equal(settings_read_start(&settings, NULL, 0, &narrow, &explain), -ERANGE);
    assert_text_has(&explain, "this machine has room for 1024 MiB");
}

static int change(const struct settings *settings, const struct setting_pair *pairs, size_t n,
                  bool later, struct settings_change *ret, struct explain *explain)
{
    struct settings before = *settings;
    int r;

    explain_init(explain);
    r = settings_change(settings, pairs, n, later, ret, explain);
    /* what is in force is somebody else's to replace */
    assert_memory_equal(settings, &before, sizeof(before));
    return r;
}

static void test_change(void **state)
{
    const struct setting_pair good[] = { { "throughput", "77" },    { "stealing", "random" },
                                         { "steal-mode", "visit" }, { "workers", "3" },
                                         { "steal-sources", "4" },  { "spin-us", "0" },
                                         { "smt", "no" },           { "moderate-sleeps", "2" },
                                         { "moderate-us", "9" },    { "relaxed-us", "5" },
                                         { "packing", "no" } };
    const struct setting_pair moved[] = { { "affinity", "none" } },
                              threads[] = { { "smt", "yes" } };
    const struct setting_pair half[] = { { "throughput", "78" }, { "queues-per-worker", "3" } };
    const struct setting_pair wrong[] = { { "throughput", "79" }, { "stealing", "nobody" } };
    const struct setting_pair many[] = { { "workers", "5" } };
    struct settings settings;
    struct settings_change done;
    struct engine_config config;
    struct explain explain;

    (void)state;
    settings_init(&settings, 2);
    settings.workers_max = 4;
    assert_int_equal(change(&settings, good, 11, false, &done, &explain), 0);
    assert_false(done.replan);
    assert_int_equal(done.n_later, 0);
    settings_get_config(&done.settings, &config);
    assert_int_equal(config.throughput, 77);
    assert_int_equal(config.stealing, STEAL_RANDOM);
    assert_int_equal(config.mode, STEAL_VISIT);
    assert_int_equal(config.steal_sources, 4);
    assert_int_equal(config.n_workers, 3);
    assert_int_equal(config.spin_ns, 0);
    assert_int_equal(config.moderate_sleeps, 2);
    assert_int_equal(config.moderate_ns, 9000);
    assert_int_equal(config.relaxed_ns, 5000);
    assert_false(config.packing);

    assert_int_equal(change(&settings, moved, 1, false, &done, &explain), 0);
    assert_true(done.replan);
    assert_int_equal(change(&settings, threads, 1, false, &done, &explain), 0);
    assert_true(done.replan);

    assert_int_equal(change(&settings, half, 2, false, &done, &explain), -EBUSY);
    assert_text_has(&explain, "queues-per-worker");
    assert_text_has(&explain, "restart");
    assert_int_equal(change(&settings, wrong, 2, false, &done, &explain), -EINVAL);
    assert_text_has(&explain, "nobody");
    assert_int_equal(change(&settings, many, 1, false, &done, &explain), -ERANGE);
    assert_text_has(&explain, "workers-max = 4");
}

/* A change is kept for longer than the request whose strings the pairs are. */
static void test_change_outlives_its_pairs(void **state)
{
    char key[] = "actors", value[] = "600";
    const struct setting_pair pairs[] = { { key, value } };
    struct settings settings;
    struct settings_change done;
    struct explain explain;

    (void)state;
    settings_init(&settings, 2);
    assert_int_equal(change(&settings, pairs, 1, true, &done, &explain), 0);
    memset(key, 'x', sizeof(key) - 1);
    memset(value, 'x', sizeof(value) - 1);
    assert_int_equal(done.n_later, 1);
    assert_string_equal(done.later[0], "actors");
}

/* As a reload asks: what cannot change now is checked, listed and left. */
static void test_change_later(void **state)
{
    const struct setting_pair mixed[] = { { "throughput", "78" },
                                          { "queues-per-worker", "3" },
                                          { "actors", "600" } };
    const struct setting_pair same[] = { { "queues-per-worker", "4" } };
    const struct setting_pair bad[] = { { "throughput", "78" }, { "queues-per-worker", "0" } };
    const struct setting_pair impossible[] = { { "queues-per-worker", "8192" } };
    struct settings settings;
    struct settings_change done;
    struct explain explain;

    (void)state;
    settings_init(&settings, 2);
    assert_int_equal(change(&settings, mixed, 3, true, &done, &explain), 0);
    assert_int_equal(done.settings.throughput, 78);
    assert_int_equal(done.settings.queues_per_worker, 4);
    assert_int_equal(done.n_later, 2);
    assert_string_equal(done.later[0], "queues-per-worker");
    assert_string_equal(done.later[1], "actors");
    assert_int_equal(change(&settings, same, 1, true, &done, &explain), 0);
    assert_int_equal(done.n_later, 0);
    assert_int_equal(change(&settings, same, 1, false, &done, &explain), 0); /* it has that value */
    assert_int_equal(change(&settings, bad, 2, true, &done, &explain), -ERANGE);
    /* the next start would fail */
    assert_int_equal(change(&settings, impossible, 1, true, &done, &explain), -ERANGE);
}

/* Every live key refuses what its range does not hold. */
static void test_live_ranges(void **state)
{
    static const struct {
        const char *key, *value, *part;
        int error;
    } bad[] = {
        { "workers", "0", "from 1", -ERANGE },
        { "stealing", "greedy", "round-robin", -EINVAL },
        { "steal-mode", "both", "neither keep nor visit", -EINVAL },
        { "steal-sources", "0", "from 1", -ERANGE },
        { "throughput", "0", "from 1", -ERANGE },
        { "spin-us", "1000001", "1000000", -ERANGE },
        { "moderate-sleeps", "1000001", "1000000", -ERANGE },
        { "moderate-us", "0", "from 1", -ERANGE },
        { "relaxed-us", "3600000001", "3600000000", -ERANGE },
        { "affinity", "x", "neither auto", -EINVAL },
        { "smt", "maybe", "neither yes nor no", -EINVAL },
        { "packing", "maybe", "neither yes nor no", -EINVAL },
        { "stall-warn-ms", "86400001", "86400000", -ERANGE },
        { "stall-kill-ms", "86400001", "86400000", -ERANGE },
        { "quarantine-crashes", "1000001", "1000000", -ERANGE },
        { "quarantine-window-s", "0", "from 1", -ERANGE },
        { "quota-actors", "16777217", "16777216", -ERANGE },
        { "quota-posts", "many", "not a number", -EINVAL },
        { "waiting-bytes", "1K", "from 1048576", -ERANGE },
        { "quota-waiting-bytes", "1T", "is not a number of bytes", -EINVAL },
        { "quota-waiting-ms", "86400001", "86400000", -ERANGE },
    };
    struct settings settings;
    struct setting_view view;
    unsigned live = 0;

    (void)state;
    settings_init(&settings, 2);
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_true(settings_is_live(bad[i].key));
        refuse(bad[i].key, bad[i].value, bad[i].error, bad[i].part);
    }
    for (unsigned i = 0; settings_show(&settings, i, &view) == 0; i++) {
        live += view.live;
        assert_int_equal(settings_is_live(view.key), view.live);
    }
    assert_int_equal(live, sizeof(bad) / sizeof(bad[0]));
    assert_false(settings_is_live("colour"));
}

/* What is shown can be set again, and gives the same. */
static void test_show(void **state)
{
    struct settings settings, again;
    struct setting_view view;
    unsigned n = 0, live = 0;

    (void)state;
    settings_init(&settings, 3);
    accept(&settings, "affinity", "0,2");
    accept(&settings, "limit-bytes", "5M");
    accept(&settings, "stealing", "random");
    accept(&settings, "workers-max", "9");
    accept(&settings, "smt", "yes");
    accept(&settings, "memory", "interleave");
    accept(&settings, "detached", "3");
    accept(&settings, "steal-mode", "visit");
    accept(&settings, "packing", "no");
    settings_init(&again, 1);
    for (; settings_show(&settings, n, &view) == 0; n++) {
        live += view.live;
        assert_true(strlen(view.doc) > 10);
        accept(&again, view.key, view.value);
    }
    assert_int_equal(n, 36);
    assert_int_equal(live, 21);
    assert_memory_equal(&settings, &again, sizeof(settings));
    assert_int_equal(settings_show(&settings, n, &view), -ENOENT);
}

static void test_explain(void **state)
{
    struct explain explain;

    (void)state;
    explain_init(&explain);
    assert_int_equal(explain_set(&explain, -EINVAL, "a %s c", "\033[2J\n"), -EINVAL);
    assert_string_equal(explain.text, "a ?[2J? c");
    for (unsigned i = 0; i < EXPLAIN_MAX; i++)
        explain_add(&explain, "%s", "more");
    assert_int_equal(strlen(explain.text), EXPLAIN_MAX - 1);
    assert_string_equal(explain.text + EXPLAIN_MAX - 4, "...");
}

/* A segment that has been used keeps its sizes, whatever a build, a machine or a person wants by
 * then; a size that comes to the same pages is as it was asked for. */
static void test_sizes_of_a_segment_stay(void **state)
{
    const struct setting_pair first[] = { { "workers", "3" },
                                          { "actors", "1024" },
                                          { "outbox-bytes", "200001" },
                                          { "timers", "100" } },
                              then[] = { { "workers", "9" },
                                         { "workers-max", "9" },
                                         { "actors", "2048" },
                                         { "outbox-bytes", "200002" },
                                         { "backlog-bytes", "1M" } };
    int fd = memfd_create("segment", MFD_CLOEXEC),
        stats = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    struct settings_machine machine = small;
    struct settings made, next;
    struct engine_config config;
    struct engine *engine = NULL;
    struct explain explain;
    const char *text = NULL, *key;
    uint64_t is, was;
    unsigned n = 0;

    (void)state;
    explain_init(&explain);
    machine.segment_fd = &fd; /* which is empty */
    assert_int_equal(settings_read_start(&made, first, 4, &machine, &explain), 0);
    settings_get_config(&made, &config);
    config.answer_key[0] = config.answer_key[1] = 1;
    assert_int_equal(engine_open(&config, fd, stats, &engine, &text), 0);
    engine_close(engine);
    assert_int_equal(settings_read_start(&next, then, 5, &machine, &explain), 0);
    for (; settings_sizes_get(&next, n, &key, &is); n++) {
        assert_true(settings_sizes_get(&made, n, &key, &was));
        assert_true(settings_sizes_has(key));
        assert_false(settings_is_live(key));
        if (strcmp(key, "outbox-bytes") == 0)
            assert_int_equal(is, 200002);
        else if (is != was)
            fail_msg("%s was %llu, and is %llu", key, (unsigned long long)was,
                     (unsigned long long)is);
    }
    assert_int_equal(n, SETTINGS_SIZES);
    assert_int_equal(next.workers, 4); /* room for more was not laid out */
    settings_get_config(&next, &config);
    assert_int_equal(engine_open(&config, fd, stats, &engine, &text), 0);
    engine_close(engine);
    close(fd);
    close(stats);
}

/* What is sent while a queue is at its limit still has to fit behind it, and a commit record has to
 * count it. */
static void test_windows_that_are_too_large(void **state)
{
    struct settings settings;
    struct explain explain;

    (void)state;
    settings_init(&settings, 4);
    explain_init(&explain);
    accept(&settings, "limit-bytes", "8G");
    assert_int_equal(settings_check(&settings, &explain), 0);
    accept(&settings, "outbox-bytes", "1G");
    accept(&settings, "workers-max", "8");
    accept(&settings, "detached", "6");
    assert_int_equal(settings_check(&settings, &explain), 0); /* 15 ids */
    accept(&settings, "detached", "7");
    assert_int_equal(settings_check(&settings, &explain), -ERANGE);
    assert_text_has(&explain, "limit-bytes");
    assert_text_has(&explain, "outbox-bytes");
    refuse("outbox-bytes", "1025M", -ERANGE, "1073741824");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_check_queues),
        cmocka_unit_test(test_read_start),
        cmocka_unit_test(test_sizes_fit_the_machine),
        cmocka_unit_test(test_given_sizes_do_not_shrink),
        cmocka_unit_test(test_sizes_of_a_segment_stay),
        cmocka_unit_test(test_change),
        cmocka_unit_test(test_change_later),
        cmocka_unit_test(test_change_outlives_its_pairs),
        cmocka_unit_test(test_live_ranges),
        cmocka_unit_test(test_show),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_windows_that_are_too_large),
    };

    return cmocka_run_group_tests_name("executor settings", tests, NULL, NULL);
}
