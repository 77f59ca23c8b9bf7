/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors that the tests' service manager keeps (manager.M1 and manager.M2).  The caller
 * locks. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { MANAGER_STORE_MAX = 4096 };

struct manager_store {
    size_t n;
    struct manager_stored {
        char *name;
        int fd;
        bool watch;
    } kept[MANAGER_STORE_MAX];
};

/* Takes `fd`; closes it when it is kept already, or when there is no room. */
void manager_store_add(struct manager_store *store, const char *name, int fd, bool watch);
void manager_store_remove(struct manager_store *store, const char *name);
void manager_store_clear(struct manager_store *store);
/* Drops what hangs up or has failed. */
void manager_store_check(struct manager_store *store);
/* Fills in what is to be watched for that; how many. */
size_t manager_store_watched(const struct manager_store *store, struct pollfd *fds);
size_t manager_store_count_of(const struct manager_store *store, const char *prefix);
int manager_store_dup(const struct manager_store *store, const char *name);
char *manager_store_format(const struct manager_store *store);
