/* SPDX-License-Identifier: Apache-2.0 */
/* Ports that have ended: their memory goes when nobody can look at it, nobody waits for that, and a
 * handler that hangs keeps none (daemon/engine/ports/reap.h). */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/page.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/signal/wake.h"
#include "port_fixture.h"

static unsigned count_mappings(void)
{
    char line[512];
    unsigned n = 0;
    FILE *file = fopen("/proc/self/maps", "re");

    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        n += strstr(line, "memfd:client") != NULL || strstr(line, "memfd:executor") != NULL;
    fclose(file);
    return n;
}

/* ---- beside a handler that hangs ---- */

enum { MANY = 100 };

/* Ports go while a worker is in a long handler: their memory goes, too, and the control thread has
 * not waited once. */
static void test_long_handler_keeps_no_port(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c, other;
    uint32_t why;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    client_make(&other, PORT + 1, 7);
    unsigned before = count_mappings();
    assert_int_equal(engine_start(f.engine), 0);
    atomic_store(&seen.hold, 1);
    client_post(&c, echo, number_type, &(uint64_t){ 1 }, 8);
    assert_true(engine_fixture_until(atomic_load(&seen.inside)));
    uint64_t waits = engine_fixture_stat(&f, STAT_control_waits);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(engine_port_add(f.engine, &other.info, &other.ref), 0);
        assert_true(count_mappings() > before);
        assert_int_equal(engine_port_remove(f.engine, PORT + 1, other.info.generation), 0);
        expect_removed(&f, PORT + 1, other.info.generation, &why);
        assert_false(engine_ports_are_going(f.engine));
        assert_int_equal(count_mappings(), before);
        other.info.generation++;
    }
    assert_int_equal(engine_fixture_stat(&f, STAT_control_waits), waits);
    assert_true(atomic_load(&seen.hold));
    atomic_store(&seen.hold, 0);
    client_expect_number(&c, 1);
    client_free(&other);
    client_free(&c);
    fixture_end(&f);
}

/* ---- who may still look ---- */

/* Two workers without threads: the test says where they are. */
static void bench_begin(struct engine_fixture *f, struct client *a, struct client *b)
{
    fixture_begin(f, 2, 1 << 20);
    client_open(f, a, PORT, 1);
    client_open(f, b, PORT + 1, 1);
    f->engine->started = true;
}

static void bench_end(struct engine_fixture *f, struct client *a, struct client *b)
{
    f->engine->started = false;
    client_free(a);
    client_free(b);
    fixture_end(f);
}

/* Its client has gone, and worker 0 has run it for the last time. */
static void port_end(struct engine_fixture *f, uint32_t id)
{
    struct source *source = &f->engine->sources[engine_source_of_port(f->engine, id)];
    assert_int_equal(engine_port_remove(f->engine, id, 1), 0);
    assert_true(owner_take(source, own_worker(load_relaxed(source->own)), 0));
    (void)port_run(f->engine->workers[0], id, false);
    assert_int_equal(load_relaxed(&f->engine->ports.table[id].state), PORT_DEAD);
}

static void worker_passes(struct engine_fixture *f, uint32_t id, unsigned times)
{
    _Atomic uint64_t *passes = &f->engine->workers[id]->shown.passes;
    store_release(passes, load_relaxed(passes) + times);
}

static bool port_is_told(struct engine_fixture *f, uint32_t id)
{
    struct engine_event event;
    if (!client_event_next(f->engine, &event))
        return false;
    assert_int_equal(event.kind, ENGINE_EVENT_PORT_REMOVED);
    assert_int_equal(event.id, id);
    assert_int_equal(event.generation, 1);
    assert_int_equal(event.why, PORT_OK);
    assert_int_equal(load_relaxed(&f->engine->ports.table[id].state), PORT_FREE);
    return true;
}

