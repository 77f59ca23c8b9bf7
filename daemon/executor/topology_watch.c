/* SPDX-License-Identifier: Apache-2.0 */
/* See topology_watch.h. */
#include "daemon/executor/topology_watch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* The kernel works some changes of cpusets off later, and forgets bindings when it does: so long
 * after the last write they are looked at once more. */
enum { SETTLE_MS = 200 };

static bool watch_add(const struct topology_watch *watch, const char *path)
{
    return inotify_add_watch(watch->fd, path, IN_MODIFY) >= 0;
}

/* Also those of no plan, which may come later. The first CPU often cannot be taken offline and has
 * no such file. */
static unsigned watch_add_cpus(const struct topology_watch *watch)
{
    DIR *folder = opendir("/sys/devices/system/cpu");
    const struct dirent *entry;
    char path[sizeof(entry->d_name) + 64];
    unsigned n = 0;

    while (folder && (entry = readdir(folder))) {
        if (strncmp(entry->d_name, "cpu", 3) != 0 || !isdigit((unsigned char)entry->d_name[3]))
            continue;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s/online", entry->d_name);
        n += watch_add(watch, path);
    }
    if (folder)
        closedir(folder);
    return n;
}

static unsigned watch_add_file(const struct topology_watch *watch, const char *mount,
                               const char *path, const char *name)
{
    char file[4096];

    return snprintf(file, sizeof(file), "%s%s/%s", mount, path, name) < (int)sizeof(file) &&
           watch_add(watch, file);
}

/* The limit of a cgroup is that of all above it, too. In version 2 it has that file since somebody
 * has written to the other one, above: the kernel makes it without a word to inotify. Cuts `path`
 * away from its end. */
static unsigned watch_add_cgroup(const struct topology_watch *watch, const char *mount, char *path)
{
    unsigned n = 0;

    for (;;) {
        char *slash;

        n += watch_add_file(watch, mount, path, "cpuset.cpus");
        n += watch_add_file(watch, mount, path, "cgroup.subtree_control");
        slash = strrchr(path, '/');
        if (!slash)
            return n;
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup: "0::/path" for the one hierarchy of version 2, "N:cpuset:/path" for
 * version 1. */
static unsigned watch_add_cgroups(const struct topology_watch *watch)
{
    FILE *file = fopen(watch->groups ? watch->groups : "/proc/self/cgroup", "re");
    const char *mount = watch->mount ? watch->mount : "/sys/fs/cgroup";
    char line[4096], cpusets[4096];
    unsigned n = 0;

    if (!file)
        return 0;
    snprintf(cpusets, sizeof(cpusets), "%s/cpuset", mount);
    while (fgets(line, sizeof(line), file)) {
        char *controllers = strchr(line, ':'),
             *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (strcmp(controllers, ":") == 0)
            n += watch_add_cgroup(watch, mount, path);
        else if (strstr(controllers, "cpuset"))
            n += watch_add_cgroup(watch, cpusets, path);
    }
    fclose(file);
    return n;
}

static void topology_watch_on_settled(uv_timer_t *timer)
{
    struct topology_watch *watch = timer->data;

    watch->changed(watch->userdata);
}

static void topology_watch_on_written(uv_poll_t *poll, int status, int events)
{
    struct topology_watch *watch = poll->data;
    char buffer[4096];

    (void)status;
    (void)events;
    while (read(watch->fd, buffer, sizeof(buffer)) > 0)
        ;
    (void)watch_add_cgroups(watch); /* one that is watched already stays so */
    watch->changed(watch->userdata);
    uv_timer_start(&watch->timer, topology_watch_on_settled, SETTLE_MS, 0);
}

int topology_watch_start(struct topology_watch *watch, uv_loop_t *loop, topology_watch_fn changed,
                         void *userdata, int fd)
{
    int r;

    watch->changed = changed;
    watch->userdata = userdata;
    watch->fd = fd >= 0 ? fd : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch->fd < 0)
        return -errno;
    if (watch_add_cpus(watch) + watch_add_cgroups(watch) == 0) {
        close(watch->fd);
        return 0;
    }
    r = uv_poll_init(loop, &watch->poll, watch->fd);
    if (r < 0) {
        close(watch->fd);
        return r;
    }
    uv_timer_init(loop, &watch->timer);
    watch->poll.data = watch->timer.data = watch;
    watch->active = true;
    return uv_poll_start(&watch->poll, UV_READABLE, topology_watch_on_written);
}

static void topology_watch_on_poll_closed(uv_handle_t *handle)
{
    struct topology_watch *watch = handle->data;

    close(watch->fd);
}

void topology_watch_stop(struct topology_watch *watch)
{
    if (!watch->active)
        return;
    watch->active = false;
    uv_close((uv_handle_t *)&watch->timer, NULL);
    uv_close((uv_handle_t *)&watch->poll, topology_watch_on_poll_closed);
}
