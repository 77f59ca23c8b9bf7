/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the configuration again; the interface is in reload.h.
 *
 * The executor's settings that differ from those of the last reading go to it as one ExecutorSet,
 * which is one transaction, all or nothing; those that can only be set at a start are checked by it
 * and wait. The supervisor's own follow when that has succeeded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/boot.h"
#include "daemon/supervisor/config_reader.h"
#include "daemon/supervisor/options.h"
#include "daemon/supervisor/reload.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/seat_settings.h"
#include "daemon/supervisor/start_actors.h"

void reload_fini(struct reload *reload)
{
    if (reload->wanted)
        config_fini(reload->wanted);
    free(reload->wanted);
    reload->wanted = NULL;
}

static void reload_end(struct reload *reload)
{
    reload_fini(reload);
    reload->running = false;
    reload->ops->ended(reload->userdata);
}

static void reload_warn_about_the_rest(const struct config *old, const struct config *new)
{
    bool plugins_differ = old->n_plugins != new->n_plugins;

    for (size_t i = 0; i < old->n_plugins && !plugins_differ; i++)
        plugins_differ = strcmp(old->plugins[i], new->plugins[i]) != 0;
    if (plugins_differ && !old->unread)
        log_warning("reload: the list of plugins is read at the start of the service only; use "
                    "odeonctl plugin load "
                    "and unload");
    if (!old->executor_path != !new->executor_path ||
        (old->executor_path && strcmp(old->executor_path, new->executor_path) != 0))
        log_warning("reload: the path of the executor is read at the start of the service only");
    if (old->socket_mode != new->socket_mode || old->socket_group != new->socket_group)
        log_warning("reload: mode and group of the control socket are read at the start of the "
                    "service only");
    for (size_t i = 0; i < old->executor.n; i++)
        if (!setting_list_get(&new->executor, old->executor.list[i].key))
            log_warning(
                "reload: %s is no longer configured; its value stays until it is set, or the "
                "service is stopped",
                old->executor.list[i].key);
}

static void reload_on_actors_made(void *userdata)
{
    struct reload *reload = userdata;

    log_event(LOG_LEVEL_NOTICE, CATALOGUE_RELOAD_APPLIED,
              "the configuration has been read again and applied");
    reload_end(reload);
}

static void reload_apply(struct reload *reload, struct seat *seat)
{
    struct config *new = reload->wanted, old = *reload->config;

    reload_warn_about_the_rest(&old, new);
    *reload->config = *new;
    *new = old; /* reload_end() frees it */
    seat_settings_note_configured(seat);
    log_set_level(reload->config->log_level);
    boot_tell_log_level(seat);
    reload->ops->applied(reload->userdata);
    start_actors_reload(seat, &new->actors, reload_on_actors_made, reload);
}

/* Memory is laid out by it. */
static bool reload_is_size(const Odeon__Reconfigured *outcome, const char *key)
{
    for (size_t i = 0; i < outcome->n_sizes; i++)
        if (strcmp(outcome->sizes[i], key) == 0)
            return true;
    return false;
}

static void reload_tell_outcome(const struct reload *reload, const Odeon__Reconfigured *outcome)
{
    for (size_t i = 0; outcome && i < outcome->n_later; i++) {
        const char *value = setting_list_get(&reload->wanted->executor, outcome->later[i]);

        if (value)
            log_warning("reload: %s = %s takes effect when the service is %s", outcome->later[i],
                        value,
                        reload_is_size(outcome, outcome->later[i])
                            ? "stopped and started, which gives up what waits in its memory; a "
                              "restart goes on with that as it is"
                            : "started again");
    }
    if (outcome && outcome->pause_ns > 0)
        log_notice("reload: workers stood still for %llu us, %llu queues moved",
                   (unsigned long long)(outcome->pause_ns / 1000),
                   (unsigned long long)outcome->moved);
}

static void reload_refuse(struct reload *reload, int error, const char *text)
{
    log_event(LOG_LEVEL_ERROR, CATALOGUE_RELOAD_REFUSED, "reload: nothing is changed: %s",
              text[0] ? text : strerror(-error));
    reload_end(reload);
}

