/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer: a process runs a routine, one instruction at a time; each state of the world that it leaves is recovered from, by another
 * process, in a world of its own.  Recovery is such a routine itself, so that its states are recovered from, too, up to twice over. */
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash.h"
#include "daemon/engine/recover.h"

enum { BEGIN = SIGUSR1, END = SIGUSR2, DEPTHS = 3, LIFE_CPU_SECONDS = 2, LIFE_SECONDS = 180 };

/* One for each depth: the routine, recovery, recovery of recovery; and the one in which states are checked. */
static struct world worlds[DEPTHS + 1];
static struct image images[DEPTHS];
static struct image empty, base;
static struct world *const checked = &worlds[DEPTHS];

/* The instruction at which a process stands that goes from store to store. */
static volatile uint64_t *stored_at;

/* Hashes of the states that this scene has been recovered from. */
static uint64_t *seen;
static size_t n_seen, seen_room;

void step_init(void)
{
    for (unsigned i = 0; i <= DEPTHS; i++)
        world_make(&worlds[i]);
    image_take(&empty, &worlds[0]);
    stored_at = mmap(NULL, sizeof(*stored_at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stored_at == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
}

static bool seen_before(uint64_t hash)
{
    for (size_t i = n_seen; i-- > 0;)
        if (seen[i] == hash)
            return true;
    if (n_seen == seen_room) {
        seen_room = 2 * seen_room + 1024;
        seen = realloc(seen, seen_room * sizeof(*seen));
        if (!seen)
            abort();
    }
    seen[n_seen++] = hash;
    return false;
}

static struct ledger *ledger_of(const struct world *world)
{
    return (struct ledger *)world->region[REGION_LEDGER].map;
}

static void child_begin(struct world *world)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    ledger = ledger_of(world);
}

/* One that computes for ever, or waits, has failed. */
static void child_limit(void)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){ LIFE_CPU_SECONDS, LIFE_CPU_SECONDS });
    alarm(LIFE_SECONDS);
}

static pid_t child_fork(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(2);
    }
    return pid;
}

/* ---- whole lives ---- */

static __attribute__((noreturn)) void setup_main(const struct scene *scene)
{
    struct life life;
    child_begin(&worlds[0]);
    child_limit();
    ledger->redelivered_max = scene->in_doubt;
    life_open(&life, &worlds[0]);
    life_recover(&life);
    scene->setup(&life);
    life_close(&life);
    _exit(0);
}

/* What a kill left, to its end. */
static __attribute__((noreturn)) void check_main(const struct image *image)
{
    struct life life;
    image_restore(image, checked);
    child_begin(checked);
    child_limit();
    life_open(&life, checked);
    life_recover(&life);
    life_quiesce(&life);
    books_at_rest(life.engine);
    life_close(&life);
    _exit(0);
}

static bool child_well(pid_t pid, const struct world *world, const char *what, char *failure, size_t room)
{
    int status;
    if (waitpid(pid, &status, 0) != pid) {
        perror("waitpid");
        exit(2);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        snprintf(failure, room, "%s: ended by signal %d (%s)", what, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(failure, room, "%s: %s", what, ledger_of(world)->failure);
    return false;
}

/* ---- one routine, step by step ---- */

enum kind { ROUTINE, RECOVERY };

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

static __attribute__((noreturn)) void by_stores_main(struct world *world)
{
    struct life life;
    struct engine_recovery report;
    child_begin(world);
    life_open(&life, world);
    stores_begin(&life, stored_at);
    raise(SIGSTOP);
    int r = recover_run(life.engine, &report); /* engine_recover() but for its signal handlers: these are ours */
    stores_end();
    must("recover", r);
    _exit(0);
}

static __attribute__((noreturn)) void traced_main(const struct scene *scene, enum kind kind, struct world *world)
{
    struct life life;
    child_begin(world);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        fail("ptrace: %s", strerror(errno));
    if (kind == ROUTINE && !scene->setup) {
        raise(BEGIN);
        life_open(&life, world);
        life_recover(&life);
        raise(END);
    } else if (kind == ROUTINE) {
        life_open(&life, world);
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
    } else {
        struct engine_recovery report;
        life_open(&life, world);
        raise(BEGIN);
        must("recover", engine_recover(life.engine, &report));
        raise(END);
    }
    _exit(0);
}

/* Where the traced process stands, for people. */
static unsigned long long instruction_of(pid_t pid)
{
    struct user_regs_struct registers;
    struct iovec of = { &registers, sizeof(registers) };
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &of) < 0)
        return *stored_at;
#if defined(__x86_64__)
    return registers.rip;
#else
    return registers.pc;
#endif
}

static void place_of(pid_t pid, char *text, size_t room)
{
    char line[256], command[128], from[32] = "";
    unsigned long long at = instruction_of(pid);
    snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(line, "re");
    unsigned long long first = 0;
    if (maps && fgets(line, sizeof(line), maps))
        first = strtoull(line, NULL, 16);
    if (maps)
        fclose(maps);
    at -= first;
    snprintf(text, room, "+%#llx", at);
    snprintf(command, sizeof(command), "addr2line -f -e /proc/%d/exe %#llx 2>/dev/null", (int)getpid(), at);
    FILE *names = popen(command, "re"); /* of this very program: no input of anybody's */
    if (names && fscanf(names, "%31s", from) == 1)
        snprintf(text, room, "%s +%#llx", from, at);
    if (names)
        pclose(names);
}

