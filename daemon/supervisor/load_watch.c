/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that do not return; the interface is in load_watch.h. */
#include "daemon/supervisor/load_watch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/seat.h"

enum { LOOKS_A_LIMIT = 8 };

static void load_watch_end(struct seat *seat, const struct link_request *request)
{
    uint64_t limit_ms = seat->service->config->plugin_load_ns / 1000000;
    char text[512];

    snprintf(text, sizeof(text),
             "plugin %.255s: its constructors and its start have not returned within %llu ms "
             "(plugin-load-ms); the executor, which waited for them, is started again without it",
             request->request->plugin_load->path, (unsigned long long)limit_ms);
    log_error("%s", text);
    executor_link_fail(&seat->executor, request->id, -ETIMEDOUT, text);
    executor_link_kill(&seat->executor);
}

/* The executor is at one plugin at a time: the first has its turn when it is sent, another when the
 * one before has been answered (load_watch.L2). */
static bool load_watch_is_late(const struct seat *seat, const struct link_request *request)
{
    uint64_t since_ns =
        request->sent_ns > seat->load_ended_ns ? request->sent_ns : seat->load_ended_ns;

    return request->id != 0 && seat->executor.state == LINK_READY &&
           uv_hrtime() - since_ns >= seat->service->config->plugin_load_ns;
}

static void load_watch_on_look(uv_timer_t *timer)
{
    struct seat *seat = timer->data;
    const struct link_request *request =
        executor_link_find_clients(&seat->executor, ODEON__REQUEST__BODY_PLUGIN_LOAD);

    if (!request || seat->service->config->plugin_load_ns == 0)
        uv_timer_stop(timer);
    else if (load_watch_is_late(seat, request))
        load_watch_end(seat, request);
}

/* Whom odeond ended itself has been spoken of. */
void load_watch_on_end(struct seat *seat, int wait_status)
{
    const struct link_request *request =
        executor_link_find_clients(&seat->executor, ODEON__REQUEST__BODY_PLUGIN_LOAD);
    char text[512], how[64];

    if (!request || request->id == 0 || executor_link_was_killed(&seat->executor, wait_status) ||
        atomic_load_explicit(&seat->stats.header->plugin_loading, memory_order_relaxed) !=
            PLUGIN_LOADING_ASKED)
        return;
    child_describe_status(wait_status, how, sizeof(how));
    snprintf(text, sizeof(text),
             "plugin %.255s: the executor has died (%s) while its constructors and its start ran; "
             "the next one comes up without it",
             request->request->plugin_load->path, how);
    log_error("%s; user %u had asked for it", text, (unsigned)request->asker.uid);
    executor_link_fail(&seat->executor, request->id, -EINVAL, text);
}

void load_watch_note_answer(struct seat *seat)
{
    seat->load_ended_ns = uv_hrtime();
}

void load_watch_init(struct seat *seat)
{
    uv_timer_init(seat->service->loop, &seat->load_timer);
    seat->load_timer.data = seat;
}

void load_watch_fini(struct seat *seat)
{
    uv_close((uv_handle_t *)&seat->load_timer, NULL);
}

void load_watch_begin(struct seat *seat)
{
    uint64_t look_ms = seat->service->config->plugin_load_ns / 1000000 / LOOKS_A_LIMIT;

    if (seat->service->config->plugin_load_ns > 0 &&
        !uv_is_active((uv_handle_t *)&seat->load_timer))
        uv_timer_start(&seat->load_timer, load_watch_on_look, look_ms + 1, look_ms + 1);
}