static bool port_is_kept(struct engine_fixture *f, uint32_t id)
{
    actor_ref ref;
    struct engine_port_info info = {
        .id = id, .generation = 2, .submission_bytes = RING, .delivery_bytes = RING
    };
    return !port_is_told(f, id) && engine_ports_are_going(f->engine) &&
           f->engine->ports.table[id].client_words != NULL &&
           engine_port_add(f->engine, &info, &ref) == -EEXIST;
}

/* reap.RP1: each worker is asked, and each by itself. */
static void test_kept_until_all_have_passed(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client a, b;
    bench_begin(&f, &a, &b);
    unsigned before = count_mappings();
    port_end(&f, PORT);
    assert_true(port_is_kept(&f, PORT));
    worker_passes(&f, 0, 1);
    assert_true(port_is_kept(&f, PORT));
    worker_passes(&f, 0, 1);
    assert_true(port_is_kept(&f, PORT));
    worker_passes(&f, 1, 2);
    assert_int_equal(count_mappings(), before);
    assert_true(port_is_told(&f, PORT));
    assert_true(count_mappings() < before);
    assert_false(engine_ports_are_going(f.engine));
    assert_false(port_is_told(&f, PORT));
    assert_int_equal(engine_fixture_stat(&f, STAT_control_waits), 0);
    bench_end(&f, &a, &b);
}

/* reap.RP2: one runs a mailbox, the other one sleeps; nobody has to pass anything. */
static void test_not_kept_by_runners_and_sleepers(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client a, b;
    bench_begin(&f, &a, &b);
    struct source *mailbox = &f.engine->sources[1];
    uint32_t owner = own_worker(load_relaxed(mailbox->own));
    port_end(&f, PORT);
    assert_true(port_is_kept(&f, PORT));
    assert_true(owner_take(mailbox, owner, 0));
    assert_true(port_is_kept(&f, PORT));
    atomic_store(&f.engine->sleepers[0], 2);
    assert_true(port_is_told(&f, PORT));
    /* who has given it back in between, and looks again, looks behind the end */
    port_end(&f, PORT + 1);
    assert_true(port_is_told(&f, PORT + 1));
    atomic_store(&f.engine->sleepers[0], 0);
    owner_release(mailbox, owner);
    bench_end(&f, &a, &b);
}

/* A port's own runner may be in a port: that is no mailbox. */
static void test_kept_by_who_runs_a_port(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client a, b;
    bench_begin(&f, &a, &b);
    struct source *other = &f.engine->sources[engine_source_of_port(f.engine, PORT + 1)];
    uint32_t owner = own_worker(load_relaxed(other->own));
    port_end(&f, PORT);
    worker_passes(&f, 0, 2); /* too early: nobody has looked yet */
    assert_true(port_is_kept(&f, PORT));
    worker_passes(&f, 0, 2);
    assert_true(owner_take(other, owner, 1));
    assert_true(port_is_kept(&f, PORT));
    owner_release(other, owner);
    worker_passes(&f, 1, 2);
    assert_true(port_is_told(&f, PORT));
    bench_end(&f, &a, &b);
}

/* reap.RP5: what ends while others wait has its own look. */
static void test_later_ends_wait_for_their_own_look(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client a, b;
    bench_begin(&f, &a, &b);
    port_end(&f, PORT);
    assert_true(port_is_kept(&f, PORT));
    worker_passes(&f, 0, 2);
    port_end(&f, PORT + 1);
    assert_true(port_is_kept(&f, PORT));
    worker_passes(&f, 1, 2);
    assert_true(port_is_told(&f, PORT));
    assert_true(port_is_kept(&f, PORT + 1));
    worker_passes(&f, 0, 2);
    worker_passes(&f, 1, 2);
    assert_true(port_is_told(&f, PORT + 1));
    bench_end(&f, &a, &b);
}

/* An engine that is closed meanwhile leaves nothing. */
static void test_closed_meanwhile(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client a, b;
    unsigned before = count_mappings();
    bench_begin(&f, &a, &b);
    port_end(&f, PORT);
    assert_true(port_is_kept(&f, PORT));
    bench_end(&f, &a, &b);
    assert_int_equal(count_mappings(), before);
}

