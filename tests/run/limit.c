/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one test, and ends it when it no longer does anything, or does too much.
 *
 *   limit [--cpu S] [--still S] [--wall S] [--report FILE] -- PROGRAM [ARGUMENT...]
 *
 *   --cpu S     processor time that the test may use, with all that it starts (600)
 *   --still S   how long it may do nothing: use next to no processor time and print nothing (600)
 *   --wall S    the last resort (14400); a test that is slow because its machine is comes nowhere
 *               near it
 *   --report F  writes "WALL_MS CPU_MS VERDICT" there; VERDICT is ended, processor-time, still or
 *               wall
 *
 * A limit in wall time says how busy a machine is, not whether a test hangs: beside other work, or
 * on a slow processor, what is right takes many times as long.  Processor time and progress say it.
 *
 * limit.L1  Whatever the test starts is found, daemons too: who loses its parent becomes this
 *     process's child (PR_SET_CHILD_SUBREAPER).
 * limit.L2  Nothing outlives this process unless it is killed itself: what is left when the test
 *     has ended is killed.
 * limit.L3  The exit status is the test's; 124 when a limit ended it, 125 when it could not be
 *     started.
 *
 * One thread. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOK_MS = 500,
    STILL_CPU_MS = 500,
    END_LOOKS = 20,
    PROCESSES_MAX = 8192,
    CANNOT_START = 125
};

struct process {
    pid_t pid, parent;
    bool ours;
    char state;
    uint64_t own_ms, children_ms; /* those that have ended and were waited for */
    char name[32];
};

static struct {
    uint64_t cpu_ms, still_ms, wall_ms;
    const char *report;
} limits = { .cpu_ms = 600 * 1000, .still_ms = 600 * 1000, .wall_ms = 14400 * UINT64_C(1000) };

static struct process table[PROCESSES_MAX];
static size_t n_processes;
static int interrupted_by; /* a signal */

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool read_process(pid_t pid, struct process *process)
{
    char path[64], text[1024];
    unsigned long own[2];
    long children[2];
    uint64_t tick_ms = 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
    const char *name, *rest;
    FILE *file;
    size_t length;
    int parent;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    name = strchr(text, '(');
    rest = strrchr(text, ')'); /* a name may hold anything */
    if (!name || !rest ||
        sscanf(rest, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &process->state,
               &parent, &own[0], &own[1], &children[0], &children[1]) != 6)
        return false;
    process->pid = pid;
    process->parent = parent;
    process->ours = false;
    process->own_ms = (own[0] + own[1]) * tick_ms;
    process->children_ms = (uint64_t)(children[0] + children[1]) * tick_ms;
    snprintf(process->name, sizeof(process->name), "%.*s", (int)(rest - name - 1), name + 1);
    return true;
}

static const struct process *find_process(pid_t pid)
{
    for (size_t i = 0; i < n_processes; i++) {
        if (table[i].pid == pid)
            return &table[i];
    }
    return NULL;
}

/* Marks what descends from this process (limit.L1); how many that are. */
static size_t look_at_processes(void)
{
    DIR *entries = opendir("/proc");
    pid_t self = getpid();
    size_t n_ours = 0;
    bool more = true;

    n_processes = 0;
    if (!entries)
        return 0;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        pid_t pid = atoi(entry->d_name);

        if (pid > 0 && pid != self && n_processes < PROCESSES_MAX &&
            read_process(pid, &table[n_processes]))
            n_processes++;
    }
    closedir(entries);
    while (more) { /* a child may stand before its parent */
        more = false;
        for (size_t i = 0; i < n_processes; i++) {
            const struct process *parent;

            if (table[i].ours)
                continue;
            parent = table[i].parent == self ? NULL : find_process(table[i].parent);
            if (table[i].parent != self && !(parent && parent->ours))
                continue;
            table[i].ours = more = true;
            n_ours++;
        }
    }
    return n_ours;
}

/* Of everybody, whether it has ended or not.  Who ends without being waited for is missed. */
static uint64_t processor_ms(void)
{
    struct rusage ended;
    uint64_t sum;

    getrusage(RUSAGE_CHILDREN, &ended);
    sum = (uint64_t)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * 1000 +
          (uint64_t)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec) / 1000;
    for (size_t i = 0; i < n_processes; i++) {
        if (table[i].ours)
            sum += table[i].own_ms + table[i].children_ms;
    }
    return sum;
}

static off_t output_size(void)
{
    struct stat st;

    return fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
}

static void show_processes(void)
{
    printf("# what it had running:\n");
    for (size_t i = 0; i < n_processes; i++) {
        const struct process *process = &table[i];

        if (process->ours)
            printf("#   %d (child of %d) %s: state %c, %llu ms of processor time\n", process->pid,
                   process->parent, process->name, process->state,
                   (unsigned long long)process->own_ms);
    }
    fflush(stdout);
}

static void signal_all(int signal)
{
    for (size_t i = 0; i < n_processes; i++) {
        if (table[i].ours && table[i].state != 'Z')
            kill(table[i].pid, signal);
    }
}

static void sleep_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 },
              NULL);
}

/* Waits for whoever has ended; the test's own status, or -1 as long as it has none. */
static int reap(pid_t test, int status)
{
    int ended;
    pid_t pid;

    while ((pid = waitpid(-1, &ended, WNOHANG)) > 0) {
        if (pid == test)
            status = ended;
    }
    return status;
}

