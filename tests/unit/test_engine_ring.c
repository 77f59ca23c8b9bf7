/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that go on at the beginning of their buffer, killed at any instruction.
 *
 * A child drives an engine without threads: one thread runs the queues in turn, under a drawn
 * worker's id each time, so that a batch is set aside in two pieces, taken over by another worker
 * and gone on with. In its middle, or inside recovery, it is killed: the parent lets it go on for a
 * drawn number of single instructions first (ptrace), or, in the build with injection points, one
 * of these is armed while a batch lies in two pieces. The next child recovers.
 * Besides, a child is stopped behind each of some thousands of instructions: whatever the segment
 * holds there, another child recovers from.
 *
 * What is run: tokens that wander among the actors of a queue, with payloads of 0 to 32 KiB, by way
 * of actors that are spawned for one message and end with it, and of actors whose init fails; each
 * leaves numbered echoes on its way. The ledger, in memory of its own, says what must be true
 * whatever happened:
 *
 * test_engine_ring.R1  Of each token and of each row of echoes the next number is the last one's
 *     successor, or the last one again, redelivered.
 * test_engine_ring.R2  Every byte of a payload is what its sender wrote.
 * test_engine_ring.R3  At the end, which is far behind the last kill, all rows have come to the
 *     same number, and no spawned actor is left.
 *
 * ODEON_RING_SEED repeats a run. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "daemon/common/clock.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"
#include "engine_fixture.h"

#ifdef ODEON_INJECT
#include "daemon/engine/base/inject.h"
#endif

enum { N_WORKERS = 3, N_QUEUES = 2, N_ACTORS = 7, N_TOKENS = 12 };

struct row {
    uint64_t last, echo; /* numbers */
    uint64_t end;        /* from this number on it is not passed on; 0: without end */
    uint64_t echo_end;   /* of the last echo that was left */
};

struct ledger {
    uint64_t seed;
    uint64_t handlers;
    struct row token[N_TOKENS];
    actor_ref actor[N_QUEUES][N_ACTORS];
    actor_ref sink[N_QUEUES];
    uint64_t attached_in_two, parked_in_two, wraps, redelivered, stolen_in_two, large;
    char failure[256];
};

struct token {
    uint64_t row, number, echo; /* echo: number of the last one that was left */
    uint32_t queue, size;       /* bytes behind it */
};

struct echo {
    uint64_t row, number;
    uint32_t size, reserved;
};

/* Where this child is to stop for the parent, or to arm a point: in the n-th handler from now that
 * finds its batch in two pieces. */
static struct {
    int64_t handlers;
    bool in_two; /* false: in any */
    int point;   /* -1: stop */
    int64_t countdown;
} trap = { .handlers = -1, .point = -1 };

static struct ledger *ledger;
static uint16_t token_type, echo_type;
static uint32_t wanderer_type, sink_type, guest_type, failing_type;

static __attribute__((format(printf, 1, 2), noreturn)) void ledger_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ledger->failure, sizeof(ledger->failure), format, args);
    va_end(args);
    _exit(1);
}

static void must(const char *what, int r)
{
    if (r < 0)
        ledger_fail("%s: %s", what, strerror(-r));
}

/* Drawn by what it is about, so that a handler that runs again does the same. */
static uint64_t lot(uint64_t row, uint64_t number, uint64_t what)
{
    uint64_t x = ledger->seed + row * UINT64_C(0x9e3779b97f4a7c15) +
                 number * UINT64_C(0xbf58476d1ce4e5b9) + what * UINT64_C(0x94d049bb133111eb);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

enum { LOT_SIZE = 1, LOT_ECHOES, LOT_WAY, LOT_ACTOR, LOT_ECHO_SIZE };

static uint32_t draw_size(uint64_t row, uint64_t number, uint64_t what, uint32_t most)
{
    uint64_t x = lot(row, number, what), kind = x % 256;
    x >>= 8;
    if (kind < 200)
        return (uint32_t)(x % 80);
    if (kind < 253)
        return (uint32_t)(x % 2000);
    return most - (uint32_t)(x % 64);
}

static uint8_t pattern(uint64_t row, uint64_t number)
{
    return (uint8_t)(row * 41 + number * 7 + 1);
}

static const uint8_t *bytes_of(uint8_t value, uint32_t size)
{
    static uint8_t bytes[ODEON_PAYLOAD_MAX];
    memset(bytes, value, size);
    return bytes;
}

/* test_engine_ring.R2; in few instructions, which are stepped through one by one */
static void bytes_check(const char *what, const uint8_t *bytes, uint32_t size, uint8_t value)
{
    if (size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0))
        return;
    for (uint32_t i = 0; i < size; i++)
        if (bytes[i] != value)
            ledger_fail("%s: byte %u of %u is %u, not %u", what, i, size, bytes[i], value);
}

