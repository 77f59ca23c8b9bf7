/* SPDX-License-Identifier: Apache-2.0 */
/* Starting executors; the interface is in boot.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/boot.h"
#include "daemon/supervisor/ports.h"
#include "daemon/supervisor/safe_mode.h"
#include "daemon/supervisor/shutdown.h"
#include "daemon/supervisor/start_delay.h"
#include "daemon/supervisor/supervisor.h"

enum { REFUSALS_MAX = 3 }; /* then it is gone on without the plugin */

static void boot_on_plugin_answer(void *userdata, struct link_request *request, Odeon__Reply *reply)
{
    struct supervisor *supervisor = userdata;
    /* the list does not change during a start */
    struct kept_plugin *plugin = &supervisor->plugins.list[request->tag];

    if (reply->error == 0 && reply->body_case == ODEON__REPLY__BODY_PLUGIN && reply->plugin) {
        plugin->loaded = true;
        plugin->refusals = 0;
        if (plugin_store_set_name(plugin, reply->plugin->name) < 0)
            log_error("plugin %s: no memory for its name: it cannot be unloaded", plugin->path);
        registry_set_plugin_name(&supervisor->persist.registry, plugin->serial,
                                 reply->plugin->name);
        return;
    }
    if (reply->error == -ECONNRESET || reply->error == -ESHUTDOWN ||
        supervisor->boot.start_refused) /* the executor's end has its own line in the log */
        return;
    log_error("plugin %s is not loaded: %s", plugin->path,
              reply->text[0] ? reply->text : strerror(-reply->error));
    if (supervisor->boot.boots > 0 && ++plugin->refusals < REFUSALS_MAX)
        /* its actors have messages, and the loader took it before: it may lack memory alone */
        executor_link_kill(&supervisor->executor);
    else if (supervisor->boot.boots == 0 && supervisor->persist.resumed)
        persist_refuse(supervisor,
                       "a plugin that the former service had is refused; its actors could not run");
    else if (supervisor->boot.boots == 0)
        supervisor_fail(supervisor, "a configured plugin was refused; repair or remove it");
}

static void boot_send_plugin(struct supervisor *supervisor, size_t index)
{
    const struct kept_plugin *plugin = &supervisor->plugins.list[index];
    Odeon__Request *request = calloc(1, sizeof(*request));
    Odeon__PluginLoad *load = calloc(1, sizeof(*load));
    char *path = strdup(plugin->path);
    int fd = fcntl(plugin->fd, F_DUPFD_CLOEXEC, 3), r = -ENOMEM;

    if (request && load && path && fd >= 0) {
        odeon__request__init(request);
        odeon__plugin_load__init(load);
        load->path = path;
        request->id = 1;
        request->body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
        request->plugin_load = load;
        r = executor_link_ask(&supervisor->executor,
                              &(struct link_ask){ .tag = index,
                                                  .request = request,
                                                  .fd = fd,
                                                  .now = true,
                                                  .done = boot_on_plugin_answer });
    } else {
        free(request);
        free(load);
        free(path);
        if (fd >= 0)
            close(fd);
    }
    if (r < 0) { /* the executor waits for as many as Start has announced */
        log_error("plugin %s cannot be sent to the executor: %s: it is started again", plugin->path,
                  strerror(-r));
        executor_link_kill(&supervisor->executor);
    }
}

static void boot_send_start(struct supervisor *supervisor)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Start start = ODEON__START__INIT;
    Odeon__Setting rows[SETTINGS_MAX], *list[SETTINGS_MAX];

    for (size_t i = 0; i < supervisor->settings.n; i++) {
        odeon__setting__init(&rows[i]);
        rows[i].key = supervisor->settings.list[i].key;
        rows[i].value = supervisor->settings.list[i].value;
        list[i] = &rows[i];
    }
    start.n_settings = supervisor->settings.n;
    start.settings = list;
    start.ports = ports_count(supervisor);
    for (size_t i = 0; i < supervisor->plugins.n; i++)
        start.plugins += !supervisor->plugins.list[i].left_out;
    command.body_case = ODEON__COMMAND__BODY_START;
    command.start = &start;
    supervisor->boot.start_id = executor_link_send(
        &supervisor->executor, &command,
        (int[]){ supervisor->segment_fd, supervisor->stats.fd, supervisor->boot.watch_fd },
        supervisor->boot.watch_fd >= 0 ? 3 : 2);
}

/* For whoever asks where the time of a start goes: the executor goes on from here. */
static void boot_note_step(struct supervisor *supervisor, enum start_step step, uint64_t now_ns)
{
    atomic_store_explicit(&supervisor->stats.header->start_ns[step], now_ns, memory_order_relaxed);
}

