/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/stuck/stall.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/base/ticks.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/run/fault.h"
#include "daemon/engine/run/pace.h"
#include "daemon/engine/run/pack.h"
#include "daemon/engine/run/turn.h"
#include "daemon/engine/signal/help.h"
#include "daemon/engine/stuck/hold.h"
#include "daemon/engine/stuck/relieve.h"
#include "daemon/engine/stuck/set_aside.h"

enum {
    RELIEVE_TRIES = 640, /* the thread may be in a call of the engine's, or have no processor */
    RELIEVE_DOUBLINGS = 3,
    ASIDE_TRIES = 30,            /* the thread may be in a system call of the engine's just then */
    ASIDE_NS = 50 * 1000 * 1000, /* a try that nobody answers */
    /* for the signal to reach a condemned handler; then its record is written for it */
    GRACE_NS = 500 * 1000 * 1000,
};

int stall_open(struct engine *e)
{
    e->watch.workers = calloc(e->segment.workers_max, sizeof(*e->watch.workers));
    if (!e->watch.workers)
        return -ENOMEM;
    engine_set_stall_limits(e, e->config.stall_warn_ns, e->config.stall_kill_ns);
    return 0;
}

void stall_close(struct engine *e)
{
    free(e->watch.workers);
    e->watch.workers = NULL;
}

/* Needs nobody to stand still: a handler that hangs may be the reason for it. */
void engine_set_stall_limits(struct engine *e, uint64_t warn, uint64_t kill)
{
    e->config.stall_warn_ns = warn;
    e->config.stall_kill_ns = kill;
}

/* ---- a worker's thread, from outside ---- */

static pid_t stall_thread_id(const struct worker *w)
{
    return (pid_t)load_relaxed(&w->stats->thread);
}

static bool stall_thread_is_gone(const struct worker *w)
{
    return syscall(SYS_tgkill, getpid(), stall_thread_id(w), 0) < 0 && errno == ESRCH;
}

/* What it has used of processors; 0: not to be told. */
static uint64_t stall_thread_cpu_ns(const struct worker *w)
{
    /* CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED: what pthread_getcpuclockid() makes, of a living
     * thread's id */
    enum { PER_THREAD_SCHED = 6 };
    struct timespec used;
    if (clock_gettime((clockid_t)((~(unsigned)stall_thread_id(w) << 3) | PER_THREAD_SCHED), &used) <
        0)
        return 0;
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

/* The kernel's letter for its state: R runs, or could; '?': not to be told. */
static char stall_thread_state(const struct worker *w)
{
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)stall_thread_id(w));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return '?';
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] ? name_end[2] : '?';
}

/* ---- one look ---- */

/* How it went with setting it aside is known, or will not be. */
static void stall_tell_overdue(struct stall_watch *watch, engine_stall_fn tell, void *userdata)
{
    if (!watch->overdue || watch->told)
        return;
    watch->told = true;
    watch->overdue_as.what = ENGINE_STALL_WARN;
    tell(userdata, &watch->overdue_as);
}

static void stall_forget(struct worker *w, struct stall_watch *watch, uint64_t count)
{
    if (watch->asked)
        hold_withdraw(w);
    if (watch->overdue)
        store_relaxed(&w->stats->value[STAT_handler_overdue], 0);
    if (watch->condemned)
        store_relaxed(&w->hold.condemned, 0);
    *watch = (struct stall_watch){ .count = count };
}

static void stall_describe(struct engine *e, struct worker *w, const struct stall_watch *watch,
                           struct engine_stall *ret)
{
    struct engine_worker_view view;
    *ret = (struct engine_stall){ .worker = w->id, .age_ns = watch->age_ns, .state = '?' };
    if (engine_worker_get(e, w->id, &view) < 0)
        return;
    ret->actor = view.actor;
    ret->type = view.type;
    ret->message_type = view.message_type;
}

/* Older than `limit_ns`?  stall.WA2 */
static bool stall_is_overdue(const struct stall_watch *watch, uint64_t limit_ns,
                             const struct engine_stall *stall)
{
    if (limit_ns == 0 || watch->age_ns < limit_ns)
        return false;
    return stall->state != 'R' || stall->cpu_ns + STALL_STEP_NS >= limit_ns;
}

/* stall.WA3.  With its own signal, so that the record says where it hangs; without, when it has
 * blocked
 *       that. */
static void stall_condemn(struct worker *w, struct stall_watch *watch)
{
    if (!watch->condemned) {
        watch->condemned = true;
        store_release(&w->hold.condemned,
                      watch->count + 1); /* read (acquire) by the signal handler */
        (void)syscall(SYS_tgkill, getpid(), stall_thread_id(w), SIGABRT);
    } else if (watch->age_ns >= w->engine->config.stall_kill_ns + GRACE_NS) {
        fault_end_worker(w, watch->count, FAULT_STALLED);
    }
}

