/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a segment: what is taken, what is refused with which text, and that a refusal leaves no
 * trace in the file. */
#include <sys/stat.h>

#include "engine_fixture.h"
#include "proto/port_layout.h"

static struct engine_config small_config(void)
{
    struct engine_config config = engine_fixture_config(2, 2);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = 65536;
    config.outbox_bytes = 1 << 18;
    config.backlog_bytes = 1 << 16;
    config.dlq_bytes = 1 << 16;
    return config;
}

/* A file's size and the sum of its words. */
struct print {
    uint64_t size, sum;
};

static struct print print_of(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    struct print print = { .size = (uint64_t)st.st_size, .sum = 14695981039346656037u };
    static uint64_t words[8192];
    /* the rest is zeros, and most of it */
    for (off_t at = 0, end; (at = lseek(fd, at, SEEK_DATA)) >= 0; at = end) {
        end = lseek(fd, at, SEEK_HOLE);
        if (end - at > (off_t)sizeof(words))
            end = at + (off_t)sizeof(words);
        assert_int_equal(pread(fd, words, (size_t)(end - at), at), end - at);
        for (off_t i = 0; i < (end - at) / 8; i++)
            if (words[i])
                print.sum = (print.sum ^ words[i] ^ (uint64_t)(at / 8 + i)) * 1099511628211u;
    }
    return print;
}

static void assert_refused(const struct engine_config *config, int fd, int stats_fd,
                           const char *part_of_text)
{
    struct engine *engine = NULL;
    const char *text = NULL;
    struct print before = print_of(fd);
    assert_int_equal(engine_open(config, fd, stats_fd, &engine, &text), -EPROTO);
    assert_null(engine);
    assert_non_null(text);
    assert_true(strlen(text) > 10);
    if (!strstr(text, part_of_text))
        fail_msg("'%s' does not say '%s'", text, part_of_text);
    struct print after = print_of(fd);
    assert_int_equal(before.size, after.size);
    assert_int_equal(before.sum, after.sum);
}

static void test_other_sizes(void **state)
{
    (void)state;
    struct engine_fixture f;
    engine_fixture_open(&f, small_config());
    f.engine = engine_close(f.engine);
    struct engine_config other;
#define OTHER(field, value)                                                                        \
    do {                                                                                           \
        other = small_config();                                                                    \
        other.field = (value);                                                                     \
        assert_refused(&other, f.segment_fd, f.stats_fd,                                           \
                       engine_segment_size(&other) > engine_segment_size(&f.config) ? ""           \
                                                                                    : "sizes");    \
    } while (0)
    OTHER(n_workers, 1);
    OTHER(n_workers, 3);
    OTHER(queues_per_worker, 1);
    OTHER(queues_per_worker, 3);
    OTHER(workers_max, 3);
    OTHER(detached_max, 1);
    OTHER(actors_max, 1024);
    OTHER(limit_bytes, 4096);
    OTHER(limit_bytes, 1 << 20);
    OTHER(outbox_bytes, 1 << 19);
    OTHER(backlog_bytes, 1 << 17);
    OTHER(dlq_bytes, 1 << 17);
#undef OTHER
    struct engine_recovery report;
    engine_fixture_reopen(&f, &report); /* it is as good as before */
    assert_int_equal(report.boots, 2);
    engine_fixture_close(&f);
}

/* An executor that is killed leaves owner words that say "running". */
static void test_owner_words_mean_nothing(void **state)
{
    (void)state;
    struct engine_fixture f;
    engine_fixture_open(&f, small_config());
    struct segment_queue *queues = f.engine->segment.queues;
    uint32_t n = f.engine->segment.n_mailboxes;
    for (uint32_t id = 0; id < n; id++) {
        assert_ptr_equal(f.engine->sources[id].own, &queues[id].own);
        assert_int_equal((uintptr_t)&queues[id].own / 64, (uintptr_t)&queues[id].lock / 64);
        store_relaxed(&queues[id].own, own_running(id % 3));
    }
    f.engine = engine_close(f.engine);
    struct engine_recovery report;
    engine_fixture_reopen(&f, &report);
    for (uint32_t id = 0; id < n; id++)
        assert_int_equal(load_relaxed(f.engine->sources[id].own),
                         own_idle(load_relaxed(&f.engine->sources[id].home)));
    engine_fixture_close(&f);
}

static void test_other_layout(void **state)
{
    (void)state;
    struct engine_fixture f;
    engine_fixture_open(&f, small_config());
    struct segment_header *header = f.engine->segment.header;
    header->layout_hash++;
    struct engine_config config = f.config;
    assert_refused(&config, f.segment_fd, f.stats_fd, "layout");
    header->layout_hash--;
    header->version++;
    assert_refused(&config, f.segment_fd, f.stats_fd, "layout");
    header->version--;
    store_relaxed(&header->magic, UINT64_C(0x1122334455667788));
    assert_refused(&config, f.segment_fd, f.stats_fd, "not an engine segment");
    store_relaxed(&header->magic, SEGMENT_MAGIC);
    engine_fixture_close(&f);
}

