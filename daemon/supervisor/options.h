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

#include "daemon/supervisor/configuration.h"

struct options {
    bool foreground;
    bool developer;
    bool check;
    bool discard_state; /* what a former service has left is not gone on with */
    char *runtime_dir, *socket_path, *config_path;
    bool config_path_given;
    int argc;
    char **argv; /* kept to lay the command line over a configuration that is read again */
};

/* odeond's exit status when its command line is wrong. */
enum { EXIT_USAGE = 2 };

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_USAGE };

/* OPTIONS_DONE: help or version were printed; OPTIONS_USAGE: `text` (OPTIONS_TEXT_MAX) says what is
 * wrong. */
enum options_result options_parse(struct options *options, int argc, char **argv, char *text);
void options_fini(struct options *options);

/* Defaults, those of --developer, then the file, then the command line. A missing file is fine
 * unless it was asked for. 0, or negative errno with a reason in `text`. */
int config_load(struct config *config, const struct options *options, char *text);
/* Nothing has been read: the defaults, and `unread`. */
void config_init_unread(struct config *config);
/* One of odeond's own keys. 0, or negative errno with a reason in `text`; -ENOENT without one: it
 * has no such key. */
int config_set_own(struct config *config, const char *key, const char *value, char *text);
void config_fini(struct config *config);
const char *config_log_level_name(enum log_level level);
