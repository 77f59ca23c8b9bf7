/* SPDX-License-Identifier: Apache-2.0 */
/* See raw.h. */
#include "tests/hostile/raw.h"
#include "daemon/common/page.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static int connect_only(struct raw *raw, const struct service *service)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int r = 0;

    *raw = (struct raw){ .fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) };
    strcpy(address.sun_path, service->socket);
    if (raw->fd < 0 || connect(raw->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        r = -errno;
    if (r < 0)
        raw_close(raw);
    return r;
}

struct raw raw_connect(const struct service *service)
{
    struct raw raw;

    assert_int_equal(connect_only(&raw, service), 0);
    return raw;
}

void raw_close(struct raw *raw)
{
    if (raw->fd >= 0)
        close(raw->fd);
    raw->fd = -1;
}

void raw_send(struct raw *raw, Odeon__Request *request, const int *fds, size_t n_fds)
{
    request->id = ++raw->last_id;
    assert_int_equal(frame_send(raw->fd, &request->base, fds, n_fds), 0);
}

void raw_send_bytes(struct raw *raw, const void *data, size_t size)
{
    ssize_t n = send(raw->fd, data, size, MSG_NOSIGNAL);

    assert_true(n == (ssize_t)size || (n < 0 && errno == EPIPE));
}

int raw_receive(struct raw *raw, struct raw_answer *answer)
{
    struct pollfd p = { .fd = raw->fd, .events = POLLIN };
    int r;

    *answer = (struct raw_answer){ 0 };
    if (poll(&p, 1, PATIENCE_S * 1000) != 1)
        fail_msg("the service says nothing");
    r = frame_receive(raw->fd, &answer->frame);
    if (r == -ECONNRESET)
        r = 0;
    assert_true(r >= 0);
    if (r == 0)
        return 0;
    answer->reply = odeon__reply__unpack(NULL, answer->frame.size, answer->frame.data);
    assert_non_null(answer->reply);
    return 1;
}

void raw_answer_fini(struct raw_answer *answer)
{
    frame_fini(&answer->frame);
    odeon__reply__free_unpacked(answer->reply, NULL);
    answer->reply = NULL;
}

void raw_expect_error(struct raw *raw, uint64_t id, int error, const char *text)
{
    struct raw_answer answer;

    if (raw_receive(raw, &answer) == 0)
        fail_msg("the service has closed the connection without a word (expected: %s)", text);
    if (answer.reply->id != id || answer.reply->error != error || !strstr(answer.reply->text, text))
        fail_msg("answer %llu, error %d, '%s'; expected: %llu, %d, '%s'",
                 (unsigned long long)answer.reply->id, answer.reply->error, answer.reply->text,
                 (unsigned long long)id, error, text);
    raw_answer_fini(&answer);
}

void raw_expect_end(struct raw *raw)
{
    struct raw_answer answer;

    if (raw_receive(raw, &answer) != 0)
        fail_msg("the connection was to be closed; error %d, '%s'", answer.reply->error,
                 answer.reply->text);
}

void raw_expect_alive(struct raw *raw)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Status status = ODEON__STATUS__INIT;
    struct raw_answer answer;

    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    raw_send(raw, &request, NULL, 0);
    assert_int_equal(raw_receive(raw, &answer), 1);
    assert_int_equal(answer.reply->error, 0);
    assert_int_equal(answer.reply->body_case, ODEON__REPLY__BODY_STATUS);
    assert_string_equal(answer.reply->status->state, "running");
    raw_answer_fini(&answer);
}

int raw_ask(struct raw *raw, Odeon__Request *request, struct raw_answer *answer)
{
    int r;

    request->id = ++raw->last_id;
    r = frame_send(raw->fd, &request->base, NULL, 0);
    while (r == 0 && raw_receive(raw, answer) == 1) {
        r = answer->reply->error;
        if (r == 0 && answer->reply->id == request->id)
            return 0;
        raw_answer_fini(answer);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : -ECONNRESET;
}

static int say_hello(struct raw *raw)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Hello hello = ODEON__HELLO__INIT;
    struct raw_answer answer;
    int r;

    hello.protocol = ODEON_PROTOCOL_VERSION;
    hello.name = (char[]){ "hostile" };
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    r = raw_ask(raw, &request, &answer);
    if (r < 0)
        return r;
    assert_int_equal(answer.reply->body_case, ODEON__REPLY__BODY_HELLO);
    raw_answer_fini(&answer);
    return 0;
}

void raw_hello(struct raw *raw)
{
    assert_int_equal(say_hello(raw), 0);
}

int raw_try(struct raw *raw, const struct service *service)
{
    int r = connect_only(raw, service);

    if (r == 0)
        r = say_hello(raw);
    if (r < 0)
        raw_close(raw);
    return r;
}

