/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-executor as its supervisor sees it: started on one end of a socket, told what to do,
 * killed, started again on the same memory. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/memfd.h"
#include "daemon/common/page.h"
#include "proto/port_layout.h"
#include "proto/reference.h"
#include "proto/stats_layout.h"
#include "tests/unit/executor_fixture.h"

static void test_settings(void **state)
{
    Odeon__Request unknown = ODEON__REQUEST__INIT;
    const Odeon__Reply *reply;

    (void)state;
    start_with(NULL);
    assert_string_equal(shown_setting("workers"), "2");
    assert_string_equal(shown_setting("limit-bytes"), "4194304");
    reply = set_executor("stealing", "random", "throughput", "9");
    assert_int_equal(reply->error, 0);
    assert_non_null(reply->reconfigured);
    assert_int_equal(reply->reconfigured->n_later, 0);
    assert_string_equal(shown_setting("stealing"), "random");
    assert_string_equal(shown_setting("throughput"), "9");
    reply = set_executor("throughput", "10", "attempts", "1");
    assert_int_equal(reply->error, -EBUSY);
    assert_text_has(reply->text, "attempts cannot be changed while the service runs");
    assert_string_equal(shown_setting("throughput"), "9");
    reply = set_executor("throughput", "10", "workers", "128");
    assert_int_equal(reply->error, -ERANGE);
    assert_text_has(reply->text, "workers-max");
    assert_string_equal(shown_setting("throughput"), "9");
    reply = set_executor("throughput", "10", "affinity", "8191");
    assert_int_equal(reply->error, -EINVAL);
    assert_text_has(reply->text, "setting affinity");
    assert_string_equal(shown_setting("throughput"), "9");
    reply = set_executor("throughput", "0", NULL, NULL);
    assert_int_equal(reply->error, -ERANGE);
    reply = set_executor("no-such-key", "0", NULL, NULL);
    assert_int_equal(reply->error, -EINVAL);
    assert_text_has(reply->text, "no-such-key");
    assert_int_equal(set_executor(NULL, NULL, NULL, NULL)->error, -EINVAL);
    reply = request(&unknown, NULL, 0);
    assert_int_equal(reply->error, -ENOSYS);
    assert_text_has(reply->text, "does not know");
}

static void test_bad_plugins(void **state)
{
    static const struct {
        const char *name, *part;
        int error;
    } bad[] = {
        { "missing_symbol", "odeon_test_function_that_nobody_has", -EINVAL },
        { "no_descriptor", "odeon_plugin_descriptor", -EINVAL },
        { "wrong_abi", "abi_major is 3, ours is 2", -EINVAL },
        { "newer_abi", "abi_minor is 7, ours is 6", -EINVAL },
        { "wrong_struct_size", "struct_size", -EINVAL },
        { "wrong_context_size", "context_size", -EINVAL },
        { "duplicate_type", "actor type echo is loaded already, by plugin good", -EEXIST },
        { "init_fails", "init has failed with -19", -EINVAL },
        { "empty_name", "(empty)", -EINVAL },
        { "bad_name", "bad?name", -EINVAL },
        { "oversized_state", "state_size is 3221225472", -EINVAL },
        { "oversized_behaviours", "300 behaviours", -EINVAL },
        { "bad_restart", "restart policy 99", -EINVAL },
        { "bad_overflow", "overflow policy 4", -EINVAL },
        { "half_kept", "half_kept_second cannot be registered", -E2BIG },
        { "half_kept", "half_kept_second cannot be registered", -E2BIG },
        { "good", "plugin named good is loaded already", -EEXIST },
    };
    Odeon__Request list = ODEON__REQUEST__INIT;
    Odeon__PluginList plugin_list = ODEON__PLUGIN_LIST__INIT;
    const Odeon__Reply *reply;

    (void)state;
    start_with("good");
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        reply = load_plugin(bad[i].name);
        if (reply->error != bad[i].error)
            fail_msg("%s: error %d: %s", bad[i].name, reply->error, reply->text);
        assert_text_has(reply->text, bad[i].part);
    }
    list.plugin_list = &plugin_list;
    list.body_case = ODEON__REQUEST__BODY_PLUGIN_LIST;
    reply = request(&list, NULL, 0);
    assert_int_equal(reply->plugin_list->n_plugins, 1);
    assert_string_equal(reply->plugin_list->plugins[0]->name, "good");
    assert_int_equal(reply->plugin_list->plugins[0]->n_types, 2);
    /* A type whose plugin's init has failed is not there. */
    assert_int_equal(list_actors("init_fails_type", 0, 0)->error, -ENOENT);
    reply = load_plugin("crasher");
    assert_int_equal(reply->error, 0);
    assert_string_equal(reply->plugin->name, "crasher");
}

