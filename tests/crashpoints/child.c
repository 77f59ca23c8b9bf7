/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that live in a world: what they may use up, how they end, where they stand. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash.h"

enum { LIFE_CPU_SECONDS = 10, LIFE_SECONDS = 1800 };

void child_begin(struct world *world)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    ledger = (struct ledger *)world->region[REGION_LEDGER].map;
}

void child_limit(void)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){ LIFE_CPU_SECONDS, LIFE_CPU_SECONDS });
    signal(SIGALRM, SIG_DFL);
    alarm(LIFE_SECONDS);
}

pid_t child_fork(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(2);
    }
    return pid;
}

const char *child_failure(const struct world *world)
{
    return ((const struct ledger *)world->region[REGION_LEDGER].map)->failure;
}

bool child_well(pid_t pid, const struct world *world, const char *what, char *failure, size_t room)
{
    int status;
    if (waitpid(pid, &status, 0) != pid) {
        perror("waitpid");
        exit(2);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        snprintf(failure, room, "%s: ended by signal %d (%s)", what, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(failure, room, "%s: %s", what, child_failure(world));
    return false;
}

void child_check(struct world *world)
{
    struct life life;
    child_begin(world);
    child_limit();
    life_open(&life, world);
    life_recover(&life);
    life_quiesce(&life);
    books_at_rest(life.engine);
    life_close(&life);
    _exit(0);
}

void child_recover_traced(struct world *world)
{
    struct life life;
    struct engine_recovery report;
    child_begin(world);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        fail("ptrace: %s", strerror(errno));
    life_open(&life, world);
    raise(BEGIN);
    must("recover", engine_recover(life.engine, &report));
    raise(END);
    _exit(0);
}

int traced_step(pid_t pid, int *ret_status)
{
    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 || waitpid(pid, ret_status, 0) != pid)
        return -errno;
    return WIFSTOPPED(*ret_status) ? WSTOPSIG(*ret_status) : -ESRCH;
}

uint64_t traced_at(pid_t pid)
{
    struct user_regs_struct registers;
    struct iovec of = { &registers, sizeof(registers) };
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &of) < 0)
        return 0;
#if defined(__x86_64__)
    return registers.rip;
#else
    return registers.pc;
#endif
}

/* All processes are copies of this one, so its own map is theirs. */
void place_text(uint64_t at, char *text, size_t room)
{
    char line[256], command[128], from[32] = "";
    unsigned long long first = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps && fgets(line, sizeof(line), maps))
        first = strtoull(line, NULL, 16);
    if (maps)
        fclose(maps);
    if (at == 0) {
        snprintf(text, room, "a chosen point");
        return;
    }
    at -= first;
    snprintf(text, room, "+%#llx", (unsigned long long)at);
    snprintf(command, sizeof(command), "addr2line -f -e /proc/%d/exe %#llx 2>/dev/null",
             (int)getpid(), (unsigned long long)at);
    FILE *names = popen(command, "re"); /* of this very program: no input of anybody's */
    if (names && fscanf(names, "%31s", from) == 1)
        snprintf(text, room, "%s +%#llx", from, (unsigned long long)at);
    if (names)
        pclose(names);
}
