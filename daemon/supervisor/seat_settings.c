/* SPDX-License-Identifier: Apache-2.0 */
/* What the next executor is started with; the interface is in seat_settings.h. */
#include "daemon/supervisor/seat_settings.h"

#include <stdbool.h>
#include <string.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/own_settings.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/seat.h"

static bool seat_settings_is_later(const Odeon__Reconfigured *answer, const char *key)
{
    for (size_t i = 0; answer && i < answer->n_later; i++)
        if (strcmp(answer->later[i], key) == 0)
            return true;
    return false;
}

static void seat_settings_take(struct seat *seat, const Odeon__Setting *setting)
{
    if (setting_list_set(&seat->settings, setting->key, setting->value) < 0)
        log_error(
            "setting %s is in force, but cannot be kept: a restart of the executor will lose it",
            setting->key);
}

static void seat_settings_keep(struct seat *seat)
{
    const struct service *service = seat->service;
    struct setting_list own = { 0 };

    own_settings_list(service->config, &own);
    if (registry_put_settings(&service->persist->registry, &seat->settings,
                              &service->config->executor, &own) < 0)
        log_error("the settings have no room in the registry: a restart of odeond will lose them");
    setting_list_fini(&own);
}

/* What a start has not put into force so far is left as it is, but for odeond's own settings: those
 * of a reload are in force at once, and where this start ends before it has come so far, the next
 * one gives nobody a role that the reload took. */
static void seat_settings_keep_own(struct seat *seat)
{
    struct setting_list own = { 0 };

    own_settings_list(seat->service->config, &own);
    registry_put_own(&seat->service->persist->registry, &own);
    setting_list_fini(&own);
}

void seat_settings_note_configured(struct seat *seat)
{
    const struct persist *persist = seat->service->persist;

    if (persist->refused) /* persist.R1 */
        return;
    if (persist->in_force)
        seat_settings_keep(seat);
    else
        seat_settings_keep_own(seat);
}

void seat_settings_note_kept(struct seat *seat, const Odeon__Report *report)
{
    for (size_t i = 0; i < report->n_kept; i++)
        seat_settings_take(seat, report->kept[i]);
    seat_settings_keep(seat);
}

void seat_settings_note(struct seat *seat, const Odeon__ExecutorSet *set,
                        const Odeon__Reconfigured *answer)
{
    for (size_t i = 0; i < set->n_settings; i++)
        if (!seat_settings_is_later(answer, set->settings[i]->key))
            seat_settings_take(seat, set->settings[i]);
    seat_settings_keep(seat);
}