/* What it has refused is done without when it is told so: nothing runs before. */
static void test_a_refusal_at_the_start(void **state)
{
    Odeon__Command go = ODEON__COMMAND__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;
    uint64_t id;

    (void)state;
    go.go_without = &ok;
    go.body_case = ODEON__COMMAND__BODY_GO_WITHOUT;
    spawn_executor();
    id = send_start(0, 3);
    assert_int_equal(load_plugin("wrong_abi")->error, -EINVAL);
    send_command(&go, NULL, 0);
    assert_int_equal(load_plugin("good")->error, 0);
    assert_int_equal(load_plugin("init_fails")->error, -EINVAL);
    assert_int_equal(list_actors("echo", 0, 0)->error, -EAGAIN);
    send_command(&go, NULL, 0);
    expect_ready(id);
    assert_int_equal(list_actors("echo", 0, 0)->error, 0);
}

/* The loader knows a file that it has mapped already under each name that it has had; a
 * descriptor's number comes back for another file. */
static void test_the_same_file_again(void **state)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__PluginLoad load = ODEON__PLUGIN_LOAD__INIT;
    const Odeon__Reply *reply;
    int fd = sealed_plugin("good");

    (void)state;
    start_with(NULL);
    load.path = (char *)(uintptr_t) "good";
    body.plugin_load = &load;
    body.body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
    assert_int_equal(request(&body, &fd, 1)->error, 0);
    for (unsigned i = 0; i < 3; i++) {
        reply = request(&body, &fd, 1);
        assert_int_equal(reply->error, -EEXIST);
        assert_text_has(reply->text, "plugin named good is loaded already");
    }
    close(fd);
    reply = load_plugin("crasher");
    if (reply->error != 0)
        fail_msg("%s", reply->text);
    assert_string_equal(reply->plugin->name, "crasher");
}

