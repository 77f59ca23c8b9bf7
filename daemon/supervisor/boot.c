/* SPDX-License-Identifier: Apache-2.0 */
/* Starting executors; the interface is in boot.h. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/boot.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/drain.h"
#include "daemon/supervisor/options.h"
#include "daemon/supervisor/own_settings.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/safe_mode.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/seat_ports.h"
#include "daemon/supervisor/seat_settings.h"
#include "daemon/supervisor/start_actors.h"
#include "daemon/supervisor/watchdog.h"

enum { REFUSALS_MAX = 3 }; /* then it is gone on without the plugin */
enum { STARTS_LOOK_MS = 100 };

/* Only further than any start since the last one that served: one that dies over and over does not
 * get on. The manager has a time for the first start, and its watchdog for the others. */
static void boot_note_further(struct seat *seat, uint32_t reached, uint32_t *most)
{
    if (reached <= *most)
        return;
    *most = reached;
    if (seat->boot.boots > 0)
        watchdog_feed(seat);
    else
        seat->ops->further(seat);
}

/* The place in the list, from 1, of the plugin whose start runs; 0: none does. Loads that are not
 * over are shown in the same word (stats_layout.h). */
static uint32_t boot_find_start(const struct seat *seat)
{
    uint32_t left = atomic_load_explicit(&seat->stats.header->plugin_loading, memory_order_relaxed);
    uint32_t place = 0;

    if (seat->executor.state != LINK_STARTING || seat->executor.sent)
        return 0;
    for (size_t i = 0; i < seat->plugins.n; i++) {
        if (seat->plugins.list[i].left_out)
            continue;
        if (!seat->plugins.list[i].asked)
            return 0;
        if (left > 0 && --left == 0)
            place = (uint32_t)i + 1;
    }
    return place;
}

/* While they run the executor's loop answers nobody, so they are looked at: each has as much time
 * as a load. A timer of its own, as who watches nobody has a time for the first start, too. */
static void boot_on_starts_look(uv_timer_t *timer)
{
    struct seat *seat = timer->data;

    if (!seat->given_up)
        boot_note_further(seat, boot_find_start(seat), &seat->boot.starts_most);
}

/* The configuration names it, and what a former service had goes on without it. */
static bool boot_plugin_is_new(const struct seat *seat, const struct kept_plugin *plugin)
{
    return seat->service->persist->resumed && plugin->serial == 0 && plugin->replaces == 0;
}

/* A line of the configuration must not keep from the service what it had, if its plugin has been
 * loaded by hand from another file. Before what is loaded is recorded. */
static void boot_drop_new_refused(struct seat *seat)
{
    for (size_t i = seat->plugins.n; i-- > 0;) {
        struct kept_plugin *plugin = &seat->plugins.list[i];

        if (boot_plugin_is_new(seat, plugin) && !plugin->loaded && !plugin->left_out)
            plugin_store_remove(&seat->plugins, plugin);
    }
}

/* It runs nothing until it has been told so. */
static void boot_send_go_without(struct seat *seat)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Ok body = ODEON__OK__INIT;

    command.body_case = ODEON__COMMAND__BODY_GO_WITHOUT;
    command.go_without = &body;
    while (seat->boot.without > 0 && executor_link_send(&seat->executor, &command, NULL, 0) != 0)
        seat->boot.without--;
}

static void boot_go_without(struct seat *seat)
{
    seat->boot.without++;
    boot_send_go_without(seat);
}

static void boot_end_over_plugin(struct seat *seat)
{
    seat->boot.over_plugin = true;
    executor_link_kill(&seat->executor);
}

static void boot_on_plugin_refused(struct seat *seat, struct kept_plugin *plugin, int error)
{
    bool first = seat->boot.boots == 0, is_new = boot_plugin_is_new(seat, plugin);

    if (!first && ++plugin->refusals < REFUSALS_MAX)
        /* its actors have messages, and the loader took it before: it may lack memory alone */
        boot_end_over_plugin(seat);
    else if (!first)
        boot_go_without(seat);
    /* its name is that of one loaded by hand; where lines have gone it may be one of theirs */
    else if (error == -EEXIST && is_new && !seat->service->persist->has_dropped_lines) {
        log_warning("the line plugin = %s is left out until the next start: the service goes on "
                    "with the plugins that it had, those that were loaded by hand among them",
                    plugin->path);
        boot_go_without(seat);
    } else if (seat->service->persist->resumed)
        /* persist.R1: also one of a new line, as a line that names another file now leaves out what
         * was there before; of that nothing is forgotten until its actors can run */
        seat->ops->refuse(seat, is_new ? "a plugin is refused whose line in the configuration is "
                                         "new: put the line back or right"
                                       : "a plugin that the former service had is refused; its "
                                         "actors could not run");
    else
        seat->ops->fail(seat, "a configured plugin was refused; repair or remove it");
}

