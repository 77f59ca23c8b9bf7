/* SPDX-License-Identifier: Apache-2.0 */
/* crowd: --actors actors that answer at once are called by turns, in open loop, beside as many that
 * another client floods with handlers of the first of --us (2 ms).
 *
 * Whether they have queues of their own is the service's setting: actors are dealt round its
 * queues, the flooded ones first. The flood is a process of its own, of the user --flood-uid when
 * there is one: root, and who runs the service, are bound by no quota. It keeps FLOOD_WAITING
 * requests waiting for each of its actors, as far as it is let, until after the last call. The
 * first call is made when they have answered FLOOD_ROUNDS times on average, or, with --cold, at
 * once: until each has had its turn, all of them are as new to their worker as who is called.
 *
 * Lateness: from the time at which a call was to be posted to its answer; calls that were refused
 * or not answered in time (`lost`) are counted, not timed. They have --within seconds after the
 * last of them was due.
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "measure.h"
#include "work.h"

enum { FLOOD_WAITING = 100, FLOOD_ROUNDS = 16, FLOOD_PAUSE_NS = 1000000 };

/* Shared by the two processes. */
struct flood {
    odeon_ref actors[CALLS_TARGETS_MAX];
    _Atomic uint64_t done, refused; /* by the flood */
    _Atomic uint32_t stop;          /* by crowd_flood_stop() */
};

/* What has been answered, or refused, does not wait any more. */
static void crowd_flood_receive(struct session *session, struct flood *flood)
{
    struct odeon_delivery delivery;

    while (odeon_port_receive(session->port, &delivery) > 0) {
        _Atomic uint64_t *count =
            delivery.type == ODEON_MSG_REFUSAL ? &flood->refused : &flood->done;
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
        odeon_port_release(session->port);
    }
}

static int crowd_flood_run(struct session *session, struct flood *flood)
{
    const struct options *options = session->options;
    const struct latency_request request = { .work_ns = options->us[0] * 1000,
                                             .sleeps = options->sleeps };
    uint64_t posted = 0, most = (uint64_t)options->actors * FLOOD_WAITING;

    while (!atomic_load_explicit(&flood->stop, memory_order_relaxed)) {
        crowd_flood_receive(session, flood);
        while (posted - flood->done - flood->refused < most &&
               odeon_port_post(session->port, flood->actors[posted % options->actors],
                               session->id_request, &request, sizeof(request)) == 0)
            posted++;
        work_pause_ns(FLOOD_PAUSE_NS);
    }
    return SESSION_DONE;
}

/* The flood's process, which ends with that of the calls. */
static int crowd_flood_main(const struct options *options, struct flood *flood)
{
    struct session session = { 0 };
    uid_t uid = options->flood_uid;
    int r;

    if (uid != 0 && (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0))
        return session_error(SESSION_USAGE, "--flood-uid: %s", strerror(errno));
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return session_error(SESSION_FAILED, "the flood: %s", strerror(errno));
    r = session_open(&session, options);
    if (r == 0)
        r = crowd_flood_run(&session, flood);
    session_close(&session);
    return r;
}

static int crowd_flood_start(struct session *session, struct flood *flood, pid_t *ret_pid)
{
    const struct options *options = session->options;
    int r = 0;

    for (uint32_t i = 0; i < options->actors && r == 0; i++)
        r = session_spawn_kind(session, options->us[0], &flood->actors[i]);
    if (r != 0)
        return r;
    *ret_pid = fork();
    if (*ret_pid < 0)
        return session_error(SESSION_FAILED, "no process for the flood: %s", strerror(errno));
    if (*ret_pid == 0)
        _exit(crowd_flood_main(options, flood));
    return 0;
}

/* Until it floods; a flood that has ended already has said why. */
static int crowd_flood_wait(const struct options *options, struct flood *flood, pid_t pid)
{
    uint64_t end_ns = work_now_ns() + options->timeout_s * WORK_SECOND_NS;

    while (!options->cold && atomic_load_explicit(&flood->done, memory_order_relaxed) <
                                 (uint64_t)options->actors * FLOOD_ROUNDS) {
        siginfo_t ended = { 0 };
        if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || ended.si_pid != 0)
            return SESSION_FAILED;
        if (work_now_ns() > end_ns)
            return session_error(SESSION_FAILED, "no flood for %llu s; --timeout",
                                 (unsigned long long)options->timeout_s);
        work_pause_ns(FLOOD_PAUSE_NS);
    }
    return 0;
}

/* 0, or why it was none. */
static int crowd_flood_stop(struct flood *flood, pid_t pid)
{
    int status = 0;

    if (pid <= 0)
        return SESSION_FAILED;
    atomic_store_explicit(&flood->stop, 1, memory_order_relaxed);
    if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        return session_error(SESSION_FAILED, "the flood was ended");
    return WEXITSTATUS(status);
}

static int crowd_call(struct session *session, struct flood *flood, pid_t pid,
                      struct pace_result *ret)
{
    const struct options *options = session->options;
    struct calls calls = { .session = session, .kind = CALLS_SMALL, .n_targets = options->actors };
    struct pace pace = calls_pace(options, options->rates[0], 0);
    int r = 0;

    pace.within_ns = (uint64_t)(options->within_s * 1e9);
    for (uint32_t i = 0; i < options->actors && r == 0; i++)
        r = session_spawn(session, "latency_echo", NULL, 0, &calls.targets[i]);
    if (r == 0)
        r = crowd_flood_wait(options, flood, pid);
    return r == 0 ? calls_run(&calls, &pace, ret) : r;
}

static void crowd_report(struct session *session, const struct flood *flood,
                         const struct pace_result *result)
{
    const struct options *options = session->options;

    printf("bench=latency_crowd duration_us=%llu actors=%u workers=%u rate=%llu begun=%s "
           "flood_uid=%u",
           (unsigned long long)options->us[0], options->actors, session->workers,
           (unsigned long long)options->rates[0], options->cold ? "with" : "behind",
           options->flood_uid ? options->flood_uid : (uint32_t)getuid());
    calls_report(result);
    report_times("", &result->times);
    printf(" flood_done=%llu flood_refused=%llu", (unsigned long long)flood->done,
           (unsigned long long)flood->refused);
    report_end(session);
}

int measure_crowd(struct session *session)
{
    static struct pace_result result;
    struct flood *flood;
    pid_t pid = 0;
    int r, flooded;

    if (session->options->actors > CALLS_TARGETS_MAX)
        return session_error(SESSION_USAGE, "at most %d actors", CALLS_TARGETS_MAX);
    flood = mmap(NULL, sizeof(*flood), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (flood == MAP_FAILED)
        return session_error(SESSION_FAILED, "no memory for the flood: %s", strerror(errno));
    r = crowd_flood_start(session, flood, &pid);
    if (r == 0)
        r = crowd_call(session, flood, pid, &result);
    flooded = crowd_flood_stop(flood, pid);
    if (r == 0)
        r = flooded;
    if (r == 0)
        crowd_report(session, flood, &result);
    munmap(flood, sizeof(*flood));
    return r;
}
