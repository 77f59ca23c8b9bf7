/* SPDX-License-Identifier: Apache-2.0 */
/* See processes.h. */
#include "tests/soak/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool soak_state(const struct service *service, struct odeon_stats_service *ret_state)
{
    struct odeon_stats *stats = NULL;
    *ret_state = (struct odeon_stats_service){ .struct_size = sizeof(*ret_state) };
    bool there =
        odeon_stats_open(service->stats, &stats) == 0 && odeon_stats_service(stats, ret_state) == 0;
    odeon_stats_close(stats);
    return there;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512], *at;
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    at = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
    if (!at || sscanf(at + 1, " %*c %d", &parent) != 1)
        parent = 0;
    fclose(file);
    return parent;
}

bool soak_kill_child(pid_t pid, pid_t parent)
{
    int fd = pid > 0 && parent > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (fd < 0)
        return false;
    bool killed =
        parent_of(pid) == parent && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
    close(fd);
    return killed;
}

pid_t soak_client_start(const char *name, unsigned index, int shared_fd, int as_fd)
{
    char number[16];
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    snprintf(number, sizeof(number), "%u", index);
    if (dup2(shared_fd, as_fd) == as_fd && fcntl(as_fd, F_SETFD, 0) == 0 &&
        prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
        execl("/proc/self/exe", name, "--client", number, (char *)NULL);
    _exit(126);
}
