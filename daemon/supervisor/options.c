/* SPDX-License-Identifier: Apache-2.0 */
/* Command line and configuration file; the interface is in options.h. */
#include <errno.h>
#include <getopt.h>
#include <odeon/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/config.h"
#include "daemon/supervisor/options.h"
#include "daemon/supervisor/options_access.h"

enum { RULE_STOPS_MOST = 1000000, ORIGIN_MAX = 320 };

static const char usage[] =
    "usage: odeond [OPTION...]\n"
    "Hosts actors for other processes: admits clients, starts the executor and keeps it running.\n"
    "\n"
    "  --foreground        not started by a service manager: log to the terminal, tell nobody\n"
    "  --developer         for who writes plugins: load them where they lie, take small sizes\n"
    "  --runtime-dir DIR   where socket, lock and statistics lie (/run/odeon)\n"
    "  --socket PATH       control socket (DIR/control.sock)\n"
    "  --config FILE       configuration (" ODEON_CONFIG_FILE ")\n"
    "  --executor PATH     executor program (beside odeond, then " ODEON_LIBEXEC_DIR ")\n"
    "  --set KEY=VALUE     a setting, as in the configuration file; wins over it; may be repeated\n"
    "  --plugin PATH       load this plugin at start; may be repeated\n"
    "  --log-level LEVEL   error, warning, notice, info or debug (info)\n"
    "  --discard-state     give up what a former service has left with the service manager\n"
    "  --check             read the configuration, let the executor judge its part, and exit\n"
    "  --version           print the version and exit\n"
    "  --help              print this and exit\n"
    "\n"
    "SIGTERM and SIGINT stop the service after the executor has worked off what it was sent; a "
    "second one stops at "
    "once.\n"
    "SIGHUP reads the configuration again and applies what can change at run time.\n";

enum {
    OPTION_FOREGROUND = 256,
    OPTION_DEVELOPER,
    OPTION_RUNTIME_DIR,
    OPTION_SOCKET,
    OPTION_CONFIG,
    OPTION_EXECUTOR,
    OPTION_SET,
    OPTION_PLUGIN,
    OPTION_CHECK,
    OPTION_DISCARD_STATE,
    OPTION_LOG_LEVEL,
    OPTION_VERSION,
    OPTION_HELP,
};

static const struct option long_options[] = {
    { "foreground", no_argument, NULL, OPTION_FOREGROUND },
    { "developer", no_argument, NULL, OPTION_DEVELOPER },
    { "runtime-dir", required_argument, NULL, OPTION_RUNTIME_DIR },
    { "socket", required_argument, NULL, OPTION_SOCKET },
    { "config", required_argument, NULL, OPTION_CONFIG },
    { "executor", required_argument, NULL, OPTION_EXECUTOR },
    { "set", required_argument, NULL, OPTION_SET },
    { "plugin", required_argument, NULL, OPTION_PLUGIN },
    { "check", no_argument, NULL, OPTION_CHECK },
    { "discard-state", no_argument, NULL, OPTION_DISCARD_STATE },
    { "log-level", required_argument, NULL, OPTION_LOG_LEVEL },
    { "version", no_argument, NULL, OPTION_VERSION },
    { "help", no_argument, NULL, OPTION_HELP },
    { 0 },
};

static int options_set_string(char **to, const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return -ENOMEM;
    free(*to);
    *to = copy;
    return 0;
}

static const struct {
    const char *name;
    enum log_level level;
} log_levels[] = { { "error", LOG_LEVEL_ERROR },
                   { "warning", LOG_LEVEL_WARNING },
                   { "notice", LOG_LEVEL_NOTICE },
                   { "info", LOG_LEVEL_INFO },
                   { "debug", LOG_LEVEL_DEBUG } };

const char *config_log_level_name(enum log_level level)
{
    for (size_t i = 0; i < sizeof(log_levels) / sizeof(log_levels[0]); i++)
        if (log_levels[i].level == level)
            return log_levels[i].name;
    return "info";
}

