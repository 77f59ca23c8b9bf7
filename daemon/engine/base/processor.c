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
    char text[96], *end = text;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    (void)strtoull(text, &end, 10);
    return strtoull(end, NULL, 10);
}
#endif