/* limit.L2: asks first, for those that have something to tidy up. */
static void end_all(pid_t test, bool ask)
{
    for (unsigned i = 0; look_at_processes() > 0; i++) {
        if (i == 0 && ask)
            signal_all(SIGTERM);
        else if (i >= END_LOOKS || !ask)
            signal_all(SIGKILL);
        sleep_ms(ask ? LOOK_MS : LOOK_MS / 10);
        reap(test, 0);
        if (i > 10 * END_LOOKS) {
            printf("# limit: some cannot be killed\n");
            break;
        }
    }
}

/* Sleeps until it is time to look again, or somebody has ended, or this process is to end. */
static void wait_for_signal(const sigset_t *signals)
{
    int signal = sigtimedwait(signals, NULL, &(struct timespec){ .tv_nsec = LOOK_MS * 1000000L });

    if (signal > 0 && signal != SIGCHLD)
        interrupted_by = signal;
}

/* The verdict, and the test's wait status if it has ended by itself. */
static const char *watch(pid_t test, const sigset_t *signals, uint64_t began, int *status,
                         uint64_t *cpu_ms)
{
    uint64_t moved = began, looked = 0, moved_cpu = 0;
    off_t moved_size = output_size();

    for (*status = -1;; wait_for_signal(signals)) {
        uint64_t now = now_ms();

        *status = reap(test, *status);
        if (*status < 0 && !interrupted_by && now - looked < LOOK_MS)
            continue;
        looked = now;
        look_at_processes();
        *cpu_ms = processor_ms();
        if (*status >= 0)
            return "ended";
        if (interrupted_by)
            return "interrupted";
        if (*cpu_ms >= limits.cpu_ms)
            return "processor-time";
        if (now - began >= limits.wall_ms)
            return "wall";
        if (*cpu_ms < moved_cpu) /* of somebody for whom nobody has waited: others begin anew */
            moved_cpu = *cpu_ms;
        if (*cpu_ms >= moved_cpu + STILL_CPU_MS || output_size() != moved_size) {
            moved = now;
            moved_cpu = *cpu_ms;
            moved_size = output_size();
        } else if (now - moved >= limits.still_ms) {
            return "still";
        }
    }
}

static uint64_t milliseconds(const char *text)
{
    char *end;
    unsigned long seconds = strtoul(text ? text : "", &end, 10);

    if (!text || *end != '\0' || end == text || seconds > 1000000) {
        fprintf(stderr, "limit: not a number of seconds: %s\n", text ? text : "");
        exit(CANNOT_START);
    }
    return seconds * UINT64_C(1000);
}

static char **parse(char **argument)
{
    for (; *argument && strcmp(*argument, "--") != 0; argument += 2) {
        if (strcmp(*argument, "--cpu") == 0)
            limits.cpu_ms = milliseconds(argument[1]);
        else if (strcmp(*argument, "--still") == 0)
            limits.still_ms = milliseconds(argument[1]);
        else if (strcmp(*argument, "--wall") == 0)
            limits.wall_ms = milliseconds(argument[1]);
        else if (strcmp(*argument, "--report") == 0)
            limits.report = argument[1];
        else
            break;
        if (!argument[1])
            break;
    }
    if (!*argument || strcmp(*argument, "--") != 0 || !argument[1]) {
        fprintf(stderr, "limit: [--cpu S] [--still S] [--wall S] [--report FILE] -- PROGRAM...\n");
        exit(CANNOT_START);
    }
    return argument + 1;
}

static pid_t start(char **command, const sigset_t *signals)
{
    pid_t parent = getpid(), test = fork();

    if (test != 0)
        return test;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(CANNOT_START);
    sigprocmask(SIG_UNBLOCK, signals, NULL);
    execvp(command[0], command);
    fprintf(stderr, "limit: %s: %s\n", command[0], strerror(errno));
    _exit(CANNOT_START);
}

static void write_report(const char *verdict, uint64_t wall, uint64_t cpu)
{
    FILE *file = limits.report ? fopen(limits.report, "we") : NULL;

    if (!limits.report)
        return;
    if (!file || fprintf(file, "%llu %llu %s\n", (unsigned long long)wall, (unsigned long long)cpu,
                         verdict) < 0)
        fprintf(stderr, "limit: %s: %s\n", limits.report, strerror(errno));
    if (file)
        fclose(file);
}

int main(int argc, char **argv)
{
    uint64_t began = now_ms(), cpu = 0;
    const char *verdict;
    char **command;
    sigset_t signals;
    int status;
    pid_t test;

    (void)argc;
    command = parse(argv + 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    test = start(command, &signals);
    if (test < 0) {
        perror("limit: fork");
        return CANNOT_START;
    }
    verdict = watch(test, &signals, began, &status, &cpu);
    if (status < 0 && !interrupted_by) {
        printf("# limit: %s: %llu s, %llu s of processor time\n", verdict,
               (unsigned long long)(now_ms() - began) / 1000, (unsigned long long)cpu / 1000);
        show_processes();
    }
    end_all(test, status < 0);
    write_report(verdict, now_ms() - began, cpu);
    if (interrupted_by)
        return 128 + interrupted_by;
    if (status < 0)
        return 124;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