struct walk {
    const struct scene *scene;
    enum kind kind;
    unsigned depth;
    struct strides strides; /* by them recovery is gone through from here; stride 0: it is not */
    struct tally *tally; /* by depth */
    bool check;
    bool by_stores;
};

static bool walk_run(const struct walk *walk, const struct image *from);

static bool state_check(const struct walk *walk, const struct image *image, pid_t traced, uint64_t point)
{
    struct tally *tally = &walk->tally[walk->depth];
    char place[128], failure[600];
    tally->states++;
    pid_t pid = child_fork();
    if (pid == 0)
        check_main(image);
    if (child_well(pid, checked, "recovered", failure, sizeof(failure)))
        return true;
    place_of(traced, place, sizeof(place));
    snprintf(tally->failure, sizeof(tally->failure), "killed at %s, point %llu of %s: %s", place, (unsigned long long)point,
             walk->kind == ROUTINE ? "the routine" : "recovery", failure);
    return false;
}

static bool state_descend(const struct walk *walk, const struct image *image, uint64_t state)
{
    struct strides strides = walk->strides;
    if (strides.stride == 0 || walk->depth + 1 >= DEPTHS || (state - 1) % strides.stride != 0)
        return true;
    struct walk next = *walk;
    next.kind = RECOVERY;
    next.depth++;
    next.by_stores = HAVE_STORES && (strides.stepped == 0 || (state - 1) / strides.stride % strides.stepped != strides.stepped - 1);
    next.strides = (struct strides){ .stride = strides.twice };
    next.check = true;
    return walk_run(&next, image);
}

/* SIGTRAP: one instruction, or store, further; END. */
static int step_on(const struct walk *walk, pid_t pid, int *ret_status)
{
    if (walk->by_stores) {
        if (kill(pid, SIGCONT) < 0 || waitpid(pid, ret_status, WUNTRACED) != pid)
            return -errno;
        if (WIFSTOPPED(*ret_status))
            return SIGTRAP;
        return WIFEXITED(*ret_status) && WEXITSTATUS(*ret_status) == 0 ? END : -ESRCH;
    }
    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 || waitpid(pid, ret_status, 0) != pid)
        return -errno;
    return WIFSTOPPED(*ret_status) ? WSTOPSIG(*ret_status) : -ESRCH;
}

static bool walk_fail(const struct walk *walk, pid_t pid, int status, const char *what)
{
    struct tally *tally = &walk->tally[walk->depth];
    snprintf(tally->failure, sizeof(tally->failure), "%s: status %x: %s", what, (unsigned)status, ledger_of(&worlds[walk->depth])->failure);
    if (WIFSTOPPED(status)) {
        kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
    }
    return false;
}

static bool walk_step(const struct walk *walk, pid_t pid)
{
    struct world *world = &worlds[walk->depth];
    struct image *image = &images[walk->depth];
    struct tally *tally = &walk->tally[walk->depth];
    int status, signal;
    uint64_t state = 0;
    bool good = true;
    image_take(image, world);
    (void)seen_before(image_hash(image));
    for (uint64_t point = 1; good && (signal = step_on(walk, pid, &status)) == SIGTRAP; point++) {
        tally->points++;
        if (!image_differs(image, world))
            continue;
        image_take(image, world);
        if (seen_before(image_hash(image)))
            continue;
        good = (!walk->check || state_check(walk, image, pid, point)) && state_descend(walk, image, ++state);
    }
    if (good && signal != END)
        return walk_fail(walk, pid, status, "the routine did not come to its end");
    if (!WIFEXITED(status)) {
        kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
    }
    if (good && image_differs(image, world)) {
        snprintf(tally->failure, sizeof(tally->failure), "a SIGKILL changes what the process had stored");
        return false;
    }
    return good;
}

static bool walk_run(const struct walk *walk, const struct image *from)
{
    struct world *world = &worlds[walk->depth];
    int status;
    image_restore(from, world);
    pid_t pid = child_fork();
    if (pid == 0)
        walk->by_stores ? by_stores_main(world) : traced_main(walk->scene, walk->kind, world);
    if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != (walk->by_stores ? SIGSTOP : BEGIN))
        return walk_fail(walk, pid, status, "the routine did not begin");
    return walk_step(walk, pid);
}

