/* SPDX-License-Identifier: Apache-2.0 */
/* odeond's own settings as text; the interface is in own_settings.h. */
#include "daemon/supervisor/own_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/options.h"
#include "daemon/supervisor/options_access.h"

static int own_settings_list_number(struct setting_list *own, const char *key, uint64_t number)
{
    char value[24];

    snprintf(value, sizeof(value), "%" PRIu64, number);
    return setting_list_set(own, key, value);
}

static int own_settings_list_all(const struct config *config, struct setting_list *own)
{
    const struct {
        const char *key;
        uint64_t number;
    } numbers[] = {
        { "drain-timeout-ms", config->drain_timeout_ns / 1000000 },
        { "plugin-load-ms", config->plugin_load_ns / 1000000 },
        { "restart-delay-max-ms", config->restart_delay_max_ns / 1000000 },
        { "rule-stops-max", config->rule_stops_max },
    };
    int r = setting_list_set(own, "log-level", config_log_level_name(config->log_level));

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && r == 0; i++)
        r = own_settings_list_number(own, numbers[i].key, numbers[i].number);
    if (r == 0 && config->executor_path)
        r = setting_list_set(own, "executor", config->executor_path);
    return r < 0 ? r : options_access_list(config, own);
}

void own_settings_list(const struct config *config, struct setting_list *own)
{
    int r = own_settings_list_all(config, own);

    if (r == 0)
        return;
    log_error("roles and quotas are not recorded: %s: behind a crash of odeond they will be read "
              "anew",
              strerror(-r));
    setting_list_fini(own);
}

/* Without it nobody is served, and it can be mended in the file alone. */
static bool own_settings_is_of_file(const struct config *config, const char *key)
{
    return !config->unread && strcmp(key, "executor") == 0;
}

/* One line, with as many keys as it has room for. */
static void own_settings_tell_edited(const struct config *config, const struct setting_list *edited,
                                     const struct setting_list *own)
{
    char keys[256] = "";
    size_t n = 0;
    bool socket = false, full = false;

    for (size_t i = 0; i < edited->n; i++) {
        const char *key = edited->list[i].key, *former = setting_list_get(own, key);

        if (own_settings_is_of_file(config, key) ||
            (former && strcmp(former, edited->list[i].value) == 0))
            continue;
        socket = socket || strncmp(key, "socket-", 7) == 0;
        if (full)
            continue;
        full = n + strlen(key) + 8 >= sizeof(keys);
        n +=
            (size_t)snprintf(keys + n, sizeof(keys) - n, "%s%s", n ? ", " : "", full ? "..." : key);
    }
    if (n > 0)
        log_warning("%s: the configuration says otherwise than when the former service read it, "
                    "which counts until a reload%s",
                    keys, socket ? " (the socket's: an orderly restart)" : "");
}

void own_settings_restore(struct config *config, const struct setting_list *own)
{
    char text[OPTIONS_TEXT_MAX];
    struct setting_list edited = { 0 };
    bool tells = own->n > 0 && !config->unread && own_settings_list_all(config, &edited) == 0;

    options_access_clear(config);
    for (size_t i = 0; i < own->n; i++) {
        const struct setting *setting = &own->list[i];

        if (own_settings_is_of_file(config, setting->key))
            continue;
        text[0] = '\0';
        if (config_set_own(config, setting->key, setting->value, text) < 0)
            log_error("what the former service had read is not understood: %s = %.60s%s%s",
                      setting->key, setting->value, text[0] ? ": " : "", text);
    }
    log_set_level(config->log_level);
    if (tells)
        own_settings_tell_edited(config, &edited, own);
    setting_list_fini(&edited);
}
