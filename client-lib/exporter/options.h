/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { OPTIONS_LISTEN = 8, OPTIONS_HOSTS = 16 };

#define OPTIONS_LISTEN_DEFAULT "127.0.0.1:9464"

struct options {
    const char *listen[OPTIONS_LISTEN]; /* none: the default, or what the service manager passes */
    size_t n_listen;
    const char *hosts[OPTIONS_HOSTS];
    size_t n_hosts;
    const char *token_file, *stats, *socket; /* NULL: not given */
};

/* 0: go on; else the program ends, with *ret_status; what there is to say is printed. Words stay
 * those of `argv`. */
int options_parse(struct options *options, int argc, char **argv, int *ret_status);
