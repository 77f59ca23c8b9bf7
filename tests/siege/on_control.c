/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on the control connection (siege.h): nonsense, connections without end, requests and
 * answers that nobody reads, and everything that one may not. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/siege/siege.h"

enum {
    SILENT = 48,
    CROWD_MAX = 512, /* more than a user may have */
    ASKERS = 16,
    ASKED = 64, /* unanswered requests that a client may have */
    UNREAD = 8,
    OPENS = 32,
    REQUEST_MAX = 128
};

static size_t pack_lookup(uint8_t *bytes, uint64_t id)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;

    lookup.name = (char[]){ "siege.nobody" };
    request.id = id;
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    return odeon__request__pack(&request, bytes);
}

static size_t pack_port_open(uint8_t *bytes, uint64_t id)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;

    open.submission_bytes = open.delivery_bytes = ATTACK_RING;
    open.pipe = true;
    request.id = id;
    request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
    request.port_open = &open;
    return odeon__request__pack(&request, bytes);
}

/* A connection that has not said hello. */
static int connect_silent(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, field.service->socket);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* What the service says to it, if it does, and whether that was the end. */
static void hear_out(struct besieger *b, struct raw *raw)
{
    struct raw_answer answer;

    if (raw_receive(raw, &answer) == 0) {
        (void)besieger_heard(b, -ECONNRESET);
        return;
    }
    (void)besieger_heard(b, answer.reply->error);
    raw_answer_fini(&answer);
}

/* Random bytes, an empty record, one that is too large, one that is cut off, with hello and
 * without. */
void act_nonsense(struct besieger *b)
{
    static uint8_t bytes[ODEON_CONTROL_FRAME_MAX + 1];
    uint64_t which = offender_random(&b->offender);
    size_t size = 1 + which / 8 % 4096;
    struct raw raw = { .fd = -1 };

    if (which % 2 ? !besieger_connect(b, &raw) : (raw.fd = connect_silent()) < 0) {
        pause_briefly();
        return;
    }
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)offender_random(&b->offender);
    if (which % 8 / 2 == 0)
        size = pack_lookup(bytes, 2) - 3;
    if (which % 8 / 2 == 1)
        size = which % 16 < 8 ? 0 : sizeof(bytes);
    if (send(raw.fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size) {
        besieger_did(b, 1);
        hear_out(b, &raw);
    }
    raw_close(&raw);
}

/* Descriptors that nobody asked for. */
void act_descriptors(struct besieger *b)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Status status = ODEON__STATUS__INIT;
    int fds[FRAME_FDS_MAX] = { 0 };
    struct raw raw;

    if (!besieger_connect(b, &raw))
        return;
    request.id = 2;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    if (frame_send(raw.fd, &request.base, fds, FRAME_FDS_MAX) == 0)
        hear_out(b, &raw);
    else
        (void)besieger_heard(b, -EPERM); /* the kernel has been told to let none through */
    besieger_did(b, 1);
    raw_close(&raw);
}

/* Connections that say nothing. */
void act_silent(struct besieger *b)
{
    int fds[SILENT], n = 0;

    while (n < SILENT && (fds[n] = connect_silent()) >= 0)
        n++;
    besieger_did(b, (uint64_t)n);
    besieger_pause(b, 50);
    while (n > 0)
        close(fds[--n]);
}

/* As many clients as its user may have. */
void act_crowd(struct besieger *b)
{
    static struct raw raws[CROWD_MAX];
    int n = 0, r = 0;

    while (besieger_goes_on(b) && n < CROWD_MAX && (r = raw_try(&raws[n], field.service)) == 0) {
        besieger_did(b, 1); /* one by one: on a slow machine all of them take minutes */
        n++;
    }
    besieger_did(b, r < 0);
    if (!besieger_heard(b, r)) {
        besieger_keep(b);
        besieger_pause(b, 50);
    }
    while (n > 0)
        raw_close(&raws[--n]);
    besieger_pause(b, 100); /* others of its user are to attack, too */
}

/* Ids of clients are spent as fast as it goes. */
void act_churn(struct besieger *b)
{
    struct raw raw;

    if (!besieger_connect(b, &raw))
        return;
    besieger_did(b, 1);
    raw_close(&raw);
}