/* The world that the routine begins with, which must be a good one. */
static bool base_make(const struct scene *scene, struct tally *tally)
{
    n_seen = 0;
    if (!scene->setup) {
        image_restore(&empty, &worlds[0]);
        image_take(&base, &worlds[0]);
        return true;
    }
    image_restore(&empty, &worlds[0]);
    pid_t pid = child_fork();
    if (pid == 0)
        setup_main(scene);
    if (!child_well(pid, &worlds[0], "setup", tally->failure, sizeof(tally->failure)))
        return false;
    image_take(&base, &worlds[0]);
    pid = child_fork();
    if (pid == 0)
        check_main(&base);
    return child_well(pid, checked, "without a kill", tally->failure, sizeof(tally->failure));
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
    if (waitpid(main_one->id, &status, 0) != main_one->id || !WIFSTOPPED(status) || WSTOPSIG(status) != BEGIN ||
        ptrace(PTRACE_SETOPTIONS, main_one->id, NULL, (void *)(uintptr_t)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)) < 0 ||
        ptrace(PTRACE_CONT, main_one->id, NULL, NULL) < 0)
        return false;
    while (begun < 2) {
        pid_t who = waitpid(-1, &status, __WALL);
        if (who <= 0 || !WIFSTOPPED(status))
            return false;
        if (WSTOPSIG(status) == BEGIN)
            begun++;
        else
            (void)ptrace(PTRACE_CONT, who, NULL, NULL); /* of a clone, and the new one's first stop */
        if (who != main_one->id)
            other->id = who;
    }
    return true;
}

/* One step of one of the two; a state that is new is checked. */
static bool pair_step(const struct walk *walk, struct stepped *one, struct stepped *second, bool *ret_changed)
{
    struct tally *tally = &walk->tally[0];
    *ret_changed = false;
    int signal = thread_step(one);
    if (signal == BLOCKED && !second->ended)
        signal = thread_step(second); /* it holds what the first one wants */
    if (signal != SIGTRAP && signal != END) {
        snprintf(tally->failure, sizeof(tally->failure), "two threads: signal %d, point %llu: %s", signal, (unsigned long long)tally->points,
                 ledger_of(&worlds[0])->failure);
        return false;
    }
    tally->points++;
    if (!image_differs(&images[0], &worlds[0]))
        return true;
    image_take(&images[0], &worlds[0]);
    *ret_changed = true;
    return seen_before(image_hash(&images[0])) || state_check(walk, &images[0], one->id, tally->points);
}

/* The other goes on to its n-th state, then the routine runs, then the other.  False: a failure, or (*ret_last) there is no such state. */
static bool pair_run(const struct walk *walk, uint32_t n, bool *ret_last)
{
    struct stepped main_one = { 0 }, other = { 0 };
    int status;
    bool good, changed;
    image_restore(&base, &worlds[0]);
    main_one.id = child_fork();
    if (main_one.id == 0)
        traced_main(walk->scene, ROUTINE, &worlds[0]);
    good = pair_begin(&main_one, &other);
    if (!good)
        snprintf(walk->tally[0].failure, sizeof(walk->tally[0].failure), "the two threads did not begin: %s", ledger_of(&worlds[0])->failure);
    image_take(&images[0], &worlds[0]);
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
    image_restore(&base, &worlds[0]);
    pid_t pid = child_fork();
    if (pid == 0)
        traced_main(scene, ROUTINE, &worlds[0]);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != BEGIN)
        return -1;
    const struct walk walk = { .scene = scene };
    int signal = SIGTRAP;
    while ((steps == 0 || n < steps) && (signal = step_on(&walk, pid, &status)) == SIGTRAP)
        n++;
    kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    return signal == SIGTRAP || signal == END ? n : -1;
}

static void live_kill(const struct walk *walk, uint32_t points)
{
    struct tally *tally = &walk->tally[0];
    int64_t all = live_run(walk->scene, 0);
    for (uint32_t i = 1; i <= points && all > 0 && !tally->failure[0]; i++) {
        if (live_run(walk->scene, i * all / points) < 0)
            all = -1;
        image_take(&images[0], &worlds[0]);
        tally->points++;
        (void)state_check(walk, &images[0], getpid(), (uint64_t)(i * all / points));
    }
    if (all <= 0)
        snprintf(tally->failure, sizeof(tally->failure), "the routine did not run: %s", ledger_of(&worlds[0])->failure);
}

void step_scene(const struct scene *scene, uint32_t stride, uint32_t live_points, struct tally *tally)
{
    struct tally tallies[DEPTHS] = { 0 };
    struct walk walk = { .scene = scene, .kind = ROUTINE, .tally = tallies, .check = true };
    *tally = (struct tally){ 0 };
    if (!base_make(scene, tally))
        return;
    if (scene->other)
        pairs_run(&walk, stride);
    else if (scene->live)
        live_kill(&walk, live_points);
    else
        (void)walk_run(&walk, &base);
    *tally = tallies[0];
}

void step_recovery(const struct scene *scene, struct strides strides, struct tally *tally, struct tally *twice)
{
    struct tally tallies[DEPTHS] = { 0 };
    struct walk walk = { .scene = scene, .kind = ROUTINE, .strides = strides, .tally = tallies };
    *tally = *twice = (struct tally){ 0 };
    if (!base_make(scene, tally))
        return;
    (void)walk_run(&walk, &base);
    *tally = tallies[1];
    *twice = tallies[2];
    if (tallies[0].failure[0])
        memcpy(tally->failure, tallies[0].failure, sizeof(tally->failure));
}
