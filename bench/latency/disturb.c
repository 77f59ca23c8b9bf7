/* SPDX-License-Identifier: Apache-2.0 */
#include "disturb.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "session.h"
#include "work.h"

enum { DISTURB_LOOK_NS = 5000000, DISTURB_TEXT = 64 };

static struct {
    const struct options *options;
    struct odeon_client *client;
    pthread_t thread;
    int started, result;
    _Atomic uint64_t events; /* by the thread, before each disturbance; for anybody */
    _Atomic uint32_t stop;   /* by disturb_stop() */
} disturb;

uint64_t disturb_events(void)
{
    return atomic_load_explicit(&disturb.events, memory_order_relaxed);
}

static int disturb_find_pid(uint32_t *ret_pid)
{
    struct odeon_executor_info *info = NULL;

    int r = odeon_executor_show(disturb.client, &info);

    if (r == -ECONNRESET || r == -EAGAIN) { /* it ended while it was asked */
        *ret_pid = 0;
        return 0;
    }
    if (r < 0)
        return session_error(SESSION_FAILED, "cannot ask for the executor: %s", odeon_error_text());
    *ret_pid = info->pid;
    odeon_result_free(info);
    return 0;
}

static int disturb_kill(void)
{
    uint32_t pid = 0;
    int r = disturb_find_pid(&pid);

    if (r != 0 || pid == 0) /* 0: it is just being started */
        return r;
    atomic_fetch_add_explicit(&disturb.events, 1, memory_order_relaxed);
    if (kill((pid_t)pid, SIGKILL) < 0 && errno != ESRCH) /* the last kill's, which has just gone */
        return session_error(SESSION_FAILED, "the executor cannot be killed");
    return 0;
}

/* Sets KEY of KEY=A,B to A and B by turns. */
static int disturb_reconfigure(uint64_t turn)
{
    char text[DISTURB_TEXT], *value, *other;
    int r;

    snprintf(text, sizeof(text), "%s", disturb.options->set);
    value = strchr(text, '=');
    other = value != NULL ? strchr(value, ',') : NULL;
    if (other == NULL)
        return session_error(SESSION_USAGE, "--set is KEY=A,B, not %s", text);
    *value++ = '\0';
    *other++ = '\0';
    atomic_fetch_add_explicit(&disturb.events, 1, memory_order_relaxed);
    r = odeon_executor_set(disturb.client, (const char *[]){ text },
                           (const char *[]){ turn % 2 == 0 ? other : value }, 1, NULL);
    if (r < 0 && r != -EBUSY) /* a handler may take longer than the service waits for it */
        return session_error(SESSION_FAILED, "cannot set %s: %s", text, odeon_error_text());
    return 0;
}

static void *disturb_run(void *argument)
{
    uint64_t period_ns = disturb.options->period_ms * 1000000, due_ns = work_now_ns() + period_ns;
    int kills = strcmp(disturb.options->disturb, "kill") == 0;

    for (uint64_t turn = 0; disturb.result == 0;) {
        if (atomic_load_explicit(&disturb.stop, memory_order_relaxed))
            break;
        if (work_now_ns() >= due_ns) {
            disturb.result = kills ? disturb_kill() : disturb_reconfigure(turn);
            turn++;
            due_ns = work_now_ns() + period_ns; /* never two soon after one another */
        } else {
            work_pause_ns(DISTURB_LOOK_NS);
        }
    }
    return argument;
}

int disturb_start(const struct options *options)
{
    if (options->disturb == NULL)
        return 0;
    disturb.options = options;
    if (odeon_client_connect(options->socket, "odeon-latency-disturb", &disturb.client) < 0)
        return session_error(SESSION_UNREACHABLE, "%s", odeon_error_text());
    if (pthread_create(&disturb.thread, NULL, disturb_run, NULL) != 0)
        return session_error(SESSION_FAILED, "no thread to disturb with");
    disturb.started = 1;
    return 0;
}

int disturb_stop(void)
{
    if (disturb.started) {
        atomic_store_explicit(&disturb.stop, 1, memory_order_relaxed);
        pthread_join(disturb.thread, NULL);
        disturb.started = 0;
    }
    disturb.client = odeon_client_disconnect(disturb.client);
    return disturb.result;
}
