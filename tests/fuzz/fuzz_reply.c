/* SPDX-License-Identifier: Apache-2.0 */
/* The client library against a service that answers anything: records raw or made up from the
 * protocol's description, descriptors that are memory files of the right kind, of another, or none.
 *
 * connect() is ours (--wrap): it puts one end of a socket pair in the place of the library's
 * socket. All answers lie in it before the library asks; behind them is the end of file.
 */
#include <errno.h>
#include <fcntl.h>
#include <odeon/admin.h>
#include <odeon/client.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/common/page.h"
#include "proto/bounds.h"
#include "proto/control.pb-c.h"
#include "proto/port_layout.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_fill.h"

enum { ANSWERS = 12, RING = ODEON_RING_MIN, RECORD_MAX = 4096, FDS = 4, PATIENCE_NS = 1000000 };

static int library_end;

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    (void)address, (void)size;
    if (library_end < 0) {
        errno = ECONNREFUSED;
        return -1;
    }
    FUZZ_EXPECT(dup3(library_end, fd, O_CLOEXEC) == fd);
    close(library_end);
    library_end = -1;
    return 0;
}

static int memory(uint64_t bytes, bool sealed)
{
    int fd = memfd_create("port", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    FUZZ_EXPECT(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    if (sealed)
        FUZZ_EXPECT(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    return fd;
}

static int descriptor(uint8_t kind, unsigned index)
{
    switch (kind) {
    case 0:
        return memory(4096, true);
    case 1:
        return memory(port_ring_offset(page_bytes()) + RING, false);
    case 2:
        return eventfd(0, EFD_CLOEXEC);
    default:
        return index < 2 ? memory(port_ring_offset(page_bytes()) + RING, true)
                         : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
}

static void send_bytes(int fd, const void *data, size_t size, struct input *input)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * FDS)];
    } control = { 0 };
    struct iovec part = { (void *)(uintptr_t)data, size };
    struct msghdr record = { .msg_iov = &part, .msg_iovlen = 1 };
    uint8_t how = input_u8(input);
    unsigned n = how % (FDS + 1);
    int fds[FDS];

    for (unsigned i = 0; i < n; i++)
        fds[i] = descriptor(how < 200 ? 3 : input_u8(input) % 4, i);
    if (n > 0) {
        record.msg_control = &control;
        record.msg_controllen = CMSG_SPACE(sizeof(int) * n);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&record);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * n);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * n);
    }
    (void)sendmsg(fd, &record, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n > 0)
        close(fds[--n]);
}

/* The answer to request `id`, unless the input wants it otherwise. */
static void put_answer(int fd, uint64_t id, struct input *input)
{
    static uint8_t packed[ODEON_CONTROL_FRAME_MAX];
    uint8_t how = input_u8(input);

    if (how > 240) {
        struct input part = input_part(input, input_u16(input) % RECORD_MAX);

        send_bytes(fd, part.data, part.left, input);
        return;
    }
    Odeon__Reply *reply = (Odeon__Reply *)message_fill(&odeon__reply__descriptor, input);
    if (how < 220)
        reply->id = id;
    if (how < 160)
        reply->error = 0;
    if (reply->body_case == ODEON__REPLY__BODY_HELLO && how < 200)
        reply->hello->protocol = ODEON_PROTOCOL_VERSION;
    if (reply->body_case == ODEON__REPLY__BODY_PORT_OPEN && how < 180) {
        reply->port_open->submission_bytes = reply->port_open->delivery_bytes = RING;
        reply->port_open->submission_offset = reply->port_open->delivery_offset =
            port_ring_offset(page_bytes());
        reply->port_open->payload_max = 1024;
        reply->port_open->actors_max = 1024;
    }
    size_t size = protobuf_c_message_get_packed_size(&reply->base);
    if (size <= sizeof(packed))
        send_bytes(fd, packed, protobuf_c_message_pack(&reply->base, packed), input);
    protobuf_c_message_free_unpacked(&reply->base, NULL);
}

static void put_hello(int fd)
{
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__HelloReply hello = ODEON__HELLO_REPLY__INIT;
    uint8_t packed[128];

    hello.protocol = ODEON_PROTOCOL_VERSION;
    reply.id = 1;
    reply.body_case = ODEON__REPLY__BODY_HELLO;
    reply.hello = &hello;
    (void)send(fd, packed, odeon__reply__pack(&reply, packed), MSG_NOSIGNAL);
}

/* What lists and objects hold must be readable to the end. */
static size_t touch(const char *text)
{
    return text ? strlen(text) : 0;
}

static void touch_type(const struct odeon_type_info *type)
{
    (void)(touch(type->name) + touch(type->plugin) + touch(type->restart) + touch(type->overflow));
    for (size_t i = 0; i < type->n_accepts; i++)
        (void)touch(type->accepts[i]);
}

