/* SPDX-License-Identifier: Apache-2.0 */
/* The control protocol as odeond takes it: records of two clients, and reports of an executor, in
 * any order, raw or made up from the protocol's own description; answers are read and must parse.
 *
 * The supervisor is the real one but for what it starts and maps: no executor process, no socket in
 * the file system. One loop for all inputs; each begins with two new clients and ends when nothing
 * of them is left.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/common/frame.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/reports.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/supervisor/turns.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_fill.h"

enum { CLIENTS = 2, STEPS_MAX = 64, RECORD_MAX = 4096 };

static struct supervisor supervisor;
static struct seat *const seat = &supervisor.seats[0];
static int clients[CLIENTS], executor;

static void on_report(void *userdata, const Odeon__Report *report)
{
    reports_handle(userdata, report);
}

static void on_executor_frame(void *userdata, struct frame *frame)
{
    Odeon__Report *report = odeon__report__unpack(NULL, frame->size, frame->data);

    (void)userdata;
    if (report && seat->executor.channel)
        seat->executor.ops->report(seat, report);
    odeon__report__free_unpacked(report, NULL);
}

static void on_executor_error(void *userdata, int error)
{
    (void)userdata, (void)error;
}

static void on_exited(void *userdata, int wait_status)
{
    (void)userdata, (void)wait_status;
}

static void start(void)
{
    static const struct link_ops ops = { .report = on_report, .exited = on_exited };

    static char path[] = "/nonexistent", *argv[] = { path, NULL };
    char text[OPTIONS_TEXT_MAX];

    log_open("fuzz", LOG_LEVEL_ERROR);
    supervisor_wire(&supervisor);
    supervisor.options = (struct options){ .config_path = path, .argc = 1, .argv = argv };
    FUZZ_EXPECT(config_load(&supervisor.config, &supervisor.options, text) == 0); /* the defaults */
    /* all inputs come from one process, which offends without end */
    supervisor.config.quotas.hold_ms = 0;
    FUZZ_EXPECT(registry_make(&supervisor.persist.registry, 0) == 0);
    /* Each input begins with an executor that is ready: its first start is settled. */
    atomic_store(&supervisor.persist.registry.map->header.settled, 1);
    FUZZ_EXPECT(uv_loop_init(&supervisor.loop) == 0);
    turns_start(&supervisor.loop);
    clients_start(&supervisor.clients);
    supervisor.runtime.stats_path = strdup("/run/odeon/stats");
    supervisor.runtime.dir = strdup("/run/odeon");
    seat->stats.header =
        mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    notify_init(&supervisor.notify, &supervisor.loop, false, NULL, NULL);
    memory_count_init(&seat->memory, &supervisor.loop);
    executor_link_init(&seat->executor, &supervisor.loop, &ops, seat);
    uv_run(&supervisor.loop, UV_RUN_NOWAIT);
}

static int connect_channel(int *ret_ours)
{
    int ends[2], size = 1 << 20;

    FUZZ_EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    *ret_ours = ends[0];
    return ends[1];
}

static void begin(void)
{
    static const struct channel_ops ops = { .on_frame = on_executor_frame,
                                            .on_error = on_executor_error };

    for (int i = 0; i < CLIENTS; i++) {
        int fd = connect_channel(&clients[i]);
        struct peer peer = { .pidfd = -1 };

        FUZZ_EXPECT(peer_read(&peer, fd) == 0 && client_add(&supervisor.clients, fd, &peer) == 0);
    }
    seat->executor.channel =
        channel_new(&supervisor.loop, connect_channel(&executor), SIZE_MAX, &ops, &seat->executor);
    FUZZ_EXPECT(seat->executor.channel);
    seat->executor.state = LINK_READY;
}

/* What the other side said must be a record of the protocol. */
static void read_all(int fd, const ProtobufCMessageDescriptor *descriptor)
{
    static struct frame frame;

    while (frame_receive(fd, &frame) == 1) {
        ProtobufCMessage *message =
            protobuf_c_message_unpack(descriptor, NULL, frame.size, frame.data);

        FUZZ_EXPECT(message);
        protobuf_c_message_free_unpacked(message, NULL);
        frame_fini(&frame);
    }
}

