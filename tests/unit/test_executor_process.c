/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-executor as its supervisor sees it: started on one end of a socket, told what to do, killed, started again on
 * the same memory. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/frame.h"
#include "daemon/common/memfd.h"
#include "proto/control.pb-c.h"
#include "proto/port_layout.h"
#include "proto/stats_layout.h"

enum { ANSWER_MS = 20000, LOG_MAX = 1 << 20 };

static const char *program, *plugin_dir;

/* One service: memory that lives on, and the executor that runs on it now. */
static struct {
    int segment, stats, log, control;
    pid_t pid;
    uint64_t next_id;
    struct frame frame;
    Odeon__Report *report;
} s;

static const char *const settings[][2] = {
    { "workers", "2" },       { "queues-per-worker", "4" }, { "actors", "4096" },          { "limit-bytes", "4M" },
    { "outbox-bytes", "1M" }, { "backlog-bytes", "1M" },    { "dead-letter-bytes", "1M" }, { "affinity", "none" },
};
enum { N_SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* ---- the supervisor's part */

static uint64_t ask_segment_size(void)
{
    char command[4096];
    uint64_t bytes = 0;
    FILE *pipe;
    int n = snprintf(command, sizeof(command), "'%s' --print-segment-size", program);

    for (unsigned i = 0; i < N_SETTINGS; i++)
        n += snprintf(command + n, sizeof(command) - (size_t)n, " --set %s=%s", settings[i][0], settings[i][1]);
    pipe = popen(command, "re");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%" SCNu64, &bytes), 1);
    assert_int_equal(pclose(pipe), 0);
    return bytes;
}

static int setup(void **state)
{
    (void)state;
    memset(&s, 0, sizeof(s));
    s.segment = memfd_make_sealed("segment", ask_segment_size());
    s.stats = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    s.log = memfd_create("log", MFD_CLOEXEC);
    s.control = -1;
    return s.segment < 0 || s.stats < 0 || s.log < 0;
}

static void end_executor(void)
{
    if (s.pid > 0) {
        kill(s.pid, SIGKILL);
        waitpid(s.pid, NULL, 0);
    }
    s.pid = 0;
    if (s.control >= 0)
        close(s.control);
    s.control = -1;
}

static int teardown(void **state)
{
    (void)state;
    end_executor();
    if (s.report)
        odeon__report__free_unpacked(s.report, NULL);
    close(s.segment);
    close(s.stats);
    close(s.log);
    return 0;
}

static void spawn_executor(void)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    s.pid = fork();
    assert_true(s.pid >= 0);
    if (s.pid == 0) {
        dup2(ends[1], 3);
        dup2(s.log, STDERR_FILENO);
        fcntl(3, F_SETFD, 0);
        execl(program, program, "--log-level", "debug", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    s.control = ends[0];
}

static uint64_t send_command(Odeon__Command *command, const int *fds, size_t n_fds)
{
    command->id = ++s.next_id;
    assert_int_equal(frame_send(s.control, &command->base, fds, n_fds), 0);
    return command->id;
}

/* The next report, kept in s.report; NULL: the executor has closed the connection. */
static const Odeon__Report *receive_report(void)
{
    struct pollfd pfd = { .fd = s.control, .events = POLLIN };
    int r;

    if (s.report)
        odeon__report__free_unpacked(s.report, NULL);
    s.report = NULL;
    assert_int_equal(poll(&pfd, 1, ANSWER_MS), 1);
    r = frame_receive(s.control, &s.frame);
    if (r == 0 || r == -ECONNRESET)
        return NULL;
    assert_int_equal(r, 1);
    s.report = odeon__report__unpack(NULL, s.frame.size, s.frame.data);
    assert_non_null(s.report);
    return s.report;
}

static const Odeon__Reply *request(Odeon__Request *body, const int *fds, size_t n_fds)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    const Odeon__Report *report;
    uint64_t id;

    body->id = 4711;
    command.request = body;
    command.body_case = ODEON__COMMAND__BODY_REQUEST;
    id = send_command(&command, fds, n_fds);
    report = receive_report();
    assert_non_null(report);
    assert_int_equal(report->id, id);
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_REPLY);
    assert_int_equal(report->reply->id, 4711);
    return report->reply;
}