static void boot_on_plugin_answer(void *userdata, struct link_request *request, Odeon__Reply *reply)
{
    struct seat *seat = userdata;
    /* the list does not change during a start */
    struct kept_plugin *plugin = &seat->plugins.list[request->tag];

    if (reply->error == 0 && reply->body_case == ODEON__REPLY__BODY_PLUGIN && reply->plugin) {
        plugin->loaded = true;
        boot_note_further(seat, ++seat->boot.plugins, &seat->boot.plugins_most);
        if (plugin_store_set_name(plugin, reply->plugin->name) < 0)
            log_error("plugin %s: no memory for its name: it cannot be unloaded", plugin->path);
        registry_set_plugin_name(&seat->service->persist->registry, plugin->serial,
                                 reply->plugin->name);
        return;
    }
    if (reply->error == -ECONNRESET || reply->error == -ESHUTDOWN ||
        seat->boot.start_refused) /* the executor's end has its own line in the log */
        return;
    log_error("plugin %s is not loaded: %s", plugin->path,
              reply->text[0] ? reply->text : strerror(-reply->error));
    boot_on_plugin_refused(seat, plugin, reply->error);
}

static void boot_send_plugin(struct seat *seat, size_t index)
{
    const struct kept_plugin *plugin = &seat->plugins.list[index];
    Odeon__Request *request = calloc(1, sizeof(*request));
    Odeon__PluginLoad *load = calloc(1, sizeof(*load));
    char *path = strdup(plugin->path);
    int fd = fcntl(plugin->fd, F_DUPFD_CLOEXEC, 3), r = fd < 0 ? -errno : -ENOMEM;

    if (request && load && path && fd >= 0) {
        odeon__request__init(request);
        odeon__plugin_load__init(load);
        load->path = path;
        request->id = 1;
        request->body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
        request->plugin_load = load;
        r = executor_link_ask(&seat->executor, &(struct link_ask){ .tag = index,
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
    seat->plugins.list[index].asked = r == 0;
    if (r < 0 && channel_is_short(r))
        executor_link_try_later(&seat->executor, r);
    else if (r < 0) { /* the executor waits for as many as Start has announced */
        log_error("plugin %s cannot be sent to the executor: %s: it is started again", plugin->path,
                  strerror(-r));
        executor_link_kill(&seat->executor);
    }
}

static void boot_send_start(struct seat *seat)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Start start = ODEON__START__INIT;
    Odeon__Setting rows[SETTINGS_MAX], *list[SETTINGS_MAX];

    for (size_t i = 0; i < seat->settings.n; i++) {
        odeon__setting__init(&rows[i]);
        rows[i].key = seat->settings.list[i].key;
        rows[i].value = seat->settings.list[i].value;
        list[i] = &rows[i];
    }
    start.n_settings = seat->settings.n;
    start.settings = list;
    start.ports = seat_ports_count(seat);
    start.protocol = ODEON_EXECUTOR_PROTOCOL;
    start.death_explained = seat->boot.death_explained;
    start.developer = seat->service->config->developer;
    for (size_t i = 0; i < seat->plugins.n; i++)
        start.plugins += !seat->plugins.list[i].left_out;
    command.body_case = ODEON__COMMAND__BODY_START;
    command.start = &start;
    seat->boot.start_id = executor_link_send(
        &seat->executor, &command,
        (int[]){ seat->segment_fd, seat->stats.fd, seat->observed_fd, seat->boot.watch_fd },
        seat->boot.watch_fd >= 0 ? 4 : 3);
    seat->boot.start_sent = seat->boot.start_id != 0;
    if (seat->boot.start_sent)
        seat_ports_announce(seat);
}

/* What of a start has not been sent yet; the executor waits for as many ports and plugins as Start
 * has announced. */
static void boot_send_rest(struct seat *seat)
{
    if (!seat->boot.start_sent)
        boot_send_start(seat);
    if (!seat->boot.start_sent || !seat_ports_send_all(seat))
        return;
    for (size_t i = 0; i < seat->plugins.n; i++)
        if (!seat->plugins.list[i].left_out && !seat->plugins.list[i].asked) {
            boot_send_plugin(seat, i);
            if (!seat->plugins.list[i].asked) /* nor those behind it: plugin_store.P1 */
                return;
        }
    boot_send_go_without(seat);
}

void boot_go_on(struct seat *seat)
{
    if (seat->executor.state == LINK_STARTING && !seat->boot.start_refused)
        boot_send_rest(seat);
    boot_tell_log_level(seat);
}

void boot_tell_log_level(struct seat *seat)
{
    enum log_level level = seat->service->config->log_level;
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__LogLevel body = ODEON__LOG_LEVEL__INIT;

    if (seat->executor.state == LINK_DOWN || seat->boot.told_level == level)
        return;
    body.most = (uint32_t)level;
    command.body_case = ODEON__COMMAND__BODY_LOG_LEVEL;
    command.log_level = &body;
    if (executor_link_send(&seat->executor, &command, NULL, 0) != 0)
        seat->boot.told_level = level;
}

/* For whoever asks where the time of a start goes: the executor goes on from here. */
static void boot_note_step(struct seat *seat, enum start_step step, uint64_t now_ns)
{
    atomic_store_explicit(&seat->stats.header->start_ns[step], now_ns, memory_order_relaxed);
}

static int boot_start_executor(struct seat *seat)
{
    enum log_level level = seat->service->config->log_level;
    int r = executor_link_start(&seat->executor, seat->program, config_log_level_name(level));

    if (r < 0)
        return r;
    seat->boot.told_level = level;
    boot_note_step(seat, START_VERIFIED, 0); /* a former odeond may have left it ... */
    /* ... and this: what that one's executor loaded is not to be blamed for this one's end */
    atomic_store_explicit(&seat->stats.header->plugin_loading, 0, memory_order_relaxed);
    boot_note_step(seat, START_FORKED, uv_hrtime());
    uv_timer_start(&seat->boot.starts_timer, boot_on_starts_look, STARTS_LOOK_MS, STARTS_LOOK_MS);
    log_info("executor started, process %d", (int)seat->executor.child.pid);
    seat_set_state(seat, SERVICE_RECOVERING);
    boot_send_rest(seat);
    return 0;
}

static void boot_schedule_restart(struct seat *seat, uint64_t ready_for_ns);

static void boot_on_restart(uv_timer_t *timer)
{
    struct seat *seat = timer->data;
    int r;

    seat->boot.put_off = false;
    seat->boot.over_plugin = false;
    r = boot_start_executor(seat);
    if (r == 0)
        return;
    log_error("the executor cannot be started: %s: %s", seat->program, strerror(-r));
    boot_schedule_restart(seat, 0);
}

static void boot_schedule_restart(struct seat *seat, uint64_t ready_for_ns)
{
    uint64_t wait_ms = backoff_next_ns(&seat->boot.backoff, ready_for_ns,
                                       seat->service->config->restart_delay_max_ns) /
                       1000000;

    if (wait_ms > 0)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_EXECUTOR_DELAYED,
                  "the executor has died %u times in a row: the next start is in %llu ms; messages "
                  "wait, and the "
                  "service does not give up",
                  seat->boot.backoff.failures, (unsigned long long)wait_ms);
    seat->boot.put_off = ready_for_ns > 0 || seat->boot.over_plugin;
    uv_timer_start(&seat->boot.timer, boot_on_restart, wait_ms, 0);
}

static void boot_tell_restarted(struct seat *seat)
{
    Odeon__Event event = ODEON__EVENT__INIT;
    Odeon__ExecutorRestarted restarted = ODEON__EXECUTOR_RESTARTED__INIT;

    restarted.boots = seat->boot.boots;
    event.body_case = ODEON__EVENT__BODY_EXECUTOR_RESTARTED;
    event.executor_restarted = &restarted;
    clients_tell(seat->service->clients, &event);
}

static void boot_become_ready(struct seat *seat)
{
    struct seat_boot *boot = &seat->boot;

    boot->boots++;
    boot->plugins_most = boot->starts_most = 0;
    uv_timer_stop(&boot->starts_timer);
    executor_link_set_ready(&seat->executor);
    seat_ports_sync(seat);
    seat_set_state(seat, seat->stopping ? SERVICE_DRAINING : SERVICE_RUNNING);
    seat_update_counts(seat);
    seat->ops->ready(seat);
    if (boot->boots > 1) {
        log_event(LOG_LEVEL_NOTICE, CATALOGUE_EXECUTOR_BACK, "the executor is back (start %u)",
                  boot->boots);
        boot_tell_restarted(seat);
    }
    drain_on_ready(seat);
}

/* registry_layout.G7: plugins and settings are recorded before anybody has a port. */
static void boot_on_settled(struct line_waiter *waiter, int error)
{
    struct seat *seat = (struct seat *)((char *)waiter - offsetof(struct seat, boot.settling));
    struct setting_list own = { 0 };

    if (seat->given_up)
        return;
    own_settings_list(seat->service->config, &own);
    persist_record_settled(seat->service->persist, &seat->plugins, &seat->settings,
                           &seat->service->config->executor, &own, error);
    setting_list_fini(&own);
    start_actors_begin(seat, boot_become_ready);
}

/* Of those that it has; not before, or two that are refused in turn would end one for ever. */
static void boot_forget_refusals(struct seat *seat)
{
    for (size_t i = 0; i < seat->plugins.n; i++)
        if (seat->plugins.list[i].loaded)
            seat->plugins.list[i].refusals = 0;
}

static void boot_on_ready(struct seat *seat, const Odeon__Report *report)
{
    struct seat_boot *boot = &seat->boot;
    int r;

    boot->start_id = 0;
    /* over a plugin the service has failed meanwhile, or this one is being killed, or has ended: it
     * may have said that it is ready before, and whoever waits would be sent to one that ends */
    if (seat->given_up || seat->executor.killed || seat->executor.ended)
        return;
    boot->ready_ns = uv_hrtime();
    boot_forget_refusals(seat);
    safe_mode_on_ready(seat);
    seat_settings_note_kept(seat, report);
    if (boot->boots > 0) {
        start_actors_begin(seat, boot_become_ready);
        return;
    }
    boot_drop_new_refused(seat);
    plugin_store_sort(&seat->plugins); /* new lines may have come last (seat_make_plugins) */
    boot->settling.passed = boot_on_settled;
    r = persist_settle(seat->service->persist, &seat->plugins, &boot->settling);
    if (r < 0)
        boot_on_settled(&boot->settling, r);
}

/* The executor ends after that by itself. */
static void boot_on_start_refused(struct seat *seat, const Odeon__Report *report)
{
    const char *why =
        report->text[0] ? report->text : strerror(report->error < 0 ? -report->error : EPROTO);

    seat->boot.start_id = 0;
    seat->boot.start_refused = true;
    log_error("the executor refuses to start: %s", why);
    if (report->error == -EBUSY) /* a former executor is still dying: tried again */
        return;
    /* Neither another layout nor settings that do not fit get better by trying; messages may lie in
     * the segment, so this is said and not hidden behind an empty new one. */
    if (seat->boot.boots == 0 && seat->service->persist->resumed)
        seat->ops->refuse(seat, why);
    else if (report->error == -EPROTO || seat->boot.boots == 0)
        seat->ops->fail(
            seat, "the executor cannot use the engine segment or the settings; the log says why");
}

/* An answer to Start, of an executor of another build: what it has said means something else there.
 * It ends, the state stays. */
static void boot_on_other_version(struct seat *seat, const Odeon__Report *report)
{
    Odeon__Report refusal = ODEON__REPORT__INIT;
    char text[1024];

    snprintf(text, sizeof(text),
             "it speaks version %u of the protocol between odeond and its executor, this odeond "
             "%d: they are of two builds, install both of one%s%.256s",
             report->protocol, ODEON_EXECUTOR_PROTOCOL, report->text[0] ? "; it says: " : "",
             report->text);
    refusal.error = -EPROTO;
    refusal.text = text;
    boot_on_start_refused(seat, &refusal);
    executor_link_kill(&seat->executor);
}

bool boot_handle_report(struct seat *seat, const Odeon__Report *report)
{
    if (report->id == 0 || report->id != seat->boot.start_id)
        return false;
    if (report->protocol != ODEON_EXECUTOR_PROTOCOL)
        boot_on_other_version(seat, report);
    else if (report->body_case == ODEON__REPORT__BODY_READY && report->error == 0)
        boot_on_ready(seat, report);
    else
        boot_on_start_refused(seat, report);
    return true;
}

static void boot_say_held(const struct seat *seat)
{
    log_event(LOG_LEVEL_ERROR, CATALOGUE_EXECUTOR_HELD,
              "the executor stays down: it has stopped itself %u times (rule-stops-max); the "
              "segment is kept, messages wait, and a reload (SIGHUP) starts the next one",
              seat->boot.rule_stops.n);
}

/* It has ended by itself. `looked`: it had got as far as to look for suspects of the death before;
 * until then it has run no handler, and the death before is the one that is judged at the next
 * start (suspect.S2). True: another one may be started. */
static bool boot_judge_end(struct seat *seat, int wait_status, bool looked)
{
    struct rule_stops *stops = &seat->boot.rule_stops;
    char how[96], why[RULE_STOPS_TEXT_MAX];
    bool stopped = rule_stops_on_exit(stops, wait_status, uv_hrtime(),
                                      seat->service->config->rule_stops_max, why);

    if (looked)
        seat->boot.death_explained =
            stopped || executor_link_was_killed(&seat->executor, wait_status);
    child_describe_status(wait_status, how, sizeof(how));
    if (!stopped)
        log_event(LOG_LEVEL_ERROR, CATALOGUE_EXECUTOR_DIED,
                  "the executor has died: %s; it is started again and goes on where it was", how);
    else
        log_event(LOG_LEVEL_ERROR, CATALOGUE_EXECUTOR_DIED,
                  "the executor has stopped itself: %s; nobody is blamed%s", why,
                  stops->held ? "" : "; it is started again and goes on where it was");
    /* over a refusal it was odeond that ended it, whatever it was loading by then */
    seat->boot.over_plugin |= safe_mode_on_exit(seat, !stopped && !seat->boot.over_plugin);
    if (stops->held)
        boot_say_held(seat);
    return !stops->held;
}

void boot_on_exited(struct seat *seat, int wait_status)
{
    struct seat_boot *boot = &seat->boot;
    uint64_t ready_for_ns = boot->ready_ns ? uv_hrtime() - boot->ready_ns : 0;
    bool again, looked = atomic_load_explicit(&seat->stats.header->start_ns[START_VERIFIED],
                                              memory_order_relaxed) != 0;

    line_take_back(&boot->settling); /* of an executor that has gone */
    uv_timer_stop(&boot->starts_timer);
    boot->start_id = boot->ready_ns = 0;
    boot->plugins = boot->without = 0;
    boot->start_refused = boot->start_sent = false;
    for (unsigned step = 0; step < START_STEPS; step++)
        boot_note_step(seat, step, step == START_NOTICED ? uv_hrtime() : 0);
    start_actors_on_exited(seat);
    seat_ports_forget_commands(seat);
    for (size_t i = 0; i < seat->plugins.n; i++)
        seat->plugins.list[i].loaded = seat->plugins.list[i].asked = false;
    atomic_store_explicit(&seat->stats.header->executor_pid, 0, memory_order_relaxed);
    if (seat->stopping) {
        drain_on_exit(seat, wait_status);
        return;
    }
    if (seat->service->persist->refused)
        return;
    again = boot_judge_end(seat, wait_status, looked);
    boot->restarts++;
    atomic_store_explicit(&seat->stats.header->executor_restarts, boot->restarts,
                          memory_order_relaxed);
    seat_set_state(seat, SERVICE_EXECUTOR_DOWN);
    seat_update_counts(seat);
    if (again)
        boot_schedule_restart(seat, ready_for_ns);
}

void boot_init(struct seat *seat)
{
    seat->boot = (struct seat_boot){
        .restarts =
            atomic_load_explicit(&seat->stats.header->executor_restarts, memory_order_relaxed),
        .death_explained = true,
        .watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
    };
    uv_timer_init(seat->service->loop, &seat->boot.timer);
    uv_timer_init(seat->service->loop, &seat->boot.starts_timer);
    seat->boot.timer.data = seat->boot.starts_timer.data = seat;
}

int boot_begin(struct seat *seat)
{
    return boot_start_executor(seat);
}

void boot_release(struct seat *seat)
{
    if (!rule_stops_release(&seat->boot.rule_stops))
        return;
    log_notice("the executor, which was down over a broken rule, is started");
    boot_on_restart(&seat->boot.timer);
}

void boot_stop(struct seat *seat)
{
    uv_timer_stop(&seat->boot.timer);
    uv_timer_stop(&seat->boot.starts_timer);
}

void boot_fini(struct seat *seat)
{
    line_take_back(&seat->boot.settling);
    uv_close((uv_handle_t *)&seat->boot.timer, NULL);
    uv_close((uv_handle_t *)&seat->boot.starts_timer, NULL);
    if (seat->boot.watch_fd >= 0)
        close(seat->boot.watch_fd);
}