static bool is_last(const struct token *token)
{
    uint64_t end = ledger->token[token->row].end;
    return end != 0 && token->number >= end;
}

/* test_engine_ring.R1 */
static void row_note(const char *what, uint64_t *last, uint64_t row, uint64_t number,
                     const struct engine_context *ctx)
{
    if (number != *last + 1 && !(number == *last && ctx->redelivered))
        ledger_fail("%s %llu: %llu after %llu%s", what, (unsigned long long)row,
                    (unsigned long long)number, (unsigned long long)*last,
                    ctx->redelivered ? ", redelivered" : "");
    *last = number;
    ledger->handlers++;
    ledger->redelivered += ctx->redelivered;
}

static void trap_look(const struct engine_context *ctx)
{
    const struct worker *w = (const struct worker *)ctx;
    if (trap.handlers < 0 || (trap.in_two && w->batch.wrap == 0) || trap.handlers-- > 0)
        return;
#ifdef ODEON_INJECT
    if (trap.point >= 0) {
        atomic_store(&inject_countdown[trap.point], trap.countdown);
        return;
    }
#endif
    raise(SIGSTOP);
}

/* ---- behaviours ---- */

static void echoes_send(struct engine_context *ctx, struct token *token)
{
    uint64_t n = lot(token->row, token->number, LOT_ECHOES);
    n = n % 64 == 0 ? 40 : n % 3;
    for (uint64_t i = 0; i < n; i++) {
        struct echo echo = { .row = token->row, .number = ++token->echo };
        echo.size = draw_size(echo.row, echo.number, LOT_ECHO_SIZE, 9000);
        must("echo", engine_ctx_send_tail(
                         ctx, ledger->sink[token->queue], echo_type, 0, &echo, sizeof(echo),
                         bytes_of(pattern(echo.row, echo.number), echo.size), echo.size));
    }
}

static void token_send(struct engine_context *ctx, actor_ref to, struct token *token)
{
    token->size =
        draw_size(token->row, token->number, LOT_SIZE, ODEON_PAYLOAD_MAX - sizeof(*token));
    must("token", engine_ctx_send_tail(ctx, to, token_type, 0, token, sizeof(*token),
                                       bytes_of(pattern(token->row, token->number), token->size),
                                       token->size));
}

/* To the next actor of the queue, one way or the other. */
static void token_pass_on(struct engine_context *ctx, struct token *token)
{
    struct engine_spawn spawn = { .placement = PLACE_NEAR,
                                  .args = token,
                                  .args_size = sizeof(*token) };
    uint64_t way = lot(token->row, token->number, LOT_WAY) % 16;
    actor_ref to =
                  ledger->actor[token->queue][lot(token->row, token->number, LOT_ACTOR) % N_ACTORS],
              ref;
    /* its init fails, by its init record, or by a message, which becomes a dead letter */
    if (way == 0) {
        must("spawn", engine_ctx_spawn(ctx, failing_type, &spawn, &ref));
        if (token->number % 2)
            must("lost", engine_ctx_signal(ctx, ref, echo_type));
    }
    if (way == 1 || way == 2)
        must("spawn", engine_ctx_spawn(ctx, guest_type, &spawn, &to));
    if (way == 2) /* something else first, so that its init record is not spared */
        must("signal", engine_ctx_signal(ctx, ledger->actor[token->queue][0], echo_type));
    token_send(ctx, to, token);
}

static struct token token_take(const void *message, struct engine_context *ctx)
{
    struct token token = *(const struct token *)message;
    if (token.row >= N_TOKENS || ctx->message_size != sizeof(token) + token.size)
        ledger_fail("token %llu has %u bytes", (unsigned long long)token.row, ctx->message_size);
    bytes_check("token", (const uint8_t *)message + sizeof(token), token.size,
                pattern(token.row, token.number));
    row_note("token", &ledger->token[token.row].last, token.row, token.number, ctx);
    ledger->large += token.size > 16384;
    if (is_last(&token))
        ledger->token[token.row].echo_end = token.echo;
    trap_look(ctx);
    return token;
}

