/* SPDX-License-Identifier: Apache-2.0 */
/* Who the torture of promises kills, and when: the executor, odeond, and those that have just
 * begun to follow them. */
#include <assert.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "tests/soak/processes.h"
#include "tests/stress/promises.h"
#include "tests/system/manager.h"

static const char *const victim_names[] = { "executor", "recovery", "supervisor", "boot", "both" };
static_assert(sizeof(victim_names) / sizeof(victim_names[0]) == PROMISES_VICTIMS_N,
              "as in enum promises_victim");
static const unsigned weights[PROMISES_VICTIMS_N] = { 60, 12, 16, 6, 6 }; /* in a hundred */

const char *promises_victim_name(enum promises_victim victim)
{
    return victim_names[victim];
}

static void nap_us(uint64_t us)
{
    nanosleep(&(struct timespec){ .tv_sec = (time_t)(us / 1000000),
                                  .tv_nsec = (long)(us % 1000000 * 1000) },
              NULL);
}

/* One that has not been killed already; 0: there is none at the moment. */
static pid_t executor_of(struct promises_kills *kills, struct service *service)
{
    struct odeon_stats_service state;
    return soak_state(service, &state) && (pid_t)state.executor_pid != kills->executor
               ? (pid_t)state.executor_pid
               : 0;
}

/* As soon as there is one. */
static bool kill_executor(struct promises_kills *kills, struct service *service,
                          struct manager *manager)
{
    pid_t pid = 0;
    if (!wait_until_within(kills->patience_s, (pid = executor_of(kills, service)) > 0) ||
        !soak_kill_child(pid, manager_pid(manager)))
        return false;
    kills->executor = pid;
    kills->signals++;
    return true;
}

static bool kill_supervisor(struct promises_kills *kills, struct manager *manager, pid_t former)
{
    pid_t pid = 0;
    if (!wait_until_within(kills->patience_s, (pid = manager_pid(manager)) > 0 && pid != former) ||
        !soak_kill_child(pid, getpid())) /* not manager_kill(): that waits */
        return false;
    kills->signals++;
    return true;
}

/* The next one as soon as it is there, or a little later. */
static bool kill_next(struct promises_kills *kills, struct service *service,
                      struct manager *manager, bool supervisor, pid_t former)
{
    if (supervisor) {
        wait_until_within(kills->patience_s,
                          manager_pid(manager) > 0 && manager_pid(manager) != former);
        nap_us(promises_draw(&kills->seed, 20000));
        return kill_supervisor(kills, manager, former);
    }
    wait_until_within(kills->patience_s, executor_of(kills, service) > 0);
    nap_us(promises_draw(&kills->seed, 4000));
    return kill_executor(kills, service, manager);
}

static enum promises_victim choose(struct promises_kills *kills)
{
    uint64_t drawn = promises_draw(&kills->seed, 100);
    int victim = 0;
    while (drawn >= weights[victim])
        drawn -= weights[victim++];
    return (enum promises_victim)victim;
}

bool promises_kill(struct promises_kills *kills, struct service *service, struct manager *manager)
{
    enum promises_victim victim = choose(kills);
    pid_t former = manager_pid(manager);
    bool made = false;
    nap_us(promises_draw(&kills->seed, promises_draw(&kills->seed, 2) ? 60000 : 5000));
    switch (victim) {
    case PROMISES_EXECUTOR:
        made = kill_executor(kills, service, manager);
        break;
    case PROMISES_RECOVERY:
        made =
            kill_executor(kills, service, manager) && kill_next(kills, service, manager, false, 0);
        break;
    case PROMISES_SUPERVISOR:
        made = kill_supervisor(kills, manager, 0);
        break;
    case PROMISES_BOOT:
        made =
            kill_supervisor(kills, manager, 0) && kill_next(kills, service, manager, true, former);
        break;
    case PROMISES_BOTH:
        made = kill_executor(kills, service, manager) && kill_supervisor(kills, manager, 0);
        break;
    case PROMISES_VICTIMS_N:
        break;
    }
    kills->made[victim] += made;
    return made;
}
