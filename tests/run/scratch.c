/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/run/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "odeon-test."

enum { OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, DEPTH_MAX = 8, TRIES = 100 };

static void remove_content(int folder, int depth)
{
    int fd = openat(folder, ".", OPEN_FOLDER); /* closedir() closes it */
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;

    if (!entries) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const char *name = entry->d_name;
        int inner;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(folder, name, 0) == 0)
            continue;
        inner = depth < DEPTH_MAX ? openat(folder, name, OPEN_FOLDER) : -1;
        if (inner < 0)
            continue;
        remove_content(inner, depth + 1);
        close(inner);
        unlinkat(folder, name, AT_REMOVEDIR);
    }
    closedir(entries);
}

/* scratch.S1 */
static bool remove_if_stale(int parent, const char *name)
{
    int folder = openat(parent, name, OPEN_FOLDER);
    struct stat st;
    bool removed = false;

    if (folder < 0)
        return false;
    if (fstat(folder, &st) == 0 && st.st_uid == geteuid() &&
        flock(folder, LOCK_EX | LOCK_NB) == 0) {
        remove_content(folder, 0);
        removed = unlinkat(parent, name, AT_REMOVEDIR) == 0;
    }
    close(folder);
    return removed;
}

unsigned scratch_sweep(const char *parent)
{
    DIR *entries = opendir(parent);
    unsigned n = 0;

    if (!entries)
        return 0;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            n += remove_if_stale(dirfd(entries), entry->d_name);
    closedir(entries);
    return n;
}

static void sweep_beside(const char *path)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    const char *end = strrchr(path, '/');
    char parent[256];

    if (end && !atomic_flag_test_and_set(&done)) {
        snprintf(parent, sizeof(parent), "%.*s", (int)(end - path), path);
        scratch_sweep(parent);
    }
}

/* scratch.S2.  False: the folder was taken for a stale one. */
static bool lock_folder(const char *path)
{
    int folder = open(path, OPEN_FOLDER);
    struct stat opened, named;

    if (folder < 0)
        return false;
    while (flock(folder, LOCK_EX) < 0)
        if (errno != EINTR)
            break;
    if (fstat(folder, &opened) == 0 && lstat(path, &named) == 0 && opened.st_ino == named.st_ino &&
        opened.st_dev == named.st_dev)
        return true; /* open, and so locked, until the process ends */
    close(folder);
    return false;
}

char *scratch_make(char *path)
{
    char *drawn = path + strlen(path) - strlen("XXXXXX");

    sweep_beside(path);
    for (int i = 0; i < TRIES; i++) {
        if (!mkdtemp(path))
            return NULL;
        if (lock_folder(path))
            return path;
        memcpy(drawn, "XXXXXX", strlen("XXXXXX"));
    }
    errno = EAGAIN;
    return NULL;
}
