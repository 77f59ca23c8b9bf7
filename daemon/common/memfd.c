/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed memory files; the interface is in memfd.h.  Stateless. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/common/memfd.h"

/* Known to kernels from 6.3 on; earlier ones answer EINVAL and need neither. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static int memfd_do_create(const char *name, unsigned wish)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | wish);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    /* Whoever holds a read-only descriptor could open the file again for writing if its mode let
     * him. */
    if (fchmod(fd, wish == MFD_EXEC ? 0700 : 0600) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    return fd;
}

static int memfd_seal_or_close(int fd, int seals)
{
    int r;

    if (fcntl(fd, F_ADD_SEALS, seals) == 0)
        return fd;
    r = -errno;
    close(fd);
    return r;
}

int memfd_make_sealed(const char *name, uint64_t size)
{
    int fd;

    if (size == 0 || size > INT64_MAX)
        return -EINVAL;
    fd = memfd_do_create(name, MFD_NOEXEC_SEAL);
    if (fd < 0)
        return fd;
    if (ftruncate(fd, (off_t)size) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    return memfd_seal_or_close(fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int memfd_reopen_read_only(int fd)
{
    char path[32];
    int r;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    r = open(path, O_RDONLY | O_CLOEXEC);
    return r < 0 ? -errno : r;
}

static int memfd_write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Reads to the end instead of believing st_size: the file may grow meanwhile. */
static int memfd_copy_content(int from, int to, uint64_t limit)
{
    char buffer[65536];
    uint64_t copied = 0;

    for (;;) {
        ssize_t n = pread(from, buffer, sizeof(buffer), (off_t)copied);
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        copied += (uint64_t)n;
        if (copied > limit)
            return -EFBIG;
        r = memfd_write_all(to, buffer, (size_t)n);
        if (r < 0)
            return r;
    }
}

int memfd_copy_file(int fd, uint64_t limit)
{
    struct stat st;
    int copy, r;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
    if (st.st_size < 0 || (uint64_t)st.st_size > limit)
        return -EFBIG;
    copy = memfd_do_create("odeon-file", MFD_EXEC);
    if (copy < 0)
        return copy;
    r = memfd_copy_content(fd, copy, limit);
    if (r < 0) {
        close(copy);
        return r;
    }
    return memfd_seal_or_close(copy, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int memfd_check(int fd, uint64_t size)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
        return -EBADFD;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size < size)
        return -EBADFD;
    return 0;
}