static bool stall_wants_aside(const struct stall_watch *watch)
{
    return watch->overdue && watch->aside_tries < ASIDE_TRIES;
}

static bool stall_wants_relief(const struct worker *w, const struct stall_watch *watch)
{
    return watch->relieve_tries < RELIEVE_TRIES &&
           (relieve_is_wanted(w) || (!watch->published && !turn_is_published(w)));
}

/* The others of its queue go on without it, if it is overdue: true. Else what was sent before this
 * handler does not wait for it, and what was run is counted. */
static bool stall_on_held(struct engine *e, struct worker *w, struct stall_watch *watch)
{
    struct engine_stall *as = &watch->overdue_as;
    if (stall_wants_aside(watch)) {
        watch->aside_tries++;
        as->aside = set_aside_held(e, w->id, as->actor, &as->aside_text);
        if (as->aside != -EAGAIN)
            watch->aside_tries = ASIDE_TRIES;
        if (as->aside == 0)
            return true;
    }
    if (stall_wants_relief(w, watch)) {
        watch->published = true;
        watch->relieve_tries++;
        if (relieve_held_worker(e, w) < 0)
            watch->relieve_tries = RELIEVE_TRIES;
    }
    hold_end(w);
    return false;
}

/* Nobody stands, or can. */
static void stall_on_not_held(struct stall_watch *watch, int r)
{
    if (watch->overdue) {
        watch->overdue_as.aside = r;
        watch->overdue_as.aside_text = SET_ASIDE_NOT_HELD;
        watch->aside_tries = r == -ENOTSUP ? ASIDE_TRIES : watch->aside_tries + 1;
    }
    watch->relieve_tries = r == -ENOTSUP ? RELIEVE_TRIES : watch->relieve_tries + 1;
}

/* stall.WA4.  0: it has answered, and stands; 1: it has not been asked, or has not answered yet;
 * negative: it cannot stand, for now or at all. */
static int stall_heard(struct worker *w, struct stall_watch *watch, uint64_t step_ns)
{
    if (!watch->asked)
        return 1;
    int r = hold_answer(w);
    watch->asked_ns += step_ns;
    if (r == -EINPROGRESS) {
        watch->relieve_tries++;
        if (watch->asked_ns < ASIDE_NS)
            return 1;
        hold_withdraw(w);
        r = -ETIMEDOUT;
    }
    watch->asked = false;
    if (r < 0)
        stall_on_not_held(watch, r);
    return r;
}

/* In how long it is to be asked again where it could not stand, at most. */
static uint64_t stall_ask_again_ns(const struct stall_watch *watch)
{
    return watch->relieve_tries <= RELIEVE_DOUBLINGS
               ? (uint64_t)STALL_AGAIN_NS << watch->relieve_tries >> 1
               : STALL_LOOK_NS;
}

static uint64_t stall_ask(struct engine *e, struct worker *w, struct stall_watch *watch)
{
    if (watch->asked || !(stall_wants_aside(watch) || stall_wants_relief(w, watch)))
        return STALL_LOOK_NS;
    int r = hold_ask(e, w);
    watch->asked = r == 0;
    watch->asked_ns = 0;
    if (r < 0)
        stall_on_not_held(watch, r);
    return r < 0 ? stall_ask_again_ns(watch) : STALL_LOOK_NS;
}

/* Whose handler has not returned for too long. */
static void stall_judge(struct engine *e, struct worker *w, struct stall_watch *watch,
                        engine_stall_fn tell, void *userdata)
{
    uint64_t warn_ns = e->config.stall_warn_ns, kill_ns = e->config.stall_kill_ns;
    struct engine_stall stall;
    if (!(warn_ns && !watch->overdue && watch->age_ns >= warn_ns) &&
        !(kill_ns && watch->age_ns >= kill_ns))
        return;
    stall_describe(e, w, watch, &stall);
    stall.cpu_ns = stall_thread_cpu_ns(w) - watch->cpu_ns;
    stall.state = stall_thread_state(w);
    if (!watch->overdue && stall_is_overdue(watch, warn_ns, &stall)) {
        watch->overdue = true;
        watch->overdue_as = stall;
        watch->overdue_as.aside = -EAGAIN;
        watch->overdue_as.aside_text = SET_ASIDE_NOT_HELD;
        PROBE(stall, w->id, stall.actor, watch->age_ns);
        stat_add(w, STAT_handler_stalls, 1); /* these two of its block are the control thread's */
        store_relaxed(&w->stats->value[STAT_handler_overdue], 1);
    }
    if (!stall_is_overdue(watch, kill_ns, &stall))
        return;
    if (!watch->condemned) {
        stall_tell_overdue(watch, tell, userdata);
        stall.what = ENGINE_STALL_KILL;
        tell(userdata, &stall);
    }
    stall_condemn(w, watch);
}