static void test_something_else(void **state)
{
    (void)state;
    struct engine_config config = small_config();
    int stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    int fd = memfd_make_sealed("text", engine_segment_size(&config));
    static const char text[] = "something that somebody needs\n";
    assert_int_equal(pwrite(fd, text, sizeof(text), 0), sizeof(text));
    assert_refused(&config, fd, stats_fd, "not an engine segment");
    close(fd);
    fd = memfd_make_sealed("small", 8192); /* and it cannot grow */
    assert_refused(&config, fd, stats_fd, "smaller");
    close(fd);
    close(stats_fd);
}

/* A file that could grow is no less somebody else's. */
static void test_growing_is_for_empty_files(void **state)
{
    (void)state;
    struct engine_config config = small_config();
    int stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    int fd = memfd_create("text", MFD_CLOEXEC);
    static const char text[] = "something that somebody needs\n";
    assert_int_equal(pwrite(fd, text, sizeof(text), 0), sizeof(text));
    assert_refused(&config, fd, stats_fd, "not an engine segment");
    close(fd);
    fd = memfd_create("empty", MFD_CLOEXEC);
    struct engine *engine;
    const char *why;
    assert_int_equal(engine_open(&config, fd, stats_fd, &engine, &why), 0);
    assert_int_equal(print_of(fd).size, engine_segment_size(&config));
    struct engine_config larger = config;
    larger.actors_max *= 2;
    engine = engine_close(engine);
    assert_refused(&larger, fd, stats_fd, "sizes");
    close(fd);
    close(stats_fd);
}

/* Killed before the magic: everything else may be there, and is made again. */
static void test_half_formatted(void **state)
{
    (void)state;
    struct engine_fixture f;
    engine_fixture_open(&f, small_config());
    store_relaxed(&f.engine->segment.header->magic, 0);
    store_relaxed(&f.engine->segment.header->boots, 0); /* nobody has used what is half formatted */
    f.engine->segment.header->n_queues = 77;
    f.engine = engine_close(f.engine);
    struct engine_recovery report;
    engine_fixture_reopen(&f, &report);
    assert_int_equal(report.boots, 1);
    assert_int_equal(f.engine->segment.header->n_queues, f.engine->segment.n_queues);
    /* ordinary, pinned, follow, aside */
    assert_int_equal(f.engine->segment.n_mailboxes, 2 * 2 + 2 + ODEON_FOLLOW_QUEUES + 2);
    engine_fixture_close(&f);
}

static void test_bad_configurations(void **state)
{
    (void)state;
    struct engine_config good = small_config();
    int fd = memfd_make_sealed("segment", engine_segment_size(&good)),
        stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    struct engine *engine = NULL;
    const char *text;
#define BAD(field, value)                                                                          \
    do {                                                                                           \
        struct engine_config bad = good;                                                           \
        bad.field = (value);                                                                       \
        text = "";                                                                                 \
        assert_int_equal(engine_open(&bad, fd, stats_fd, &engine, &text), -EINVAL);                \
        assert_true(strlen(text) > 10);                                                            \
    } while (0)
    BAD(n_workers, 0);
    BAD(n_workers, ODEON_WORKERS_MAX + 1);
    BAD(workers_max, 1);
    BAD(workers_max, ODEON_WORKERS_MAX + 1);
    BAD(detached_max, ODEON_WORKERS_MAX - 1);
    BAD(queues_per_worker, 0);
    BAD(queues_per_worker, ODEON_QUEUES_MAX);
    BAD(actors_max, ODEON_PORTS_MAX);
    BAD(actors_max, ODEON_ACTORS_MAX + 1);
    BAD(page_bytes, 2048);
    BAD(page_bytes, 12288);
    BAD(page_bytes, 131072);
    BAD(outbox_bytes, 4096);
    BAD(limit_bytes, 100);
    BAD(backlog_bytes, 100);
    BAD(dlq_bytes, 100);
    BAD(outbox_bytes, COMMIT_OUT_MAX + 8); /* what a commit record has no room for */
    BAD(limit_bytes, COMMIT_WINDOW_MAX - good.outbox_bytes);
    BAD(limit_bytes, UINT64_MAX);
    BAD(backlog_bytes, COMMIT_WINDOW_MAX);
    BAD(dlq_bytes, COMMIT_WINDOW_MAX);
    good.workers_max = ODEON_WORKERS_MAX;
    BAD(outbox_bytes, COMMIT_WINDOW_MAX / ODEON_WORKERS_MAX);
#undef BAD
    assert_int_equal(print_of(fd).sum, 14695981039346656037u); /* all zero, as it was */
    close(fd);
    close(stats_fd);
}

