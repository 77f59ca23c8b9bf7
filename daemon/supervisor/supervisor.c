/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor; the interface is in supervisor.h. */
#include <errno.h>
#include <odeon/version.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/segment.h"
#include "daemon/supervisor/supervisor.h"

const char *supervisor_state_name(enum service_state state)
{
    switch (state) {
    case SERVICE_STARTING:
        return "starting";
    case SERVICE_RECOVERING:
        return "recovering";
    case SERVICE_RUNNING:
        return "running";
    case SERVICE_DRAINING:
        return "draining";
    case SERVICE_EXECUTOR_DOWN:
        return "executor-down";
    case SERVICE_STOPPED:
        return "stopped";
    }
    return "unknown";
}

/* Readers look at one word at a time: relaxed. */
void supervisor_set_state(struct supervisor *supervisor, enum service_state state)
{
    atomic_store_explicit(&supervisor->stats.header->service_state, state, memory_order_relaxed);
    notify_update(supervisor);
}

enum service_state supervisor_get_state(const struct supervisor *supervisor)
{
    return (enum service_state)atomic_load_explicit(&supervisor->stats.header->service_state,
                                                    memory_order_relaxed);
}

uint32_t supervisor_count_ports(const struct supervisor *supervisor)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        n += supervisor->ports.ports[i].state == PORT_OPEN;
    return n;
}

void supervisor_update_counts(struct supervisor *supervisor)
{
    struct stats_header *header = supervisor->stats.header;

    atomic_store_explicit(&header->n_clients, supervisor->clients.n, memory_order_relaxed);
    atomic_store_explicit(&header->n_ports, supervisor_count_ports(supervisor),
                          memory_order_relaxed);
    atomic_store_explicit(&header->n_plugins,
                          (uint32_t)plugin_store_count_loaded(&supervisor->plugins),
                          memory_order_relaxed);
    notify_update(supervisor);
}

static bool supervisor_is_later(const Odeon__Reconfigured *answer, const char *key)
{
    for (size_t i = 0; answer && i < answer->n_later; i++)
        if (strcmp(answer->later[i], key) == 0)
            return true;
    return false;
}

static void supervisor_note_setting(struct supervisor *supervisor, const Odeon__Setting *setting)
{
    if (setting_list_set(&supervisor->settings, setting->key, setting->value) < 0)
        log_error(
            "setting %s is in force, but cannot be kept: a restart of the executor will lose it",
            setting->key);
}

static void supervisor_keep_settings(struct supervisor *supervisor)
{
    if (registry_put_settings(&supervisor->persist.registry, &supervisor->settings) < 0)
        log_error("the settings have no room in the registry: a restart of odeond will lose them");
}

void supervisor_note_kept(struct supervisor *supervisor, const Odeon__Report *report)
{
    for (size_t i = 0; i < report->n_kept; i++)
        supervisor_note_setting(supervisor, report->kept[i]);
    supervisor_keep_settings(supervisor);
}

void supervisor_note_settings(struct supervisor *supervisor, const Odeon__ExecutorSet *set,
                              const Odeon__Reconfigured *answer)
{
    for (size_t i = 0; i < set->n_settings; i++)
        if (!supervisor_is_later(answer, set->settings[i]->key))
            supervisor_note_setting(supervisor, set->settings[i]);
    supervisor_keep_settings(supervisor);
}

void supervisor_stop_listening(struct supervisor *supervisor)
{
    listener_stop(supervisor);
    runtime_stop_listening(&supervisor->runtime);
}

static void supervisor_on_signal(uv_signal_t *handle, int signal)
{
    struct supervisor *supervisor = handle->data;

    if (signal == SIGHUP && !supervisor->stopping)
        reload_begin(supervisor);
    else if (signal != SIGHUP)
        shutdown_begin(supervisor, signal == SIGTERM ? "SIGTERM" : "SIGINT");
}

static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

/* The end is decided: a signal that comes now must not turn it into a death by that signal. */
static void supervisor_block_late_signals(void)
{
    sigset_t late;

    sigemptyset(&late);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&late, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &late, NULL);
}

