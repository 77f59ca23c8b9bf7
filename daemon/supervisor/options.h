/* SPDX-License-Identifier: Apache-2.0 */
/* What odeond was told: command line and configuration file.
 *
 * The command line wins over the file. It is parsed once; the file again at each reload, into a
 * fresh struct config, so that a mistake in it changes nothing. Event loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/access.h"
#include "daemon/supervisor/account.h"
#include "daemon/supervisor/setting_list.h"

enum { PLUGINS_CONFIGURED_MAX = 256, OPTIONS_TEXT_MAX = 640 };

/* What file and --set can say. */
struct config {
    enum log_level log_level;
    uint64_t drain_timeout_ns;
    uint64_t restart_delay_max_ns;
    uint64_t rule_stops_max; /* 0: no end of them */
    char *executor_path;     /* NULL: searched */
    struct access access;
    struct quotas quotas;
    unsigned socket_mode; /* of the control socket that odeond makes itself */
    int64_t socket_group; /* -1: its own */
    size_t n_plugins;
    char *plugins[PLUGINS_CONFIGURED_MAX];
    struct setting_list executor;
};

struct options {
    bool foreground;
    bool check;
    bool discard_state; /* what a former service has left is not gone on with */
    char *runtime_dir, *socket_path, *config_path;
    bool config_path_given;
    int argc;
    char **argv; /* kept to lay the command line over a configuration that is read again */
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_USAGE };

/* OPTIONS_DONE: help or version were printed; OPTIONS_USAGE: `text` (OPTIONS_TEXT_MAX) says what is
 * wrong. */
enum options_result options_parse(struct options *options, int argc, char **argv, char *text);
void options_fini(struct options *options);

/* The keys about who may do what, and how much (options_access.c). -ENOENT: none of them, and no
 * text. */
void options_access_init(struct config *config);
int options_access_set(struct config *config, const char *key, const char *value, char *text);

/* Defaults, then the file, then the command line. A missing file is fine unless it was asked for.
 * 0, or negative errno with a reason in `text`. */
int config_load(struct config *config, const struct options *options, char *text);
void config_fini(struct config *config);
const char *config_log_level_name(enum log_level level);
