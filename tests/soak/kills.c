/* SPDX-License-Identifier: Apache-2.0 */
/* What the soak does to the service: kills at random moments, one at a time and two at once, and
 * changes of settings under way. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/soak/processes.h"
#include "tests/soak/soak.h"
#include "tests/system/manager.h"

enum { PAUSE_MEAN_US = 300000 };

static const char *const victim_names[] = {
    "executor",   "recovery",        "client",  "executor_and_client",
    "supervisor", "supervisor_boot", "restart", "supervisor_executor_client",
};
static_assert(sizeof(victim_names) / sizeof(victim_names[0]) == SOAK_VICTIMS_N,
              "as in enum soak_victim");
/* In a hundred; without a service manager those of the supervisor go to the executor. */
static const unsigned weights[SOAK_VICTIMS_N] = { 33, 8, 32, 8, 8, 5, 2, 4 };

const char *soak_victim_name(enum soak_victim victim)
{
    return victim_names[victim];
}

static enum soak_victim choose(struct soak_kills *kills)
{
    uint64_t drawn = soak_draw(&kills->seed, 100);
    for (int victim = 0; victim < SOAK_VICTIMS_N; victim++) {
        if (drawn < weights[victim])
            return !kills->supervisor && victim >= SOAK_SUPERVISOR ? SOAK_EXECUTOR
                                                                   : (enum soak_victim)victim;
        drawn -= weights[victim];
    }
    return SOAK_EXECUTOR;
}

/* One that has not been killed already; 0: there is none at the moment. */
static pid_t executor_of(struct soak_kills *kills, struct service *service)
{
    struct odeon_stats_service state;
    return soak_state(service, &state) && (pid_t)state.executor_pid != kills->executor
               ? (pid_t)state.executor_pid
               : 0;
}

static bool kill_executor(struct soak_kills *kills, struct service *service,
                          struct manager *manager)
{
    pid_t pid = executor_of(kills, service);
    if (!soak_kill_child(pid, manager_pid(manager)))
        return false;
    kills->executor = pid;
    kills->signals++;
    return true;
}

/* The next one is killed as soon as it is there, or a little later. */
static bool kill_in_recovery(struct soak_kills *kills, struct service *service,
                             struct manager *manager)
{
    int64_t end = time_ns() + SECONDS(2);
    if (!kill_executor(kills, service, manager))
        return false;
    while (executor_of(kills, service) <= 0 && time_ns() < end)
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
    nanosleep(&(struct timespec){ .tv_nsec = (long)soak_draw(&kills->seed, 4000000) }, NULL);
    return kill_executor(kills, service, manager);
}

static bool kill_client(struct soak_kills *kills, const pid_t *clients)
{
    pid_t pid = clients[soak_draw(&kills->seed, BANK_CLIENTS)];
    if (!soak_kill_child(pid, getpid()))
        return false;
    kills->signals++;
    return true;
}

static bool kill_supervisor(struct soak_kills *kills, struct manager *manager)
{
    if (!soak_kill_child(manager_pid(manager), getpid())) /* not manager_kill(): that waits */
        return false;
    kills->supervisors++;
    kills->signals++;
    return true;
}

/* As `systemctl restart`; it may take as long as the drain. One that has just been started may not
 * have got to its handlers yet: to end by the signal is a good end for systemd, too. One that a
 * kill of a moment ago is just ending ends by that. */
static bool restart_supervisor(struct soak_kills *kills, struct manager *manager)
{
    int status = manager_restart(manager);
    kills->supervisors++;
    kills->signals++;
    if (status != 0 &&
        !(WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL))) {
        kills->bad_ends++;
        kills->bad_status = status;
    }
    return true;
}