static int options_parse_log_level(const char *value, enum log_level *ret_level)
{
    for (size_t i = 0; i < sizeof(log_levels) / sizeof(log_levels[0]); i++)
        if (strcmp(log_levels[i].name, value) == 0) {
            *ret_level = log_levels[i].level;
            return 0;
        }
    return -EINVAL;
}

static int options_set_log_level(struct config *config, const char *value, char *text)
{
    int r = options_parse_log_level(value, &config->log_level);

    if (r < 0)
        snprintf(text, CONFIG_TEXT_MAX,
                 "log-level: '%.60s' is not one of error, warning, notice, info, debug", value);
    return r;
}

static int options_set_milliseconds(const char *key, const char *value, uint64_t max,
                                    uint64_t *ret_ns, char *text)
{
    uint64_t number;
    int r = config_parse_u64(value, 0, max, &number);

    if (r < 0) {
        snprintf(text, CONFIG_TEXT_MAX,
                 "%s: '%.60s' is not a number of milliseconds from 0 to %llu", key, value,
                 (unsigned long long)max);
        return r;
    }
    *ret_ns = number * 1000000;
    return 0;
}

static int options_set_drain_timeout(struct config *config, const char *value, char *text)
{
    return options_set_milliseconds("drain-timeout-ms", value, 3600000, &config->drain_timeout_ns,
                                    text);
}

static int options_set_plugin_load(struct config *config, const char *value, char *text)
{
    return options_set_milliseconds("plugin-load-ms", value, 3600000, &config->plugin_load_ns,
                                    text);
}

static int options_set_restart_delay(struct config *config, const char *value, char *text)
{
    return options_set_milliseconds("restart-delay-max-ms", value, 600000,
                                    &config->restart_delay_max_ns, text);
}

static int options_set_rule_stops(struct config *config, const char *value, char *text)
{
    int r = config_parse_u64(value, 0, RULE_STOPS_MOST, &config->rule_stops_max);

    if (r < 0)
        snprintf(text, CONFIG_TEXT_MAX, "rule-stops-max: '%.60s' is not a number from 0 to %d",
                 value, RULE_STOPS_MOST);
    return r;
}

static int options_set_executor_path(struct config *config, const char *value, char *text)
{
    if (value[0] == '\0') {
        snprintf(text, CONFIG_TEXT_MAX, "executor: an empty path");
        return -EINVAL;
    }
    return options_set_string(&config->executor_path, value);
}

static int options_add_plugin(struct config *config, const char *value, char *text)
{
    if (value[0] != '/') {
        snprintf(text, CONFIG_TEXT_MAX, "plugin: '%.200s' is not an absolute path", value);
        return -EINVAL;
    }
    if (config->n_plugins == PLUGINS_CONFIGURED_MAX) {
        snprintf(text, CONFIG_TEXT_MAX, "plugin: more than %d plugins", PLUGINS_CONFIGURED_MAX);
        return -ENOSPC;
    }
    config->plugins[config->n_plugins] = strdup(value);
    if (!config->plugins[config->n_plugins])
        return -ENOMEM;
    config->n_plugins++;
    return 0;
}

static int options_add_actor(struct config *config, const char *value, char *text)
{
    return actor_lines_add(&config->actors, value, text);
}

/* The keys of the supervisor.  All others are the executor's, who judges them. */
static const struct {
    const char *name;
    int (*set)(struct config *config, const char *value, char *text);
} own_keys[] = {
    { "log-level", options_set_log_level },
    { "drain-timeout-ms", options_set_drain_timeout },
    { "plugin-load-ms", options_set_plugin_load },
    { "restart-delay-max-ms", options_set_restart_delay },
    { "rule-stops-max", options_set_rule_stops },
    { "executor", options_set_executor_path },
    { "plugin", options_add_plugin },
    { "actor", options_add_actor },
};

