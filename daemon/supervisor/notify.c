/* SPDX-License-Identifier: Apache-2.0 */
/* What the service manager is told; the interface is in notify.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/common/clock.h"
#include "daemon/supervisor/line.h"
#include "daemon/supervisor/notify.h"

enum { STATUS_DELAY_MS = 100 };
#define STARTING_US UINT64_C(60000000) /* for the next plugin; as long as TimeoutStartSec= */
#define OWN_END_US  UINT64_C(5000000)  /* odeond's, when the executor has ended */

static void notify_counted(char *text, size_t size, uint32_t n, const char *what)
{
    snprintf(text, size, "%" PRIu32 " %s%s", n, what, n == 1 ? "" : "s");
}

/* False: the line stays as it is, it says why the service has been refused. */
static bool notify_format_status(const struct notify *notify, char *text, size_t size)
{
    char workers[32], plugins[32], clients[32];
    struct notify_figures figures = { 0 };

    notify->look(notify->userdata, &figures);
    if (figures.refused)
        return false;
    notify_counted(workers, sizeof(workers), figures.workers, "worker");
    notify_counted(plugins, sizeof(plugins), figures.plugins, "plugin");
    notify_counted(clients, sizeof(clients), figures.clients, "client");
    if (figures.running)
        snprintf(text, size, "%s, %s, %s", workers, plugins, clients);
    else
        snprintf(text, size, "%s (%s, %s)", figures.state, plugins, clients);
    return true;
}

static void notify_on_status(uv_timer_t *timer)
{
    struct notify *notify = timer->data;
    char text[160];

    if (notify_format_status(notify, text, sizeof(text)) && !line_say("STATUS=%s", text))
        notify_update(notify); /* later */
}

void notify_init(struct notify *notify, uv_loop_t *loop, bool enabled,
                 void (*look)(void *userdata, struct notify_figures *figures), void *userdata)
{
    *notify = (struct notify){ .enabled = enabled && getenv("NOTIFY_SOCKET"),
                               .look = look,
                               .userdata = userdata };
    uv_timer_init(loop, &notify->status);
    notify->status.data = notify;
}

void notify_fini(struct notify *notify)
{
    uv_close((uv_handle_t *)&notify->status, NULL);
}

void notify_ready(struct notify *notify)
{
    char status[160], text[200];

    if (!notify->enabled)
        return;
    notify->is_ready = true;
    if (!notify_format_status(notify, status, sizeof(status)))
        return;
    snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", status);
    (void)line_send(text, -1);
}

void notify_reloading(const struct notify *notify)
{
    char text[64];

    if (!notify->enabled || !notify->is_ready)
        return;
    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_now_ns() / 1000);
    (void)line_send(text, -1);
}

void notify_starting(const struct notify *notify)
{
    if (notify->enabled && !notify->is_ready)
        (void)line_say("EXTEND_TIMEOUT_USEC=%" PRIu64, STARTING_US);
}

void notify_stopping(const struct notify *notify, uint64_t most_ns)
{
    char text[96];

    if (!notify->enabled)
        return;
    snprintf(text, sizeof(text), "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=%" PRIu64,
             most_ns / 1000 + OWN_END_US);
    (void)line_send(text, -1);
}

void notify_alive(void)
{
    line_say_alive();
}

void notify_refused(const char *why)
{
    (void)line_say("STATUS=refused, state kept: %.300s", why);
}

void notify_update(struct notify *notify)
{
    if (notify->enabled && !uv_is_active((uv_handle_t *)&notify->status))
        uv_timer_start(&notify->status, notify_on_status, STATUS_DELAY_MS, 0);
}
