/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery, killed anywhere, recovered from, killed again: from each state of a routine recovery
 * runs from store to store; each state that it leaves on its way and that is not known yet is
 * recovered from, to the end and the books, and is itself one that such a run begins with. That
 * goes on until no recovery leaves anything new: then recovery has been killed behind each of its
 * stores, any number of times in a row; or to a depth that was asked for, because ids of dead
 * letters, of which a kill may skip some, never come to an end.
 *
 * The states of one depth are shared out among `jobs` processes; the next depth begins when all are
 * done.
 *
 * recovery.R1  A run changes the world by the stores that are recorded, and by nothing else: behind
 *     it the hash of the world is the sum of them.
 * recovery.R2  What is recorded is what single steps see: some runs are repeated by them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crash.h"
#include "daemon/engine/recovery/recover.h"

enum { JOBS_MAX = 64, PROGRESS_SECONDS = 20 };

/* One process's; the counters are for the parent, which reads them now and then. */
struct job {
    struct world world;
    struct recording *recording, *again;
    struct image image[2];
    struct counts {
        _Atomic uint64_t points[2], runs[2], states[2], stepped;
    } * counts;
};
static struct job jobs[JOBS_MAX];
static unsigned n_jobs;
static bool is_told;
static double began, level_began;

/* What the jobs share; the parent stands still while they work. */
static struct {
    _Atomic uint32_t next, failed;
    char failure[1024];
} * shared;

static struct {
    const struct scene *scene;
    const struct image *base;
    const struct recovery_extent *extent;
    uint32_t first, end; /* of the present depth */
} level;

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* ---- one state ---- */