static void test_bad_files(void **state)
{
    static const char text[] =
        "#!/bin/sh\nrm -rf everything, and this line only makes it longer than a header\n";
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__PluginLoad load = ODEON__PLUGIN_LOAD__INIT;
    const Odeon__Reply *reply;
    int fd, sealed;

    (void)state;
    start_with(NULL);
    body.plugin_load = &load;
    body.body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
    reply = request(&body, NULL, 0);
    assert_int_equal(reply->error, -EBADF);
    assert_text_has(reply->text, "without the plugin's file");
    fd = memfd_create("script", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
    reply = request(&body, &fd, 1);
    assert_int_equal(reply->error, -EINVAL);
    assert_text_has(reply->text, "sealed");
    sealed = memfd_copy_file(fd, 1 << 20);
    assert_true(sealed >= 0);
    reply = request(&body, &sealed, 1);
    assert_int_equal(reply->error, -EINVAL);
    assert_text_has(reply->text, "not an ELF file");
    close(fd);
    close(sealed);
}

static void expect_refusals(uint64_t echo)
{
    const uint8_t text[16] = { 0 };
    const Odeon__Reply *reply;

    assert_int_equal(send_to(echo, "good_text", text, 16)->error, 0);
    reply = send_to(echo, "good_text", text, 7);
    assert_int_equal(reply->error, -EINVAL);
    assert_text_has(reply->text, "at least 8 bytes, 7 were given");
    reply = send_to(echo, "crash", NULL, 0);
    assert_int_equal(reply->error, -EOPNOTSUPP);
    assert_text_has(reply->text, "do not accept crash");
    assert_int_equal(send_to(echo, "nonsense", NULL, 0)->error, -ENOENT);
    assert_int_equal(send_to(echo + (UINT64_C(1) << 32), "good_text", text, 16)->error, -ESRCH);
    assert_int_equal(send_to(UINT64_MAX, "good_text", text, 16)->error, -ESRCH);
    assert_int_equal(stop_actor(echo, 0)->error, -EINVAL);
    assert_int_equal(stop_actor(echo, 4)->error, -EINVAL);
    assert_int_equal(show_actor(0, "nobody")->error, -ENOENT);
    reply = show_actor(echo + (UINT64_C(1) << 32), "");
    assert_int_equal(reply->error, -ENOENT);
    assert_text_has(reply->text, "it has ended or never was");
    assert_int_equal(show_actor(UINT64_MAX, "")->error, -ENOENT);
}

static void expect_pages(void)
{
    const Odeon__Reply *reply;
    size_t seen = 0, pages = 0;
    uint64_t after = 0;
    bool more = true;

    for (unsigned i = 0; i < 150; i++)
        spawn_actor("crasher", "");
    while (more) {
        reply = list_actors("crasher", after, 40);
        assert_int_equal(reply->error, 0);
        assert_true(reply->actor_list->n_actors <= 40);
        seen += reply->actor_list->n_actors;
        pages++;
        more = reply->actor_list->more;
        after = reply->actor_list->next;
    }
    assert_int_equal(seen, 150);
    assert_int_equal(pages, 4);
    assert_int_equal(list_actors("", 0, 0)->actor_list->n_actors, 64);
    assert_int_equal(list_actors("", UINT64_MAX, 0)->actor_list->n_actors, 0);
}

/* Among many of others, those of one type are not looked for to the end in one request. */
static void expect_pages_without_rows(uint64_t echo)
{
    const Odeon__Reply *reply;
    uint64_t after = actor_ref_slot(echo) + UINT64_C(1), last = after;
    unsigned pages = 0;

    for (unsigned i = 0; i < 2500; i++)
        last = actor_ref_slot(spawn_actor("crasher", ""));
    assert_true(last - after > 2048);
    do {
        reply = list_actors("echo", after, 0);
        assert_int_equal(reply->actor_list->n_actors, 0);
        assert_true(reply->actor_list->next > after && reply->actor_list->next - after <= 2048);
        after = reply->actor_list->next;
        pages++;
    } while (reply->actor_list->more);
    assert_true(pages >= 2 && after > last);
}

/* It would be there for ever. */
static void expect_no_group(void)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__Spawn spawn = ODEON__SPAWN__INIT;

    spawn.type = (char *)(uintptr_t) "odeon_group";
    body.spawn = &spawn;
    body.body_case = ODEON__REQUEST__BODY_SPAWN;
    assert_int_equal(request(&body, NULL, 0)->error, -EOPNOTSUPP);
}

static void test_actors(void **state)
{
    const uint8_t text[16] = { 0 };
    const Odeon__Reply *reply;
    uint64_t echo, gone;
    int64_t deadline;

    (void)state;
    start_with("good");
    assert_int_equal(load_plugin("crasher")->error, 0);
    echo = spawn_actor("echo", "the-echo");
    reply = show_actor(0, "the-echo");
    assert_int_equal(reply->error, 0);
    assert_true(reply->actor_show->actor->ref == echo);
    assert_string_equal(reply->actor_show->actor->type, "echo");
    assert_string_equal(reply->actor_show->actor->name, "the-echo");
    assert_int_equal(reply->actor_show->n_accepts, 1);
    assert_string_equal(reply->actor_show->accepts[0], "good_text");

    expect_refusals(echo);
    expect_pages();
    expect_pages_without_rows(echo);
    expect_no_group();
    reply = unload_plugin("good");
    assert_int_equal(reply->error, -EBUSY);
    assert_text_has(reply->text, "1 live actor of type echo");
    assert_int_equal(unload_plugin("bad")->error, -ENOENT);
    assert_int_equal(stop_actor(echo, 1)->error, 0);
    deadline = now_ms() + PATIENCE_MS;
    do {
        reply = unload_plugin("good");
    } while (reply->error == -EBUSY && now_ms() < deadline);
    assert_int_equal(reply->error, 0);
    assert_int_equal(show_actor(0, "the-echo")->error, -ENOENT);
    assert_int_equal(list_actors("echo", 0, 0)->actor_list->n_actors, 0);

    /* The same plugin once more: same name, the numbers of descriptors used again. */
    assert_int_equal(load_plugin("good")->error, 0);
    gone = spawn_actor("echo", "the-echo");
    assert_true(gone != echo);
    assert_int_equal(send_to(gone, "good_text", text, 16)->error, 0);
}

