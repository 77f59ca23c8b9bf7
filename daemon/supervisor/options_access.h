/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the configuration about who may use the service, for what, and how much of it. Event
 * loop thread only. */
#pragma once

struct config;

void options_access_init(struct config *config); /* defaults */
/* 0; -ENOENT: none of these keys, and no text; -EINVAL with a reason in `text`. */
int options_access_set(struct config *config, const char *key, const char *value, char *text);