static bool kill_supervisor_in_boot(struct soak_kills *kills, struct manager *manager)
{
    int64_t end = time_ns() + SECONDS(2);
    pid_t former = manager_pid(manager), next;
    if (!kill_supervisor(kills, manager))
        return false;
    while (((next = manager_pid(manager)) <= 0 || next == former) && time_ns() < end)
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
    nanosleep(&(struct timespec){ .tv_nsec = (long)soak_draw(&kills->seed, 20000000) }, NULL);
    return kill_supervisor(kills, manager);
}

void soak_kills_turn(struct soak_kills *kills, struct service *service, struct manager *manager,
                     const pid_t *clients)
{
    if (time_ns() < kills->next_ns)
        return;
    kills->next_ns = time_ns() + (int64_t)soak_draw(&kills->seed, 2 * PAUSE_MEAN_US) * 1000;
    enum soak_victim victim = choose(kills);
    bool made = false;
    switch (victim) {
    case SOAK_EXECUTOR:
        made = kill_executor(kills, service, manager);
        break;
    case SOAK_RECOVERY:
        made = kill_in_recovery(kills, service, manager);
        break;
    case SOAK_CLIENT:
        made = kill_client(kills, clients);
        break;
    case SOAK_BOTH:
        made = kill_executor(kills, service, manager);
        made &= kill_client(kills, clients);
        break;
    case SOAK_SUPERVISOR:
        made = kill_supervisor(kills, manager);
        break;
    case SOAK_SUPERVISOR_BOOT:
        made = kill_supervisor_in_boot(kills, manager);
        break;
    case SOAK_RESTART:
        made = restart_supervisor(kills, manager);
        break;
    case SOAK_ALL:
        made = kill_client(kills, clients);
        made &= kill_executor(kills, service, manager);
        made &= kill_supervisor(kills, manager);
        break;
    case SOAK_VICTIMS_N:
        break;
    }
    kills->made[victim] += made;
}

/* ---- changes ---- */

static const struct {
    const char *key, *values[4];
} settings[] = {
    { "workers", { "1", "2", "3", "4" } },
    { "stealing", { "none", "longest-victim", "random", "locality" } },
    { "steal-mode", { "visit", "keep", "visit", "keep" } },
    { "steal-sources", { "1", "2", "4", "8" } },
    { "packing", { "no", "yes", "no", "yes" } },
    { "throughput", { "1", "16", "200", "4096" } },
    { "spin-us", { "0", "0", "50", "100" } },
    { "relaxed-us", { "0", "0", "200", "2000" } },
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* A few at once. A change that fails because nobody serves, or a worker waits for its turn too
 * long, is nobody's fault. */
static void change_some(struct soak_changes *changes, struct odeon_client *client)
{
    const char *keys[SETTINGS], *values[SETTINGS];
    size_t n = 0;
    for (size_t i = 0; i < SETTINGS; i++)
        if (soak_draw(&changes->seed, 3) == 0) {
            keys[n] = settings[i].key;
            values[n++] = settings[i].values[soak_draw(&changes->seed, 4)];
        }
    if (n == 0)
        return;
    int r = odeon_executor_set(client, keys, values, n, NULL);
    changes->made += r == 0;
    changes->failed += r < 0;
    if ((r == -EINVAL || r == -ERANGE) && !changes->wrong[0]) {
        snprintf(changes->wrong, sizeof(changes->wrong), "changing %s=%s: %s", keys[0], values[0],
                 odeon_error_text());
        atomic_store(&changes->shared->broken, true);
    }
}

void *soak_changes_main(void *argument)
{
    struct soak_changes *changes = argument;
    struct odeon_client *client = NULL;
    while (!atomic_load(&changes->shared->stop) && !atomic_load(&changes->shared->broken)) {
        if (!client && odeon_client_connect(changes->shared->socket, "soak-changes", &client) < 0)
            client = NULL;
        if (client)
            change_some(changes, client);
        nanosleep(
            &(struct timespec){ .tv_nsec = (long)(5000000 + soak_draw(&changes->seed, 150000000)) },
            NULL);
    }
    odeon_client_disconnect(client);
    return NULL;
}
