/* SPDX-License-Identifier: Apache-2.0 */
/* What a seat needs before an executor can sit in it; the interface is in seat_make.h. */
#include "daemon/supervisor/seat_make.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/observed_file.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/program_ask.h"
#include "daemon/supervisor/runtime.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/segment.h"

static int seat_make_segment(struct seat *seat, bool only_check)
{
    char text[SEGMENT_TEXT_MAX] = "";
    uint64_t size = 0;
    int r = child_find_program(seat->service->config->executor_path, seat->program,
                               sizeof(seat->program), text, sizeof(text));

    if (r == 0 && seat->segment_fd < 0 && !seat->service->persist->refused) {
        r = segment_ask_size(seat->program, &seat->settings, &size, text);
        if (r == 0 && !only_check)
            r = seat->segment_fd = segment_make(size, text);
    }
    if (r < 0)
        log_error("%s", text);
    return r;
}

/* Which go on from the counters of the former ones. */
static int seat_make_stats(struct seat *seat)
{
    const char *path = seat->service->runtime->stats_path;
    int *former = &seat->service->persist->stats_fd;
    int r = stats_file_make(&seat->stats, path, *former);

    if (*former >= 0)
        close(*former);
    *former = -1;
    if (r < 0)
        log_error("statistics %s: %s", path, strerror(-r));
    return r;
}

static int seat_make_observed(struct seat *seat)
{
    seat->observed_fd = observed_file_make();
    if (seat->observed_fd < 0)
        log_error("memory for what actors do: %s", strerror(-seat->observed_fd));
    return seat->observed_fd < 0 ? seat->observed_fd : 0;
}

int seat_make_memory(struct seat *seat, bool only_check)
{
    int r = seat_make_segment(seat, only_check);

    if (r < 0 || only_check)
        return r;
    r = seat_make_stats(seat);
    return r < 0 ? r : seat_make_observed(seat);
}

/* Whoever only checks has the executor look at the copy, as it will before it maps it. Takes
 * `fd`. */
static int seat_make_check(const struct seat *seat, const char *path, int fd)
{
    const char *const argv[] = { seat->program, "--check-plugin", path, NULL };
    char answer[64], what[256], text[PROGRAM_ASK_TEXT_MAX] = "";
    int r;

    snprintf(what, sizeof(what), "plugin %.200s", path);
    r = program_ask(argv, fd, what, answer, sizeof(answer), text);
    if (r < 0)
        log_error("%s", text);
    close(fd);
    return r;
}

/* The file of a line cannot be read, and there is no copy of it. What a former service had goes on
 * without it if that is all there; where lines have gone it may be in the place of one of theirs,
 * and nothing of that is forgotten (persist.R1). 0: so it does; else the start fails. */
static int seat_make_without(const struct seat *seat, const char *path, const char *why, int error)
{
    struct persist *persist = seat->service->persist;

    if (!persist->resumed) {
        log_error("%s", why);
        return error;
    }
    log_event(LOG_LEVEL_ERROR, CATALOGUE_PLUGIN_REFUSED, "%s", why);
    if (persist->has_dropped_lines)
        (void)persist_refuse(persist, "a plugin is missing whose line in the configuration is new: "
                                      "put the line back, or its file there");
    else
        log_error("the line plugin = %s is left out until the next start: the service goes on with "
                  "the plugins that it had",
                  path);
    return 0;
}

static bool seat_make_has_loaded_by_hand(const struct seat *seat)
{
    for (size_t i = 0; i < seat->plugins.n; i++)
        if (!seat->plugins.list[i].configured)
            return true;
    return false;
}

/* After a crash a former service has left all that there are.
 *
 * Beside plugins that were loaded by hand a new line comes last, this once: it may bring the name
 * of one of those, and which of two is refused is who comes second (boot.c). When it is there it
 * gets the line's place. */
int seat_make_plugins(struct seat *seat, bool only_check)
{
    const struct config *config = seat->service->config;
    const struct persist *persist = seat->service->persist;
    bool new_last = seat_make_has_loaded_by_hand(seat);
    char text[PLUGIN_TEXT_MAX];

    if (persist->resumed && !persist->clean)
        return 0;
    for (size_t i = 0; i < config->n_plugins; i++) {
        struct kept_plugin *plugin;
        int fd;

        if (plugin_store_find_path(&seat->plugins, config->plugins[i]))
            continue;
        fd = plugin_copy(config->plugins[i], -1, text);

        if (fd < 0) {
            int r = seat_make_without(seat, config->plugins[i], text, fd);

            if (r < 0)
                return r;
            continue;
        }
        if (only_check) {
            int r = seat_make_check(seat, config->plugins[i], fd);

            if (r < 0)
                return r;
            continue;
        }
        plugin = plugin_store_add(&seat->plugins, NULL, config->plugins[i], fd);
        if (!plugin) {
            log_error("plugin %s: no memory, or the service has as many plugins as it may, %d",
                      config->plugins[i], ODEON_PLUGINS_MAX);
            return -ENOMEM;
        }
        plugin->configured = true;
        plugin->line = (uint32_t)i + 1;
    }
    if (!new_last)
        plugin_store_sort(&seat->plugins);
    return 0;
}
