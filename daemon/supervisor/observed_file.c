/* SPDX-License-Identifier: Apache-2.0 */
/* The file of what actors do; the interface is in observed_file.h. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/common/memfd.h"
#include "daemon/supervisor/observed_file.h"

enum { OBSERVED_FILE_WORKERS = ODEON_WORKERS_MAX + 1 }; /* the control thread is the last one */

static int observed_file_fill(int fd)
{
    struct observed_header *header =
        mmap(NULL, sizeof(*header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (header == MAP_FAILED)
        return -errno;
    observed_header_fill(header, OBSERVED_FILE_WORKERS);
    /* observed_layout.V4 */
    atomic_store_explicit(&header->magic, OBSERVED_MAGIC, memory_order_release);
    munmap(header, sizeof(*header));
    return 0;
}

int observed_file_make(void)
{
    /* some gigabytes of holes: a page is there when a worker has written to it */
    int fd = memfd_make_sealed("odeon-observed", OBSERVED_FILE_SIZE(OBSERVED_FILE_WORKERS)),
        r = fd < 0 ? fd : observed_file_fill(fd);

    if (r < 0 && fd >= 0)
        close(fd);
    return r < 0 ? r : fd;
}
