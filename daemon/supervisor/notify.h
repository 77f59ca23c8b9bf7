/* SPDX-License-Identifier: Apache-2.0 */
/* What the service manager is told, but for its watchdog (watchdog.h). Without one, nothing
 * happens. Event loop thread only. */
#pragma once

#include <stdbool.h>
#include <uv.h>

struct supervisor;

struct notify {
    bool enabled, is_ready;
    uv_timer_t status; /* gathers changes of a moment into one line */
};

void notify_init(struct supervisor *supervisor, bool enabled);
void notify_fini(struct supervisor *supervisor);
void notify_ready(struct supervisor *supervisor);
void notify_reloading(struct supervisor *supervisor);
void notify_stopping(struct supervisor *supervisor);
/* The service cannot go on with what it has been left; it waits, not ready. */
void notify_refused(const char *why);
/* Something that the status line shows has changed. */
void notify_update(struct supervisor *supervisor);
/* The line: "2 workers, 1 plugin, 3 clients". */
void notify_format_status(const struct supervisor *supervisor, char *text, size_t size);