static void touch_message(const struct odeon_message_detail *detail)
{
    (void)(touch(detail->message.name) + touch(detail->message.fields));
    for (size_t i = 0; i < detail->n_plugins; i++)
        (void)touch(detail->plugins[i]);
    for (size_t i = 0; i < detail->n_accepted_by; i++)
        (void)touch(detail->accepted_by[i]);
}

static void use_messages(struct odeon_client *client)
{
    struct odeon_message_detail *detail = NULL;
    struct odeon_list *list = NULL;

    if (odeon_message_list(client, 0, 0, &list) == 0)
        for (size_t i = 0; i < list->n; i++)
            touch_message(&((const struct odeon_message_detail *)list->rows)[i]);
    odeon_list_free(list);
    if (odeon_message_detail(client, "m", 0, &detail) == 0)
        touch_message(detail);
    odeon_result_free(detail);
}

static void use_lists(struct odeon_client *client, uint8_t which)
{
    struct odeon_memory *memory = NULL;
    struct odeon_list *list = NULL;

    switch (which % 5) {
    case 0:
        if (odeon_type_list(client, 0, 0, &list) == 0)
            for (size_t i = 0; i < list->n; i++)
                touch_type(&((const struct odeon_type_info *)list->rows)[i]);
        break;
    case 1:
        (void)odeon_actor_list(client, NULL, 0, 0, &list);
        use_messages(client);
        break;
    case 2:
        (void)odeon_client_list(client, 0, 0, &list);
        break;
    case 3:
        (void)odeon_queue_list(client, NULL, 0, 0, &list);
        odeon_list_free(list);
        list = NULL;
        (void)odeon_timer_list(client, ODEON_NOBODY, 0, 0, &list);
        odeon_list_free(list);
        list = NULL;
        (void)odeon_monitor_list(client, ODEON_NOBODY, 0, 0, &list);
        odeon_list_free(list);
        list = NULL;
        (void)odeon_group_list(client, 0, 0, &list);
        odeon_list_free(list);
        list = NULL;
        (void)odeon_group_member_list(client, ODEON_NOBODY, 0, 0, &list);
        if (odeon_memory_show(client, NULL, &memory) == 0)
            odeon_result_free(memory);
        break;
    default:
        (void)odeon_plugin_list(client, 0, 0, &list);
        break;
    }
    odeon_list_free(list);
}

static void use_port(struct odeon_client *client, uint8_t which)
{
    struct odeon_port_options options = { .struct_size = sizeof(options), .pipe = which & 1 };
    struct odeon_port *port = NULL;
    struct odeon_delivery delivery;

    if (odeon_port_open(client, &options, &port) < 0)
        return;
    (void)odeon_port_post(port, 7, 20, "12345678", 8);
    (void)odeon_port_receive(port, &delivery);
    (void)odeon_port_check(port);
    (void)odeon_port_register(port, "name");
    odeon_port_close(port);
}

static void use(struct odeon_client *client, uint8_t which)
{
    struct odeon_status *status = NULL;
    struct odeon_executor_info *info = NULL;
    struct odeon_message_info *message = NULL;
    struct odeon_actor_detail *actor = NULL;
    odeon_ref ref;

    switch (which % 8) {
    case 0:
        (void)odeon_service_status(client, &status);
        odeon_result_free(status);
        break;
    case 1:
        (void)odeon_executor_show(client, &info);
        odeon_result_free(info);
        break;
    case 2:
        (void)(which / 8 % 2 ? odeon_message_show(client, 20, &message)
                             : odeon_message_find(client, "m", 0, &message));
        odeon_result_free(message);
        break;
    case 3:
        (void)odeon_actor_show(client, 5, NULL, &actor);
        odeon_result_free(actor);
        break;
    case 4:
        (void)odeon_actor_find(client, "a", &ref);
        break;
    case 5:
        (void)odeon_actor_spawn(client, "t", "n", NULL, 0, &ref);
        break;
    case 6:
        use_port(client, which / 8);
        break;
    default:
        use_lists(client, which / 8);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    struct odeon_client *client = NULL;
    uint8_t calls[ANSWERS];
    int ends[2], room = 1 << 20;

    FUZZ_EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    library_end = ends[1];
    if (input_u8(&input) < 230)
        put_hello(ends[0]);
    for (int i = 0; i < ANSWERS; i++) {
        calls[i] = input_u8(&input);
        if (input.left > 0)
            put_answer(ends[0], 2 + (uint64_t)i, &input);
    }
    shutdown(ends[0], SHUT_WR);
    if (odeon_client_connect("/fuzz", "fuzz", &client) == 0) {
        /* A greeting may say that the service keeps what its clients have: then the library would
         * wait for it to come back, which is somebody else's test. */
        FUZZ_EXPECT(odeon_client_set_patience(client, PATIENCE_NS) == 0);
        for (int i = 0; i < ANSWERS; i++)
            use(client, calls[i]);
    } else {
        FUZZ_EXPECT(!client);
    }
    odeon_client_disconnect(client);
    if (library_end >= 0)
        close(library_end);
    library_end = -1;
    close(ends[0]);
    return 0;
}
