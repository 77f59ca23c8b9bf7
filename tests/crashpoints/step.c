/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer: a process runs a routine, one instruction at a time; each state of the world that it
 * leaves is recovered from, by another process, in a world of its own; or it is added to the states
 * that recovery.c begins with. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash.h"

/* The routine's, and the one in which states are checked. */
static struct world stage, checked;
static struct image images[2], empty, base;
static struct recording *recording; /* of the routine, where its states are added */

void step_init(void)
{
    world_make(&stage);
    world_make(&checked);
    image_take(&empty, &stage);
    states_init();
    recording = states_map(sizeof(*recording));
}

/* ---- whole lives ---- */

static __attribute__((noreturn)) void setup_main(const struct scene *scene)
{
    struct life life;
    child_begin(&stage);
    child_limit();
    ledger->redelivered_max = scene->in_doubt;
    life_open(&life, &stage);
    life_recover(&life);
    scene->setup(&life);
    life_close(&life);
    _exit(0);
}

static __attribute__((noreturn)) void check_main(const struct image *image)
{
    image_restore(image, &checked);
    child_check(&checked);
}

/* ---- one routine, step by step ---- */

static struct {
    const struct scene *scene;
    struct life *life;
} the_other;

static void *other_main(void *argument)
{
    (void)argument;
    raise(BEGIN);
    the_other.scene->other(the_other.life);
    raise(END);
    return NULL;
}

static __attribute__((noreturn)) void traced_main(const struct scene *scene)
{
    struct life life;
    child_begin(&stage);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        fail("ptrace: %s", strerror(errno));
    if (!scene->setup) {
        raise(BEGIN);
        life_open(&life, &stage);
        life_recover(&life);
        raise(END);
    } else {
        life_open(&life, &stage);
        life_recover(&life);
        if (scene->prepare)
            scene->prepare(&life);
        if (scene->other) {
            pthread_t thread;
            the_other.scene = scene;
            the_other.life = &life;
            raise(BEGIN); /* the tracer wants to know of the thread */
            must("thread", -pthread_create(&thread, NULL, other_main, NULL));
        }
        raise(BEGIN);
        scene->routine(&life);
        raise(END);
    }
    _exit(0);
}

struct walk {
    const struct scene *scene;
    struct tally *tally;
    bool check; /* else its states are added */
};

static void walk_begin(const struct walk *walk)
{
    image_take(&images[0], &stage);
    if (walk->check) {
        (void)states_enter(image_hash(&images[0]));
        return;
    }
    recording_begin(recording, image_hash(&base));
    image_changes(&base, &images[0], recording); /* by the recovery that came before the routine */
}

/* The world is another than in images[0]. */
static bool state_check(const struct walk *walk, uint64_t hash, uint64_t at)
{
    struct tally *tally = walk->tally;
    char place[128], failure[600];
    if (!states_enter(hash))
        return true;
    tally->states++;
    pid_t pid = child_fork();
    if (pid == 0)
        check_main(&images[0]);
    if (child_well(pid, &checked, "recovered", failure, sizeof(failure)))
        return true;
    place_text(at, place, sizeof(place));
    snprintf(tally->failure, sizeof(tally->failure), "killed at %s, point %llu of the routine: %s",
             place, (unsigned long long)tally->points, failure);
    return false;
}

/* Behind an instruction.  *ret_changed: the world is another than before it. */
static bool state_look(const struct walk *walk, pid_t pid, bool *ret_changed)
{
    walk->tally->points++;
    places_note(traced_at(pid));
    *ret_changed = image_differs(&images[0], &stage);
    if (!*ret_changed)
        return true;
    struct image before = images[0];
    images[0] = images[1];
    images[1] = before;
    image_take(&images[0], &stage);
    if (walk->check)
        return state_check(walk, image_hash(&images[0]), traced_at(pid));
    image_changes(&images[1], &images[0], recording);
    recording_mark(recording, traced_at(pid));
    return true;
}

