/* SPDX-License-Identifier: Apache-2.0 */
/* No word of a header in client memory is loaded twice in a visit (port.R1): seen from outside,
 * on the code that is shipped, in each branch of the consumer.
 *
 * A word of the record's header is laid at the beginning of a page, and the engine's mapping of
 * that page is made inaccessible. Each instruction that reads there faults; the address is noted,
 * the page is opened for that one instruction (trap flag), and closed again. An access that begins
 * on the page before faults at the page's first byte: so what is noted within the word's eight
 * bytes is every access that covers any of them, whatever its width. */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "daemon/engine/ports/port.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/send/overflow.h"
#include "engine_client.h"
#include "engine_fixture.h"

enum { PORT = 3, PAGE = 4096, TRAP_FLAG = 0x100, BULK = 2000 };

/* ---- the instrument ---- */

static struct {
    uint8_t *page;                      /* in the engine's mapping */
    volatile unsigned word, page_loads; /* of the first eight bytes; of all */
} watch;

#if defined(__x86_64__) && !defined(TEST_SANITIZED)
#define CAN_WATCH 1

static void on_fault(int signal, siginfo_t *info, void *context)
{
    size_t offset = (size_t)((uint8_t *)info->si_addr - watch.page);
    if (!watch.page || offset >= PAGE) {
        struct sigaction action = { .sa_handler = SIG_DFL };
        sigaction(signal, &action, NULL); /* not ours: it happens again, and is the end */
        return;
    }
    watch.word += offset < 8;
    watch.page_loads++;
    mprotect(watch.page, PAGE, PROT_READ | PROT_WRITE);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    mprotect(watch.page, PAGE, PROT_NONE);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static void watch_begin(uint8_t *page)
{
    struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO },
                     step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
    assert_int_equal(sigaction(SIGSEGV, &fault, NULL), 0);
    assert_int_equal(sigaction(SIGTRAP, &step, NULL), 0);
    watch.word = watch.page_loads = 0;
    watch.page = page;
    assert_int_equal(mprotect(page, PAGE, PROT_NONE), 0);
}

static void watch_end(void)
{
    mprotect(watch.page, PAGE, PROT_READ | PROT_WRITE);
    watch.page = NULL;
    signal(SIGSEGV, SIG_DFL);
    signal(SIGTRAP, SIG_DFL);
}
#else
#define CAN_WATCH 0 /* the branches run, and nothing is counted */
static void watch_begin(uint8_t *page)
{
    (void)page;
}

static void watch_end(void)
{
}
#endif

/* ---- an engine without threads ---- */

static struct engine_fixture f;
static struct client client;
static uint16_t number_type, bulk_type;
static actor_ref receivers[OVERFLOW_POLICY_N], receiver;
static unsigned n_run;

static int on_message(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    n_run++;
    return ALLOCATION_NODELETE;
}

static void begin(void)
{
    struct engine_config config = engine_fixture_config(2, OVERFLOW_POLICY_N);
    static const char *const names[OVERFLOW_POLICY_N] = { "reject", "newest", "oldest", "stall" };
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = 4096;
    config.outbox_bytes = 1 << 18;
    config.backlog_bytes = 1 << 17;
    config.stealing = STEAL_NONE;
    config.timers_max = 8;
    config.timer_bytes = 1 << 17;
    engine_fixture_open(&f, config);
    number_type = engine_fixture_message(&f, "number", 8, false);
    bulk_type = engine_fixture_message(&f, "bulk", 0, true);
    const struct engine_behaviour on[] = { { number_type, 8, false, on_message },
                                           { bulk_type, 0, true, on_message } };
    for (int policy = 0; policy < OVERFLOW_POLICY_N; policy++) {
        struct engine_actor_type_info info = { .name = names[policy],
                                               .plugin = "test",
                                               .version = 1,
                                               .overflow = (enum engine_overflow)policy,
                                               .n_behaviours = 2,
                                               .behaviours = on };
        uint32_t type;
        assert_int_equal(engine_actor_type_register(f.engine, &info, &type), 0);
        struct engine_spawn spawn = { .placement = PLACE_PINNED, .place = 0 };
        if (policy != OVERFLOW_POLICY_REJECT)
            spawn.placement = PLACE_SPREAD;
        do /* a queue of worker 0's */
            assert_int_equal(engine_actor_spawn_placed(f.engine, type, &spawn, &receivers[policy]),
                             0);
        while (own_worker(load_relaxed(
                   f.engine
                       ->sources[actor_key_destination(load_relaxed(
                           &f.engine->actors.table[actor_ref_slot(receivers[policy])].key))]
                       .own)) != 0);
    }
    receiver = receivers[OVERFLOW_POLICY_REJECT];
    client_open(&f, &client, PORT, 1);
    n_run = 0;
}