/* ---- what a delivery touches ---- */

static struct {
    struct segment_queue *backlog;
    void *page;
    const void *word;
    uint32_t faults, lock;
} touched;

/* Whoever writes into the page that is closed: where, and with the port's lock or without. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    if (info->si_addr == touched.word) {
        touched.faults++;
        touched.lock = load_relaxed(&touched.backlog->lock);
    }
    if (mprotect(touched.page, port_ring_offset(page_bytes()), PROT_READ | PROT_WRITE) != 0)
        abort();
}

/* By whom it is at. */
static void mailbox_run_once(struct engine_fixture *f, uint32_t queue)
{
    struct source *source = &f->engine->sources[queue];
    uint32_t owner = own_worker(load_relaxed(source->own));
    assert_true(owner_take(source, owner, owner));
    mailbox_run(f->engine->workers[owner], queue, false);
}

static void port_run_once(struct engine_fixture *f)
{
    struct source *source = &f->engine->sources[engine_source_of_port(f->engine, PORT)];
    assert_true(owner_take(source, own_worker(load_relaxed(source->own)), 0));
    (void)port_run(f->engine->workers[0], PORT, false);
}

static uint32_t echo_queue(struct engine_fixture *f)
{
    return actor_key_destination(load_relaxed(&f->engine->actors.table[actor_ref_slot(echo)].key));
}

static void page_protect(int protection)
{
    assert_int_equal(mprotect(touched.page, port_ring_offset(page_bytes()), protection), 0);
}

/* Whoever touches `word`, of the page of the port's words, is noted while the page is closed. */
static void page_watch(struct engine_fixture *f, const void *word, struct sigaction *ret_before)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
    touched.backlog =
        &f->engine->segment.queues[segment_port_destination(&f->engine->segment, PORT)];
    touched.page = f->engine->ports.table[PORT].executor_words;
    touched.word = word;
    touched.faults = 0;
    assert_int_equal(sigaction(SIGSEGV, &action, ret_before), 0);
}

static void page_leave(const struct sigaction *before)
{
    page_protect(PROT_READ | PROT_WRITE);
    assert_int_equal(sigaction(SIGSEGV, before, NULL), 0);
}

/* Runs what is in a mailbox with that page closed to writers. */
static void mailbox_run_beside(struct engine_fixture *f, uint32_t queue, const void *word)
{
    struct sigaction before;
    page_watch(f, word, &before);
    page_protect(PROT_READ);
    mailbox_run_once(f, queue);
    page_leave(&before);
}

static void post_some(struct engine_fixture *f, struct client *c, uint32_t queue, uint64_t *number)
{
    while (c->tail - load_acquire(&c->executor->submission_head) + 32 <= RING) {
        ++*number;
        client_post(c, echo, number_type, number, 8);
    }
    port_run_once(f);
    mailbox_run_once(f, queue);
}

/* deliver.D7: a delivery that is dropped is counted in the port's words inside the lock. */
static void test_drop_is_counted_inside_the_lock(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    uint64_t number = 0;
    fixture_begin(&f, 1, 1 << 20);
    client_open(&f, &c, PORT, 1);
    while (load_relaxed(&c.executor->dropped) == 0)
        post_some(&f, &c, echo_queue(&f), &number);
    client_post(&c, echo, late_type, &number, 8);
    port_run_once(&f);
    mailbox_run_beside(&f, echo_queue(&f), &f.engine->ports.table[PORT].executor_words->dropped);
    assert_int_equal(touched.faults, 1);
    assert_int_equal(touched.lock, 1); /* worker 0 */
    client_free(&c);
    fixture_end(&f);
}

/* Two records that the echo's mailbox refuses. */
static void post_refused(struct engine_fixture *f, struct client *c)
{
    for (uint64_t i = 0; i < 2; i++)
        client_post(c, echo, alien_type, &i, 8);
    port_run_once(f);
}