/* It has been in one handler since the last look. */
static void stall_look_at_handler(struct engine *e, struct worker *w, struct stall_watch *watch,
                                  bool held, engine_stall_fn tell, void *userdata)
{
    struct engine_stall stall;
    if (held && stall_on_held(e, w, watch) && watch->told) {
        watch->overdue_as.what = ENGINE_STALL_ASIDE;
        watch->overdue_as.age_ns = watch->age_ns;
        tell(userdata, &watch->overdue_as);
    }
    if (watch->aside_tries > 0)
        stall_tell_overdue(watch, tell, userdata);
    if (watch->cpu_ns == 0)
        watch->cpu_ns = stall_thread_cpu_ns(w);
    if (stall_thread_is_gone(w)) {
        stall_describe(e, w, watch, &stall);
        stall.what = ENGINE_STALL_GONE;
        tell(userdata, &stall);
        fault_end_worker(w, watch->count, FAULT_THREAD_ENDED);
    }
    stall_judge(e, w, watch, tell, userdata);
}

/* It runs another message than at the last look, or none. */
static void stall_go_on(struct engine *e, struct worker *w, struct stall_watch *watch, bool held,
                        uint64_t count, engine_stall_fn tell, void *userdata)
{
    stall_tell_overdue(watch, tell, userdata);
    stall_forget(w, watch, count);
    if (!held)
        return;
    if (relieve_is_wanted(w))
        (void)relieve_held_worker(e, w); /* hold.H4 */
    hold_end(w);
}

/* stall.WA5.  The worker is inside a batch: it is to look at its clock, and to stand still if it
 * has not for so long. In how long that is to be looked at again, at most. */
static uint64_t stall_look_at_clock(struct engine *e, struct worker *w, struct stall_watch *watch,
                                    bool refused)
{
    uint64_t silent_ns = pace_silent_ns(w);
    if (silent_ns < watch->age_ns) /* a clock that has jumped back */
        silent_ns = watch->age_ns;
    if (silent_ns + STALL_NEAR_NS < STALL_LOOK_NS && !stall_wants_aside(watch))
        return STALL_LOOK_NS - silent_ns;
    if (!pace_is_called(w))
        pace_call(w); /* messages that it takes for quick take long: pace.T3 */
    return refused ? stall_ask_again_ns(watch) : stall_ask(e, w, watch);
}

/* In how long the next look is due, at most. */
static uint64_t stall_look_at(struct engine *e, struct worker *w, struct stall_watch *watch,
                              uint64_t step_ns, engine_stall_fn tell, void *userdata)
{
    int heard = stall_heard(w, watch, step_ns);
    uint64_t count = segment_count(w->durable);
    bool in_batch = load_relaxed(&w->durable->turn);
    if (in_batch && count == watch->count) {
        watch->age_ns += step_ns;
        stall_look_at_handler(e, w, watch, heard == 0, tell, userdata);
    } else {
        stall_go_on(e, w, watch, heard == 0, count, tell, userdata);
    }
    return in_batch ? stall_look_at_clock(e, w, watch, heard < 0) : STALL_LOOK_NS;
}

static bool stall_anybody_busy(const struct engine *e)
{
    for (uint32_t id = 0; id < engine_workers(e); id++)
        if (load_relaxed(&e->workers[id]->shown.busy))
            return true;
    return false;
}

/* The timer, while anybody is busy. */
static void stall_arm_again(struct engine *e, uint64_t next_ns)
{
    if (stall_anybody_busy(e)) {
        help_watch_in(e, next_ns);
        return;
    }
    store_relaxed(&e->watch.armed, 0); /* stall.WA1 */
    full_barrier();
    if (stall_anybody_busy(e))
        help_watch_arm(e);
}

int engine_watch_fd(const struct engine *e)
{
    return e->watch.fd;
}

void engine_watch_look(struct engine *e, engine_stall_fn tell, void *userdata)
{
    uint64_t expired, now = clock_now_ns(), next_ns = STALL_LOOK_NS;
    if (read(e->watch.fd, &expired, sizeof(expired)) < 0)
        return; /* set anew meanwhile */
    uint64_t step_ns = now - e->watch.looked_ns;
    e->watch.looked_ns = now;
    if (step_ns > STALL_STEP_NS)
        step_ns = STALL_STEP_NS;
    for (uint32_t id = 0; id < engine_workers(e); id++) {
        uint64_t due_ns =
            stall_look_at(e, e->workers[id], &e->watch.workers[id], step_ns, tell, userdata);
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    ticks_check(now);
    pack_look(e, now);
    stall_arm_again(e, next_ns);
    for (uint32_t id = 0; id < engine_workers(e); id++)
        if (e->watch.workers[id].asked && hold_is_answered(e->workers[id]))
            help_watch_now(e); /* stall.WA4 */
}