static void turn(void)
{
    for (int i = 0; i < 3; i++)
        uv_run(&supervisor.loop, UV_RUN_NOWAIT);
    for (int i = 0; i < CLIENTS; i++)
        read_all(clients[i], &odeon__reply__descriptor);
    read_all(executor, &odeon__command__descriptor);
}

/* What comes of the executor's answers: the commands that were sent are known by their numbers. */
static void send_message(int fd, ProtobufCMessage *message, unsigned n_fds)
{
    int fds[3] = { fd, fd, fd };

    (void)frame_send(fd, message, fds, n_fds);
    protobuf_c_message_free_unpacked(message, NULL);
}

static void hello(int fd)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Hello body = ODEON__HELLO__INIT;

    body.protocol = ODEON_PROTOCOL_VERSION;
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &body;
    (void)frame_send(fd, &request.base, NULL, 0);
}

static void step(struct input *input)
{
    uint8_t what = input_u8(input);
    int fd = what & 0x80 ? clients[1] : clients[0];
    unsigned n_fds = (what >> 4) & 3;
    struct input part;

    switch (what % 8) {
    case 0:
        hello(fd);
        break;
    case 1: /* raw bytes */
        part = input_part(input, input_u16(input) % RECORD_MAX);
        (void)send(fd, part.data, part.left, MSG_NOSIGNAL);
        break;
    case 2:
        part = input_part(input, input_u16(input) % RECORD_MAX);
        (void)send(executor, part.data, part.left, MSG_NOSIGNAL);
        break;
    case 3: /* of a command that was sent lately, as a rule */
    {
        Odeon__Report *report = (Odeon__Report *)message_fill(&odeon__report__descriptor, input);

        report->id = seat->executor.last_id - report->id % 4;
        send_message(executor, &report->base, n_fds);
        break;
    }
    case 4:
        shutdown(fd, SHUT_WR);
        break;
    case 5:
        turn();
        break;
    default: {
        Odeon__Request *request =
            (Odeon__Request *)message_fill(&odeon__request__descriptor, input);

        if (what & 0x40)
            request->id++;
        send_message(fd, &request->base, n_fds);
        break;
    }
    }
}

static void end(void)
{
    turn();
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    for (int i = 0; i < CLIENTS; i++)
        uv_run(&supervisor.loop, UV_RUN_NOWAIT);
    /* those whose end is not read because of too many open requests */
    clients_drop_all(&supervisor.clients);
    read_all(executor, &odeon__command__descriptor);
    channel_free(seat->executor.channel, NULL);
    seat->executor.channel = NULL;
    close(executor);
    /* the next executor of a service would take these over; here the next input must not find
     * them */
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        if (seat->ports.ports[i].state != PORT_FREE) {
            persist_forget_port(&supervisor.persist, &seat->ports.ports[i]);
            port_table_release(&seat->ports, &seat->ports.ports[i]);
        }
    uv_run(&supervisor.loop, UV_RUN_NOWAIT);
    executor_link_fini(&seat->executor);
    uv_run(&supervisor.loop, UV_RUN_NOWAIT);
    executor_link_init(&seat->executor, &supervisor.loop, seat->executor.ops, seat);
    while (seat->plugins.n > 0)
        plugin_store_remove(&seat->plugins, &seat->plugins.list[0]);
    setting_list_fini(&seat->settings);
    seat->settings.n = 0;
    FUZZ_EXPECT(supervisor.clients.n == 0 && seat->ports.n_used == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, size };

    if (!supervisor.loop.data) {
        start();
        supervisor.loop.data = &supervisor;
    }
    begin();
    for (int i = 0; i < STEPS_MAX && input.left > 0; i++)
        step(&input);
    end();
    return 0;
}