/* Asks without end, and never reads, until it is disconnected. */
void act_deaf(struct besieger *b)
{
    struct raw raw;
    uint8_t bytes[REQUEST_MAX];
    uint64_t id = 1;

    if (!besieger_connect(b, &raw))
        return;
    while (besieger_goes_on(b)) {
        struct pollfd p = { .fd = raw.fd, .events = POLLOUT };
        size_t size = pack_lookup(bytes, ++id);

        (void)poll(&p, 1, 50);
        if (send(raw.fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size)
            besieger_did(b, 1);
        else if (errno != EAGAIN)
            break;
    }
    if (besieger_goes_on(b))
        (void)besieger_heard(b, -EPIPE);
    raw_close(&raw);
}

/* Ports are opened, and their answers, with descriptors, stay unread; so they do behind the end of
 * the connection. */
void act_unread(struct besieger *b)
{
    struct raw raws[UNREAD];
    uint8_t bytes[REQUEST_MAX];
    int n = 0;

    while (n < UNREAD && besieger_goes_on(b) && besieger_connect(b, &raws[n]))
        n++;
    for (int i = 0; i < n; i++)
        for (uint64_t id = 2; id < 2 + OPENS; id++) {
            size_t size = pack_port_open(bytes, id);

            if (send(raws[i].fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size)
                besieger_did(b, 1);
        }
    besieger_pause(b, 100);
    for (int i = 0; i < n; i++)
        (void)shutdown(raws[i].fd, SHUT_WR);
    besieger_pause(b, 100);
    while (n > 0)
        raw_close(&raws[--n]);
}

/* As many requests for the executor as its connections may have, all at once. */
void act_requests(struct besieger *b)
{
    struct raw raws[ASKERS];
    uint8_t bytes[REQUEST_MAX];
    int n = 0;

    while (n < ASKERS && besieger_goes_on(b) && besieger_connect(b, &raws[n]))
        n++;
    for (int i = 0; i < n; i++)
        for (uint64_t id = 2; id < 2 + ASKED; id++) {
            size_t size = pack_lookup(bytes, id);

            if (send(raws[i].fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
                break;
            besieger_did(b, 1);
        }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < ASKED && besieger_goes_on(b); k++)
            hear_out(b, &raws[i]);
        raw_close(&raws[i]);
    }
}

/* ---- one of the siege's own: everything that its role forbids */

/* One such request; that it is granted must not be. */
static void try_forbidden(struct besieger *b, struct raw *raw, Odeon__Request request,
                          const char *what)
{
    struct raw_answer answer;
    int r = raw_ask(raw, &request, &answer);

    besieger_did(b, 1);
    if (besieger_heard(b, r)) {
        raw_answer_fini(&answer);
        besieger_breach(b, what);
    }
}

#define TRY(type_, INIT_, CASE_, member_, ...)                                                     \
    do {                                                                                           \
        type_ body_ = INIT_;                                                                       \
        Odeon__Request request_ = ODEON__REQUEST__INIT;                                            \
        __VA_ARGS__;                                                                               \
        request_.body_case = CASE_;                                                                \
        request_.member_ = &body_;                                                                 \
        try_forbidden(b, &raw, request_, #member_);                                                \
    } while (0)

void act_burglar(struct besieger *b)
{
    uint64_t random = offender_random(&b->offender);
    Odeon__Setting setting = ODEON__SETTING__INIT, *settings = &setting;
    struct raw raw;

    if (!besieger_connect(b, &raw))
        return;
    setting.key = (char[]){ "quota-actors" };
    setting.value = (char[]){ "1" };
    TRY(Odeon__ClientKick, ODEON__CLIENT_KICK__INIT, ODEON__REQUEST__BODY_CLIENT_KICK, client_kick,
        body_.id = 1 + random % 4096);
    TRY(Odeon__ExecutorSet, ODEON__EXECUTOR_SET__INIT, ODEON__REQUEST__BODY_EXECUTOR_SET,
        executor_set, body_.settings = &settings, body_.n_settings = 1);
    TRY(Odeon__PluginLoad, ODEON__PLUGIN_LOAD__INIT, ODEON__REQUEST__BODY_PLUGIN_LOAD, plugin_load,
        body_.path = (char[]){ TEST_PROBE });
    TRY(Odeon__PluginUnload, ODEON__PLUGIN_UNLOAD__INIT, ODEON__REQUEST__BODY_PLUGIN_UNLOAD,
        plugin_unload, body_.name = (char[]){ "probe" });
    TRY(Odeon__Spawn, ODEON__SPAWN__INIT, ODEON__REQUEST__BODY_SPAWN, spawn,
        body_.type = (char[]){ "probe_echo" });
    TRY(Odeon__ActorStop, ODEON__ACTOR_STOP__INIT, ODEON__REQUEST__BODY_ACTOR_STOP, actor_stop,
        body_.ref = field.echo, body_.how = 1);
    TRY(Odeon__DeadLetterPurge, ODEON__DEAD_LETTER_PURGE__INIT,
        ODEON__REQUEST__BODY_DEAD_LETTER_PURGE, dead_letter_purge, (void)body_);
    TRY(Odeon__DeadLetterReplay, ODEON__DEAD_LETTER_REPLAY__INIT,
        ODEON__REQUEST__BODY_DEAD_LETTER_REPLAY, dead_letter_replay, body_.to = field.echo);
    TRY(Odeon__ClientList, ODEON__CLIENT_LIST__INIT, ODEON__REQUEST__BODY_CLIENT_LIST, client_list,
        (void)body_);
    TRY(Odeon__PortClose, ODEON__PORT_CLOSE__INIT, ODEON__REQUEST__BODY_PORT_CLOSE, port_close,
        body_.port_id = random % 256);
    raw_close(&raw);
}

/* ---- another: a client whose process is dead, and whose connection a child keeps */

static void __attribute__((noreturn)) leave_an_orphan(struct besieger *b)
{
    struct envelope envelope = {
        .to = b->offender.echo, .type = b->offender.number_type, .length = 16, .behaviour = 255
    };
    struct raw_port port;

    if (!besieger_heard(b, raw_port_try(&port, field.service, ATTACK_RING)))
        _exit(0);
    atomic_fetch_add(&b->offender.connects, 1);
    if (fork() == 0) { /* it keeps the connection and the port's memory for a moment */
        besieger_pause(b, 20);
        _exit(0);
    }
    raw_port_put(&port, &envelope, "0123456789abcdef");
    raw_port_publish(&port, port.tail);
    raw_port_put(&port, &envelope, "0123456789abcdef"); /* not published: it is torn off */
    besieger_did(b, 1);
    (void)kill(getpid(), SIGKILL);
    _exit(1);
}

void act_orphans(struct besieger *b)
{
    pid_t child;

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    child = fork();
    if (child == 0)
        leave_an_orphan(b);
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    pause_briefly();
}