static int wanderer_on_token(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    struct token token = token_take(message, ctx);
    const struct worker *w = (const struct worker *)ctx;
    bool in_two = w->batch.wrap != 0;
    if (is_last(&token))
        return ALLOCATION_NODELETE;
    token.number++;
    echoes_send(ctx, &token);
    token_pass_on(ctx, &token);
    ledger->wraps += !in_two && w->batch.wrap != 0;
    return ALLOCATION_NODELETE;
}

static int guest_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    if (size != sizeof(struct token))
        ledger_fail("arguments of %zu bytes", size);
    memcpy(self, args, size);
    return 0;
}

/* Ends with its one message, and passes the token on before. */
static int guest_on_token(void *self, const void *message, struct engine_context *ctx)
{
    const struct token *was = self;
    struct token token = token_take(message, ctx);
    if (was->row != token.row || was->number != token.number)
        ledger_fail("a guest has another's arguments");
    bool goes_on = !is_last(&token);
    token.number++;
    if (goes_on)
        token_send(ctx, ledger->actor[token.queue][1], &token);
    return token.number % 2 ? ALLOCATION_DELETE : ALLOCATION_DESTROY;
}

static int failing_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self;
    (void)args;
    (void)size;
    (void)ctx;
    return -EIO;
}

static int on_signal(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    return ALLOCATION_NODELETE;
}

static int sink_on_echo(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    struct echo echo = *(const struct echo *)message;
    if (echo.row >= N_TOKENS || ctx->message_size != sizeof(echo) + echo.size)
        ledger_fail("an echo has %u bytes", ctx->message_size);
    bytes_check("echo", (const uint8_t *)message + sizeof(echo), echo.size,
                pattern(echo.row, echo.number));
    row_note("echo", &ledger->token[echo.row].echo, echo.row, echo.number, ctx);
    trap_look(ctx);
    return ALLOCATION_NODELETE;
}

/* ---- one life ---- */

static void types_register(struct engine_fixture *f)
{
    token_type = engine_fixture_message(f, "token", sizeof(struct token), true);
    echo_type = engine_fixture_message(f, "echo", 0, true);
    const struct engine_behaviour of_wanderer[] = { { token_type, sizeof(struct token), true,
                                                      wanderer_on_token },
                                                    { echo_type, 0, true, on_signal } };
    const struct engine_behaviour of_sink[] = { { echo_type, 0, true, sink_on_echo } };
    const struct engine_behaviour of_guest[] = { { token_type, sizeof(struct token), true,
                                                   guest_on_token } };
    wanderer_type = engine_fixture_type(f, "wanderer", 0, NULL, NULL, of_wanderer, 2);
    sink_type = engine_fixture_type(f, "sink", 8, NULL, NULL, of_sink, 1);
    guest_type =
        engine_fixture_type(f, "guest", sizeof(struct token), guest_init, NULL, of_guest, 1);
    failing_type = engine_fixture_type(f, "failing", 24, failing_init, NULL, of_sink, 1);
}

/* An actor of this type in that queue: others are spawned until one is there. */
static actor_ref spawn_in(struct engine_fixture *f, uint32_t type, uint32_t queue)
{
    struct engine_actor_view view;
    for (;;) {
        actor_ref ref = engine_fixture_spawn(f, type, NULL, 0);
        must("view", engine_actor_get(f->engine, ref, &view));
        if (view.queue == queue)
            return ref;
    }
}

static void populate(struct engine_fixture *f)
{
    for (uint32_t queue = 0; queue < N_QUEUES; queue++) {
        for (uint32_t i = 0; i < N_ACTORS; i++)
            ledger->actor[queue][i] = spawn_in(f, wanderer_type, queue);
        ledger->sink[queue] = spawn_in(f, sink_type, queue);
    }
    for (uint64_t row = 0; row < N_TOKENS; row++) {
        struct token first = { .row = row, .number = 1, .queue = (uint32_t)row % N_QUEUES };
        must("token", engine_actor_send(f->engine, ledger->actor[first.queue][0], token_type,
                                        &first, sizeof(first)));
    }
}

