/* SPDX-License-Identifier: Apache-2.0 */
/* What the service manager is told; the interface is in notify.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

#include "daemon/common/clock.h"
#include "daemon/supervisor/notify.h"
#include "daemon/supervisor/supervisor.h"

enum { STATUS_DELAY_MS = 100 };

static void notify_counted(char *text, size_t size, uint32_t n, const char *what)
{
    snprintf(text, size, "%" PRIu32 " %s%s", n, what, n == 1 ? "" : "s");
}

void notify_format_status(const struct supervisor *supervisor, char *text, size_t size)
{
    char workers[32], plugins[32], clients[32];
    enum service_state state = supervisor_get_state(supervisor);

    notify_counted(workers, sizeof(workers),
                   atomic_load_explicit(&supervisor->stats.header->n_workers, memory_order_relaxed),
                   "worker");
    notify_counted(plugins, sizeof(plugins),
                   (uint32_t)plugin_store_count_loaded(&supervisor->plugins), "plugin");
    notify_counted(clients, sizeof(clients), supervisor->clients.n, "client");
    if (state == SERVICE_RUNNING)
        snprintf(text, size, "%s, %s, %s", workers, plugins, clients);
    else
        snprintf(text, size, "%s (%s, %s)", supervisor_state_name(state), plugins, clients);
}

static void notify_on_status(uv_timer_t *timer)
{
    struct supervisor *supervisor = timer->data;
    char text[160];

    notify_format_status(supervisor, text, sizeof(text));
    sd_notifyf(0, "STATUS=%s", text);
}

void notify_init(struct supervisor *supervisor, bool enabled)
{
    struct notify *notify = &supervisor->notify;

    *notify = (struct notify){ .enabled = enabled && getenv("NOTIFY_SOCKET") };
    uv_timer_init(&supervisor->loop, &notify->status);
    notify->status.data = supervisor;
}

void notify_fini(struct supervisor *supervisor)
{
    uv_close((uv_handle_t *)&supervisor->notify.status, NULL);
}

void notify_ready(struct supervisor *supervisor)
{
    char text[160];

    if (!supervisor->notify.enabled)
        return;
    supervisor->notify.is_ready = true;
    notify_format_status(supervisor, text, sizeof(text));
    sd_notifyf(0, "READY=1\nSTATUS=%s", text);
}

void notify_reloading(struct supervisor *supervisor)
{
    if (!supervisor->notify.enabled || !supervisor->notify.is_ready)
        return;
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_now_ns() / 1000);
}

void notify_stopping(struct supervisor *supervisor)
{
    if (supervisor->notify.enabled)
        sd_notify(0, "STOPPING=1\nSTATUS=draining");
}

void notify_refused(const char *why)
{
    sd_notifyf(0, "STATUS=refused, state kept: %.300s", why);
}

void notify_update(struct supervisor *supervisor)
{
    struct notify *notify = &supervisor->notify;

    if (notify->enabled && !uv_is_active((uv_handle_t *)&notify->status))
        uv_timer_start(&notify->status, notify_on_status, STATUS_DELAY_MS, 0);
}
