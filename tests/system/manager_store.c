/* SPDX-License-Identifier: Apache-2.0 */
/* See manager_store.h. */
#include "tests/system/manager_store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void drop(struct manager_store *store, size_t index)
{
    close(store->kept[index].fd);
    free(store->kept[index].name);
    memmove(&store->kept[index], &store->kept[index + 1],
            (store->n - index - 1) * sizeof(store->kept[0]));
    store->n--;
}

static bool is_kept(const struct manager_store *store, int fd)
{
    for (size_t i = 0; i < store->n; i++)
        if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, store->kept[i].fd, fd) == 0)
            return true;
    return false;
}

void manager_store_add(struct manager_store *store, const char *name, int fd, bool watch)
{
    char *own;

    if (store->n == MANAGER_STORE_MAX || is_kept(store, fd)) {
        close(fd);
        return;
    }
    own = strdup(name);
    if (!own)
        abort();
    store->kept[store->n++] = (struct manager_stored){ .name = own, .fd = fd, .watch = watch };
}

void manager_store_remove(struct manager_store *store, const char *name)
{
    for (size_t i = store->n; i-- > 0;)
        if (strcmp(store->kept[i].name, name) == 0)
            drop(store, i);
}

void manager_store_clear(struct manager_store *store)
{
    while (store->n > 0)
        drop(store, store->n - 1);
}

size_t manager_store_watched(const struct manager_store *store, struct pollfd *fds)
{
    size_t n = 0;

    for (size_t i = 0; i < store->n; i++)
        if (store->kept[i].watch)
            fds[n++] = (struct pollfd){ .fd = store->kept[i].fd };
    return n;
}

void manager_store_check(struct manager_store *store)
{
    for (size_t i = store->n; i-- > 0;) {
        struct pollfd look = { .fd = store->kept[i].fd };

        if (store->kept[i].watch && poll(&look, 1, 0) > 0 && look.revents & (POLLHUP | POLLERR))
            drop(store, i);
    }
}

size_t manager_store_count_of(const struct manager_store *store, const char *prefix)
{
    size_t n = 0;

    for (size_t i = 0; i < store->n; i++)
        n += strncmp(store->kept[i].name, prefix, strlen(prefix)) == 0;
    return n;
}

int manager_store_dup(const struct manager_store *store, const char *name)
{
    for (size_t i = 0; i < store->n; i++)
        if (strcmp(store->kept[i].name, name) == 0)
            return fcntl(store->kept[i].fd, F_DUPFD_CLOEXEC, 3);
    return -1;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *manager_store_format(const struct manager_store *store)
{
    const char *names[MANAGER_STORE_MAX];
    char *text;
    size_t bytes = 1;

    for (size_t i = 0; i < store->n; i++) {
        /* these names take turns (persist.R5) */
        names[i] = strcmp(store->kept[i].name, "stats-next") == 0 ? "stats" : store->kept[i].name;
        bytes += strlen(names[i]) + 1;
    }
    qsort(names, store->n, sizeof(names[0]), compare);
    text = calloc(1, bytes);
    if (!text)
        abort();
    for (size_t i = 0; i < store->n; i++) {
        strcat(text, names[i]);
        strcat(text, "\n");
    }
    return text;
}
