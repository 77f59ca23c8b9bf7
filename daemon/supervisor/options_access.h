/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the configuration about who may use the service, for what, and how much of it. Event
 * loop thread only. */
#pragma once

struct config;
struct setting_list;

void options_access_init(struct config *config); /* defaults */
/* The same, but nobody has a role, and the socket's group stays. */
void options_access_clear(struct config *config);
/* Appends all of these keys, with numbers for names. 0, -ENOSPC, -ENOMEM. */
int options_access_list(const struct config *config, struct setting_list *list);
/* 0; -ENOENT: none of these keys, and no text; -EINVAL with a reason in `text`. */
int options_access_set(struct config *config, const char *key, const char *value, char *text);