static int boot_start_executor(struct supervisor *supervisor)
{
    int r = executor_link_start(&supervisor->executor, supervisor->executor_path,
                                config_log_level_name(supervisor->config.log_level));

    if (r < 0)
        return r;
    boot_note_step(supervisor, START_FORKED, uv_hrtime());
    log_info("executor started, process %d", (int)supervisor->executor.child.pid);
    supervisor_set_state(supervisor, SERVICE_RECOVERING);
    boot_send_start(supervisor);
    ports_send_all(supervisor);
    for (size_t i = 0; i < supervisor->plugins.n; i++)
        if (!supervisor->plugins.list[i].left_out)
            boot_send_plugin(supervisor, i);
    return 0;
}

static void boot_schedule_restart(struct supervisor *supervisor, uint64_t ready_for_ns);

static void boot_on_restart(uv_timer_t *timer)
{
    struct supervisor *supervisor = timer->data;
    int r = boot_start_executor(supervisor);

    if (r == 0)
        return;
    log_error("the executor cannot be started: %s: %s", supervisor->executor_path, strerror(-r));
    boot_schedule_restart(supervisor, 0);
}

static void boot_schedule_restart(struct supervisor *supervisor, uint64_t ready_for_ns)
{
    uint64_t wait_ms = backoff_next_ns(&supervisor->boot.backoff, ready_for_ns,
                                       supervisor->config.restart_delay_max_ns) /
                       1000000;

    if (wait_ms > 0)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_EXECUTOR_DELAYED,
                  "the executor has died %u times in a row: the next start is in %llu ms; messages "
                  "wait, and the "
                  "service does not give up",
                  supervisor->boot.backoff.failures, (unsigned long long)wait_ms);
    uv_timer_start(&supervisor->boot.timer, boot_on_restart, wait_ms, 0);
}

static void boot_tell_restarted(struct supervisor *supervisor)
{
    Odeon__Event event = ODEON__EVENT__INIT;
    Odeon__ExecutorRestarted restarted = ODEON__EXECUTOR_RESTARTED__INIT;

    restarted.boots = supervisor->boot.boots;
    event.body_case = ODEON__EVENT__BODY_EXECUTOR_RESTARTED;
    event.executor_restarted = &restarted;
    clients_tell(supervisor, &event);
}

static void boot_on_ready(struct supervisor *supervisor, const Odeon__Report *report)
{
    struct boot *boot = &supervisor->boot;

    boot->start_id = 0;
    /* the service has failed meanwhile, over a plugin: this one is being killed */
    if (supervisor->exit_status != 0)
        return;
    boot->ready_ns = uv_hrtime();
    safe_mode_on_ready(supervisor);
    boot->boots++;
    supervisor_note_kept(supervisor, report);
    if (boot->boots == 1)
        persist_settle(supervisor);
    executor_link_set_ready(&supervisor->executor);
    ports_sync(supervisor);
    supervisor_set_state(supervisor, supervisor->stopping ? SERVICE_DRAINING : SERVICE_RUNNING);
    supervisor_update_counts(supervisor);
    if (boot->boots == 1) {
        log_event(LOG_LEVEL_NOTICE, CATALOGUE_SERVICE_READY, "ready: clients can connect to %s",
                  supervisor->runtime.socket_path);
        notify_ready(supervisor);
        start_delay_forget(supervisor->runtime.dir);
    } else {
        log_event(LOG_LEVEL_NOTICE, CATALOGUE_EXECUTOR_BACK, "the executor is back (start %u)",
                  boot->boots);
        boot_tell_restarted(supervisor);
    }
    shutdown_on_ready(supervisor);
}

/* The executor ends after that by itself. */
static void boot_on_start_refused(struct supervisor *supervisor, const Odeon__Report *report)
{
    const char *why =
        report->text[0] ? report->text : strerror(report->error < 0 ? -report->error : EPROTO);

    supervisor->boot.start_id = 0;
    supervisor->boot.start_refused = true;
    log_error("the executor refuses to start: %s", why);
    if (report->error == -EBUSY) /* a former executor is still dying: tried again */
        return;
    /* Neither another layout nor settings that do not fit get better by trying; messages may lie in
     * the segment, so this is said and not hidden behind an empty new one. */
    if (supervisor->boot.boots == 0 && supervisor->persist.resumed)
        persist_refuse(supervisor, why);
    else if (report->error == -EPROTO || supervisor->boot.boots == 0)
        supervisor_fail(
            supervisor,
            "the executor cannot use the engine segment or the settings; the log says why");
}

static void boot_on_quota_hit(struct supervisor *supervisor, const Odeon__QuotaHit *hit)
{
    struct client *client = clients_find(&supervisor->clients, hit->client_id);
    char what[128];

    snprintf(what, sizeof(what), "is served more slowly: its user's quota-%.60s", hit->quota);
    if (client)
        client_blame(client, what);
}