/* reap.RP3: so is each record that is refused; the first one opens the page. */
static void test_refusal_is_counted_inside_the_lock(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 1, 1 << 20);
    client_open(&f, &c, PORT, 1);
    post_refused(&f, &c);
    mailbox_run_beside(&f, echo_queue(&f), &f.engine->ports.table[PORT].executor_words->refused);
    assert_int_equal(touched.faults, 1);
    assert_int_equal(touched.lock, 1);
    assert_int_equal(load_relaxed(&c.executor->refused), 2);
    client_free(&c);
    fixture_end(&f);
}

/* And where the port has ended, its memory is not looked at. */
static void test_refusal_leaves_a_port_that_has_ended(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 1, 1 << 20);
    client_open(&f, &c, PORT, 1);
    struct port *port = &f.engine->ports.table[PORT];
    post_refused(&f, &c);
    store_release(&port->state, PORT_DEAD); /* its reference lives until somebody stores that */
    mailbox_run_beside(&f, echo_queue(&f), &port->executor_words->refused);
    store_release(&port->state, PORT_OPEN);
    assert_int_equal(touched.faults, 0);
    assert_int_equal(load_relaxed(&c.executor->refused), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_refusals), 2);
    client_free(&c);
    fixture_end(&f);
}

/* The page is closed behind the next run of this source that is given to another worker. */
static uint32_t closes_behind = UINT32_MAX;

bool __real_source_release(struct worker *w, uint32_t source, uint32_t to, bool left);
bool __wrap_source_release(struct worker *w, uint32_t source, uint32_t to, bool left);
bool __wrap_source_release(struct worker *w, uint32_t source, uint32_t to, bool left)
{
    bool gone = __real_source_release(w, source, to, left);
    if (gone && source == closes_behind) {
        closes_behind = UINT32_MAX;
        page_protect(PROT_NONE);
    }
    return gone;
}

/* reap.RP3: a visitor has given the port back and has a mailbox in hand. Its look whether there is
 * work again is no runner's any more. */
static void test_visitor_looks_inside_the_lock(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct sigaction before;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    uint32_t port = engine_source_of_port(f.engine, PORT), queue = echo_queue(&f),
             visitor = own_worker(load_relaxed(f.engine->sources[queue].own)), home = 1 - visitor;
    mailbox_run_once(&f, queue); /* the echo begins: its queue is empty */
    source_place(f.engine, port, home, 0);
    assert_true(owner_take(&f.engine->sources[port], home, visitor));
    client_post(&c, echo, number_type, &(uint64_t){ 1 }, 8);
    page_watch(&f, &f.engine->ports.table[PORT].executor_words->backlog, &before);
    closes_behind = port;
    assert_int_equal(port_run(f.engine->workers[visitor], PORT, true), queue);
    page_leave(&before);
    assert_int_equal(closes_behind, UINT32_MAX);
    assert_int_equal(load_relaxed(f.engine->sources[port].own), own_idle(home));
    assert_int_equal(touched.faults, 1);
    assert_int_equal(touched.lock, visitor + 1);
    mailbox_run(f.engine->workers[visitor], queue, false);
    client_expect_number(&c, 1);
    client_free(&c);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        port_test(test_long_handler_keeps_no_port, under_defaults),
        port_test(test_long_handler_keeps_no_port, under_visit),
        port_test(test_long_handler_keeps_no_port, under_share),
        port_test(test_kept_until_all_have_passed, under_defaults),
        port_test(test_not_kept_by_runners_and_sleepers, under_defaults),
        port_test(test_kept_by_who_runs_a_port, under_defaults),
        port_test(test_later_ends_wait_for_their_own_look, under_defaults),
        port_test(test_closed_meanwhile, under_defaults),
        port_test(test_drop_is_counted_inside_the_lock, under_defaults),
        port_test(test_refusal_is_counted_inside_the_lock, under_defaults),
        port_test(test_refusal_leaves_a_port_that_has_ended, under_defaults),
        port_test(test_visitor_looks_inside_the_lock, under_visit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
