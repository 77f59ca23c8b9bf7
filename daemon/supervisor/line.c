/* SPDX-License-Identifier: Apache-2.0 */
/* The line to the service manager; the interface is in line.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/line.h"

/* Before there is a loop. A manager that reads its units again does nothing else meanwhile, which
 * takes it seconds where there are many; the unit gives a start a minute. */
enum { WAIT_MS = 20000, WORD_MAX = 400 };

struct line_message {
    struct line_message *next;
    int fd; /* -1: none; else a duplicate */
    char text[];
};

struct line_list {
    struct line_waiter *first, **end;
};

static struct {
    bool opened;
    int fd;    /* -1: there is no service manager, or it ... */
    int error; /* ... cannot be reached: negative errno */
    struct sockaddr_un address;
    socklen_t address_size;
    uv_loop_t *loop;
    uv_poll_t *room;                   /* watches for it while messages wait */
    struct line_message *first, **end; /* messages that wait */
    unsigned n;
    bool alive_due;
    uint64_t lost; /* line.W4; of the last time, for the log: */
    int lost_error;
    uv_poll_t *barrier; /* of the one that is under way; NULL: none is */
    int barrier_fd;
    /* behind that one; behind the one after it; whose barrier has passed and who are being told */
    struct line_list covered, later, told;
} line = { .fd = -1, .barrier_fd = -1 };

/* ---- the socket */

static int line_set_address(const char *path)
{
    size_t n = strlen(path);

    line.address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof(line.address.sun_path))
        return -EAFNOSUPPORT;
    memcpy(line.address.sun_path, path, n);
    if (path[0] == '@')
        line.address.sun_path[0] = '\0';
    line.address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return 0;
}

/* Again, where the manager has made its socket anew. */
static int line_connect(void)
{
    return connect(line.fd, (struct sockaddr *)&line.address, line.address_size) < 0 ? -errno : 0;
}

static void line_give_up(int error)
{
    if (line.fd >= 0)
        close(line.fd);
    line.fd = -1;
    line.error = error;
}

static void line_open_socket(const char *path)
{
    int r = line_set_address(path);

    if (r == 0) {
        line.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        r = line.fd < 0 ? -errno : line_connect();
    }
    if (r < 0)
        line_give_up(r);
}

static void line_open(void)
{
    const char *path = getenv("NOTIFY_SOCKET");

    if (line.opened)
        return;
    line.opened = true;
    line.error = 0;
    line.end = &line.first;
    line.covered.end = &line.covered.first;
    line.later.end = &line.later.first;
    line.told.end = &line.told.first;
    if (path)
        line_open_socket(path);
}