/* What the last child left behind. */
static void remains_look(struct engine_fixture *f)
{
    struct segment *s = &f->engine->segment;
    for (uint32_t id = 0; id < s->n_ids; id++) {
        const struct segment_commit *slot = segment_commit_valid(&s->workers[id]);
        ledger->attached_in_two +=
            slot->source > 0 && slot->source <= s->n_queues && slot->wrap != 0;
    }
    for (uint32_t i = 0; i < N_QUEUES; i++)
        ledger->parked_in_two += load_relaxed(&s->queues[i].wrap) != 0;
}

/* polled.PO4: what has been consumed is not taken for a record that is being written. */
static void consumed_look(struct engine_fixture *f, uint32_t queue)
{
    struct segment *s = &f->engine->segment;
    uint32_t sel = load_relaxed(&s->queues[queue].sel);
    if (!queue_has_batch(sel) && *(uint64_t *)segment_window(s, queue, queue_active(sel) ^ 1) != 0)
        ledger_fail("a consumed buffer does not look like one");
}

/* One queue's turn under a drawn id.  False: it had nothing. */
static bool turn(struct engine_fixture *f, uint32_t queue, uint64_t which)
{
    struct engine *e = f->engine;
    if (!queue_has_work(&e->segment.queues[queue]))
        return false;
    struct worker *w = e->workers[which % N_WORKERS];
    uint32_t from = own_worker(load_relaxed(e->sources[queue].own));
    engine_set_throughput(e, 1 + (uint32_t)(which >> 8) % 200);
    ledger->stolen_in_two += from != w->id && load_relaxed(&e->segment.queues[queue].wrap) != 0;
    if (!owner_take(&e->sources[queue], from, w->id))
        ledger_fail("the owner word of a queue that nobody runs");
    mailbox_run(w, queue, false);
    consumed_look(f, queue);
    return true;
}

static uint64_t live_of_type(struct engine *e, uint32_t type)
{
    struct engine_actor_type_view view;
    must("type", engine_actor_type_get(e, type, &view));
    return view.live;
}

/* test_engine_ring.R3 */
static void finish(struct engine_fixture *f)
{
    uint64_t before = ledger->handlers;
    for (uint64_t i = 0, idle = 0; idle < N_QUEUES; i++) {
        idle = turn(f, (uint32_t)(i % N_QUEUES), lot(1, i, ledger->handlers)) ? 0 : idle + 1;
        if (ledger->handlers - before > 1000000)
            ledger_fail("the rows do not come to their end");
    }
    for (uint64_t i = 0; i < N_TOKENS; i++) {
        const struct row *row = &ledger->token[i];
        if (row->last != row->end || row->echo != row->echo_end)
            ledger_fail("token %llu ends at %llu.%llu, not at %llu.%llu", (unsigned long long)i,
                        (unsigned long long)row->last, (unsigned long long)row->echo,
                        (unsigned long long)row->end, (unsigned long long)row->echo_end);
    }
    if (live_of_type(f->engine, guest_type) || live_of_type(f->engine, failing_type))
        ledger_fail("spawned actors are left over");
    struct segment_queue *dead = &f->engine->segment.queues[f->engine->segment.dead_letters];
    if (load_relaxed(&dead->lock))
        ledger_fail("a lock is held");
}

enum life { LIFE_POPULATE, LIFE_RUN, LIFE_FINISH };

static __attribute__((noreturn)) void life_main(struct engine_fixture *f, enum life life,
                                                bool traced, bool stop_in_recovery, uint64_t lots)
{
    struct engine_recovery report;
    const char *text;
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    alarm(6 * PATIENCE_S); /* a child that hangs has failed */
    if (traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        ledger_fail("ptrace: %s", strerror(errno));
    must("open", engine_open(&f->config, f->segment_fd, f->stats_fd, &f->engine, &text));
    remains_look(f);
    if (stop_in_recovery)
        raise(SIGSTOP);
    must("recover", engine_recover(f->engine, &report));
    types_register(f);
    if (life == LIFE_POPULATE)
        populate(f);
    else if (life == LIFE_FINISH)
        finish(f);
    for (uint64_t i = 0; life == LIFE_RUN; i++)
        (void)turn(f, (uint32_t)(i % N_QUEUES), lot(lots, i, 1));
    engine_close(f->engine);
    _exit(0);
}

static pid_t life_begin(struct engine_fixture *f, enum life life, bool traced,
                        bool stop_in_recovery, uint64_t lots)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        life_main(f, life, traced, stop_in_recovery, lots);
    return pid;
}

