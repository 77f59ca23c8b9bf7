/* SPDX-License-Identifier: Apache-2.0 */
/* What the next executor is started with; the interface is in seat_settings.h. */
#include "daemon/supervisor/seat_settings.h"

#include <stdbool.h>
#include <string.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/configuration.h"
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

    if (registry_put_settings(&service->persist->registry, &seat->settings,
                              &service->config->executor) < 0)
        log_error("the settings have no room in the registry: a restart of odeond will lose them");
}

void seat_settings_note_configured(struct seat *seat)
{
    const struct persist *persist = seat->service->persist;

    /* else it is recorded when a start has come so far, or nothing is to be touched (persist.R1) */
    if (persist->in_force && !persist->refused)
        seat_settings_keep(seat);
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
