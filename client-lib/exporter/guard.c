/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the host (guard.G1) ---- */

/* Of "name:port", "[::1]:port", how long the name is; 0: it is nothing of the kind. */
static size_t guard_host_length(const char *host)
{
    size_t n;
    const char *port;

    if (*host == '[') {
        const char *end = strchr(host, ']');

        if (!end)
            return 0;
        n = (size_t)(end - host) + 1;
    } else {
        n = strcspn(host, ":");
    }
    port = host + n;
    if (*port == ':' && strspn(port + 1, "0123456789") != strlen(port + 1))
        return 0;
    return *port == ':' || *port == '\0' ? n : 0;
}

static bool guard_is_same(const char *name, size_t n, const char *other)
{
    return strlen(other) == n && strncasecmp(name, other, n) == 0;
}

/* 127.0.0.0/8 as digits. */
static bool guard_is_loopback(const char *name, size_t n)
{
    unsigned points = 0;

    if (guard_is_same(name, n, "localhost") || guard_is_same(name, n, "[::1]"))
        return true;
    if (n < 9 || n > 15 || strncmp(name, "127.", 4) != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        points += name[i] == '.';
        if (name[i] != '.' && (name[i] < '0' || name[i] > '9'))
            return false;
    }
    return points == 3;
}

bool guard_takes_host(const struct guard *guard, const char *host)
{
    size_t n = host ? guard_host_length(host) : 0;

    if (n == 0)
        return false;
    if (guard_is_loopback(host, n))
        return true;
    for (size_t i = 0; i < guard->n_hosts; i++)
        if (n == guard_host_length(guard->hosts[i]) && strncasecmp(host, guard->hosts[i], n) == 0)
            return true;
    return false;
}

/* ---- the token ---- */

static int guard_take_token(struct guard *guard, char *line, const char *path, char *why,
                            size_t why_size)
{
    size_t n = strcspn(line, "\n");
    bool is_one_line = line[n] == '\0' || line[n + 1] == '\0';

    line[n] = '\0';
    for (size_t i = 0; i < n; i++)
        is_one_line = is_one_line && line[i] > ' ' && line[i] <= '~';
    if (!is_one_line || n < GUARD_TOKEN_LEAST || n > GUARD_TOKEN_MOST) {
        snprintf(why, why_size,
                 "%s: a token is one line of %d to %d printable characters without blanks", path,
                 GUARD_TOKEN_LEAST, GUARD_TOKEN_MOST);
        return -EINVAL;
    }
    memset(guard->token, 0, sizeof(guard->token));
    memcpy(guard->token, line, n);
    return 0;
}

int guard_read_token(struct guard *guard, const char *path, char *why, size_t why_size)
{
    char line[GUARD_TOKEN_MOST + 3] = "";
    struct stat st;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;

    if (fd < 0 || fstat(fd, &st) < 0 || (n = read(fd, line, sizeof(line) - 1)) < 0) {
        r = -errno;
        snprintf(why, why_size, "%s: cannot be read: %s", path, strerror(errno));
    } else if (st.st_mode & 0007) {
        r = -EACCES;
        snprintf(why, why_size, "%s: everybody may read or write it: chmod o= is needed", path);
    } else {
        if (strlen(line) != (size_t)n)
            line[0] = '\0'; /* a NUL is no character of a token */
        r = guard_take_token(guard, line, path, why, why_size);
    }
    if (fd >= 0)
        close(fd);
    explicit_bzero(line, sizeof(line));
    return r;
}

/* guard.G2: all bytes of both are looked at, whatever they are. */
static bool guard_is_token(const struct guard *guard, const char *word, size_t n)
{
    char padded[GUARD_TOKEN_MOST + 1] = "";
    volatile unsigned char different = 0;

    memcpy(padded, word, n < GUARD_TOKEN_MOST ? n : GUARD_TOKEN_MOST);
    for (size_t i = 0; i < sizeof(padded); i++)
        different = (unsigned char)(different | (padded[i] ^ guard->token[i]));
    return different == 0 && n <= GUARD_TOKEN_MOST && guard->token[0] != '\0';
}

enum guard_word guard_judge_token(const struct guard *guard, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    const char *word;

    if (!authorization)
        return GUARD_NONE;
    if (strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
        return GUARD_WRONG;
    word = authorization + sizeof(scheme) - 1;
    word += strspn(word, " ");
    return guard_is_token(guard, word, strlen(word)) ? GUARD_RIGHT : GUARD_WRONG;
}