static void test_kill_and_restart(void **state)
{
    const uint8_t text[16] = { 0 };
    const Odeon__Reply *reply;
    uint64_t echo;

    (void)state;
    start_with("good");
    echo = spawn_actor("echo", "lives-on");
    end_executor();
    start_with("good");
    reply = show_actor(0, "lives-on");
    assert_int_equal(reply->error, 0);
    assert_true(reply->actor_show->actor->ref == echo);
    assert_int_equal(send_to(echo, "good_text", text, 16)->error, 0);
    assert_text_has(read_log(), "start 2, recovered in");
    end_executor();
    /* Without its plugin the actor waits, and the log says so. */
    start_with(NULL);
    assert_text_has(read_log(),
                    "1 actors of type echo cannot run: their plugin good is not loaded");
    assert_int_equal(send_to(echo, "good_text", text, 16)->error, -EHOSTDOWN);
    assert_int_equal(load_plugin("good")->error, 0);
    assert_int_equal(send_to(echo, "good_text", text, 16)->error, 0);
}

static bool has_ended(uint64_t ref)
{
    const int64_t deadline = now_ms() + PATIENCE_MS;

    while (show_actor(ref, "")->error != -ENOENT)
        if (now_ms() > deadline)
            return false;
    return true;
}

/* Whether it has taken what it was sent, and has not ended by that. */
static bool lives_on(uint64_t ref)
{
    const int64_t deadline = now_ms() + PATIENCE_MS;
    const Odeon__Reply *reply;

    do {
        reply = show_actor(ref, "");
    } while (reply->error == 0 && reply->actor_show->queue_bytes > 0 && now_ms() < deadline);
    return reply->error == 0 && reply->actor_show->queue_bytes == 0;
}

/* The older one ends who takes it, and nobody that the newer one is meant for. */
static void test_a_message_in_two_versions(void **state)
{
    const uint32_t mark[2] = { 1, 2 };
    const Odeon__Reply *reply;
    uint32_t older, newer;
    uint64_t both, once;

    (void)state;
    start_with("two_versions");
    assert_int_equal(load_plugin("good")->error, 0);
    older = find_message("mark", 1);
    newer = find_message("mark", 2);
    both = spawn_actor("marked", "both");
    once = spawn_actor("marked_once", "once");
    assert_int_equal(send_to(both, "mark", mark, sizeof(mark))->error, 0);
    assert_int_equal(send_type_to(both, "mark", newer, mark, sizeof(mark))->error, 0);
    reply = send_type_to(once, "mark", newer, mark, sizeof(mark));
    assert_int_equal(reply->error, -EOPNOTSUPP);
    assert_text_has(reply->text, "do not accept mark in version 2");
    /* an id of another message, and ones that there are not */
    assert_int_equal(
        send_type_to(both, "mark", find_message("good_text", 1), mark, sizeof(mark))->error,
        -ENOENT);
    assert_int_equal(send_type_to(both, "mark", 4000, mark, sizeof(mark))->error, -ENOENT);
    assert_int_equal(send_type_to(both, "mark", older | 1U << 16, mark, sizeof(mark))->error,
                     -ENOENT);
    assert_int_equal(send_type_to(both, "mark", older, mark, 7)->error, -EINVAL);
    assert_true(lives_on(both));
    assert_int_equal(send_type_to(both, "mark", older, mark, sizeof(mark))->error, 0);
    assert_true(has_ended(both));
    assert_int_equal(send_to(once, "mark", mark, sizeof(mark))->error, 0);
    assert_true(has_ended(once));
}