/* Windows, tables and outboxes lie apart, inside of the file. */
static void test_nothing_overlaps(void **state)
{
    (void)state;
    struct engine_fixture f;
    engine_fixture_open(&f, small_config());
    const struct segment *s = &f.engine->segment;
    struct {
        const uint8_t *at;
        uint64_t bytes;
    } part[1024];
    unsigned n = 0;
    for (uint32_t queue = 0; queue <= s->dead_letters; queue++)
        for (unsigned buffer = 0; buffer < 2; buffer++) {
            part[n].at = segment_window(s, queue, buffer);
            part[n++].bytes = segment_window_bytes(s, queue);
        }
    for (uint32_t id = 0; id < s->n_ids; id++) {
        part[n].at = segment_outbox(s, id);
        part[n++].bytes = s->header->outbox_bytes;
    }
#define TABLE(pointer, count)                                                                      \
    (part[n].at = (const uint8_t *)(pointer), part[n++].bytes = (count) * sizeof(*(pointer)))
    TABLE(s->header, 1);
    TABLE(s->workers, s->n_ids);
    TABLE(s->queues, s->dead_letters + 1);
    TABLE(s->ports, ODEON_PORTS_MAX);
    TABLE(s->message_types, ODEON_MESSAGE_TYPES_MAX);
    TABLE(s->actor_types, ODEON_ACTOR_TYPES_MAX);
    TABLE(s->phases, ODEON_PHASES_MAX);
    TABLE(s->names, ODEON_NAMES_MAX);
    TABLE(s->actors, s->header->actors_max);
    TABLE(s->args, (uint64_t)s->header->actors_max * ODEON_SPAWN_ARGS_MAX);
#undef TABLE
    for (unsigned i = 0; i < n; i++) {
        assert_true(part[i].at >= s->base && part[i].at + part[i].bytes <= s->base + s->size);
        for (unsigned k = 0; k < i; k++)
            assert_true(part[i].at + part[i].bytes <= part[k].at ||
                        part[k].at + part[k].bytes <= part[i].at);
    }
    assert_true(s->header->window_bytes >=
                s->header->limit_bytes + s->n_ids * s->header->outbox_bytes);
    engine_fixture_close(&f);
}

/* What is mapped, bound to a memory node or given back by itself begins with a page of the
 * machine's, whichever that has. */
static void test_pages_of_each_size(void **state)
{
    (void)state;
    for (uint32_t page = SEGMENT_PAGE_LEAST; page <= SEGMENT_PAGE_MOST; page *= 4) {
        struct engine_config config = small_config();
        struct segment_header h;
        config.page_bytes = page;
        config.outbox_bytes += 8;
        config.backlog_bytes += 8;
        config.dlq_bytes += 8;
        config.durable_bytes = 24;
        segment_layout(&config, &h);
        assert_int_equal(segment_layout_page(h.layout_hash), page);
        assert_int_equal(h.layout_hash == SEGMENT_LAYOUT_HASH, page == 4096);
        const uint64_t whole[] = {
            h.workers_offset,     h.queues_offset,   h.ports_offset,   h.message_types_offset,
            h.actor_types_offset, h.names_offset,    h.phases_offset,  h.actors_offset,
            h.args_offset,        h.undos_offset,    h.states_offset,  h.outboxes_offset,
            h.dlq_offset,         h.backlogs_offset, h.windows_offset, h.window_bytes,
            h.outbox_bytes,       h.backlog_bytes,   h.dlq_bytes,      h.size,
        };
        for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
            assert_int_equal(whole[i] % page, 0);
        assert_int_equal(port_ring_offset(page) % page, 0);
        assert_true(port_ring_offset(page) >= sizeof(struct port_client) &&
                    port_ring_offset(page) >= sizeof(struct port_executor));
        assert_int_equal(ODEON_RING_MIN % page, 0);
    }
    assert_int_equal(port_ring_offset(4096), 4096);
    assert_int_equal(segment_layout_page(SEGMENT_LAYOUT_HASH + 1), 0);
}

/* A segment says its page, and a machine with another one does not begin to read it. */
static void test_other_pages(void **state)
{
    static const struct {
        uint32_t page;
        const char *says;
    } made[] = { { 4096, "pages of 4 KiB" },
                 { 16384, "pages of 16 KiB" },
                 { 65536, "pages of 64 KiB" } };
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct engine_fixture f;
        struct engine_config config = small_config();
        config.page_bytes = made[i].page;
        engine_fixture_open(&f, config);
        assert_int_equal(f.engine->segment.page_bytes, made[i].page);
        f.engine = engine_close(f.engine);
        for (unsigned other = 0; other < 3; other++) {
            config.page_bytes = made[other].page;
            if (other != i)
                assert_refused(&config, f.segment_fd, f.stats_fd, made[i].says);
        }
        struct engine_recovery report;
        engine_fixture_reopen(&f, &report);
        assert_int_equal(report.boots, 2);
        engine_fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owner_words_mean_nothing),
        cmocka_unit_test(test_other_sizes),
        cmocka_unit_test(test_other_layout),
        cmocka_unit_test(test_something_else),
        cmocka_unit_test(test_growing_is_for_empty_files),
        cmocka_unit_test(test_half_formatted),
        cmocka_unit_test(test_bad_configurations),
        cmocka_unit_test(test_nothing_overlaps),
        cmocka_unit_test(test_pages_of_each_size),
        cmocka_unit_test(test_other_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
