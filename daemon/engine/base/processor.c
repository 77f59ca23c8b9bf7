/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/base/processor.h"

#ifdef ODEON_SIMULATE
uint64_t processor_lacked_ns(void)
{
    return 0;
}
#else
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* {nanoseconds on a processor, nanoseconds without, times that it was given one} */
uint64_t processor_lacked_ns(void)
{
    static _Thread_local uint64_t lacked; /* as it was when it could last be read */
    char text[96], *end = text;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return lacked;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return lacked;
    text[n] = '\0';
    (void)strtoull(text, &end, 10);
    lacked = strtoull(end, NULL, 10);
    return lacked;
}
#endif