/* Whether the queue of an actor is seen empty before the deadline: one look, since what it sent may
 * be on its way there. */
static bool queue_empties(uint64_t ref)
{
    const int64_t deadline = now_ms() + PATIENCE_MS;

    while (show_actor(ref, "")->actor_show->queue_bytes > 0)
        if (now_ms() > deadline)
            return false;
    return true;
}

static void test_crashing_handler(void **state)
{
    uint64_t crasher;
    int status;

    (void)state;
    start_with("crasher");
    crasher = spawn_actor("crasher", "bad-one");
    send_fatal(crasher, "crash");
    for (unsigned boot = 2; boot <= 4; boot++) {
        status = wait_for_end();
        assert_true(WIFSIGNALED(status));
        if (boot < 4) {
            spawn_executor();
            send_start(0, 1);
            /* workers start behind this answer, and the message is run again */
            load_plugin("crasher");
        }
    }
    start_with("crasher");
    assert_text_has(read_log(), "plugin crasher crashed: actor type crasher");
    assert_text_has(read_log(), "message crash");
    assert_text_has(read_log(), "attempt 3 of 3: the message is a dead letter now");
    assert_text_has(read_log(), "ODEON_PLUGIN=crasher");
    /* It has been told that the message is gone for good: everything goes on, the actor
     * included. */
    assert_int_equal(send_to(crasher, "ok", NULL, 0)->error, 0);
    assert_true(queue_empties(crasher));
}

static void test_ports(void **state)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__PortAdd add = ODEON__PORT_ADD__INIT;
    Odeon__PortRemove remove = ODEON__PORT_REMOVE__INIT;
    const Odeon__Report *report;
    uint64_t start, id, ref;
    int fds[3];

    (void)state;
    fds[0] = memfd_make_sealed("client", port_ring_offset(page_bytes()) + ODEON_RING_MIN);
    fds[1] = memfd_make_sealed("executor", port_ring_offset(page_bytes()) + ODEON_RING_MIN);
    fds[2] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    add.port_id = 5;
    add.generation = 1;
    add.client_id = 9;
    add.submission_bytes = add.delivery_bytes = ODEON_RING_MIN;
    command.port_add = &add;
    command.body_case = ODEON__COMMAND__BODY_PORT_ADD;

    spawn_executor();
    start = send_start(1, 0);
    id = send_command(&command, fds, 3);
    report = receive_report();
    assert_non_null(report);
    assert_int_equal(report->id, id);
    assert_int_equal(report->error, 0);
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_PORT);
    ref = report->port->ref;
    assert_int_equal(report->port->actors_max, 4096);
    expect_ready(start);
    assert_true(show_actor(ref, "")->actor_show->actor->ref == ref);
    assert_string_equal(show_actor(ref, "")->actor_show->actor->type, "port");
    assert_int_equal(stop_actor(ref, 1)->error, -EOPNOTSUPP);

    /* Refused: the same again, no descriptors, descriptors that are no memory. */
    send_command(&command, fds, 3);
    assert_int_equal(receive_report()->error, -EEXIST);
    add.port_id = 6;
    send_command(&command, NULL, 0);
    report = receive_report();
    assert_int_equal(report->error, -EBADF);
    assert_text_has(report->text, "descriptors");
    send_command(&command, (const int[]){ fds[2], fds[2], fds[2] }, 3);
    assert_true(receive_report()->error < 0);

    remove.port_id = 5;
    remove.generation = 1;
    command.port_remove = &remove;
    command.body_case = ODEON__COMMAND__BODY_PORT_REMOVE;
    id = send_command(&command, NULL, 0);
    report = receive_report();
    assert_int_equal(report->id, id);
    assert_int_equal(report->error, 0);
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_PORT_REMOVED);
    send_command(&command, NULL, 0);
    assert_true(receive_report()->error < 0); /* it has gone */
    for (unsigned i = 0; i < 3; i++)
        close(fds[i]);
}

