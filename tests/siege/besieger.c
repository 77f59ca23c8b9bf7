/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a siege (siege.h), and those that take their place and only burn. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/siege/siege.h"
#include "tests/siege/slices.h"

const struct user attackers[ATTACKERS] = { { 41001, 41001, 0 },
                                           { 41003, 41003, 0 },
                                           { 41004, 41004, 0 } };
const struct user innocent = { 41002, 41002, 0 };
struct field field;

struct besieger *besiegers_make(void)
{
    struct besieger *all = mmap(NULL, BESIEGERS_MAX * sizeof(*all), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(all != MAP_FAILED);
    return all;
}

/* ---- for attacks ---- */

bool besieger_goes_on(const struct besieger *b)
{
    return !atomic_load_explicit(&b->offender.stop, memory_order_relaxed);
}

void besieger_did(struct besieger *b, uint64_t attacks)
{
    atomic_fetch_add_explicit(&b->offender.deeds, attacks, memory_order_relaxed);
}

bool besieger_heard(struct besieger *b, int r)
{
    if (r >= 0)
        return true;
    atomic_fetch_add(r == -ECONNRESET || r == -EPIPE ? &b->ended : &b->refused, 1);
    atomic_store(&b->last_error, r);
    return false;
}

void besieger_pause(const struct besieger *b, int milliseconds)
{
    int64_t end = time_ns() + MILLISECONDS(milliseconds);

    while (besieger_goes_on(b) && time_ns() < end)
        pause_briefly();
}

bool besieger_connect(struct besieger *b, struct raw *ret_raw)
{
    if (!besieger_heard(b, raw_try(ret_raw, field.service))) {
        pause_briefly();
        return false;
    }
    atomic_fetch_add(&b->offender.connects, 1);
    return true;
}

void besieger_stop_actor(struct besieger *b, struct odeon_client *client, odeon_ref ref)
{
    static struct odeon_client *again; /* of this process; kept for the next that it has to end */
    int r = odeon_actor_stop(client, ref, ODEON_DELETE);

    while (!besieger_heard(b, r) && r != -ESRCH && r != -ENOENT && besieger_goes_on(b)) {
        pause_briefly();
        r = again ? 0 : odeon_client_connect(field.service->socket, "besieger", &again);
        if (r == 0)
            r = odeon_actor_stop(again, ref, ODEON_DELETE);
        if (r < 0) {
            odeon_client_disconnect(again);
            again = NULL;
        }
    }
}

void besieger_keep(struct besieger *b)
{
    if (!atomic_load(&b->keep))
        return;
    atomic_store(&b->full, true);
    while (besieger_goes_on(b))
        pause_briefly();
}

void besieger_breach(struct besieger *b, const char *what)
{
    fprintf(stderr, "besieger %s: %s\n", b->assault.name, what);
    atomic_store(&b->offender.failed, 1);
    _exit(1);
}

/* ---- its life ---- */

static void live_with_a_port(struct besieger *b)
{
    struct raw_port port;

    if (!besieger_heard(b, raw_port_try(&port, field.service, ATTACK_RING))) {
        pause_briefly();
        return;
    }
    atomic_fetch_add(&b->offender.connects, 1);
    b->assault.attack(&b->offender, &port);
    if (attack_is_over(&port))
        atomic_fetch_add(&b->ended, 1);
    raw_port_close(&port);
}

/* As many descriptors as it may have: it is the service that shall say no. */
static void __attribute__((noreturn)) live(struct besieger *b, pid_t parent)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max < 16384 ? limit.rlim_max : 16384;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    slices_enter_user(attackers[b->assault.who].uid);
    if (!user_become(attackers[b->assault.who]) || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
        getppid() != parent || setenv("CMOCKA_TEST_ABORT", "1", 1) < 0)
        _exit(1);
    (void)signal(SIGPIPE, SIG_IGN);
    while (besieger_goes_on(b)) {
        if (b->assault.attack)
            live_with_a_port(b);
        else
            b->assault.act(b);
    }
    _exit(0);
}

/* True in the child. */
static bool forked(struct besieger *b)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        b->pid = pid; /* not in the child: the memory is shared */
    return pid == 0;
}

void besieger_begin(struct besieger *b, const struct assault *assault, bool keep)
{
    pid_t parent = getpid();

    memset((void *)b, 0, sizeof(*b));
    b->assault = *assault;
    atomic_store(&b->keep, keep);
    b->offender.random = 20240817 + (uint64_t)parent;
    b->offender.echo = field.echo;
    b->offender.number_type = (uint16_t)field.number_type;
    if (forked(b))
        live(b, parent);
}

