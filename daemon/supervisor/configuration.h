/* SPDX-License-Identifier: Apache-2.0 */
/* What configuration file and --set can say, as a value: read by options.c, replaced as a whole
 * when it is read again. Event loop thread only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/access.h"
#include "daemon/supervisor/account.h"
#include "daemon/supervisor/actor_line.h"
#include "daemon/supervisor/setting_list.h"

enum { PLUGINS_CONFIGURED_MAX = 256, OPTIONS_TEXT_MAX = 640 };

/* What file and --set can say. */
struct config {
    enum log_level log_level;
    bool developer;        /* plugins are loaded where they lie; small sizes */
    bool argument_refused; /* config_load() has refused an argument, not what the file has */
    bool unread;           /* it could not be: what a former service had read counts */
    uint64_t drain_timeout_ns;
    uint64_t plugin_load_ns; /* 0: any time */
    uint64_t restart_delay_max_ns;
    uint64_t rule_stops_max; /* 0: no end of them */
    char *executor_path;     /* NULL: searched */
    struct access access;
    struct quotas quotas;
    unsigned socket_mode; /* of the control socket that odeond makes itself */
    int64_t socket_group; /* -1: its own */
    size_t n_plugins;
    char *plugins[PLUGINS_CONFIGURED_MAX];
    struct actor_lines actors;
    struct setting_list executor;
};