static void life_end_well(struct engine_fixture *f, enum life life)
{
    int status;
    pid_t pid = life_begin(f, life, false, false, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s (status %x, seed %llu)", ledger->failure, (unsigned)status,
                 (unsigned long long)ledger->seed);
}

static void must_be(bool good, int status)
{
    if (!good)
        fail_msg("%s (status %x, seed %llu)", ledger->failure, (unsigned)status,
                 (unsigned long long)ledger->seed);
}

static struct ledger *ledger_make(void)
{
    void *memory = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

/* Behind whatever is on the way. */
static void ends_set(void)
{
    for (unsigned i = 0; i < N_TOKENS; i++)
        ledger->token[i].end = ledger->token[i].last + 30;
}

static uint64_t lots_drawn;

static uint64_t draw(uint64_t below)
{
    return lot(77, ++lots_drawn, 5) % below;
}

/* The child stops where it was told to; so many instructions further it is killed. */
static void kill_at_an_instruction(struct engine_fixture *f, uint64_t life)
{
    bool in_recovery = draw(4) == 0;
    trap.handlers = in_recovery ? -1 : (int64_t)draw(400);
    trap.in_two = draw(4) != 0;
    uint64_t steps = draw(in_recovery ? 8000 : 2500);
    int status;
    pid_t pid = life_begin(f, LIFE_RUN, true, in_recovery, life);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    must_be(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, status);
    for (uint64_t i = 0; i < steps; i++) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        must_be(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, status);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    must_be(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, status);
}

#ifdef ODEON_INJECT
/* At each point that lies on the way, while a batch is in two pieces. */
static void kill_at_a_point(struct engine_fixture *f, uint64_t life)
{
    static const enum inject_point points[] = { INJECT_handler, INJECT_outbox,  INJECT_lock,
                                                INJECT_copied,  INJECT_journal, INJECT_published,
                                                INJECT_step,    INJECT_parked,  INJECT_release };
    trap.handlers = (int64_t)draw(200);
    trap.in_two = true;
    trap.point = (int)points[life % (sizeof(points) / sizeof(points[0]))];
    trap.countdown = 1 + (int64_t)draw(4);
    int status;
    pid_t pid = life_begin(f, LIFE_RUN, false, false, life);
    trap.point = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    must_be(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, status);
}
#endif

static void fixture_make(struct engine_fixture *f)
{
    const char *given = getenv("ODEON_RING_SEED");
    *f = (struct engine_fixture){ .config = engine_fixture_config(N_WORKERS, 1) };
    f->config.actors_max = 2 * ODEON_PORTS_MAX;
    f->config.limit_bytes = 4 << 20;
    f->config.outbox_bytes = 1 << 20;
    f->config.dlq_bytes = 65536;
    f->segment_fd = memfd_make_sealed("segment", engine_segment_size(&f->config));
    f->stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    ledger = ledger_make();
    assert_true(f->segment_fd >= 0 && f->stats_fd >= 0);
    ledger->seed = given ? strtoull(given, NULL, 0) : (uint64_t)getpid() ^ clock_now_ns();
    print_message("ODEON_RING_SEED=%llu\n", (unsigned long long)ledger->seed);
    life_end_well(f, LIFE_POPULATE);
}

static void fixture_end(struct engine_fixture *f)
{
    munmap(ledger, sizeof(*ledger));
    close(f->segment_fd);
    close(f->stats_fd);
}

static void test_kills_while_in_two_pieces(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_make(&f);
    unsigned kills = TEST_SCALE(200);
    for (uint64_t life = 1; life <= kills; life++) {
#ifdef ODEON_INJECT
        if (life % 4 != 0) {
            kill_at_a_point(&f, life);
            continue;
        }
#endif
        kill_at_an_instruction(&f, life);
    }
    trap.handlers = -1;
    ends_set();
    life_end_well(&f, LIFE_FINISH);
    print_message("%u kills, %llu handlers, %llu again; %llu batches went on in front, %llu killed "
                  "in two pieces, %llu set aside in two, %llu "
                  "taken over in two, %llu tokens above 16 KiB\n",
                  kills, (unsigned long long)ledger->handlers,
                  (unsigned long long)ledger->redelivered, (unsigned long long)ledger->wraps,
                  (unsigned long long)ledger->attached_in_two,
                  (unsigned long long)ledger->parked_in_two,
                  (unsigned long long)ledger->stolen_in_two, (unsigned long long)ledger->large);
#ifndef TEST_SANITIZED /* few kills */
    /* Otherwise it has been lucky, not right. */
    assert_true(ledger->wraps > 0 && ledger->attached_in_two > 0 && ledger->parked_in_two > 0 &&
                ledger->stolen_in_two > 0 && ledger->redelivered > 0 && ledger->large > 0);
#endif
    fixture_end(&f);
}

/* ---- every instruction ---- */

/* A segment's content: what the file holds, one piece after the other. */
struct image {
    struct {
        off_t at;
        size_t bytes;
    } piece[256];
    unsigned n;
    size_t bytes, room;
    uint8_t *content;
};

static void image_read(struct image *image, int fd)
{
    image->n = 0;
    image->bytes = 0;
    for (off_t at = 0, end; (at = lseek(fd, at, SEEK_DATA)) >= 0; at = end) {
        end = lseek(fd, at, SEEK_HOLE);
        assert_true(end > at && image->n < sizeof(image->piece) / sizeof(image->piece[0]));
        size_t bytes = (size_t)(end - at);
        if (image->bytes + bytes > image->room) {
            image->room = 2 * (image->bytes + bytes);
            image->content = realloc(image->content, image->room);
            assert_non_null(image->content);
        }
        assert_int_equal(pread(fd, image->content + image->bytes, bytes, at), bytes);
        image->piece[image->n].at = at;
        image->piece[image->n++].bytes = bytes;
        image->bytes += bytes;
    }
}

static bool image_is(const struct image *a, const struct image *b)
{
    return a->bytes == b->bytes && memcmp(a->content, b->content, a->bytes) == 0;
}

/* What recovery makes of this content, with the ledger as it is: all rows come to their ends. */
static void image_check(const struct engine_fixture *f, const struct image *image)
{
    struct engine_fixture copy = { .config = f->config };
    struct ledger *now = ledger;
    copy.segment_fd = memfd_make_sealed("segment", engine_segment_size(&copy.config));
    copy.stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    assert_true(copy.segment_fd >= 0 && copy.stats_fd >= 0);
    const uint8_t *from = image->content;
    for (unsigned i = 0; i < image->n; from += image->piece[i++].bytes)
        assert_int_equal(pwrite(copy.segment_fd, from, image->piece[i].bytes, image->piece[i].at),
                         image->piece[i].bytes);
    ledger = ledger_make();
    *ledger = *now;
    ends_set();
    life_end_well(&copy, LIFE_FINISH);
    fixture_end(&copy);
    ledger = now;
}

/* From a drawn handler on, for so many instructions: whatever the segment holds between two of them
 * is a state to recover from. */
static unsigned instructions_check(struct engine_fixture *f, uint64_t life, unsigned steps)
{
    static struct image images[2];
    unsigned n = 0, which = 0;
    int status;
    trap.handlers = (int64_t)draw(400);
    trap.in_two = life % 2;
    pid_t pid = life_begin(f, LIFE_RUN, true, false, life);
    trap.handlers = -1; /* not in those that check */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    must_be(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, status);
    for (unsigned i = 0; i < steps; i++) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        must_be(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, status);
        image_read(&images[which], f->segment_fd);
        if (i > 0 && image_is(&images[which], &images[which ^ 1]))
            continue;
        image_check(f, &images[which]);
        which ^= 1;
        n++;
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return n;
}

static void test_every_instruction(void **state)
{
    (void)state;
/* between two stores of the engine lie thousands of instructions of the sanitizer: 25,000 steps
 * meet two or three states */
#ifdef TEST_TSAN
    print_message("# skipped: what would be stepped through here is ThreadSanitizer\n");
    skip();
#endif
    struct engine_fixture f;
    unsigned n = 0, lives = TEST_SCALE(10);
    fixture_make(&f);
    for (uint64_t life = 1; life <= lives; life++)
        n += instructions_check(&f, life, 2500);
    ends_set();
    life_end_well(&f, LIFE_FINISH);
    print_message("%u states of the segment, each recovered from\n", n);
    assert_true(n > lives);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kills_while_in_two_pieces),
                                        cmocka_unit_test(test_every_instruction) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
