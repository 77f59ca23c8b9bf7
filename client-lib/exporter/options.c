/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <odeon/version.h>

static const char options_help[] =
    "odeon-exporter - Odeon's figures for Prometheus\n"
    "\n"
    "Usage: odeon-exporter [OPTION...]\n"
    "\n"
    "  --listen ADDRESS:PORT  where to answer (" OPTIONS_LISTEN_DEFAULT "); again for more\n"
    "  --host NAME            answer to this name, too, beside those of loopback\n"
    "  --token-file FILE      who shows the token in it is told of types\n"
    "  --stats FILE           the statistics (/run/odeon/stats)\n"
    "  --socket PATH          odeond's control socket (/run/odeon/control.sock)\n"
    "  --version, --help\n";

enum {
    OPTIONS_IS_LISTEN = 256,
    OPTIONS_IS_HOST,
    OPTIONS_IS_TOKEN,
    OPTIONS_IS_STATS,
    OPTIONS_IS_SOCKET,
    OPTIONS_IS_VERSION,
    OPTIONS_IS_HELP
};

static const struct option options_long[] = {
    { "listen", required_argument, NULL, OPTIONS_IS_LISTEN },
    { "host", required_argument, NULL, OPTIONS_IS_HOST },
    { "token-file", required_argument, NULL, OPTIONS_IS_TOKEN },
    { "stats", required_argument, NULL, OPTIONS_IS_STATS },
    { "socket", required_argument, NULL, OPTIONS_IS_SOCKET },
    { "version", no_argument, NULL, OPTIONS_IS_VERSION },
    { "help", no_argument, NULL, OPTIONS_IS_HELP },
    { NULL, 0, NULL, 0 },
};

static bool options_add(const char **words, size_t *n, size_t most, const char *option)
{
    if (*n == most) {
        fprintf(stderr, "odeon-exporter: %s: %zu are the most\n", option, most);
        return false;
    }
    words[(*n)++] = optarg;
    return true;
}

static bool options_take(struct options *options, int option)
{
    switch (option) {
    case OPTIONS_IS_LISTEN:
        return options_add(options->listen, &options->n_listen, OPTIONS_LISTEN, "--listen");
    case OPTIONS_IS_HOST:
        return options_add(options->hosts, &options->n_hosts, OPTIONS_HOSTS, "--host");
    case OPTIONS_IS_TOKEN:
        options->token_file = optarg;
        return true;
    case OPTIONS_IS_STATS:
        options->stats = optarg;
        return true;
    case OPTIONS_IS_SOCKET:
        options->socket = optarg;
        return true;
    default:
        return false;
    }
}

/* The exit status of who has only printed. */
static int options_end_output(void)
{
    if (fflush(stdout) == 0)
        return 0;
    fprintf(stderr, "odeon-exporter: cannot write the output: %s\n", strerror(errno));
    return 1;
}

int options_parse(struct options *options, int argc, char **argv, int *ret_status)
{
    int option;

    *options = (struct options){ .n_listen = 0 };
    *ret_status = 0;
    while ((option = getopt_long(argc, argv, "", options_long, NULL)) >= 0) {
        if (option == OPTIONS_IS_VERSION) {
            puts("odeon-exporter " ODEON_VERSION);
            *ret_status = options_end_output();
            return 1;
        }
        if (option == OPTIONS_IS_HELP) {
            fputs(options_help, stdout);
            *ret_status = options_end_output();
            return 1;
        }
        if (!options_take(options, option)) {
            *ret_status = 2;
            return 1;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "odeon-exporter: '%s': only options are understood, see --help\n",
                argv[optind]);
        *ret_status = 2;
        return 1;
    }
    return 0;
}
