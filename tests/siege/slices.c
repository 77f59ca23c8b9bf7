/* SPDX-License-Identifier: Apache-2.0 */
/* See slices.h. */
#include "tests/siege/slices.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"

enum { SLICES_MAX = 8, SLICES_PATH = 96, USUAL_WEIGHT = 100, USUAL_SHARES = 1024 };

/* `own`: where the caller was found. */
static char own[256], service_slice[SLICES_PATH], user_slices[SLICES_MAX][SLICES_PATH];
static uid_t users_of_slices[SLICES_MAX];
static unsigned n_slices;

static bool slices_write(const char *folder, const char *file, unsigned value)
{
    char path[320];
    FILE *f;
    bool done;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    f = fopen(path, "r+e"); /* a file that is not there is not made */
    if (!f)
        return false;
    done = fprintf(f, "%u", value) > 0;
    return fclose(f) == 0 && done;
}

/* The caller's group: "N:cpu:/path" or "N:cpu,cpuacct:/path" of version 1, "0::/path" of 2. */
static bool slices_find_own(const char *mount, const char *controller)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[200];
    bool found = false;

    while (f && !found && fgets(line, sizeof(line), f)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        size_t n = strlen(controller);

        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        found = strncmp(names + 1, controller, n) == 0 &&
                (names + 1 + n == path || (n > 0 && names[1 + n] == ','));
        if (found)
            snprintf(own, sizeof(own), "%s%s", mount, path + 1);
    }
    if (f)
        fclose(f);
    return found;
}

static bool slices_make_one(const char *path, unsigned weight)
{
    return mkdir(path, 0755) == 0 &&
           (slices_write(path, "cpu.shares", weight * USUAL_SHARES / USUAL_WEIGHT) ||
            slices_write(path, "cpu.weight", weight));
}

static bool slices_make_below(const char *mount, const uid_t *users, unsigned n, unsigned weight)
{
    bool made;

    snprintf(service_slice, sizeof(service_slice), "%s/odeon-%d-service", mount, (int)getpid());
    made = slices_make_one(service_slice, weight);
    for (unsigned i = 0; made && i < n; i++) {
        snprintf(user_slices[i], sizeof(user_slices[i]), "%s/odeon-%d-user-%u", mount,
                 (int)getpid(), users[i]);
        users_of_slices[i] = users[i];
        n_slices = i + 1;
        made = slices_make_one(user_slices[i], USUAL_WEIGHT);
    }
    return made;
}

bool slices_make(const uid_t *users, unsigned n, unsigned weight)
{
    static const struct {
        const char *mount, *controller;
    } kinds[] = { { "/sys/fs/cgroup/cpu", "cpu" },
                  { "/sys/fs/cgroup", "" },
                  { "/sys/fs/cgroup/unified", "" } };

    assert_true(n <= SLICES_MAX);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (slices_find_own(kinds[i].mount, kinds[i].controller) &&
            slices_make_below(kinds[i].mount, users, n, weight))
            return true;
        slices_end();
    }
    return false;
}

/* Also in children, where no assertion works: who is in no group would spoil the figures. */
static void slices_move_to(const char *folder)
{
    if (slices_write(folder, "cgroup.procs", (unsigned)getpid()))
        return;
    fprintf(stderr, "process %d cannot be moved to %s: %s\n", (int)getpid(), folder,
            strerror(errno));
    _exit(1);
}

void slices_enter_service(void)
{
    if (service_slice[0])
        slices_move_to(service_slice);
}

void slices_enter_user(uid_t uid)
{
    for (unsigned i = 0; i < n_slices; i++)
        if (users_of_slices[i] == uid)
            slices_move_to(user_slices[i]);
}

void slices_leave(void)
{
    if (service_slice[0])
        slices_move_to(own);
}

static void slices_remove(const char *path)
{
    for (int i = 0; rmdir(path) < 0 && errno == EBUSY && i < 1000; i++)
        pause_briefly();
}

void slices_end(void)
{
    while (n_slices > 0)
        slices_remove(user_slices[--n_slices]);
    if (service_slice[0])
        slices_remove(service_slice);
    service_slice[0] = '\0';
}