static int options_set_key(struct config *config, const char *section, const char *key,
                           const char *value, char *text)
{
    int r;

    if (strcmp(section, "executor") != 0) {
        for (size_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++)
            if (strcmp(own_keys[i].name, key) == 0)
                return own_keys[i].set(config, value, text);
        r = options_access_set(config, key, value, text);
        if (r != -ENOENT)
            return r;
        if (strcmp(section, "odeond") == 0) {
            snprintf(text, CONFIG_TEXT_MAX,
                     "unknown key '%.60s' of odeond: odeond.conf(5) lists them; those of the "
                     "executor stand in [executor]",
                     key);
            return r;
        }
    }
    r = setting_list_set(&config->executor, key, value);
    if (r < 0)
        snprintf(text, CONFIG_TEXT_MAX, "%.60s: %s", key,
                 r == -ENOSPC ? "too many settings" : strerror(-r));
    return r;
}

/* The file that is read, and for whom. */
struct options_file {
    struct config *config;
    const char *path;
};

static int options_set_from_file(void *userdata, unsigned line, const char *section,
                                 const char *key, const char *value, char *text)
{
    const struct options_file *file = userdata;
    char origin[ORIGIN_MAX];
    int r = options_set_key(file->config, section, key, value, text);

    if (r < 0)
        return r;
    snprintf(origin, sizeof(origin), "%.300s:%u", file->path, line);
    return setting_list_set_origin(&file->config->executor, key, origin);
}

static int options_set_from_line(struct config *config, const char *assignment, char *text)
{
    char key[64];
    const char *value;
    int r;

    if (config_split(assignment, key, sizeof(key), &value) < 0) {
        snprintf(text, CONFIG_TEXT_MAX, "--set %.100s: expected KEY=VALUE", assignment);
        return -EINVAL;
    }
    r = options_set_key(config, "", key, value, text);
    return r < 0 ? r : setting_list_set_origin(&config->executor, key, "--set");
}

/* What file and command line have in common goes through the same function. */
static int options_apply_argument(struct config *config, int option, const char *value, char *text)
{
    switch (option) {
    case OPTION_SET:
        return options_set_from_line(config, value, text);
    case OPTION_EXECUTOR:
        return options_set_executor_path(config, value, text);
    case OPTION_PLUGIN:
        return options_add_plugin(config, value, text);
    case OPTION_LOG_LEVEL:
        return options_set_log_level(config, value, text);
    }
    return 0;
}

static int options_apply_command_line(struct config *config, const struct options *options,
                                      char *text)
{
    int option;

    optind = 0; /* begin again */
    while ((option = getopt_long(options->argc, options->argv, "+", long_options, NULL)) >= 0) {
        int r = options_apply_argument(config, option, optarg, text);

        if (r < 0) {
            if (text[0] == '\0')
                snprintf(text, CONFIG_TEXT_MAX, "%s", strerror(-r));
            return r;
        }
    }
    return 0;
}

/* What fits below valgrind, and into a laptop. Whoever stands still in a debugger is not taken for
 * one that hangs. File and command line win. */
static int options_be_small(struct config *config)
{
    static const char *const sizes[][2] = {
        { "actors", "1024" },          { "queues-per-worker", "2" }, { "detached", "4" },
        { "outbox-bytes", "1M" },      { "limit-bytes", "1M" },      { "backlog-bytes", "1M" },
        { "dead-letter-bytes", "1M" }, { "timers", "4096" },         { "timer-bytes", "1M" },
    };
    int r = 0;

    config->developer = true;
    config->plugin_load_ns = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && r == 0; i++)
        r = setting_list_set(&config->executor, sizes[i][0], sizes[i][1]);
    return r;
}

static void options_init(struct config *config)
{
    *config = (struct config){ .log_level = LOG_LEVEL_INFO,
                               .drain_timeout_ns = UINT64_C(5000000000),
                               .plugin_load_ns = UINT64_C(30000000000),
                               .restart_delay_max_ns = UINT64_C(2000000000),
                               .rule_stops_max = 3 };
    options_access_init(config);
}

void config_init_unread(struct config *config)
{
    options_init(config);
    config->unread = true;
}

int config_set_own(struct config *config, const char *key, const char *value, char *text)
{
    return options_set_key(config, "odeond", key, value, text);
}

static const char *const known_sections[] = { "odeond", "executor", NULL };