static uint64_t send_start(uint32_t n_ports, uint32_t n_plugins)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Start start = ODEON__START__INIT;
    Odeon__Setting rows[N_SETTINGS], *list[N_SETTINGS];
    const int fds[] = { s.segment, s.stats };

    for (unsigned i = 0; i < N_SETTINGS; i++) {
        odeon__setting__init(&rows[i]);
        rows[i].key = (char *)(uintptr_t)settings[i][0];
        rows[i].value = (char *)(uintptr_t)settings[i][1];
        list[i] = &rows[i];
    }
    start.n_settings = N_SETTINGS;
    start.settings = list;
    start.ports = n_ports;
    start.plugins = n_plugins;
    command.start = &start;
    command.body_case = ODEON__COMMAND__BODY_START;
    return send_command(&command, fds, 2);
}

static void expect_ready(uint64_t id)
{
    const Odeon__Report *report = receive_report();

    assert_non_null(report);
    if (report->error != 0)
        fail_msg("start: %s", report->text);
    assert_int_equal(report->id, id);
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_READY);
}

static const Odeon__Reply *load_plugin(const char *name)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__PluginLoad load = ODEON__PLUGIN_LOAD__INIT;
    char path[4096];
    const Odeon__Reply *reply;
    int file, fd;

    snprintf(path, sizeof(path), "%s/%s.so", plugin_dir, name);
    file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    fd = memfd_copy_file(file, 64 << 20);
    assert_true(fd >= 0);
    load.path = path;
    body.plugin_load = &load;
    body.body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
    reply = request(&body, &fd, 1);
    close(file);
    close(fd);
    return reply;
}

static void start_with(const char *plugin)
{
    uint64_t id;

    spawn_executor();
    id = send_start(0, plugin ? 1 : 0);
    if (plugin)
        assert_int_equal(load_plugin(plugin)->error, 0);
    expect_ready(id);
}

/* ---- requests */

static void assert_text_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is missing in: %s", part, text);
}

static uint64_t spawn_actor(const char *type, const char *name)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__Spawn spawn = ODEON__SPAWN__INIT;
    const Odeon__Reply *reply;

    spawn.type = (char *)(uintptr_t)type;
    spawn.name = (char *)(uintptr_t)name;
    body.spawn = &spawn;
    body.body_case = ODEON__REQUEST__BODY_SPAWN;
    reply = request(&body, NULL, 0);
    if (reply->error != 0)
        fail_msg("spawn %s: %s", type, reply->text);
    return reply->ref->ref;
}

static const Odeon__Reply *send_to(uint64_t ref, const char *message, const void *payload, size_t size)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ActorSend send = ODEON__ACTOR_SEND__INIT;

    send.ref = ref;
    send.message = (char *)(uintptr_t)message;
    send.payload.data = (uint8_t *)(uintptr_t)payload;
    send.payload.len = size;
    body.actor_send = &send;
    body.body_case = ODEON__REQUEST__BODY_ACTOR_SEND;
    return request(&body, NULL, 0);
}

static const Odeon__Reply *stop_actor(uint64_t ref, uint32_t how)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ActorStop stop = ODEON__ACTOR_STOP__INIT;

    stop.ref = ref;
    stop.how = how;
    body.actor_stop = &stop;
    body.body_case = ODEON__REQUEST__BODY_ACTOR_STOP;
    return request(&body, NULL, 0);
}

static const Odeon__Reply *show_actor(uint64_t ref, const char *name)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ActorShow show = ODEON__ACTOR_SHOW__INIT;

    show.ref = ref;
    show.name = (char *)(uintptr_t)name;
    body.actor_show = &show;
    body.body_case = ODEON__REQUEST__BODY_ACTOR_SHOW;
    return request(&body, NULL, 0);
}

