/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery of a damaged segment: the image of one that a killed executor left behind
 * (tests/unit/segment_state.h) with words, or bytes, of the input written over it.
 *
 * It is refused with a reason, and has not been changed; or it is recovered, and what is run then
 * are messages of their type's size to actors that live; it comes to an end; and everything that
 * lists shows can be read.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/common/memfd.h"
#include "daemon/common/page.h"
#include "daemon/engine/engine_context.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/signal/urgent.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/segment_state.h"

enum { PAGE = 4096, PAGES_MAX = 512, DAMAGES_MAX = 16, RUNS_MAX = 2000 };

static struct engine_config config = {
    .n_workers = 1,
    .queues_per_worker = STATE_QUEUES,
    .actors_max = 2 * ODEON_PORTS_MAX,
    .limit_bytes = 8192,
    .outbox_bytes = 1 << 18,
    .backlog_bytes = 1 << 16,
    .dlq_bytes = 1 << 16,
    .durable_bytes = STATE_KEPT_BYTES,
    .throughput = 64,
    .attempts_max = 3,
};
static struct {
    off_t at;
    uint8_t bytes[PAGE];
} image[PAGES_MAX];
static size_t n_image;
static int segment_fd, stats_fd;
static struct engine_port_info port;
static uint8_t *port_memory;
static uint16_t number;
static struct engine *engine;

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    /* much hangs on memory that is mapped, where the leak detector does not look */
    return "detect_leaks=0";
}

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    struct engine_actor_view view;

    (void)message;
    FUZZ_EXPECT(ctx->message_type == number && ctx->message_size == 8 && self);
    FUZZ_EXPECT(engine_actor_get(engine, ctx->self, &view) == 0);
    (void)engine_ctx_reply(ctx, number, message, 8, NULL, 0);
    return ALLOCATION_NODELETE;
}

static int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)ctx;
    FUZZ_EXPECT(args && size <= ODEON_SPAWN_ARGS_MAX);
    return 0;
}

/* In a damaged segment their names may be taken by something else. */
static uint32_t register_types(void)
{
    const char *const names[] = { "kept", "plain" };
    uint32_t type = 0;

    if (engine_message_type_intern(engine, "number", 1, 8, false, "", &number) < 0)
        return 0;
    for (int i = 0; i < 2; i++) {
        const struct engine_behaviour behaviour = { number, 8, false, on_number };
        const struct engine_actor_type_info info = {
            .name = names[i],
            .plugin = "fuzz",
            .version = 1,
            .state_size = STATE_KEPT_BYTES,
            .init = on_init,
            .restart = i == 0 ? RESTART_KEEP : RESTART_INIT,
            .n_behaviours = 1,
            .behaviours = &behaviour,
        };
        uint32_t id = 0;
        if (engine_actor_type_register(engine, &info, &id) == 0 && i == 0)
            type = id;
    }
    return type;
}

static void keep_image(void)
{
    for (off_t at = 0; (at = lseek(segment_fd, at, SEEK_DATA)) >= 0; at += PAGE) {
        FUZZ_EXPECT(n_image < PAGES_MAX);
        image[n_image].at = at;
        FUZZ_EXPECT(pread(segment_fd, image[n_image++].bytes, PAGE, at) == PAGE);
    }
}

static void make_port(void)
{
    uint64_t bytes = port_ring_offset(page_bytes()) + ODEON_RING_MIN;

    port = (struct engine_port_info){
        .id = STATE_PORT,
        .generation = 1,
        .client = 1,
        .submission_bytes = ODEON_RING_MIN,
        .delivery_bytes = ODEON_RING_MIN,
        .client_fd = memfd_make_sealed("client", bytes),
        .executor_fd = memfd_make_sealed("executor", bytes),
        .doorbell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
        .pipe_fd = -1,
    };
    port_memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, port.client_fd, 0);
    FUZZ_EXPECT(port_memory != MAP_FAILED);
}

static void make(void)
{
    struct engine_recovery report;
    actor_ref actors[STATE_QUEUES] = { 0 };
    const char *text;

    segment_fd = memfd_create("segment", MFD_CLOEXEC);
    stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    FUZZ_EXPECT(engine_open(&config, segment_fd, stats_fd, &engine, &text) == 0 &&
                engine_recover(engine, &report) == 0);
    uint32_t type = register_types();
    for (int i = 0; i < STATE_QUEUES; i++) {
        struct engine_actor_view view;
        actor_ref ref;
        FUZZ_EXPECT(engine_actor_spawn(engine, type, i ? "named" : NULL, "args", 4, &ref) == 0);
        FUZZ_EXPECT(engine_actor_get(engine, ref, &view) == 0 && view.queue < STATE_QUEUES);
        actors[view.queue] = ref;
    }
    FUZZ_EXPECT(actors[0] && actors[1]);
    state_make(engine, actors, number);
    engine = engine_close(engine);
    keep_image();
    make_port();
    /* the record that is taken next */
    (void)state_put(port_memory + port_ring_offset(page_bytes()), STATE_PORT_CURSOR, actors[0],
                    number);
}

/* ---- damage ---- */

