/* SPDX-License-Identifier: Apache-2.0 */
/* What the service manager is told. Without one, nothing happens. Event loop thread only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* What the line says: "2 workers, 1 plugin, 3 clients"; with the state before it where that is not
 * running. */
struct notify_figures {
    const char *state;
    bool running;
    bool refused; /* its reason is what the line goes on saying */
    uint32_t workers, plugins, clients;
};

struct notify {
    bool enabled, is_ready;
    uv_timer_t status; /* gathers changes of a moment into one line */
    void (*look)(void *userdata, struct notify_figures *figures);
    void *userdata;
};

/* `look` is asked for the figures when the line is sent. */
void notify_init(struct notify *notify, uv_loop_t *loop, bool enabled,
                 void (*look)(void *userdata, struct notify_figures *figures), void *userdata);
void notify_fini(struct notify *notify);
void notify_ready(struct notify *notify);
void notify_reloading(const struct notify *notify);
/* The start goes on: one more plugin is loaded. The next one has as much time as the manager would
 * give all of them. */
void notify_starting(const struct notify *notify);
/* `most_ns`: what the drain may take; the manager's own limit holds where it is above that. */
void notify_stopping(const struct notify *notify, uint64_t most_ns);
/* Feeds its watchdog; to one that watches nobody it means nothing. */
void notify_alive(void);
/* The service cannot go on with what it has been left; it waits, not ready. */
void notify_refused(const char *why);
/* Something that the status line shows has changed. */
void notify_update(struct notify *notify);