static const Odeon__Reply *list_actors(const char *type, uint64_t after, uint32_t rows)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ActorList list = ODEON__ACTOR_LIST__INIT;
    Odeon__Page page = ODEON__PAGE__INIT;

    page.after = after;
    page.rows = rows;
    list.page = &page;
    list.type = (char *)(uintptr_t)type;
    body.actor_list = &list;
    body.body_case = ODEON__REQUEST__BODY_ACTOR_LIST;
    return request(&body, NULL, 0);
}

static const Odeon__Reply *unload_plugin(const char *name)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__PluginUnload unload = ODEON__PLUGIN_UNLOAD__INIT;

    unload.name = (char *)(uintptr_t)name;
    body.plugin_unload = &unload;
    body.body_case = ODEON__REQUEST__BODY_PLUGIN_UNLOAD;
    return request(&body, NULL, 0);
}

static const Odeon__Reply *set_executor(const char *key, const char *value, const char *key2, const char *value2)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ExecutorSet set = ODEON__EXECUTOR_SET__INIT;
    Odeon__Setting rows[2] = { ODEON__SETTING__INIT, ODEON__SETTING__INIT }, *list[2] = { &rows[0], &rows[1] };

    rows[0].key = (char *)(uintptr_t)key;
    rows[0].value = (char *)(uintptr_t)value;
    rows[1].key = (char *)(uintptr_t)key2;
    rows[1].value = (char *)(uintptr_t)value2;
    set.settings = list;
    set.n_settings = key2 ? 2 : key ? 1 : 0;
    body.executor_set = &set;
    body.body_case = ODEON__REQUEST__BODY_EXECUTOR_SET;
    return request(&body, NULL, 0);
}

