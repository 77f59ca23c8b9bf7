/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ruler.h"

static int pair_map_memory(size_t bytes, void **ret_memory)
{
    int fd = memfd_create("odeon-ruler", MFD_CLOEXEC), r = 0;
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes) < 0)
        r = -errno;
    void *memory = r == 0
                       ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0)
                       : MAP_FAILED;
    if (r == 0 && memory == MAP_FAILED)
        r = -errno;
    close(fd);
    *ret_memory = memory;
    return r;
}

int pair_start(struct pair *pair, size_t bytes, int cpu, int (*side)(void *memory, void *argument),
               void *argument)
{
    int r = pair_map_memory(bytes, &pair->memory);
    if (r < 0)
        return ruler_error(r, "memory between two processes");
    pair->bytes = bytes;
    pair->child = fork();
    if (pair->child < 0) {
        r = -errno;
        munmap(pair->memory, bytes);
        return ruler_error(r, "the second process");
    }
    if (pair->child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(ruler_bind(cpu) == 0 && side(pair->memory, argument) == 0 ? 0 : 1);
    }
    return 0;
}

int pair_finish(struct pair *pair)
{
    int status = 0, r = 0;
    if (waitpid(pair->child, &status, 0) < 0)
        r = -errno;
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        r = -EPROTO;
    munmap(pair->memory, pair->bytes);
    return r < 0 ? ruler_error(r, "the second process did not end well") : 0;
}
