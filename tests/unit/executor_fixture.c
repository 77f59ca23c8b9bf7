/* SPDX-License-Identifier: Apache-2.0 */
/* See executor_fixture.h. */
#include "tests/unit/executor_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/memfd.h"
#include "proto/stats_layout.h"

enum { LOG_MAX = 1 << 20 };

const char *program, *plugin_dir;
struct service s;

static const char *const settings[][2] = {
    { "workers", "2" },
    { "queues-per-worker", "4" },
    { "actors", "4096" },
    { "limit-bytes", "4M" },
    { "outbox-bytes", "1M" },
    { "backlog-bytes", "1M" },
    { "dead-letter-bytes", "1M" },
    { "affinity", "none" },
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
        n += snprintf(command + n, sizeof(command) - (size_t)n, " --set %s=%s", settings[i][0],
                      settings[i][1]);
    pipe = popen(command, "re");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%" SCNu64, &bytes), 1);
    assert_int_equal(pclose(pipe), 0);
    return bytes;
}

int setup(void **state)
{
    (void)state;
    memset(&s, 0, sizeof(s));
    s.segment = memfd_make_sealed("segment", ask_segment_size());
    s.stats = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    s.log = memfd_create("log", MFD_CLOEXEC);
    s.control = -1;
    return s.segment < 0 || s.stats < 0 || s.log < 0;
}

void end_executor(void)
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

int teardown(void **state)
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

void spawn_executor(void)
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

uint64_t send_command(Odeon__Command *command, const int *fds, size_t n_fds)
{
    command->id = ++s.next_id;
    assert_int_equal(frame_send(s.control, &command->base, fds, n_fds), 0);
    return command->id;
}

/* The next report, kept in s.report; NULL: the executor has closed the connection. */
const Odeon__Report *receive_report(void)
{
    struct pollfd pfd = { .fd = s.control, .events = POLLIN };
    int r;

    if (s.report)
        odeon__report__free_unpacked(s.report, NULL);
    s.report = NULL;
    assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
    r = frame_receive(s.control, &s.frame);
    if (r == 0 || r == -ECONNRESET)
        return NULL;
    assert_int_equal(r, 1);
    s.report = odeon__report__unpack(NULL, s.frame.size, s.frame.data);
    assert_non_null(s.report);
    return s.report;
}

const Odeon__Reply *request(Odeon__Request *body, const int *fds, size_t n_fds)
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

uint64_t send_start(uint32_t n_ports, uint32_t n_plugins)
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
    start.protocol = ODEON_EXECUTOR_PROTOCOL;
    start.n_settings = N_SETTINGS;
    start.settings = list;
    start.ports = n_ports;
    start.plugins = n_plugins;
    command.start = &start;
    command.body_case = ODEON__COMMAND__BODY_START;
    return send_command(&command, fds, 2);
}

void expect_ready(uint64_t id)
{
    const Odeon__Report *report = receive_report();

    assert_non_null(report);
    if (report->error != 0)
        fail_msg("start: %s", report->text);
    assert_int_equal(report->id, id);
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_READY);
}

int sealed_plugin(const char *name)
{
    char path[4096];
    int file, fd;

    snprintf(path, sizeof(path), "%s/%s.so", plugin_dir, name);
    file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    fd = memfd_copy_file(file, 64 << 20);
    assert_true(fd >= 0);
    close(file);
    return fd;
}

const Odeon__Reply *load_plugin(const char *name)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__PluginLoad load = ODEON__PLUGIN_LOAD__INIT;
    char path[4096];
    const Odeon__Reply *reply;
    int fd = sealed_plugin(name);

    snprintf(path, sizeof(path), "%s/%s.so", plugin_dir, name);
    load.path = path;
    body.plugin_load = &load;
    body.body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
    reply = request(&body, &fd, 1);
    close(fd);
    return reply;
}

