/* SPDX-License-Identifier: Apache-2.0 */
/* The service manager's descriptor store; the interface is in store.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/crash_point.h"
#include "daemon/supervisor/line.h"
#include "daemon/supervisor/store.h"

int store_open(struct store *store, bool enabled)
{
    char **names = NULL;
    int n;

    *store = (struct store){ .enabled = enabled && getenv("NOTIFY_SOCKET") };
    if (!enabled)
        return 0;
    n = sd_listen_fds_with_names(1, &names);
    if (n <= 0)
        return n;
    store->intake = calloc((size_t)n, sizeof(*store->intake));
    for (int i = 0; i < n; i++) {
        if (!store->intake) {
            free(names[i]);
            continue;
        }
        store->intake[store->n++] =
            (struct stored){ .name = names[i], .fd = SD_LISTEN_FDS_START + i };
    }
    free(names);
    return store->intake ? 0 : -ENOMEM;
}

void store_close(struct store *store)
{
    store_forget_rest(store);
    for (size_t i = 0; i < store->n; i++)
        free(store->intake[i].name);
    free(store->intake);
    *store = (struct store){ 0 };
}

int store_take(struct store *store, const char *format, ...)
{
    char name[STORE_NAME_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    for (size_t i = 0; i < store->n; i++)
        if (store->intake[i].fd >= 0 && strcmp(store->intake[i].name, name) == 0) {
            int fd = store->intake[i].fd;

            store->intake[i].fd = -1;
            return fd;
        }
    return -1;
}

int store_take_listener(struct store *store)
{
    for (size_t i = 0; i < store->n; i++) {
        int fd = store->intake[i].fd;

        if (fd < 0 || sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, NULL, 0) <= 0)
            continue;
        store->intake[i].fd = -1;
        return fd;
    }
    return -1;
}

int store_look(const struct store *store, const char *name)
{
    for (size_t i = 0; i < store->n; i++)
        if (store->intake[i].fd >= 0 && strcmp(store->intake[i].name, name) == 0)
            return store->intake[i].fd;
    return -1;
}

bool store_has(const struct store *store, const char *name)
{
    return store_look(store, name) >= 0;
}

size_t store_drop_rest(struct store *store)
{
    size_t n = 0;

    for (size_t i = 0; i < store->n; i++)
        if (store->intake[i].fd >= 0) {
            log_debug("descriptor %s of the store is nobody's: it is dropped",
                      store->intake[i].name);
            store_remove(store, "%s", store->intake[i].name);
            close(store->intake[i].fd);
            store->intake[i].fd = -1;
            n++;
        }
    return n;
}

bool store_is_taken(const struct store *store)
{
    for (size_t i = 0; i < store->n; i++)
        if (store->intake[i].fd >= 0)
            return false;
    return true;
}

void store_forget_rest(struct store *store)
{
    for (size_t i = 0; i < store->n; i++)
        if (store->intake[i].fd >= 0) {
            close(store->intake[i].fd);
            store->intake[i].fd = -1;
        }
}

int store_push(const struct store *store, int fd, const char *format, ...)
{
    char name[STORE_NAME_MAX], text[STORE_NAME_MAX + 40];
    va_list args;

    if (!store->enabled)
        return 0;
    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    CRASH_POINT();
    return line_send(text, fd);
}

int store_barrier(const struct store *store)
{
    int r;

    if (!store->enabled)
        return 0;
    CRASH_POINT();
    r = line_wait();
    CRASH_POINT();
    return r;
}

int store_add(const struct store *store, struct line_waiter *waiter)
{
    if (!store->enabled) {
        waiter->passed(waiter, 0);
        return 0;
    }
    CRASH_POINT();
    return line_add(waiter);
}

void store_remove(const struct store *store, const char *format, ...)
{
    char name[STORE_NAME_MAX], text[STORE_NAME_MAX + 40];
    va_list args;

    if (!store->enabled)
        return;
    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    CRASH_POINT();
    snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=%s", name);
    (void)line_send(text, -1);
}
