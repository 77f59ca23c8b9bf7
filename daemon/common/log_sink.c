/* SPDX-License-Identifier: Apache-2.0 */
/* Where log lines go; the interface is in log_sink.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/common/log_sink.h"

enum { PARTS_MAX = 24 };

enum log_sink_kind {
    LOG_SINK_FILE,   /* takes what it is given */
    LOG_SINK_OWN,    /* opened once more, for us alone: a flag of ours says not to wait */
    LOG_SINK_SOCKET, /* is told with each call */
    LOG_SINK_ASKED,  /* cannot be opened once more: it is asked before it is written to */
};

static struct {
    enum log_sink_kind kind;
    int own_fd, journal_fd; /* -1: none */
    struct sockaddr_un journal;
} sink = { .own_fd = -1, .journal_fd = -1 };

static void log_sink_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void log_sink_open_journal(const char *path)
{
    log_sink_close(&sink.journal_fd);
    if (!path || strlen(path) >= sizeof(sink.journal.sun_path))
        return;
    sink.journal = (struct sockaddr_un){ .sun_family = AF_UNIX };
    strcpy(sink.journal.sun_path, path);
    sink.journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

void log_sink_open(const char *journal)
{
    struct stat st;

    log_sink_open_journal(journal);
    log_sink_close(&sink.own_fd);
    sink.kind = LOG_SINK_FILE;
    if (fstat(STDERR_FILENO, &st) < 0)
        return;
    if (S_ISSOCK(st.st_mode)) {
        sink.kind = LOG_SINK_SOCKET;
    } else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
        /* Another open file on the same pipe or terminal: the flags of the one that we share with
         * others are theirs. */
        sink.own_fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        sink.kind = sink.own_fd >= 0 ? LOG_SINK_OWN : LOG_SINK_ASKED;
    }
}

/* Another user's pipe or terminal: a kernel before 6.4 may let somebody else fill it between the
 * question and the line. */
static ssize_t log_sink_ask_and_write(const char *line, size_t size)
{
    struct iovec part = { (char *)line, size };
    struct pollfd pfd = { .fd = STDERR_FILENO, .events = POLLOUT };
    ssize_t n = pwritev2(STDERR_FILENO, &part, 1, -1, RWF_NOWAIT);

    if (n >= 0 || (errno != EOPNOTSUPP && errno != ESPIPE && errno != EINVAL))
        return n;
    if (poll(&pfd, 1, 0) == 1)
        return write(STDERR_FILENO, line, size);
    errno = EAGAIN;
    return -1;
}

static ssize_t log_sink_try(const char *line, size_t size)
{
    switch (sink.kind) {
    case LOG_SINK_OWN:
        return write(sink.own_fd, line, size);
    case LOG_SINK_SOCKET:
        return send(STDERR_FILENO, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    case LOG_SINK_ASKED:
        return log_sink_ask_and_write(line, size);
    case LOG_SINK_FILE:
        break;
    }
    return write(STDERR_FILENO, line, size);
}

int log_sink_text(const char *line, size_t size)
{
    ssize_t n;

    do
        n = log_sink_try(line, size);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* The journal's own protocol: KEY=value and a newline; where the value has newlines, KEY, a
 * newline, its length as 64 bits little-endian, the value and a newline. */
static size_t log_sink_fill(const struct iovec *part, uint64_t *length, struct iovec *pieces)
{
    const char *text = part->iov_base, *equals = memchr(text, '=', part->iov_len);
    size_t n = 0, key = equals ? (size_t)(equals - text) : 0;

    if (!equals || !memchr(text, '\n', part->iov_len)) {
        pieces[n++] = *part;
    } else {
        *length = part->iov_len - key - 1;
        pieces[n++] = (struct iovec){ (char *)text, key };
        pieces[n++] = (struct iovec){ (char *)"\n", 1 };
        pieces[n++] = (struct iovec){ length, sizeof(*length) };
        pieces[n++] = (struct iovec){ (char *)equals + 1, *length };
    }
    pieces[n++] = (struct iovec){ (char *)"\n", 1 };
    return n;
}

int log_sink_journal(const struct iovec *parts, size_t n)
{
    struct iovec pieces[PARTS_MAX * 5];
    uint64_t lengths[PARTS_MAX];
    struct msghdr header = { .msg_name = &sink.journal,
                             .msg_namelen = sizeof(sink.journal),
                             .msg_iov = pieces };
    ssize_t sent;

    if (sink.journal_fd < 0)
        return -ENOTCONN;
    for (size_t i = 0; i < n && i < PARTS_MAX; i++)
        header.msg_iovlen += log_sink_fill(&parts[i], &lengths[i], pieces + header.msg_iovlen);
    do
        sent = sendmsg(sink.journal_fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}
