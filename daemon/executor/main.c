/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-executor: started by odeond, with the control connection as an inherited descriptor. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <odeon/version.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/executor/executor_run.h"
#include "daemon/executor/plugin_check.h"
#include "daemon/executor/start.h"

enum { EXIT_USAGE = 2, CONTROL_FD_DEFAULT = 3 };

static void main_print_usage(FILE *out)
{
    fprintf(
        out,
        "usage: odeon-executor [--control-fd N] [--log-level error|warning|notice|info|debug]\n"
        "       odeon-executor --print-segment-size [[--from WHERE] --set KEY=VALUE ...]\n"
        "       odeon-executor --check-plugin NAME <COPY\n"
        "\n"
        "Runs actors for odeond, which starts it: it is of no use by itself.\n"
        "\n"
        "  --print-segment-size [[--from WHERE] --set KEY=VALUE ...]\n"
        "                   print the bytes of memory that these settings need, and exit; what is\n"
        "                   said against a setting begins with WHERE it was given\n"
        "  --check-plugin NAME\n"
        "                   say what is wrong with the sealed copy of a plugin's file, and exit\n"
        "  --control-fd N   descriptor of the connection to odeond (default 3)\n"
        "  --log-level L    least important lines to log (default info)\n"
        "  --version        print the version\n"
        "  --help           print this\n");
}

static bool main_parse_fd(const char *text, int *ret_fd)
{
    char *end;
    long fd;

    errno = 0;
    fd = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || fd < 0 || fd > INT_MAX)
        return false;
    *ret_fd = (int)fd;
    return true;
}

static bool main_parse_level(const char *text, enum log_level *ret_level)
{
    static const struct {
        const char *name;
        enum log_level level;
    } levels[] = {
        { "error", LOG_LEVEL_ERROR },   { "warning", LOG_LEVEL_WARNING },
        { "notice", LOG_LEVEL_NOTICE }, { "info", LOG_LEVEL_INFO },
        { "debug", LOG_LEVEL_DEBUG },
    };

    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(levels[i].name, text) == 0) {
            *ret_level = levels[i].level;
            return true;
        }
    return false;
}

/* The terminal's and the service manager's signals reach every process of the service; here the
 * supervisor decides, since it has to drain first. SIGKILL and the supervisor's death always end
 * us. A reader that has gone and a limit of file sizes are errnos of the calls that meet them. */
static void main_ignore_signals(void)
{
    static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ };
    struct sigaction action = { .sa_handler = SIG_IGN };

    for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        sigaction(ignored[i], &action, NULL);
}

struct arguments {
    int control_fd;
    enum log_level level;
    bool print_size;
    const char *plugin; /* to be checked; NULL: none */
    size_t n_pairs;
    struct setting_pair pairs[ODEON_PAGE_ROWS_MAX];
    /* where each was given, as people are told, and the next one will have been; NULL: nobody has
     * said */
    const char *origins[ODEON_PAGE_ROWS_MAX + 1];
};

/* KEY=VALUE in place. */
static bool main_parse_pair(char *text, struct arguments *arguments)
{
    char *equals = strchr(text, '=');

    if (!equals || arguments->n_pairs == ODEON_PAGE_ROWS_MAX)
        return false;
    *equals = '\0';
    arguments->pairs[arguments->n_pairs++] =
        (struct setting_pair){ .key = text, .value = equals + 1 };
    return true;
}

static const struct option main_options[] = {
    { "control-fd", required_argument, NULL, 'c' },
    { "log-level", required_argument, NULL, 'l' },
    { "print-segment-size", no_argument, NULL, 'p' },
    { "check-plugin", required_argument, NULL, 'k' },
    { "from", required_argument, NULL, 'f' },
    { "set", required_argument, NULL, 's' },
    { "version", no_argument, NULL, 'v' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

/* -1: go on; else the exit status. */
static int main_parse_arguments(int argc, char **argv, struct arguments *arguments)
{
    int option;

    while ((option = getopt_long(argc, argv, "", main_options, NULL)) != -1) {
        bool good = false;

        switch (option) {
        case 'v':
            printf("odeon-executor %s\n", ODEON_VERSION);
            return EXIT_SUCCESS;
        case 'h':
            main_print_usage(stdout);
            return EXIT_SUCCESS;
        case 'p':
            good = arguments->print_size = true;
            break;
        case 'c':
            good = main_parse_fd(optarg, &arguments->control_fd);
            break;
        case 'l':
            good = main_parse_level(optarg, &arguments->level);
            break;
        case 'k':
            arguments->plugin = optarg;
            good = true;
            break;
        case 'f':
            arguments->origins[arguments->n_pairs] = optarg;
            good = true;
            break;
        case 's':
            good = main_parse_pair(optarg, arguments);
            break;
        default:
            break;
        }
        if (good)
            continue;
        if (option != '?')
            fprintf(stderr, "odeon-executor: '%s' is not what the option takes\n", optarg);
        main_print_usage(stderr);
        return EXIT_USAGE;
    }
    if (optind < argc || (arguments->n_pairs > 0 && !arguments->print_size)) {
        fprintf(stderr, "odeon-executor: %s\n",
                optind < argc ? "too many arguments" : "--set goes with --print-segment-size");
        main_print_usage(stderr);
        return EXIT_USAGE;
    }
    return -1;
}

/* Of the setting that is refused, if it is refused by itself. */
static const char *main_find_origin(const struct arguments *arguments)
{
    struct settings settings;
    struct explain explain;

    settings_init(&settings, 1);
    explain_init(&explain);
    for (size_t i = 0; i < arguments->n_pairs; i++)
        if (settings_parse(&settings, arguments->pairs[i].key, arguments->pairs[i].value,
                           &explain) < 0)
            return arguments->origins[i];
    return NULL;
}

static int main_print_segment_size(const struct arguments *arguments)
{
    struct explain explain;
    uint64_t bytes = 0;

    explain_init(&explain);
    if (start_segment_size(arguments->pairs, arguments->n_pairs, &explain, &bytes) < 0) {
        const char *origin = main_find_origin(arguments);

        log_error("%s%s%s", origin ? origin : "", origin ? ": " : "", explain.text);
        return EXIT_FAILURE;
    }
    printf("%" PRIu64 "\n", bytes);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int main_check_plugin(const char *name)
{
    struct explain explain;

    explain_init(&explain);
    if (plugin_check_file(STDIN_FILENO, &explain) == 0)
        return EXIT_SUCCESS;
    log_error("plugin %s: %s", name, explain.text);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct arguments arguments = { .control_fd = CONTROL_FD_DEFAULT, .level = LOG_LEVEL_INFO };
    int status = main_parse_arguments(argc, argv, &arguments);

    if (status >= 0)
        return status;
    log_open("odeon-executor", arguments.level);
    if (arguments.print_size)
        return main_print_segment_size(&arguments);
    if (arguments.plugin)
        return main_check_plugin(arguments.plugin);
    main_ignore_signals();
    return executor_run(arguments.control_fd);
}