/* How often the control thread has waited for somebody. */
static uint64_t control_waits(void)
{
    const uint8_t *stats = mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ, MAP_SHARED, s.stats, 0);
    const struct stats_worker *blocks = (const struct stats_worker *)(stats + STATS_WORKER_OFFSET);
    uint64_t n;

    assert_ptr_not_equal(stats, MAP_FAILED);
    n = atomic_load_explicit(&blocks[STATS_CONTROL_BLOCK].value[STAT_control_waits],
                             memory_order_relaxed);
    munmap((void *)(uintptr_t)stats, STATS_SEGMENT_SIZE);
    return n;
}

/* Whether there is nothing to wait for, or a handler that never returns. */
static void test_drain_on_demand_waits_for_nobody(void **state)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Drain drain = ODEON__DRAIN__INIT;
    const Odeon__Report *report;
    uint64_t hang;

    (void)state;
    start_with("hang");
    command.drain = &drain;
    command.body_case = ODEON__COMMAND__BODY_DRAIN;
    drain.timeout_ns = PATIENCE_NS;
    send_command(&command, NULL, 0);
    report = receive_report();
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_DRAINED);
    assert_true(report->drained->complete);
    hang = spawn_actor("hang", "");
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(send_to(hang, "hang", NULL, 0)->error, 0);
    drain.timeout_ns = 50000000;
    send_command(&command, NULL, 0);
    report = receive_report();
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_DRAINED);
    assert_false(report->drained->complete);
    assert_true(report->drained->unreceived >= 2);
    assert_int_equal(control_waits(), 0);
}

static void test_drain_and_stop(void **state)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Drain drain = ODEON__DRAIN__INIT;
    const Odeon__Report *report;
    uint64_t id;
    int status;

    (void)state;
    start_with("good");
    spawn_actor("echo", "");
    drain.timeout_ns = PATIENCE_NS;
    command.drain = &drain;
    command.body_case = ODEON__COMMAND__BODY_DRAIN;
    id = send_command(&command, NULL, 0);
    report = receive_report();
    assert_non_null(report);
    assert_int_equal(report->id, id);
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_DRAINED);
    assert_true(report->drained->complete);
    assert_string_equal(shown_setting("workers"), "2"); /* it goes on */
    drain.stop = true;
    id = send_command(&command, NULL, 0);
    report = receive_report();
    assert_non_null(report);
    assert_int_equal(report->id, id);
    assert_true(report->drained->complete);
    assert_int_equal(report->drained->unreceived, 0);
    assert_int_equal(report->drained->messages_unsent, 0);
    assert_null(receive_report());
    status = wait_for_end();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A handler that never returns neither keeps the report back nor the executor alive. */
static void test_stop_with_hanging_handler(void **state)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Drain drain = ODEON__DRAIN__INIT;
    const Odeon__Report *report;
    const Odeon__Reply *reply;
    uint64_t hang, idle;
    int status;

    (void)state;
    start_with("hang");
    assert_int_equal(load_plugin("good")->error, 0);
    hang = spawn_actor("hang", "");
    assert_int_equal(send_to(hang, "hang", NULL, 0)->error, 0);
    assert_int_equal(send_to(hang, "hang", NULL, 0)->error, 0);
    idle = spawn_actor("echo", "");
    assert_int_equal(show_actor(idle, "")->error, 0); /* requests are answered all the same */
    reply = unload_plugin("hang");
    assert_int_equal(reply->error, -EBUSY);
    assert_text_has(reply->text, "1 live actor of type hang");
    drain.timeout_ns = 50000000;
    drain.stop = true;
    command.drain = &drain;
    command.body_case = ODEON__COMMAND__BODY_DRAIN;
    send_command(&command, NULL, 0);
    report = receive_report();
    assert_non_null(report);
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_DRAINED);
    assert_false(report->drained->complete);
    assert_true(report->drained->unreceived >= 1);
    status = wait_for_end();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* It fills its worker's outbox, is told so, and nobody else is troubled. */