/* The kills that lead to it, the last one first. */
static void state_fail(uint32_t index, const char *what)
{
    char text[700] = "";
    uint32_t nobody = 0;
    if (!atomic_compare_exchange_strong_explicit(&shared->failed, &nobody, 1, memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    for (uint32_t i = index; i != STATE_BASE; i = states_get(i)->parent) {
        char place[96];
        size_t used = strlen(text);
        place_text(states_get(i)->at, place, sizeof(place));
        snprintf(text + used, sizeof(text) - used, "%s %s of %s",
                 used ? ", before that" : "killed at", place,
                 states_get(i)->depth ? "recovery" : "the routine");
    }
    snprintf(shared->failure, sizeof(shared->failure), "%s: %.300s", text, what);
}

static bool state_check(struct job *job, uint32_t index)
{
    char failure[600];
    states_restore(index, level.base, &job->world);
    count(&job->counts->states[states_get(index)->depth > 1], 1);
    pid_t pid = child_fork();
    if (pid == 0)
        child_check(&job->world);
    if (child_well(pid, &job->world, "recovered", failure, sizeof(failure)))
        return true;
    state_fail(index, failure);
    return false;
}

/* engine_recover() but for its signal handlers: these are stores.c's. */
static __attribute__((noreturn)) void recorded_main(struct job *job)
{
    struct life life;
    struct engine_recovery report;
    child_begin(&job->world);
    child_limit();
    life_open(&life, &job->world);
    stores_begin(&life, job->recording);
    int r = recover_run(life.engine, &report);
    stores_end();
    must("recover", r);
    _exit(0);
}

static bool record_by_stores(struct job *job, uint32_t index)
{
    char failure[600];
    recording_begin(job->recording, states_get(index)->hash);
    pid_t pid = child_fork();
    if (pid == 0)
        recorded_main(job);
    if (child_well(pid, &job->world, "from store to store", failure, sizeof(failure)))
        return true;
    state_fail(index, failure);
    return false;
}

static bool record_by_steps(struct job *job, uint32_t index, struct recording *recording)
{
    int status, signal;
    recording_begin(recording, states_get(index)->hash);
    pid_t pid = child_fork();
    if (pid == 0)
        child_recover_traced(&job->world);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != BEGIN) {
        state_fail(index, child_failure(&job->world));
        return false;
    }
    image_take(&job->image[0], &job->world);
    while ((signal = traced_step(pid, &status)) == SIGTRAP) {
        recording->points++;
        places_note(traced_at(pid));
        if (!image_differs(&job->image[0], &job->world))
            continue;
        image_take(&job->image[1], &job->world);
        image_changes(&job->image[0], &job->image[1], recording);
        recording_mark(recording, traced_at(pid));
        struct image before = job->image[0];
        job->image[0] = job->image[1];
        job->image[1] = before;
    }
    kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    if (signal != END)
        state_fail(index, child_failure(&job->world));
    return signal == END;
}

/* recovery.R2: the same states, one after the other. */
static bool record_repeat(struct job *job, uint32_t index)
{
    states_restore(index, level.base, &job->world);
    if (!record_by_steps(job, index, job->again))
        return false;
    count(&job->counts->stepped, job->again->points);
    bool same = job->again->n_marks == job->recording->n_marks;
    for (uint32_t i = 0; same && i < job->again->n_marks; i++)
        same = job->again->mark[i].hash == job->recording->mark[i].hash;
    if (!same)
        state_fail(index, "single steps do not leave the states that stores do");
    return same;
}

static bool state_run(struct job *job, uint32_t index)
{
    const struct state *state = states_get(index);
    const struct recovery_extent *extent = level.extent;
    states_restore(index, level.base, &job->world);
    if (HAVE_STORES ? !record_by_stores(job, index) : !record_by_steps(job, index, job->recording))
        return false;
    image_take(&job->image[0], &job->world);
    if (image_hash(&job->image[0]) != job->recording->hash) { /* recovery.R1 */
        state_fail(index, "recovery has changed the world by something else than a store");
        return false;
    }
    count(&job->counts->points[state->depth > 0], job->recording->points);
    count(&job->counts->runs[state->depth > 0], 1);
    if (HAVE_STORES && extent->stepped && state->depth == 0 &&
        index / extent->stride % extent->stepped == 0 && !record_repeat(job, index))
        return false;
    states_add(job->recording, index, state->depth + 1);
    return true;
}

/* ---- a depth of them ---- */

static __attribute__((noreturn)) void job_main(struct job *job)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const struct recovery_extent *extent = level.extent;
    uint32_t index;
    bool good = true;
    while (good && !atomic_load_explicit(&shared->failed, memory_order_relaxed) &&
           (index = atomic_fetch_add_explicit(&shared->next, 1, memory_order_relaxed)) <
               level.end) {
        uint32_t depth = states_get(index)->depth;
        if (depth == 0 && index % extent->stride != 0)
            continue;
        good = depth == 0 || state_check(job, index);
        if (good && depth < extent->depth)
            good = state_run(job, index);
    }
    _exit(0);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The estimate is of the scene's states that are known by now, at the pace of this depth. */
static void progress_show(void)
{
    uint64_t states = 0, runs = 0, points = 0;
    for (unsigned i = 0; i < n_jobs; i++)
        for (unsigned again = 0; again < 2; again++) {
            states += atomic_load_explicit(&jobs[i].counts->states[again], memory_order_relaxed);
            runs += atomic_load_explicit(&jobs[i].counts->runs[again], memory_order_relaxed);
            points += atomic_load_explicit(&jobs[i].counts->points[again], memory_order_relaxed);
        }
    uint32_t next = atomic_load_explicit(&shared->next, memory_order_relaxed),
             known = states_count();
    next = next < level.end ? next : level.end;
    uint32_t done = next - level.first + (next == level.first);
    fprintf(stderr,
            "# %.0f s: recovery of: %s: %llu points, %llu states, %llu runs; %u deep, %u of %u, %u "
            "known to come: %.0f s at least\n",
            now() - began, level.scene->name, (unsigned long long)points,
            (unsigned long long)states, (unsigned long long)runs, states_get(level.first)->depth,
            next - level.first, level.end - level.first, known - level.end,
            (now() - level_began) * (known - next) / done);
}

static void on_alarm(int signal_number)
{
    (void)signal_number; /* waitpid() comes back */
}

static void level_run(void)
{
    int status;
    level_began = now();
    atomic_store_explicit(&shared->next, level.first, memory_order_relaxed);
    for (unsigned i = 0; i < n_jobs; i++)
        if (child_fork() == 0)
            job_main(&jobs[i]);
    for (unsigned ended = 0; ended < n_jobs;) {
        if (waitpid(-1, &status, 0) < 0) {
            if (errno != EINTR)
                exit(2);
            progress_show();
            continue;
        }
        ended++;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            state_fail(STATE_BASE, "the driver's own process has ended");
    }
}

/* ---- a scene ---- */

void recovery_init(unsigned jobs_wanted, bool progress)
{
    n_jobs = jobs_wanted < 1 ? 1 : jobs_wanted < JOBS_MAX ? jobs_wanted : JOBS_MAX;
    is_told = progress;
    began = now();
    shared = states_map(sizeof(*shared));
    for (unsigned i = 0; i < n_jobs; i++) {
        world_make(&jobs[i].world);
        jobs[i].recording = states_map(sizeof(*jobs[i].recording));
        jobs[i].again = states_map(sizeof(*jobs[i].again));
        jobs[i].counts = states_map(sizeof(*jobs[i].counts));
    }
    struct sigaction action = { .sa_handler = on_alarm };
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
}

static void alarm_every(unsigned seconds)
{
    setitimer(ITIMER_REAL, &(struct itimerval){ { seconds, 0 }, { seconds, 0 } }, NULL);
}

static void tally_sum(struct recovery_tally *tally)
{
    for (unsigned i = 0; i < n_jobs; i++) {
        struct counts *counts = jobs[i].counts;
        tally->once.points += counts->points[0];
        tally->once.states += counts->states[0];
        tally->again.points += counts->points[1];
        tally->again.states += counts->states[1];
        tally->runs[0] += counts->runs[0];
        tally->runs[1] += counts->runs[1];
        tally->stepped += counts->stepped;
        memset(counts, 0, sizeof(*counts));
    }
    if (level.end > 0)
        tally->deepest = states_get(level.end - 1)->depth;
    if (tally->deepest == level.extent->depth)
        tally->left = level.end - level.first;
    memcpy(tally->deepest > 1 ? tally->again.failure : tally->once.failure, shared->failure,
           sizeof(shared->failure));
}

void recovery_scene(const struct scene *scene, const struct recovery_extent *extent,
                    struct recovery_tally *tally)
{
    *tally = (struct recovery_tally){ 0 };
    const struct image *base = step_states(scene, extent->pairs, &tally->once);
    if (!base)
        return;
    tally->once = (struct tally){ 0 };
    shared->failed = 0;
    shared->failure[0] = '\0';
    level.scene = scene;
    level.base = base;
    level.extent = extent;
    level.end = 0;
    if (is_told)
        alarm_every(PROGRESS_SECONDS);
    do {
        level.first = level.end;
        level.end = states_count();
        if (level.first < level.end)
            level_run();
    } while (!shared->failed && level.end < states_count());
    alarm_every(0);
    tally_sum(tally);
}