static void boot_on_report(void *userdata, const Odeon__Report *report)
{
    struct supervisor *supervisor = userdata;

    if (report->id != 0 && report->id == supervisor->boot.start_id) {
        if (report->body_case == ODEON__REPORT__BODY_READY && report->error == 0)
            boot_on_ready(supervisor, report);
        else
            boot_on_start_refused(supervisor, report);
        return;
    }
    /* it has not taken the ports either, which says nothing about them */
    if (supervisor->boot.start_refused)
        return;
    if (report->body_case == ODEON__REPORT__BODY_RULE_BROKEN) {
        rule_stops_note(&supervisor->boot.rule_stops, report->rule_broken);
        return;
    }
    if (report->body_case == ODEON__REPORT__BODY_QUOTA_HIT) {
        boot_on_quota_hit(supervisor, report->quota_hit);
        return;
    }
    if (ports_handle_report(supervisor, report) || shutdown_handle_report(supervisor, report) ||
        watchdog_handle_report(supervisor, report))
        return;
    log_debug("a report of the executor is about nothing known (command %llu)",
              (unsigned long long)report->id);
}

static void boot_say_held(const struct supervisor *supervisor)
{
    log_event(LOG_LEVEL_ERROR, CATALOGUE_EXECUTOR_HELD,
              "the executor stays down: it has stopped itself %u times (rule-stops-max); the "
              "segment is kept, messages wait, and a reload (SIGHUP) starts the next one",
              supervisor->boot.rule_stops.n);
}

/* It has ended by itself.  True: another one may be started. */
static bool boot_judge_end(struct supervisor *supervisor, int wait_status)
{
    struct rule_stops *stops = &supervisor->boot.rule_stops;
    char how[96], why[RULE_STOPS_TEXT_MAX];
    bool stopped =
        rule_stops_on_exit(stops, wait_status, uv_hrtime(), supervisor->config.rule_stops_max, why);

    child_describe_status(wait_status, how, sizeof(how));
    if (!stopped)
        log_event(LOG_LEVEL_ERROR, CATALOGUE_EXECUTOR_DIED,
                  "the executor has died: %s; it is started again and goes on where it was", how);
    else
        log_event(LOG_LEVEL_ERROR, CATALOGUE_EXECUTOR_DIED,
                  "the executor has stopped itself: %s; nobody is blamed%s", why,
                  stops->held ? "" : "; it is started again and goes on where it was");
    safe_mode_on_exit(supervisor, !stopped);
    if (stops->held)
        boot_say_held(supervisor);
    return !stops->held;
}

static void boot_on_exited(void *userdata, int wait_status)
{
    struct supervisor *supervisor = userdata;
    struct boot *boot = &supervisor->boot;
    uint64_t ready_for_ns = boot->ready_ns ? uv_hrtime() - boot->ready_ns : 0;
    bool again;

    boot->start_id = boot->ready_ns = 0;
    boot->start_refused = false;
    for (unsigned step = 0; step < START_STEPS; step++)
        boot_note_step(supervisor, step, step == START_NOTICED ? uv_hrtime() : 0);
    ports_forget_commands(supervisor);
    for (size_t i = 0; i < supervisor->plugins.n; i++)
        supervisor->plugins.list[i].loaded = false;
    atomic_store_explicit(&supervisor->stats.header->executor_pid, 0, memory_order_relaxed);
    if (supervisor->stopping) {
        shutdown_on_exit(supervisor, wait_status);
        return;
    }
    if (supervisor->persist.refused)
        return;
    again = boot_judge_end(supervisor, wait_status);
    boot->restarts++;
    atomic_store_explicit(&supervisor->stats.header->executor_restarts, boot->restarts,
                          memory_order_relaxed);
    supervisor_set_state(supervisor, SERVICE_EXECUTOR_DOWN);
    supervisor_update_counts(supervisor);
    if (again)
        boot_schedule_restart(supervisor, ready_for_ns);
}

const struct link_ops boot_executor_ops = { .report = boot_on_report, .exited = boot_on_exited };

void boot_init(struct supervisor *supervisor)
{
    supervisor->boot = (struct boot){
        .restarts = atomic_load_explicit(&supervisor->stats.header->executor_restarts,
                                         memory_order_relaxed),
        .watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
    };
    uv_timer_init(&supervisor->loop, &supervisor->boot.timer);
    supervisor->boot.timer.data = supervisor;
}

int boot_begin(struct supervisor *supervisor)
{
    return boot_start_executor(supervisor);
}

void boot_release(struct supervisor *supervisor)
{
    if (!rule_stops_release(&supervisor->boot.rule_stops))
        return;
    log_notice("the executor, which was down over a broken rule, is started");
    boot_on_restart(&supervisor->boot.timer);
}

void boot_stop(struct supervisor *supervisor)
{
    uv_timer_stop(&supervisor->boot.timer);
}

void boot_fini(struct supervisor *supervisor)
{
    uv_close((uv_handle_t *)&supervisor->boot.timer, NULL);
    if (supervisor->boot.watch_fd >= 0)
        close(supervisor->boot.watch_fd);
}