void start_with(const char *plugin)
{
    uint64_t id;

    spawn_executor();
    id = send_start(0, plugin ? 1 : 0);
    if (plugin)
        assert_int_equal(load_plugin(plugin)->error, 0);
    expect_ready(id);
}

/* ---- requests */

void assert_text_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is missing in: %s", part, text);
}

uint64_t spawn_actor(const char *type, const char *name)
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

const Odeon__Reply *send_to(uint64_t ref, const char *message, const void *payload, size_t size)
{
    return send_type_to(ref, message, 0, payload, size);
}

uint32_t find_message(const char *name, uint32_t version)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__MessageTypeFind find = ODEON__MESSAGE_TYPE_FIND__INIT;
    const Odeon__Reply *reply;

    find.name = (char *)(uintptr_t)name;
    find.version = version;
    body.message_type_find = &find;
    body.body_case = ODEON__REQUEST__BODY_MESSAGE_TYPE_FIND;
    reply = request(&body, NULL, 0);
    assert_int_equal(reply->error, 0);
    return (uint32_t)reply->message_type->id;
}

const Odeon__Reply *send_type_to(uint64_t ref, const char *message, uint32_t type,
                                 const void *payload, size_t size)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ActorSend send = ODEON__ACTOR_SEND__INIT;

    send.ref = ref;
    send.message = (char *)(uintptr_t)message;
    send.type = type;
    send.payload.data = (uint8_t *)(uintptr_t)payload;
    send.payload.len = size;
    body.actor_send = &send;
    body.body_case = ODEON__REQUEST__BODY_ACTOR_SEND;
    return request(&body, NULL, 0);
}

void send_fatal(uint64_t ref, const char *message)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ActorSend send = ODEON__ACTOR_SEND__INIT;

    send.ref = ref;
    send.message = (char *)(uintptr_t)message;
    body.id = 4711;
    body.actor_send = &send;
    body.body_case = ODEON__REQUEST__BODY_ACTOR_SEND;
    command.request = &body;
    command.body_case = ODEON__COMMAND__BODY_REQUEST;
    send_command(&command, NULL, 0);
}

const Odeon__Reply *stop_actor(uint64_t ref, uint32_t how)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ActorStop stop = ODEON__ACTOR_STOP__INIT;

    stop.ref = ref;
    stop.how = how;
    body.actor_stop = &stop;
    body.body_case = ODEON__REQUEST__BODY_ACTOR_STOP;
    return request(&body, NULL, 0);
}

const Odeon__Reply *show_actor(uint64_t ref, const char *name)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ActorShow show = ODEON__ACTOR_SHOW__INIT;

    show.ref = ref;
    show.name = (char *)(uintptr_t)name;
    body.actor_show = &show;
    body.body_case = ODEON__REQUEST__BODY_ACTOR_SHOW;
    return request(&body, NULL, 0);
}

const Odeon__Reply *list_actors(const char *type, uint64_t after, uint32_t rows)
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

const Odeon__Reply *unload_plugin(const char *name)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__PluginUnload unload = ODEON__PLUGIN_UNLOAD__INIT;

    unload.name = (char *)(uintptr_t)name;
    body.plugin_unload = &unload;
    body.body_case = ODEON__REQUEST__BODY_PLUGIN_UNLOAD;
    return request(&body, NULL, 0);
}

const Odeon__Reply *set_executor(const char *key, const char *value, const char *key2,
                                 const char *value2)
{
    Odeon__Request body = ODEON__REQUEST__INIT;
    Odeon__ExecutorSet set = ODEON__EXECUTOR_SET__INIT;
    Odeon__Setting rows[2] = { ODEON__SETTING__INIT, ODEON__SETTING__INIT },
                   *list[2] = { &rows[0], &rows[1] };

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

const char *shown_setting(const char *key)
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

int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

const char *read_log(void)
{
    static char text[LOG_MAX];
    ssize_t n = pread(s.log, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* Waits for the executor to end by itself. */
int wait_for_end(void)
{
    int64_t deadline = now_ms() + PATIENCE_MS;
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