/* 0; -EAGAIN: there is no room; other negative errno. */
static int line_send_now(const char *text, int fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    struct iovec part = { (char *)text, strlen(text) };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
    ssize_t n;

    if (fd >= 0) {
        struct cmsghdr *c;

        header.msg_control = &control;
        header.msg_controllen = sizeof(control.bytes);
        c = CMSG_FIRSTHDR(&header);
        *c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                               .cmsg_type = SCM_RIGHTS,
                               .cmsg_len = CMSG_LEN(sizeof(int)) };
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    do
        n = sendmsg(line.fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* line.W4.  Nobody knows what became of what was sent and not answered. */
static void line_note_lost(int error)
{
    line.lost++;
    line.lost_error = error;
}

/* What lay in a socket that has gone has gone with it; that is told once. */
static int line_try(const char *text, int fd)
{
    int r = line_send_now(text, fd);

    if (r != -ECONNREFUSED && r != -ENOTCONN && r != -ECONNRESET)
        return r;
    if (r != -ENOTCONN)
        line_note_lost(r);
    return line_connect() == 0 ? line_send_now(text, fd) : -EIO;
}

/* ---- what waits for room */

static void line_free_message(struct line_message *message)
{
    if (message->fd >= 0)
        close(message->fd);
    free(message);
}

/* False: the watchdog's word still waits. */
static bool line_try_alive(void)
{
    line.alive_due = line.alive_due && line_try("WATCHDOG=1", -1) == -EAGAIN;
    return !line.alive_due;
}

/* False: there is no room for it. */
static bool line_send_first(unsigned *n_lost)
{
    struct line_message *message = line.first;
    int r = line_try(message->text, message->fd);

    if (r == -EAGAIN)
        return false;
    if (r < 0) {
        line_note_lost(r == -EIO ? line.lost_error : r);
        ++*n_lost;
    }
    line.first = message->next;
    if (!line.first)
        line.end = &line.first;
    line.n--;
    line_free_message(message);
    return true;
}

static void line_on_room(uv_poll_t *poll, int status, int events)
{
    unsigned n_lost = 0;
    bool room = line_try_alive();

    (void)events;
    while (room && line.first)
        room = line_send_first(&n_lost);
    if (n_lost > 0)
        log_error("%u messages to the service manager cannot be sent: %s: whoever waits for what "
                  "they carry is refused",
                  n_lost, strerror(-line.lost_error));
    if (room)
        uv_poll_stop(poll);
    else if (status < 0) /* which has stopped it */
        uv_poll_start(poll, UV_WRITABLE, line_on_room);
}

static int line_queue(const char *text, int fd)
{
    size_t size = strlen(text) + 1;
    struct line_message *message = malloc(sizeof(*message) + size);
    int r = 0;

    if (!message)
        return -ENOMEM;
    *message = (struct line_message){ .fd = -1 };
    memcpy(message->text, text, size);
    if (fd >= 0) {
        message->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        r = message->fd < 0 ? -errno : uv_poll_start(line.room, UV_WRITABLE, line_on_room);
    } else {
        r = uv_poll_start(line.room, UV_WRITABLE, line_on_room);
    }
    if (r < 0) {
        line_free_message(message);
        return r;
    }
    *line.end = message;
    line.end = &message->next;
    line.n++;
    return 0;
}

/* Before there is a loop. */
static int line_send_in_time(const char *text, int fd)
{
    struct pollfd pfd = { .fd = line.fd, .events = POLLOUT };
    int r = line_try(text, fd);

    if (r == -EAGAIN && poll(&pfd, 1, WAIT_MS) == 1)
        r = line_try(text, fd);
    return r;
}

int line_send(const char *text, int fd)
{
    int r;

    line_open();
    if (line.fd < 0)
        return line.error;
    if (!line.room)
        return line_send_in_time(text, fd);
    r = line.first ? -EAGAIN : line_try(text, fd);
    return r == -EAGAIN ? line_queue(text, fd) : r;
}

bool line_say(const char *format, ...)
{
    char text[WORD_MAX];
    va_list args;

    line_open();
    if (line.fd < 0 || line.first)
        return line.fd < 0;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return line_try(text, -1) != -EAGAIN;
}

void line_say_alive(void)
{
    line_open();
    if (line.fd < 0)
        return;
    line.alive_due = true;
    if (!line_try_alive() && line.room)
        uv_poll_start(line.room, UV_WRITABLE, line_on_room);
}

bool line_is_full(void)
{
    return line.n >= LINE_WAITING_MAX;
}

uint64_t line_lost(void)
{
    return line.lost;
}

/* ---- barriers */

/* The descriptor that ends when the service manager has taken it. */
static int line_send_barrier(void)
{
    int ends[2], r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    r = line_send("BARRIER=1", ends[1]);
    close(ends[1]);
    if (r < 0) {
        close(ends[0]);
        return r;
    }
    return ends[0];
}

int line_wait(void)
{
    struct pollfd pfd = { .events = 0 };
    int r;

    line_open();
    if (line.fd < 0)
        return line.error;
    pfd.fd = line_send_barrier();
    if (pfd.fd < 0)
        return pfd.fd;
    do
        r = poll(&pfd, 1, WAIT_MS);
    while (r < 0 && errno == EINTR);
    close(pfd.fd);
    return r < 0 ? -errno : r == 0 ? -ETIMEDOUT : 0;
}

static void line_append(struct line_list *list, struct line_list *from)
{
    if (!from->first)
        return;
    *list->end = from->first;
    list->end = from->end;
    *from = (struct line_list){ .end = &from->first };
}

static void line_on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void line_close_barrier(void)
{
    if (!line.barrier)
        return;
    uv_close((uv_handle_t *)line.barrier, line_on_closed);
    close(line.barrier_fd);
    line.barrier = NULL;
    line.barrier_fd = -1;
}

static void line_tell(int error)
{
    while (line.told.first) {
        struct line_waiter *waiter = line.told.first;

        line.told.first = waiter->next;
        if (!waiter->next)
            line.told.end = &line.told.first;
        if (error == 0 && waiter->lost != line.lost)
            waiter->passed(waiter, -EIO);
        else
            waiter->passed(waiter, error);
    }
}

static int line_begin_barrier(void);

static void line_on_barrier(uv_poll_t *poll, int status, int events)
{
    int r = 0;

    (void)poll;
    (void)status;
    (void)events;
    line_close_barrier();
    line_append(&line.told, &line.covered);
    if (line.later.first)
        r = line_begin_barrier();
    line_tell(0);
    if (r < 0) {
        line_append(&line.told, &line.later);
        line_tell(r);
    }
}

/* For all who wait and have none under way. */
static int line_begin_barrier(void)
{
    int fd = line_send_barrier(), r;

    if (fd < 0)
        return fd;
    line.barrier = malloc(sizeof(*line.barrier));
    r = line.barrier ? uv_poll_init(line.loop, line.barrier, fd) : -ENOMEM;
    if (r < 0) {
        free(line.barrier);
        line.barrier = NULL;
        close(fd);
        return r;
    }
    line.barrier_fd = fd;
    uv_poll_start(line.barrier, UV_READABLE, line_on_barrier);
    line_append(&line.covered, &line.later);
    return 0;
}

int line_add(struct line_waiter *waiter)
{
    int r = 0;

    check("line.W1", line.room || line.fd < 0);
    if (line.error)
        return line.error;
    if (line.fd < 0) {
        waiter->passed(waiter, 0);
        return 0;
    }
    waiter->next = NULL;
    *line.later.end = waiter;
    line.later.end = &waiter->next;
    if (!line.barrier)
        r = line_begin_barrier();
    if (r < 0)
        line_take_back(waiter);
    return r;
}

static bool line_take_from(struct line_list *list, struct line_waiter *waiter)
{
    for (struct line_waiter **at = &list->first; *at; at = &(*at)->next) {
        if (*at != waiter)
            continue;
        *at = waiter->next;
        if (!*at)
            list->end = at;
        return true;
    }
    return false;
}

void line_take_back(struct line_waiter *waiter)
{
    (void)(line_take_from(&line.later, waiter) || line_take_from(&line.covered, waiter) ||
           line_take_from(&line.told, waiter));
}

/* ---- life */

int line_start(uv_loop_t *loop)
{
    int r;

    line_open();
    line.loop = loop;
    if (line.fd < 0)
        return 0;
    line.room = malloc(sizeof(*line.room));
    r = line.room ? uv_poll_init(loop, line.room, line.fd) : -ENOMEM;
    if (r == 0)
        return 0;
    free(line.room);
    line.room = NULL;
    line_give_up(r);
    return r;
}

void line_stop(void)
{
    struct line_message *next;

    line_open();
    line_close_barrier();
    line_append(&line.told, &line.covered);
    line_append(&line.told, &line.later);
    line_tell(-ESHUTDOWN);
    for (struct line_message *message = line.first; message; message = next) {
        next = message->next;
        line_free_message(message);
    }
    line.first = NULL;
    line.n = 0;
    line.alive_due = false;
    if (line.room)
        uv_close((uv_handle_t *)line.room, line_on_closed);
    line.room = NULL;
    line_give_up(0);
    line.opened = false;
}