/* ---- a burner ---- */

static int64_t own_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * SECONDS(1) + now.tv_nsec;
}

/* By a clock that takes no system call. */
static void burn_for(struct besieger *b, int64_t ns)
{
    static uint64_t words[ATTACK_RING / 8];
    volatile uint64_t *at = words;
    int64_t until = time_ns() + ns;

    while (time_ns() < until && besieger_goes_on(b))
        for (int i = 0; i < ATTACK_WORDS; i++)
            at[offender_random(&b->offender) % (ATTACK_RING / 8)] = (uint64_t)i;
}

/* Its own processor time is asked for as rarely as can be: to answer, the kernel settles its
 * accounts, and finds that somebody else's turn has come. A burner that asked all the time left the
 * processor to others twice as readily as a process that only computes. */
static void __attribute__((noreturn)) burn(struct besieger *b, pid_t parent)
{
    const int64_t longest_ns = MILLISECONDS(20);
    int64_t pieces = b->sleeps > 0 ? (int64_t)b->sleeps : 1;
    int64_t piece_ns = b->cpu_ns / pieces, pause_ns = b->slept_ns / pieces;

    if (b->assault.is_service)
        slices_enter_service();
    else
        slices_enter_user(attackers[b->assault.who].uid);
    if (!user_become(attackers[b->assault.who]) || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
        getppid() != parent)
        _exit(1);
    for (int64_t piece = 1; besieger_goes_on(b); piece++) {
        int64_t left;

        while ((left = piece * piece_ns - own_cpu_ns()) > 0 && besieger_goes_on(b))
            burn_for(b, left < longest_ns ? left : longest_ns);
        (void)nanosleep(
            &(struct timespec){ .tv_sec = pause_ns / SECONDS(1), .tv_nsec = pause_ns % SECONDS(1) },
            NULL);
    }
    _exit(0);
}

/* A piece is long enough that the clocks do not count for more than what is burnt: some words are
 * written between two looks. */
void besieger_begin_burner(struct besieger *b, const struct besieger *like, int64_t wall_ns)
{
    const int64_t shortest_ns = 100000, longest_ns = MILLISECONDS(100);
    int64_t cpu_ns = like->cpu_ns, slept_ns = wall_ns - like->cpu_ns - like->waited_ns;
    uint64_t sleeps = like->sleeps;
    pid_t parent = getpid();

    memset((void *)b, 0, sizeof(*b));
    b->assault = like->assault;
    b->offender.random = 20240817;
    b->cpu_ns = cpu_ns;
    if ((int64_t)sleeps > cpu_ns / shortest_ns)
        sleeps = (uint64_t)(cpu_ns / shortest_ns);
    if ((int64_t)sleeps < wall_ns / longest_ns)
        sleeps = (uint64_t)(wall_ns / longest_ns);
    b->sleeps = sleeps;
    b->slept_ns = slept_ns > 0 ? slept_ns : 0;
    if (forked(b))
        burn(b, parent);
}

/* ---- its end ---- */

void besieger_tell_stop(struct besieger *b)
{
    atomic_store(&b->offender.stop, true);
}

static bool has_ended(const struct besieger *b)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)b->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == b->pid;
}

void besieger_expect_alive(const struct besieger *b)
{
    if (has_ended(b) && !atomic_load(&b->offender.stop))
        fail_msg("besieger %s has ended by itself", b->assault.name);
}

/* How long it was kept from a processor, of one that has ended; 0 where the kernel does not say. */
static int64_t waited_ns(pid_t pid)
{
    unsigned long long ran, waited = 0;
    char path[64];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    f = fopen(path, "re");
    if (f && fscanf(f, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    if (f)
        fclose(f);
    return (int64_t)waited;
}

static int reap(struct besieger *b)
{
    struct rusage used;
    int status = 0;

    assert_int_equal(wait4(b->pid, &status, 0, &used), b->pid);
    b->pid = 0;
    b->cpu_ns = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * SECONDS(1) +
                (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
    b->sleeps = (uint64_t)used.ru_nvcsw;
    return status;
}

void besieger_end(struct besieger *b)
{
    int status;

    if (!wait_until(has_ended(b)))
        fail_msg("besieger %s does not end", b->assault.name);
    b->waited_ns = waited_ns(b->pid);
    status = reap(b);
    if (status != 0)
        fail_msg("besieger %s has ended with status %x", b->assault.name, (unsigned)status);
}

void besieger_kill(struct besieger *b)
{
    if (b->pid > 0 && kill(b->pid, SIGKILL) == 0)
        (void)reap(b);
}