static void end(void)
{
    engine_fixture_close(&f);
    client_free(&client);
}

static uint32_t queue_of(actor_ref ref)
{
    return actor_key_destination(load_relaxed(&f.engine->actors.table[actor_ref_slot(ref)].key));
}

static void run_queues(void)
{
    for (uint32_t q = 0; q < f.engine->segment.n_mailboxes; q++)
        while (queue_has_work(&f.engine->segment.queues[q]) &&
               owner_take(&f.engine->sources[q], 0, 0))
            mailbox_run(f.engine->workers[0], q, false);
}

static void visit(bool may_run)
{
    uint32_t source = engine_source_of_port(f.engine, PORT);
    uint32_t owner = own_worker(load_relaxed(f.engine->sources[source].own));
    assert_true(owner_take(&f.engine->sources[source], owner, 0));
    int64_t queue = port_run(f.engine->workers[0], PORT, may_run);
    if (queue >= 0)
        mailbox_run(f.engine->workers[0], (uint32_t)queue, false);
}

/* ---- the branches ---- */

/* What is put before the record under test, and the record. `run`, `refused`, `broken`: what must
 * come of it. */
struct branch {
    const char *name;
    struct envelope envelope; /* `to` 0: the receiver; type 0: number */
    void (*prepare)(void);
    unsigned before; /* good records published together with it, in front of it */
    unsigned behind; /* ... and behind it */
    bool never_direct, zero;
    unsigned run, refused, broken;
};

static void queue_is_busy(void)
{
    uint64_t number = 1;
    assert_int_equal(engine_actor_send(f.engine, receiver, number_type, &number, 8), 0);
}

static void queue_is_anothers(void)
{
    store_relaxed(f.engine->sources[queue_of(receiver)].own, own_idle(1));
}

static void queue_is_full(void)
{
    uint8_t bulk[BULK] = { 0 };
    while (queue_backlog_bytes(&f.engine->segment.queues[queue_of(receiver)]) <=
           f.engine->config.limit_bytes)
        assert_int_equal(engine_actor_send(f.engine, receiver, bulk_type, bulk, sizeof(bulk)), 0);
    memset(f.engine->workers[0]->outbox.has_room, 0,
           (f.engine->segment.dead_letters + 1) * sizeof(*f.engine->workers[0]->outbox.has_room));
}

static void full_drop_newest(void)
{
    receiver = receivers[OVERFLOW_POLICY_DROP_NEWEST];
    queue_is_full();
}

static void full_drop_oldest(void)
{
    receiver = receivers[OVERFLOW_POLICY_DROP_OLDEST];
    queue_is_full();
}

static void full_stall(void)
{
    receiver = receivers[OVERFLOW_POLICY_STALL];
    queue_is_full();
}

static void client_is_gone(void)
{
    assert_int_equal(engine_port_remove(f.engine, PORT, 1), 0);
}

static void no_timers(void)
{
    f.engine->timers.bytes = f.engine->segment.header->timer_bytes;
}

static const struct branch branches[] = {
    { "straight into its receiver's batch", .run = 1 },
    { "... with a correlation id", { .prefix = PREFIX_CORRELATION, .length = 16 }, .run = 1 },
    { "the receiver's queue has work", .prepare = queue_is_busy, .run = 2 },
    { "the receiver's queue is another worker's", .prepare = queue_is_anothers, .run = 0 },
    { "a visit that may run nothing", .never_direct = true, .run = 1 },
    { "a client that is gone", .prepare = client_is_gone, .run = 1 },
    { "the last of three", .before = 2, .run = 3 },
    { "the first of three", .behind = 2, .run = 3 },
    { "between others", .before = 1, .behind = 1, .run = 3 },
    { "too long to be taken directly", { .length = BULK }, .run = 1 },
    { "for a time to come", { .prefix = PREFIX_AFTER, .length = 16 }, .run = 0 },
    { "... among others",
      { .prefix = PREFIX_AFTER, .length = 16 },
      .before = 1,
      .behind = 1,
      .run = 2 },
    { "for a time to come, and no room",
      { .prefix = PREFIX_AFTER | PREFIX_CORRELATION, .length = 24 },
      .prepare = no_timers,
      .refused = 1 },
    { "nobody's reference",
      { .to = UINT64_C(77) << 32 | ACTOR_REF_OWN | ODEON_PORTS_MAX },
      .refused = 1 },
    { "another executor's reference",
      { .to = UINT64_C(1) << 32 | 2 * ACTOR_REF_OWN | ODEON_PORTS_MAX },
      .refused = 1 },
    { "... with a correlation id",
      { .to = UINT64_C(77) << 32 | ACTOR_REF_OWN | ODEON_PORTS_MAX,
        .prefix = PREFIX_CORRELATION,
        .length = 16 },
      .refused = 1 },
    { "a correlation id that is cut off",
      { .prefix = PREFIX_CORRELATION, .length = 4 },
      .refused = 1 },
    { "an unknown type", { .type = 4000 }, .refused = 1 },
    { "... among others", { .type = 4000 }, .before = 1, .behind = 1, .run = 2, .refused = 1 },
    { "a full queue: refused", .prepare = queue_is_full, .run = 3, .refused = 1 },
    { "a full queue: the newest is dropped", .prepare = full_drop_newest, .run = 3 },
    { "a full queue: the oldest is dropped", .prepare = full_drop_oldest, .run = 3 },
    { "a full queue: it waits", .prepare = full_stall, .run = 3 },
    { "a header of zeroes", .zero = true, .broken = PORT_BROKEN_HEADER },
    { "... behind a good one", .zero = true, .before = 1, .run = 1, .broken = PORT_BROKEN_HEADER },
    { "a flag that is not a client's", { .flags = ENVELOPE_INIT }, .broken = PORT_BROKEN_HEADER },
    { "a length beyond what was published", { .length = 30000 }, .broken = PORT_BROKEN_LENGTH },
    { "a receiver beyond the table",
      { .to = ACTOR_REF_OWN | UINT32_MAX >> 8 },
      .broken = PORT_BROKEN_SLOT },
};