static int supervisor_start_signals(struct supervisor *supervisor)
{

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        int r = uv_signal_init(&supervisor->loop, &supervisor->signals[i]);

        supervisor->signals[i].data = supervisor;
        if (r == 0)
            r = uv_signal_start(&supervisor->signals[i], supervisor_on_signal, signals[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Clients and ports together need more descriptors than the usual soft limit allows. */
static void supervisor_raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        log_warning("the limit of open descriptors cannot be raised: %s", strerror(errno));
}

/* Those that a former service has not left; after a crash it has left all that there are. */
static int supervisor_load_plugin_files(struct supervisor *supervisor)
{
    struct persist *persist = &supervisor->persist;
    char text[PLUGIN_TEXT_MAX];

    if (persist->resumed && !persist->clean)
        return 0;
    for (size_t i = 0; i < supervisor->config.n_plugins; i++) {
        struct kept_plugin *plugin;
        int fd;

        if (plugin_store_find_path(&supervisor->plugins, supervisor->config.plugins[i]))
            continue;
        fd = plugin_copy(supervisor->config.plugins[i], -1, text);

        if (fd < 0) {
            log_error("%s", text);
            return fd;
        }
        plugin = plugin_store_add(&supervisor->plugins, NULL, supervisor->config.plugins[i], fd);
        if (!plugin)
            return -ENOMEM;
        plugin->configured = true;
    }
    return 0;
}

/* What an executor needs before there can be one. */
static int supervisor_make_memory(struct supervisor *supervisor)
{
    char text[SEGMENT_TEXT_MAX] = "";
    uint64_t size = 0;
    int r;

    r = child_find_program(supervisor->config.executor_path, supervisor->executor_path,
                           sizeof(supervisor->executor_path), text, sizeof(text));
    if (r == 0 && supervisor->segment_fd < 0 && !supervisor->persist.refused) {
        r = segment_ask_size(supervisor->executor_path, &supervisor->settings, &size, text);
        if (r == 0 && !supervisor->options.check)
            r = supervisor->segment_fd = segment_make(size, text);
    }
    if (r < 0)
        log_error("%s", text);
    if (r < 0 || supervisor->options.check)
        return r;
    r = stats_file_make(&supervisor->stats, supervisor->runtime.stats_path,
                        supervisor->persist.stats_fd);
    if (supervisor->persist.stats_fd >= 0)
        close(supervisor->persist.stats_fd);
    supervisor->persist.stats_fd = -1;
    if (r < 0)
        log_error("statistics %s: %s", supervisor->runtime.stats_path, strerror(-r));
    return r;
}

static int supervisor_open_runtime(struct supervisor *supervisor)
{
    char text[RUNTIME_TEXT_MAX] = "";
    int r = runtime_open(&supervisor->runtime, supervisor->options.runtime_dir,
                         supervisor->options.socket_path, text);

    if (r < 0)
        log_error("%s", text);
    return r;
}

static int supervisor_start_serving(struct supervisor *supervisor)
{
    char text[RUNTIME_TEXT_MAX] = "";
    int r = persist_restore_clients(supervisor);

    if (r < 0) {
        log_error(
            "the clients of the former service cannot be taken up now, they stay as they are: %s",
            strerror(-r));
        return r;
    }
    if (supervisor->persist.refused)
        return supervisor_start_signals(supervisor);
    supervisor->runtime.socket_mode = supervisor->config.socket_mode;
    supervisor->runtime.socket_group = supervisor->config.socket_group;
    r = runtime_listen(&supervisor->runtime, supervisor->persist.listener_fd, text);
    supervisor->persist.listener_fd = -1;
    if (r < 0) {
        log_error("%s", text);
        return r;
    }
    r = listener_start(supervisor, supervisor->runtime.listen_fd);
    if (r == 0)
        r = supervisor_start_signals(supervisor);
    if (r < 0) {
        log_error("event loop: %s", uv_strerror(r));
        return r;
    }
    persist_close_departed(supervisor);
    r = boot_begin(supervisor);
    if (r < 0)
        log_error("the executor cannot be started: %s: %s", supervisor->executor_path,
                  strerror(-r));
    return r;
}

void supervisor_finish(struct supervisor *supervisor)
{
    if (supervisor->finished)
        return;
    supervisor->finished = true;
    uv_stop(&supervisor->loop);
}

void supervisor_fail(struct supervisor *supervisor, const char *why)
{
    if (supervisor->finished)
        return;
    log_event(LOG_LEVEL_ERROR, CATALOGUE_SERVICE_FAILED, "the service ends: %s", why);
    supervisor->exit_status = 1;
    if (supervisor->stopping)
        return;
    supervisor->stopping = true;
    supervisor->shutdown.drained = supervisor->shutdown.complete =
        true; /* nothing is going to be: the line above says why */
    boot_stop(supervisor);
    if (supervisor->executor.child.pid)
        executor_link_kill(&supervisor->executor); /* its end leads on */
    else
        supervisor_finish(supervisor);
}

/* The loop's handles, in any state of their start. */
static void supervisor_close_handle(uv_handle_t *handle, void *userdata)
{
    (void)userdata;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void supervisor_run_loop(struct supervisor *supervisor)
{
    notify_init(supervisor, !supervisor->options.foreground);
    watchdog_init(supervisor);
    shutdown_init(supervisor);
    boot_init(supervisor);
    clients_start(supervisor);
    executor_link_init(&supervisor->executor, &supervisor->loop, &boot_executor_ops, supervisor);
    if (supervisor_start_serving(supervisor) < 0)
        supervisor->exit_status = 1;
    else
        uv_run(&supervisor->loop, UV_RUN_DEFAULT);
    persist_end(supervisor);
    supervisor->stopping = true;
    supervisor_stop_listening(supervisor);
    executor_link_fini(&supervisor->executor);
    clients_drop_all(supervisor);
    boot_fini(supervisor);
    shutdown_fini(supervisor);
    reload_fini(supervisor);
    watchdog_fini(supervisor);
    notify_fini(supervisor);
    supervisor_set_state(supervisor, SERVICE_STOPPED);
    atomic_store_explicit(&supervisor->stats.header->executor_pid, 0, memory_order_relaxed);
    atomic_store_explicit(&supervisor->stats.header->supervisor_pid, 0, memory_order_relaxed);
    supervisor_block_late_signals();
    uv_walk(&supervisor->loop, supervisor_close_handle, NULL);
    uv_run(&supervisor->loop, UV_RUN_DEFAULT); /* until every handle is closed */
}

static int supervisor_prepare(struct supervisor *supervisor)
{
    char text[OPTIONS_TEXT_MAX] = "";
    int r = config_load(&supervisor->config, &supervisor->options, text);

    if (r < 0) {
        log_error("%s", text);
        return r;
    }
    log_open("odeond", supervisor->config.log_level);
    if (supervisor->options.check)
        r = setting_list_merge(&supervisor->settings, &supervisor->config.executor);
    else
        r = persist_begin(supervisor);
    if (r == 0 && !supervisor->options.check)
        r = supervisor_open_runtime(supervisor);
    if (r == 0)
        r = supervisor_make_memory(supervisor);
    if (r == 0 && !supervisor->options.check)
        r = persist_publish(supervisor);
    if (r == 0 && !supervisor->options.check && !supervisor->persist.refused)
        r = supervisor_load_plugin_files(supervisor);
    return r;
}

static void supervisor_release_all(struct supervisor *supervisor)
{
    port_table_fini(&supervisor->ports);
    persist_fini(supervisor);
    accounts_fini(&supervisor->accounts);
    plugin_store_fini(&supervisor->plugins);
    if (supervisor->segment_fd >= 0)
        close(supervisor->segment_fd);
    stats_file_fini(&supervisor->stats);
    runtime_close(&supervisor->runtime);
    setting_list_fini(&supervisor->settings);
    config_fini(&supervisor->config);
    options_fini(&supervisor->options);
}

int supervisor_run(struct options *options)
{
    struct supervisor *supervisor = calloc(1, sizeof(*supervisor));
    int status;

    log_open("odeond", LOG_LEVEL_INFO);
    if (!supervisor) {
        log_error("no memory");
        return 1;
    }
    supervisor->options = *options;
    *options = (struct options){ 0 };
    supervisor->runtime.lock_fd = supervisor->runtime.listen_fd = supervisor->stats.fd =
        supervisor->segment_fd = -1;
    supervisor->persist.stats_fd = supervisor->persist.listener_fd =
        supervisor->persist.registry.fd = -1;
    supervisor->started_ns = uv_hrtime();
    clients_init(&supervisor->clients);
    port_table_init(&supervisor->ports);
    supervisor_raise_descriptor_limit();
    if (supervisor_prepare(supervisor) < 0) {
        supervisor->exit_status = 1;
    } else if (supervisor->options.check) {
        log_notice("the configuration is in order");
    } else if (uv_loop_init(&supervisor->loop) < 0) {
        log_error("event loop: no memory or descriptors");
        supervisor->exit_status = 1;
    } else {
        log_notice("odeond %s on %s", ODEON_VERSION, supervisor->runtime.dir);
        supervisor_run_loop(supervisor);
        uv_loop_close(&supervisor->loop);
        log_notice("stopped");
    }
    status = supervisor->exit_status;
    supervisor_release_all(supervisor);
    free(supervisor);
    return status;
}