static uint8_t *map_ring(int fd, uint64_t ring, int protection)
{
    size_t once = port_ring_offset(page_bytes()) + ring;
    uint8_t *base = mmap(NULL, once + ring, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(base != MAP_FAILED);
    assert_true(mmap(base, once, protection, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
    assert_true(mmap(base + once, ring, protection, MAP_SHARED | MAP_FIXED, fd,
                     port_ring_offset(page_bytes())) != MAP_FAILED);
    return base;
}

/* What the answer gives. */
static void take_port(struct raw_port *port, struct raw_answer *answer, bool pipe)
{
    assert_int_equal(answer->frame.n_fds, pipe ? 4 : 3);
    port->id = answer->reply->port_open->port_id;
    port->ref = answer->reply->port_open->ref;
    port->client_memory = frame_take_fd(&answer->frame, 0);
    port->executor_memory = frame_take_fd(&answer->frame, 1);
    port->doorbell = frame_take_fd(&answer->frame, 2);
    port->pipe = frame_take_fd(&answer->frame, 3);
    port->mine = (struct port_client *)(void *)map_ring(port->client_memory, port->size,
                                                        PROT_READ | PROT_WRITE);
    port->theirs =
        (struct port_executor *)(void *)map_ring(port->executor_memory, port->size, PROT_READ);
    port->submission = (uint8_t *)port->mine + port_ring_offset(page_bytes());
    port->delivery = (const uint8_t *)port->theirs + port_ring_offset(page_bytes());
}

static int try_port(struct raw_port *port, const struct service *service, uint64_t ring_bytes,
                    bool pipe)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;
    struct raw_answer answer;
    int r;

    *port = (struct raw_port){ .size = ring_bytes };
    r = raw_try(&port->raw, service);
    if (r < 0)
        return r;
    open.submission_bytes = open.delivery_bytes = ring_bytes;
    open.pipe = pipe;
    request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
    request.port_open = &open;
    /* the executor may be restarted meanwhile: events are passed over */
    r = raw_ask(&port->raw, &request, &answer);
    if (r < 0) {
        raw_close(&port->raw);
        return r;
    }
    take_port(port, &answer, pipe);
    raw_answer_fini(&answer);
    return 0;
}

int raw_port_try(struct raw_port *port, const struct service *service, uint64_t ring_bytes)
{
    return try_port(port, service, ring_bytes, false);
}

void raw_port_open(struct raw_port *port, const struct service *service, uint64_t ring_bytes)
{
    int r = try_port(port, service, ring_bytes, false);

    if (r < 0)
        fail_msg("opening a port: %d", r);
}

void raw_port_open_with_pipe(struct raw_port *port, const struct service *service,
                             uint64_t ring_bytes)
{
    int r = try_port(port, service, ring_bytes, true);

    if (r < 0)
        fail_msg("opening a port: %d", r);
}

void raw_port_close(struct raw_port *port)
{
    munmap(port->mine, port_ring_offset(page_bytes()) + 2 * port->size);
    munmap(port->theirs, port_ring_offset(page_bytes()) + 2 * port->size);
    close(port->client_memory);
    close(port->executor_memory);
    close(port->doorbell);
    if (port->pipe >= 0)
        close(port->pipe);
    raw_close(&port->raw);
}

void raw_port_put(struct raw_port *port, const struct envelope *envelope, const void *payload)
{
    uint8_t *at = port->submission + (port->tail & (port->size - 1));

    memcpy(at, envelope, sizeof(*envelope));
    if (payload)
        memcpy(at + sizeof(*envelope), payload, envelope->length);
    port->tail += envelope_record_size(envelope);
}

void raw_port_ring(struct raw_port *port)
{
    uint64_t one = 1;

    assert_int_equal(write(port->doorbell, &one, sizeof(one)), sizeof(one));
}

void raw_port_publish(struct raw_port *port, uint64_t tail)
{
    atomic_store_explicit(&port->mine->submission_tail, tail, memory_order_seq_cst);
    raw_port_ring(port);
}

void raw_port_receive(struct raw_port *port, struct envelope *envelope, void *payload, size_t size)
{
    const uint8_t *at = port->delivery + (port->taken & (port->size - 1));

    if (!wait_until(atomic_load_explicit(&port->theirs->delivery_tail, memory_order_acquire) !=
                    port->taken))
        fail_msg("nothing is delivered");
    memcpy(envelope, at, sizeof(*envelope));
    if (payload)
        memcpy(payload, at + sizeof(*envelope), envelope->length < size ? envelope->length : size);
    port->taken += envelope_record_size(envelope);
    atomic_store_explicit(&port->mine->delivery_head, port->taken, memory_order_release);
}