static void test_greedy_handler(void **state)
{
    const uint64_t nobody = 0;
    uint64_t greedy;
    int64_t deadline;

    (void)state;
    start_with("greedy");
    greedy = spawn_actor("greedy", "");
    assert_int_equal(send_to(greedy, "greedy_go", &nobody, sizeof(nobody))->error, 0);
    assert_int_equal(send_to(greedy, "greedy_ask", NULL, 0)->error, 0);
    deadline = now_ms() + PATIENCE_MS;
    while (list_actors("greedy_sink", 0, 0)->actor_list->n_actors == 0 && now_ms() < deadline)
        ;
    assert_int_equal(list_actors("greedy_sink", 0, 0)->actor_list->n_actors, 1);
    assert_true(queue_empties(greedy));
}

/* An odeond of another build, and of the one before there were versions. */
static void test_other_versions(void **state)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Start start = ODEON__START__INIT;
    const int fds[] = { s.segment, s.stats };
    const Odeon__Report *report;
    char said[48];
    int status;

    (void)state;
    command.start = &start;
    command.body_case = ODEON__COMMAND__BODY_START;
    for (unsigned other = 0; other < 2; other++) {
        start.protocol = other ? ODEON_EXECUTOR_PROTOCOL + 1 : 0;
        spawn_executor();
        send_command(&command, fds, 2);
        report = receive_report();
        assert_non_null(report);
        assert_int_equal(report->error, -EPROTO);
        assert_int_equal(report->protocol, ODEON_EXECUTOR_PROTOCOL);
        snprintf(said, sizeof(said), "odeond speaks version %u of", start.protocol);
        assert_text_has(report->text, said);
        assert_text_has(report->text, "the segment is left as it is");
        status = wait_for_end();
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    }
}

static void test_bad_starts(void **state)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Start start = ODEON__START__INIT;
    Odeon__Setting setting = ODEON__SETTING__INIT, *list[] = { &setting };
    const int fds[] = { s.segment, s.stats };
    const Odeon__Report *report;
    int status;

    (void)state;
    start.settings = list;
    start.n_settings = 1;
    start.protocol = ODEON_EXECUTOR_PROTOCOL;
    setting.key = (char *)(uintptr_t) "workers";
    setting.value = (char *)(uintptr_t) "many";
    command.start = &start;
    command.body_case = ODEON__COMMAND__BODY_START;
    spawn_executor();
    send_command(&command, fds, 2);
    report = receive_report();
    assert_non_null(report);
    assert_int_equal(report->error, -EINVAL);
    assert_text_has(report->text, "'many'");
    status = wait_for_end();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);

    setting.value = (char *)(uintptr_t) "2";
    spawn_executor();
    send_command(&command, fds, 1);
    report = receive_report();
    assert_non_null(report);
    assert_int_equal(report->error, -EBADF);
    wait_for_end();

    /* A request before the start, a command that nobody knows, bytes that are none. */
    spawn_executor();
    assert_int_equal(show_actor(1, "")->error, -EAGAIN);
    command.body_case = ODEON__COMMAND__BODY__NOT_SET;
    send_command(&command, NULL, 0);
    assert_int_equal(receive_report()->error, -ENOSYS);
    /* Whoever waits for the answer would wait for ever. */
    assert_int_equal(send(s.control, "\xff\xff\xff\xff", 4, 0), 4);
    assert_null(receive_report());
    status = wait_for_end();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_text_has(read_log(), "a command cannot be read");
}

static void test_supervisor_dies(void **state)
{
    int status;

    (void)state;
    start_with("good");
    close(s.control);
    s.control = -1;
    status = wait_for_end();
    assert_true(WIFEXITED(status));
    assert_text_has(read_log(), "the supervisor has gone");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_settings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_plugins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_refusal_at_the_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_same_file_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_actors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_message_in_two_versions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kill_and_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_crashing_handler, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ports, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drain_on_demand_waits_for_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drain_and_stop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop_with_hanging_handler, setup, teardown),
        cmocka_unit_test_setup_teardown(test_greedy_handler, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_versions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_starts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_supervisor_dies, setup, teardown),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: %s PATH-OF-ODEON-EXECUTOR DIRECTORY-OF-HOSTILE-PLUGINS\n", argv[0]);
        return 2;
    }
    program = argv[1];
    plugin_dir = argv[2];
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("executor process", tests, NULL, NULL);
}