static bool walk_fail(const struct walk *walk, pid_t pid, int status, const char *what)
{
    struct tally *tally = walk->tally;
    snprintf(tally->failure, sizeof(tally->failure), "%s: status %x: %s", what, (unsigned)status,
             child_failure(&stage));
    if (WIFSTOPPED(status)) {
        kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
    }
    return false;
}

static bool walk_run(const struct walk *walk)
{
    int status, signal = 0;
    bool good = true, changed;
    image_restore(&base, &stage);
    pid_t pid = child_fork();
    if (pid == 0)
        traced_main(walk->scene);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != BEGIN)
        return walk_fail(walk, pid, status, "the routine did not begin");
    walk_begin(walk);
    while (good && (signal = traced_step(pid, &status)) == SIGTRAP)
        good = state_look(walk, pid, &changed);
    if (good && signal != END)
        return walk_fail(walk, pid, status, "the routine did not come to its end");
    kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    if (good && image_differs(&images[0], &stage)) {
        snprintf(walk->tally->failure, sizeof(walk->tally->failure),
                 "a SIGKILL changes what the process had stored");
        return false;
    }
    return good;
}

/* The world that the routine begins with, which must be a good one. */
static bool base_make(const struct scene *scene, struct tally *tally)
{
    states_reset();
    image_restore(&empty, &stage);
    image_take(&base, &stage);
    if (!scene->setup)
        return true;
    pid_t pid = child_fork();
    if (pid == 0)
        setup_main(scene);
    if (!child_well(pid, &stage, "setup", tally->failure, sizeof(tally->failure)))
        return false;
    image_take(&base, &stage);
    pid = child_fork();
    if (pid == 0)
        check_main(&base);
    return child_well(pid, &checked, "without a kill", tally->failure, sizeof(tally->failure));
}

/* ---- two threads ---- */

enum { BLOCKED = -1, BLOCKED_LOOKS = 2000 };

/* A thread that is stepped by turns with another: it may wait for it. */
struct stepped {
    pid_t id;
    bool under_way; /* its last step has not come back */
    bool ended;
};

static bool thread_sleeps(pid_t id)
{
    char path[64], state = '?';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)id);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(file);
    return state == 'S';
}

/* SIGTRAP, END, or BLOCKED: it sleeps in a system call. */
static int thread_step(struct stepped *thread)
{
    int status;
    if (!thread->under_way && ptrace(PTRACE_SINGLESTEP, thread->id, NULL, NULL) < 0)
        return -ESRCH;
    thread->under_way = true;
    for (unsigned looks = 1;; looks++) {
        pid_t r = waitpid(thread->id, &status, __WALL | WNOHANG);
        if (r == thread->id)
            break;
        if (r < 0)
            return -ESRCH;
        if (looks % BLOCKED_LOOKS == 0 && thread_sleeps(thread->id))
            return BLOCKED;
        sched_yield();
    }
    thread->under_way = false;
    thread->ended = WIFSTOPPED(status) && WSTOPSIG(status) == END;
    return WIFSTOPPED(status) ? WSTOPSIG(status) : -ESRCH;
}

/* Both stand at their beginnings. */
static bool pair_begin(struct stepped *main_one, struct stepped *other)
{
    int status;
    unsigned begun = 0;
    if (waitpid(main_one->id, &status, 0) != main_one->id || !WIFSTOPPED(status) ||
        WSTOPSIG(status) != BEGIN ||
        ptrace(PTRACE_SETOPTIONS, main_one->id, NULL,
               (void *)(uintptr_t)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)) < 0 ||
        ptrace(PTRACE_CONT, main_one->id, NULL, NULL) < 0)
        return false;
    while (begun < 2) {
        pid_t who = waitpid(-1, &status, __WALL);
        if (who <= 0 || !WIFSTOPPED(status))
            return false;
        if (WSTOPSIG(status) == BEGIN)
            begun++;
        else
            /* of a clone, and the new one's first stop */
            (void)ptrace(PTRACE_CONT, who, NULL, NULL);
        if (who != main_one->id)
            other->id = who;
    }
    return true;
}

