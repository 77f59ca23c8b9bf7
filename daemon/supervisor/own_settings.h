/* SPDX-License-Identifier: Apache-2.0 */
/* odeond's own settings (roles, quotas, times) as text that another odeond can read: what it goes
 * on with behind a crash is what the former one had read, whatever the configuration says by then,
 * and whether it can be read. Not in it: plugins and actors, which the registry knows of otherwise.
 * Event loop thread only.
 *
 * own_settings.S1  Names of users and groups are their numbers: a name that nobody has any more, or
 *     that is another's by now, changes nobody's rights.
 * own_settings.S2  What the text does not say, or says so that this build does not understand it,
 *     gives nobody a role.
 */
#pragma once

struct config;
struct setting_list;

/* Fills an empty list; it stays empty where there is no memory, and the log says so. */
void own_settings_list(const struct config *config, struct setting_list *own);
/* Puts all of `own` into force instead of what `config` has, with a line in the log where that says
 * otherwise. The executor's path is taken where the configuration could not be read; else its own
 * counts, as at each start. */
void own_settings_restore(struct config *config, const struct setting_list *own);