/* Until the ring's second page begins with word `k` of the record under test. */
static void put_filler(unsigned bytes)
{
    assert_in_range(bytes, 24, PAGE);
    client_post(&client, receivers[OVERFLOW_POLICY_REJECT], bulk_type, NULL,
                (uint16_t)(bytes - 24));
    visit(true);
    run_queues();
    assert_int_equal(n_run, 1);
    n_run = 0;
}

static void put_good(unsigned n)
{
    for (; n > 0; n--) {
        *client_place(&client) =
            (struct envelope){ .to = receiver, .type = number_type, .length = 8 };
        client.tail += 32;
    }
}

static void check_branch(const struct branch *b, unsigned k)
{
    begin();
    put_filler(PAGE - 8 * k - 32 * b->before);
    if (b->prepare)
        b->prepare();
    struct envelope envelope = b->envelope;
    envelope.to = envelope.to ? envelope.to : receiver;
    if (envelope.type == 0)
        envelope.type = envelope.length == BULK ? bulk_type : number_type;
    envelope.length = envelope.length ? envelope.length : 8;
    uint64_t size = b->broken == PORT_BROKEN_LENGTH ? 32 : envelope_record_size(&envelope);
    put_good(b->before);
    assert_int_equal((client.tail + 8 * k) % PAGE, 0);
    *client_place(&client) = b->zero ? (struct envelope){ 0 } : envelope;
    client.tail += size;
    put_good(b->behind);
    store_release(&client.words->submission_tail, client.tail);
    uint64_t refusals = engine_fixture_stat(&f, STAT_refusals);
    watch_begin(f.engine->ports.table[PORT].submission + PAGE);
    visit(!b->never_direct);
    unsigned loads = watch.word;
    watch_end();
    if (CAN_WATCH && loads != 1)
        fail_msg("%s: word %u of the header was loaded %u times", b->name, k, loads);
    run_queues();
    assert_int_equal(n_run, b->run);
    assert_int_equal(engine_fixture_stat(&f, STAT_refusals), refusals + b->refused);
    assert_int_equal(load_relaxed(&client.executor->broken), b->broken);
    end();
}

static void test_every_branch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++) {
        print_message("   %s\n", branches[i].name);
        for (unsigned k = 0; k < 3; k++)
            check_branch(&branches[i], k);
    }
}

/* The instrument counts, and sees an access that begins before the page. */
static void test_the_instrument(void **state)
{
    (void)state;
    if (!CAN_WATCH)
        skip();
    uint8_t *pages =
        mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    const volatile uint64_t *word = (const volatile uint64_t *)(pages + PAGE);
    const volatile uint16_t *inside = (const volatile uint16_t *)(pages + PAGE + 2);
    volatile uint64_t sink;
    watch_begin(pages + PAGE);
    sink = word[0];
    sink = word[0];
    sink = word[1];
    sink = *inside;
    typedef uint64_t unaligned __attribute__((aligned(1), may_alias));
    sink = *(const volatile unaligned *)(pages + PAGE - 3);
    (void)sink;
    unsigned loads = watch.word, all = watch.page_loads;
    watch_end();
    assert_int_equal(loads, 4);
    assert_int_equal(all, 5);
    munmap(pages, 2 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_instrument),
        cmocka_unit_test(test_every_branch),
    };
    return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