int config_load(struct config *config, const struct options *options, char *text)
{
    int r;

    options_init(config);
    text[0] = '\0';
    if (options->developer) {
        r = options_be_small(config);
        if (r < 0) {
            snprintf(text, CONFIG_TEXT_MAX, "%s", strerror(-r));
            return r;
        }
    }
    if (options->config_path_given || access(options->config_path, F_OK) == 0 || errno != ENOENT) {
        struct options_file file = { .config = config, .path = options->config_path };

        r = config_read_file(file.path, known_sections, options_set_from_file, &file, text);
        if (r < 0)
            return r;
    }
    r = options_apply_command_line(config, options, text);
    config->argument_refused = r < 0 && r != -ENOMEM;
    return r;
}

void config_fini(struct config *config)
{
    free(config->executor_path);
    for (size_t i = 0; i < config->n_plugins; i++)
        free(config->plugins[i]);
    actor_lines_fini(&config->actors);
    setting_list_fini(&config->executor);
    *config = (struct config){ 0 };
}

static int options_parse_option(struct options *options, int option)
{
    switch (option) {
    case OPTION_FOREGROUND:
        options->foreground = true;
        return 0;
    case OPTION_DEVELOPER:
        options->developer = true;
        return 0;
    case OPTION_CHECK:
        options->check = true;
        return 0;
    case OPTION_DISCARD_STATE:
        options->discard_state = true;
        return 0;
    case OPTION_RUNTIME_DIR:
        return options_set_string(&options->runtime_dir, optarg);
    case OPTION_SOCKET:
        return options_set_string(&options->socket_path, optarg);
    case OPTION_CONFIG:
        options->config_path_given = true;
        return options_set_string(&options->config_path, optarg);
    }
    return 0; /* config_load() looks at the others */
}

static int options_fill_defaults(struct options *options)
{
    if (!options->runtime_dir && options_set_string(&options->runtime_dir, "/run/odeon") < 0)
        return -ENOMEM;
    if (!options->config_path && options_set_string(&options->config_path, ODEON_CONFIG_FILE) < 0)
        return -ENOMEM;
    if (!options->socket_path &&
        asprintf(&options->socket_path, "%s/control.sock", options->runtime_dir) < 0) {
        options->socket_path = NULL;
        return -ENOMEM;
    }
    return 0;
}

enum options_result options_parse(struct options *options, int argc, char **argv, char *text)
{
    int option, r = 0;

    *options = (struct options){ .argc = argc, .argv = argv };
    text[0] = '\0';
    opterr = 1;
    optind = 0;
    while (r == 0 && (option = getopt_long(argc, argv, "+", long_options, NULL)) >= 0) {
        if (option == OPTION_HELP) {
            fputs(usage, stdout);
            return OPTIONS_DONE;
        }
        if (option == OPTION_VERSION) {
            printf("odeond %s\n", ODEON_VERSION);
            return OPTIONS_DONE;
        }
        if (option == '?') /* getopt has said what */
            return OPTIONS_USAGE;
        r = options_parse_option(options, option);
    }
    if (r == 0 && optind < argc) {
        snprintf(text, OPTIONS_TEXT_MAX, "'%.200s': odeond takes options only (odeond --help)",
                 argv[optind]);
        return OPTIONS_USAGE;
    }
    if (options->developer && (!options->foreground || getenv("NOTIFY_SOCKET"))) {
        snprintf(text, OPTIONS_TEXT_MAX,
                 "--developer is for a terminal, with --foreground: a service of a service manager "
                 "loads copies, which nobody can change while they run");
        return OPTIONS_USAGE;
    }
    if (r == 0)
        r = options_fill_defaults(options);
    if (r < 0) {
        snprintf(text, OPTIONS_TEXT_MAX, "%s", strerror(-r));
        return OPTIONS_USAGE;
    }
    return OPTIONS_RUN;
}

void options_fini(struct options *options)
{
    free(options->runtime_dir);
    free(options->socket_path);
    free(options->config_path);
    *options = (struct options){ 0 };
}
