/* SPDX-License-Identifier: Apache-2.0 */
/* Where a bench program finds its plugin. Any thread, once. */
#pragma once

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `name` lies beside the program, unless `given`, --plugin, says otherwise. The service wants an
 * absolute path. Static storage. */
static inline const char *beside_find(const char *name, const char *given)
{
    static char path[PATH_MAX], resolved[PATH_MAX];
    if (given != NULL)
        return realpath(given, resolved) != NULL ? resolved : given;
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0)
        return name;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) + 1 + strlen(name) >= sizeof(path))
        return name;
    strcpy(slash + 1, name);
    return path;
}