static uint64_t field(struct input *input)
{
    uint8_t how = input_u8(input);

    if (how < 64)
        return how;
    if (how < 128)
        return UINT64_C(1) << (how - 64);
    if (how < 192)
        return (UINT64_C(1) << (how - 128)) - 1;
    return input_u64(input);
}

/* A word of what recovery looks at: everything lies in the first bytes of pages that exist, or
 * anywhere in one of them. */
static void damage(struct input *input)
{
    uint8_t what = input_u8(input);
    off_t page = image[input_u8(input) % n_image].at,
          at = page + (what & 0x80 ? input_u16(input) % PAGE : 4 * (input_u8(input) % 128));
    size_t bytes = (size_t)1 << (what % 4);
    uint64_t value = field(input);

    FUZZ_EXPECT(pwrite(segment_fd, &value, bytes, at) == (ssize_t)bytes);
}

static void lay_image(struct input *input)
{
    FUZZ_EXPECT(ftruncate(segment_fd, 0) == 0 &&
                ftruncate(segment_fd, (off_t)engine_segment_size(&config)) == 0);
    for (size_t i = 0; i < n_image; i++)
        FUZZ_EXPECT(pwrite(segment_fd, image[i].bytes, PAGE, image[i].at) == PAGE);
    for (int i = 0; i < DAMAGES_MAX && input->left > 0; i++)
        damage(input);
}

/* Of the pages of the image: what a refusal has left alone. */
static uint64_t sum(void)
{
    uint64_t words[PAGE / 8], s = 0;

    for (size_t i = 0; i < n_image; i++) {
        FUZZ_EXPECT(pread(segment_fd, words, PAGE, image[i].at) == PAGE);
        for (size_t k = 0; k < PAGE / 8; k++)
            s = (s ^ words[k]) * 1099511628211u;
    }
    return s;
}

/* Without both of these a segment is a new one, and is formatted. */
static uint64_t header_word(size_t offset)
{
    uint64_t word = 0;

    FUZZ_EXPECT(pread(segment_fd, &word, sizeof(word), (off_t)offset) == sizeof(word));
    return word;
}

/* ---- what comes of it ---- */

static void check_lists(void)
{
    struct engine_actor_view actor;
    struct engine_actor_type_view type;
    struct engine_message_type message;
    struct engine_fault fault;
    actor_ref ref;

    for (uint32_t slot = 0; engine_actor_next(engine, slot, &actor) == 0;
         slot = actor_ref_slot(actor.ref) + 1)
        FUZZ_EXPECT(strnlen(actor.name, ODEON_NAME_MAX + 1) <= ODEON_NAME_MAX);
    for (uint32_t id = 1; engine_actor_type_get(engine, id, &type) == 0; id++)
        FUZZ_EXPECT(strnlen(type.name, ODEON_NAME_MAX + 1) <= ODEON_NAME_MAX);
    for (uint16_t id = MESSAGE_TYPE_FIRST_USER; engine_message_type_get(engine, id, &message) == 0;
         id++)
        FUZZ_EXPECT(strnlen(message.name, ODEON_NAME_MAX + 1) <= ODEON_NAME_MAX);
    for (unsigned i = 0; engine_fault_get(engine, i, &fault) == 0; i++)
        FUZZ_EXPECT(strnlen(fault.plugin, sizeof(fault.plugin)) < sizeof(fault.plugin));
    (void)engine_actor_lookup(engine, "named", &ref);
}

static void run(void)
{
    struct worker *w = engine->workers[0];
    uint32_t n_mailboxes = engine->segment.n_mailboxes;
    bool more = true;

    for (int round = 0; more; round++) {
        FUZZ_EXPECT(round < RUNS_MAX);
        more = false;
        for (uint32_t source = 0; source < n_mailboxes + ODEON_PORTS_MAX; source++) {
            bool waits = source < n_mailboxes ? urgent_mailbox_has_work(engine, source)
                                              : ready_clear(w->called.ready, source);
            if (!waits || !owner_take(&engine->sources[source], 0, 0))
                continue;
            int64_t queue = source < n_mailboxes ? source : port_run(w, source - n_mailboxes, true);
            if (queue >= 0)
                mailbox_run(w, (uint32_t)queue, false);
            more = true;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    struct engine_recovery report;
    const char *text = "";
    actor_ref ref;

    if (n_image == 0)
        make();
    lay_image(&input);
    uint64_t before = sum(), tail = STATE_PORT_TAIL;
    bool was_new = header_word(offsetof(struct segment_header, magic)) == 0 &&
                   header_word(offsetof(struct segment_header, boots)) == 0;
    memset(port_memory, 0, port_ring_offset(page_bytes()));
    memcpy(port_memory, &tail, sizeof(tail));
    int r = engine_open(&config, segment_fd, stats_fd, &engine, &text);
    if (r < 0) {
        FUZZ_EXPECT(r == -EPROTO && strlen(text) > 10 && sum() == before);
        return 0;
    }
    (void)engine_port_add(engine, &port, &ref);
    r = engine_recover(engine, &report);
    if (r < 0) {
        FUZZ_EXPECT((r == -EPROTO || r == -ESRCH) && strlen(report.damage) > 10);
        FUZZ_EXPECT(sum() == before || was_new);
    } else {
        (void)register_types();
        check_lists();
        run();
        check_lists();
    }
    engine = engine_close(engine);
    return 0;
}
