/* SPDX-License-Identifier: Apache-2.0 */
/* What several answers say about types.  Control thread only. */
#pragma once

#include "daemon/executor/executor.h"
#include "daemon/executor/reply.h"

/* By name, also when the type's plugin is not loaded now.  -ENOENT. */
int type_find(const struct executor *executor, const char *name,
              struct engine_actor_type_view *ret_view);
/* Names of the messages that actors of the type accept, in the reply's memory; NULL: there is
 * none. */
char **type_accepts(const struct executor *executor, const struct engine_actor_type_view *view,
                    struct reply *reply, size_t *ret_n);
/* Why there is no message type of that name and version (0: none at all). Returns `error`. */
int type_message_refuse(const char *name, uint32_t version, int error, struct explain *explain);