static const char *shown_setting(const char *key)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ExecutorShow show = ODEON__EXECUTOR_SHOW__INIT;
    const Odeon__Reply *reply;

    body.executor_show = &show;
    body.body_case = ODEON__REQUEST__BODY_EXECUTOR_SHOW;
    reply = request(&body, NULL, 0);
    assert_int_equal(reply->body_case, ODEON__REPLY__BODY_EXECUTOR_SHOW);
    for (size_t i = 0; i < reply->executor_show->n_settings; i++)
        if (strcmp(reply->executor_show->settings[i]->key, key) == 0)
            return reply->executor_show->settings[i]->value;
    fail_msg("no setting %s is shown", key);
    return NULL;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static const char *read_log(void)
{
    static char text[LOG_MAX];
    ssize_t n = pread(s.log, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* Waits for the executor to end by itself. */
static int wait_for_end(void)
{
    int64_t deadline = now_ms() + ANSWER_MS;
    int status = 0;
    pid_t pid;

    do {
        pid = waitpid(s.pid, &status, WNOHANG);
        if (pid == 0)
            poll(NULL, 0, 5);
    } while (pid == 0 && now_ms() < deadline);
    assert_int_equal(pid, s.pid);
    s.pid = 0;
    end_executor();
    return status;
}

/* ---- the tests */

static void test_settings(void **state)
{
    Odeon__Request unknown = ODEON__REQUEST__INIT;
    const Odeon__Reply *reply;

    (void)state;
    start_with(NULL);
    assert_string_equal(shown_setting("workers"), "2");
    assert_string_equal(shown_setting("limit-bytes"), "4194304");
    assert_int_equal(set_executor("stealing", "random", "throughput", "9")->error, 0);
    assert_string_equal(shown_setting("stealing"), "random");
    assert_string_equal(shown_setting("throughput"), "9");
    reply = set_executor("throughput", "10", "workers", "1");
    assert_int_equal(reply->error, -EBUSY);
    assert_text_has(reply->text, "workers");
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
        { "wrong_abi", "abi_major is 2, ours is 1", -EINVAL },
        { "newer_abi", "abi_minor is 1, ours is 0", -EINVAL },
        { "wrong_struct_size", "struct_size", -EINVAL },
        { "wrong_context_size", "context_size", -EINVAL },
        { "duplicate_type", "actor type echo is loaded already, by plugin good", -EEXIST },
        { "init_fails", "init has failed with -19", -EINVAL },
        { "empty_name", "(empty)", -EINVAL },
        { "bad_name", "bad?name", -EINVAL },
        { "oversized_state", "state_size is 3221225472", -EINVAL },
        { "oversized_behaviours", "300 behaviours", -EINVAL },
        { "bad_restart", "restart policy 99", -EINVAL },
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

static void test_bad_files(void **state)
{
    static const char text[] = "#!/bin/sh\nrm -rf everything, and this line only makes it longer than a header\n";
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

static void test_actors(void **state)
{
    const uint8_t text[16] = { 0 };
    const Odeon__Reply *reply;
    uint64_t echo, gone;
    int64_t deadline;
    size_t seen = 0, pages = 0;
    uint64_t after = 0;
    bool more = true;

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

    for (unsigned i = 0; i < 150; i++)
        spawn_actor("crasher", "");
    while (more) {
        reply = list_actors("crasher", after, 40);
        assert_int_equal(reply->error, 0);
        assert_true(reply->actor_list->n_actors <= 40);
        seen += reply->actor_list->n_actors;
        pages++;
        more = reply->actor_list->more;
        if (more)
            after = (uint32_t)reply->actor_list->actors[reply->actor_list->n_actors - 1]->ref + UINT64_C(1);
    }
    assert_int_equal(seen, 150);
    assert_int_equal(pages, 4);
    assert_int_equal(list_actors("", 0, 0)->actor_list->n_actors, 64);
    assert_int_equal(list_actors("", UINT64_MAX, 0)->actor_list->n_actors, 0);

    reply = unload_plugin("good");
    assert_int_equal(reply->error, -EBUSY);
    assert_text_has(reply->text, "1 live actor of type echo");
    assert_int_equal(unload_plugin("bad")->error, -ENOENT);
    assert_int_equal(stop_actor(echo, 1)->error, 0);
    deadline = now_ms() + ANSWER_MS;
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
    assert_text_has(read_log(), "1 actors of type echo cannot run: their plugin good is not loaded");
    assert_int_equal(send_to(echo, "good_text", text, 16)->error, -EHOSTDOWN);
    assert_int_equal(load_plugin("good")->error, 0);
    assert_int_equal(send_to(echo, "good_text", text, 16)->error, 0);
}

static void test_crashing_handler(void **state)
{
    int64_t deadline;
    uint64_t crasher;
    int status;

    (void)state;
    start_with("crasher");
    crasher = spawn_actor("crasher", "bad-one");
    send_to(crasher, "crash", NULL, 0);
    for (unsigned boot = 2; boot <= 4; boot++) {
        status = wait_for_end();
        assert_true(WIFSIGNALED(status));
        if (boot < 4) {
            spawn_executor();
            send_start(0, 1);
            load_plugin("crasher"); /* workers start behind this answer, and the message is run again */
        }
    }
    start_with("crasher");
    assert_text_has(read_log(), "plugin crasher crashed: actor type crasher");
    assert_text_has(read_log(), "message crash");
    assert_text_has(read_log(), "attempt 3 of 3: the message is a dead letter now");
    assert_text_has(read_log(), "ODEON_PLUGIN=crasher");
    /* It has been told that the message is gone for good: everything goes on, the actor included. */
    assert_int_equal(send_to(crasher, "ok", NULL, 0)->error, 0);
    deadline = now_ms() + ANSWER_MS;
    while (show_actor(crasher, "")->actor_show->queue_bytes > 0 && now_ms() < deadline)
        ;
    assert_int_equal(show_actor(crasher, "")->actor_show->queue_bytes, 0);
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
    fds[0] = memfd_make_sealed("client", PORT_RING_OFFSET + ODEON_RING_MIN);
    fds[1] = memfd_make_sealed("executor", PORT_RING_OFFSET + ODEON_RING_MIN);
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
    drain.timeout_ns = UINT64_C(5000000000);
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
    assert_int_equal(send(s.control, "\xff\xff\xff\xff", 4, 0), 4);
    assert_int_equal(show_actor(1, "")->error, -EAGAIN);
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
        cmocka_unit_test_setup_teardown(test_bad_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_actors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kill_and_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_crashing_handler, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ports, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drain_and_stop, setup, teardown),
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
