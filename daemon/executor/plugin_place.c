/* SPDX-License-Identifier: Apache-2.0 */
/* See plugin_place.h. */
#include "daemon/executor/plugin_place.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int plugin_place_check(const char *path, struct explain *explain)
{
    struct stat st;

    if (path[0] != '/')
        return explain_set(explain, -EINVAL,
                           "odeond --developer loads plugins where they lie, and '%s' is no whole "
                           "path",
                           path);
    if (stat(path, &st) < 0)
        return explain_set(explain, -errno, "the plugin's file %s cannot be examined: %s", path,
                           strerror(errno));
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return explain_set(explain, -EACCES,
                           "odeond --developer loads plugins where they lie: %s belongs to user "
                           "%u, neither to user %u nor to root",
                           path, (unsigned)st.st_uid, (unsigned)geteuid());
    /* a group of one's own is usual, and no harm */
    if ((st.st_mode & S_IWOTH) || ((st.st_mode & S_IWGRP) && st.st_gid != getegid()))
        return explain_set(explain, -EACCES,
                           "odeond --developer loads plugins where they lie: %s has mode %04o, and "
                           "others may write it",
                           path, (unsigned)st.st_mode & 07777U);
    return 0;
}