/* One step of one of the two. */
static bool pair_step(const struct walk *walk, struct stepped *one, struct stepped *second,
                      bool *ret_changed)
{
    *ret_changed = false;
    int signal = thread_step(one);
    if (signal == BLOCKED && !second->ended)
        signal = thread_step(second); /* it holds what the first one wants */
    if (signal == SIGTRAP || signal == END)
        return state_look(walk, one->id, ret_changed);
    snprintf(walk->tally->failure, sizeof(walk->tally->failure),
             "two threads: signal %d, point %llu: %s", signal,
             (unsigned long long)walk->tally->points, child_failure(&stage));
    return false;
}

/* The other goes on to its n-th state, then the routine runs, then the other. False: a failure, or
 * (*ret_last) there is no such state. */
static bool pair_run(const struct walk *walk, uint32_t n, bool *ret_last)
{
    struct stepped main_one = { 0 }, other = { 0 };
    int status;
    bool good, changed;
    image_restore(&base, &stage);
    main_one.id = child_fork();
    if (main_one.id == 0)
        traced_main(walk->scene);
    good = pair_begin(&main_one, &other);
    if (!good)
        snprintf(walk->tally->failure, sizeof(walk->tally->failure),
                 "the two threads did not begin: %s", child_failure(&stage));
    walk_begin(walk);
    while (good && n > 0 && !other.ended) {
        good = pair_step(walk, &other, &main_one, &changed);
        n -= changed;
    }
    *ret_last = other.ended;
    while (good && !main_one.ended)
        good = pair_step(walk, &main_one, &other, &changed);
    while (good && !other.ended)
        good = pair_step(walk, &other, &main_one, &changed);
    kill(main_one.id, SIGKILL);
    while (waitpid(-1, &status, __WALL) > 0) {
    }
    if (!walk->check)
        states_add(recording, STATE_BASE, 0);
    return good;
}

static void pairs_run(const struct walk *walk, uint32_t stride)
{
    bool last = false;
    for (uint32_t n = 0; !last && pair_run(walk, n, &last); n += stride) {
    }
}

/* ---- threads that run ---- */

/* So many instructions, and a SIGKILL; 0: to the end.  The number of instructions, or negative. */
static int64_t live_run(const struct scene *scene, int64_t steps)
{
    int status;
    int64_t n = 0;
    image_restore(&base, &stage);
    pid_t pid = child_fork();
    if (pid == 0)
        traced_main(scene);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != BEGIN)
        return -1;
    int signal = SIGTRAP;
    while ((steps == 0 || n < steps) && (signal = traced_step(pid, &status)) == SIGTRAP)
        n++;
    kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    return signal == SIGTRAP || signal == END ? n : -1;
}

static void live_kill(const struct walk *walk, uint32_t points)
{
    struct tally *tally = walk->tally;
    int64_t all = live_run(walk->scene, 0);
    for (uint32_t i = 1; i <= points && all > 0 && !tally->failure[0]; i++) {
        if (live_run(walk->scene, i * all / points) < 0)
            all = -1;
        image_take(&images[0], &stage);
        tally->points++;
        (void)state_check(walk, image_hash(&images[0]), 0);
    }
    if (all <= 0)
        snprintf(tally->failure, sizeof(tally->failure), "the routine did not run: %s",
                 child_failure(&stage));
}

void step_scene(const struct scene *scene, uint32_t stride, uint32_t live_points,
                struct tally *tally)
{
    const struct walk walk = { .scene = scene, .tally = tally, .check = true };
    *tally = (struct tally){ 0 };
    if (!base_make(scene, tally))
        return;
    if (scene->other)
        pairs_run(&walk, stride);
    else if (scene->live)
        live_kill(&walk, live_points);
    else
        (void)walk_run(&walk);
}

const struct image *step_states(const struct scene *scene, uint32_t stride, struct tally *tally)
{
    const struct walk walk = { .scene = scene, .tally = tally };
    *tally = (struct tally){ 0 };
    if (!base_make(scene, tally))
        return NULL;
    if (scene->other)
        pairs_run(&walk, stride);
    else if (walk_run(&walk))
        states_add(recording, STATE_BASE, 0);
    return tally->failure[0] ? NULL : &base;
}
