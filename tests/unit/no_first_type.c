/* SPDX-License-Identifier: Apache-2.0 */
/* A library to load before all others: there is no memory for the first actor type of a process,
 * which is that of groups. The control thread alone registers types. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/engine/core/core.h"

/* glibc's own. */
extern void *__libc_calloc(size_t n, size_t size);
extern void *calloc(size_t n, size_t size);

void *calloc(size_t n, size_t size)
{
    static bool had;

    if (had || n != 1 || size != sizeof(struct actor_type))
        return __libc_calloc(n, size);
    had = true;
    errno = ENOMEM;
    return NULL;
}