static void reload_on_answer(void *userdata, struct link_request *request, Odeon__Reply *reply)
{
    struct reload *reload = request->context;

    if (reply->error < 0) {
        reload_refuse(reload, reply->error, reply->text);
        return;
    }
    seat_settings_note(userdata, request->request->executor_set, reply->reconfigured);
    reload_tell_outcome(reload, reply->reconfigured);
    reload_apply(reload, userdata);
}

/* Those of `wanted` that `config` has otherwise or not at all.  NULL: no memory. */
static bool reload_differs(const struct setting_list *config, const struct setting_list *wanted,
                           const char *key)
{
    const char *old = setting_list_get(config, key), *value = setting_list_get(wanted, key);

    return value && (!old || strcmp(old, value) != 0);
}

static Odeon__ExecutorSet *reload_make_difference(const struct setting_list *config,
                                                  const struct setting_list *wanted)
{
    Odeon__ExecutorSet *set = calloc(1, sizeof(*set));
    bool workers = reload_differs(config, wanted, "workers");

    if (!set)
        return NULL;
    odeon__executor_set__init(set);
    set->later = true;
    set->settings = calloc(wanted->n + 1, sizeof(Odeon__Setting *));
    for (size_t i = 0; set->settings && i < wanted->n; i++) {
        const char *key = wanted->list[i].key, *old = setting_list_get(config, key);
        Odeon__Setting *row;

        /* workers may wait for room that an earlier reload has asked for: it says so each time */
        if (old && strcmp(old, wanted->list[i].value) == 0 &&
            !(workers && strcmp(key, "workers-max") == 0))
            continue;
        row = malloc(sizeof(*row));
        if (!row)
            goto fail;
        odeon__setting__init(row);
        set->settings[set->n_settings++] = row;
        row->key = strdup(wanted->list[i].key);
        row->value = strdup(wanted->list[i].value);
        if (!row->key || !row->value)
            goto fail;
    }
    if (set->settings)
        return set;
fail:
    odeon__executor_set__free_unpacked(set, NULL);
    return NULL;
}

/* 1: the executor was asked; 0: nothing to ask; negative errno. */
static int reload_ask_executor(struct reload *reload, struct seat *seat)
{
    Odeon__ExecutorSet *set =
        reload_make_difference(&reload->config->executor, &reload->wanted->executor);
    Odeon__Request *request = malloc(sizeof(*request));
    int r;

    if (!set || !request || set->n_settings == 0) {
        r = set && request ? 0 : -ENOMEM;
        if (set)
            odeon__executor_set__free_unpacked(set, NULL);
        free(request);
        return r;
    }
    odeon__request__init(request);
    request->id = 1;
    request->body_case = ODEON__REQUEST__BODY_EXECUTOR_SET;
    request->executor_set = set;
    r = executor_link_ask(&seat->executor, &(struct link_ask){ .context = reload,
                                                               .request = request,
                                                               .fd = -1,
                                                               .done = reload_on_answer });
    return r < 0 ? r : 1;
}

static void reload_on_read(void *userdata, struct config *config, int result, const char *text)
{
    struct reload *reload = userdata;

    reload->wanted = config;
    if (result == 0 && reload->seat->stopping) { /* who was to be told of it has gone */
        result = -ESHUTDOWN;
        text = "the service is stopping";
    }
    if (result == 0) {
        boot_release(reload->seat);
        result = reload_ask_executor(reload, reload->seat);
    }
    if (result < 0)
        reload_refuse(reload, result, text);
    else if (result == 0)
        reload_apply(reload, reload->seat);
}

void reload_begin(struct reload *reload, struct seat *seat)
{
    char text[OPTIONS_TEXT_MAX];
    int r;

    if (reload->running) {
        reload->again = true;
        log_notice("a reload is running already: the configuration is read once more when it ends");
        boot_release(seat); /* which may be what that one waits for */
        return;
    }
    reload->running = true;
    reload->again = false;
    reload->seat = seat;
    r = config_reader_ask(reload->options, reload_on_read, reload, text);
    if (r < 0)
        reload_refuse(reload, r, text);
}

void reload_init(struct reload *reload, struct config *config, const struct options *options,
                 const struct reload_ops *ops, void *userdata)
{
    *reload =
        (struct reload){ .config = config, .options = options, .ops = ops, .userdata = userdata };
}
