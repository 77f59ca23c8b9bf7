/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor; the interface is in supervisor.h. */
#include "daemon/supervisor/supervisor.h"

#include <errno.h>
#include <odeon/version.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include "daemon/common/check.h"
#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/common/memory_limit.h"
#include "daemon/supervisor/boot.h"
#include "daemon/supervisor/closer.h"
#include "daemon/supervisor/commands.h"
#include "daemon/supervisor/commands_port.h"
#include "daemon/supervisor/config_reader.h"
#include "daemon/supervisor/copier.h"
#include "daemon/supervisor/drain.h"
#include "daemon/supervisor/line.h"
#include "daemon/supervisor/load_watch.h"
#include "daemon/supervisor/reports.h"
#include "daemon/supervisor/resume.h"
#include "daemon/supervisor/seat_make.h"
#include "daemon/supervisor/seat_ports.h"
#include "daemon/supervisor/start_actors.h"
#include "daemon/supervisor/start_delay.h"
#include "daemon/supervisor/turns.h"
#include "daemon/supervisor/watchdog.h"

/* one wish may arrive twice: sent to the process and to its group */
#define REPEAT_NS UINT64_C(200000000)

#define each_seat(seat_, supervisor_)                                                              \
    (struct seat *seat_ = (supervisor_)->seats; seat_ < (supervisor_)->seats + SEATS; seat_++)

/* Whose a client's requests are, what is kept, and what a reload changes: as long as there is one
 * seat, no question. */
static struct seat *supervisor_only_seat(struct supervisor *supervisor)
{
    _Static_assert(SEATS == 1, "somebody has to say which");
    return &supervisor->seats[0];
}

/* ---- the end */

static void supervisor_stop_listening(struct supervisor *supervisor)
{
    listener_stop(&supervisor->listener);
    runtime_stop_listening(&supervisor->runtime);
}

/* The loop ends; the executors must have ended. */
static void supervisor_finish(struct supervisor *supervisor)
{
    if (supervisor->finished)
        return;
    supervisor->finished = true;
    uv_stop(&supervisor->loop);
}

static uint64_t supervisor_drain_most_ns(struct supervisor *supervisor)
{
    uint64_t most = 0;

    for
        each_seat(seat, supervisor) if (drain_most_ns(seat) > most) most = drain_most_ns(seat);
    return most;
}

static void supervisor_stop(struct supervisor *supervisor, const char *why)
{
    uint64_t now = uv_hrtime();

    if (supervisor->stopping_ns) {
        if (now - supervisor->stopping_ns < REPEAT_NS)
            return;
        log_warning("%s again: the executor is killed, nothing more is drained", why);
        for
            each_seat(seat, supervisor) drain_cut_short(seat);
        return;
    }
    log_notice("%s: the service drains and stops", why);
    supervisor->stopping_ns = now;
    /* However this end goes on, and whether this start has been in force: the next one goes by the
     * configuration, which may have been edited for it. */
    if (!supervisor->persist.refused)
        registry_forget_own(&supervisor->persist.registry);
    notify_stopping(&supervisor->notify, supervisor_drain_most_ns(supervisor));
    supervisor_stop_listening(supervisor);
    for
        each_seat(seat, supervisor)
        {
            boot_stop(seat);
            drain_begin(seat);
        }
}

/* ---- what seats tell */

static void supervisor_on_seat_changed(struct seat *seat)
{
    struct supervisor *supervisor = seat->userdata;

    notify_update(&supervisor->notify);
}

static void supervisor_on_seat_further(struct seat *seat)
{
    struct supervisor *supervisor = seat->userdata;

    notify_starting(&supervisor->notify);
}

static void supervisor_on_seat_ready(struct seat *seat)
{
    struct supervisor *supervisor = seat->userdata;

    if (seat->boot.boots > 1)
        return;
    for
        each_seat(other, supervisor) if (other->boot.boots == 0) return;
    log_event(LOG_LEVEL_NOTICE, CATALOGUE_SERVICE_READY, "ready: clients can connect to %s",
              supervisor->runtime.socket_path);
    turns_count_from_now();
    notify_ready(&supervisor->notify);
    start_delay_forget(supervisor->runtime.dir);
}

static void supervisor_on_seat_ended(struct seat *seat)
{
    struct supervisor *supervisor = seat->userdata;

    for
        each_seat(other, supervisor) if (other->executor.child.pid) return;
    supervisor_finish(supervisor);
}

static void supervisor_on_seat_alive(struct seat *seat)
{
    struct supervisor *supervisor = seat->userdata;

    supervisor->alive[seat - supervisor->seats] = true;
    for (unsigned i = 0; i < SEATS; i++)
        if (!supervisor->alive[i])
            return;
    memset(supervisor->alive, 0, sizeof(supervisor->alive));
    notify_alive();
}

/* An executor that is not ready is of no use to a stop: nothing drains in it, and nobody makes it
 * ready any more. */
static void supervisor_cut_starts_short(struct supervisor *supervisor)
{
    for
        each_seat(seat, supervisor) if (seat->executor.state == LINK_STARTING)
            drain_cut_short(seat);
}

/* Cannot go on: what runs is killed, unless it drains, and the service ends with exit status 1. */
static void supervisor_on_seat_failed(struct seat *failed, const char *why)
{
    struct supervisor *supervisor = failed->userdata;

    if (supervisor->finished)
        return;
    log_event(LOG_LEVEL_ERROR, CATALOGUE_SERVICE_FAILED, "the service ends: %s", why);
    supervisor->exit_status = 1;
    for
        each_seat(seat, supervisor) seat->given_up =
            true; /* nothing is going to be drained: the line above says why */
    if (supervisor->stopping_ns) {
        supervisor_cut_starts_short(supervisor);
        return;
    }
    supervisor->stopping_ns = uv_hrtime();
    for
        each_seat(seat, supervisor)
        {
            seat->stopping = true;
            boot_stop(seat);
            drain_cut_short(seat); /* its end leads on */
        }
}

/* The service only waits for its end: persist.R1. */
static void supervisor_on_seat_refused(struct seat *refused, const char *why)
{
    struct supervisor *supervisor = refused->userdata;

    if (!persist_refuse(&supervisor->persist, why))
        return;
    supervisor->exit_status = 1;
    supervisor_stop_listening(supervisor);
    for
        each_seat(seat, supervisor)
        {
            seat->given_up = true;
            executor_link_kill(&seat->executor);
        }
}

static const struct seat_ops supervisor_seat_ops = {
    .changed = supervisor_on_seat_changed,
    .further = supervisor_on_seat_further,
    .ready = supervisor_on_seat_ready,
    .ended = supervisor_on_seat_ended,
    .alive = supervisor_on_seat_alive,
    .fail = supervisor_on_seat_failed,
    .refuse = supervisor_on_seat_refused,
};

static void supervisor_on_report(void *userdata, const Odeon__Report *report)
{
    reports_handle(userdata, report);
}

static void supervisor_on_ended(void *userdata, int wait_status)
{
    load_watch_on_end(userdata, wait_status);
}

static void supervisor_on_exited(void *userdata, int wait_status)
{
    boot_on_exited(userdata, wait_status);
}

static void supervisor_on_again(void *userdata)
{
    struct seat *seat = userdata;

    boot_go_on(seat);
    if (seat->executor.state == LINK_READY)
        seat_ports_sync(seat);
    start_actors_go_on(seat);
    drain_go_on(seat);
}

static const struct link_ops supervisor_link_ops = { .report = supervisor_on_report,
                                                     .ended = supervisor_on_ended,
                                                     .exited = supervisor_on_exited,
                                                     .again = supervisor_on_again };

/* ---- what clients do */

static void supervisor_on_client_frame(void *userdata, struct client *client, struct frame *frame)
{
    commands_handle(supervisor_only_seat(userdata), client, frame);
}

static void supervisor_on_client_gone(void *userdata, struct client *client)
{
    struct supervisor *supervisor = userdata;

    for
        each_seat(seat, supervisor)
        {
            port_waits_forget(&seat->waits, client->id);
            seat_ports_close_of_client(seat, client->id);
        }
    persist_forget_client(&supervisor->persist, client);
}

static void supervisor_on_clients_changed(void *userdata)
{
    struct supervisor *supervisor = userdata;

    for
        each_seat(seat, supervisor) seat_update_counts(seat);
    silence_watch(&supervisor->silence);
}

/* A figure of the service is the first seat's. */
static void supervisor_on_client_held(void *userdata)
{
    struct supervisor *supervisor = userdata;

    stats_file_count(&supervisor->seats[0].stats, STAT_clients_held);
}

static const struct clients_ops supervisor_clients_ops = {
    .frame = supervisor_on_client_frame,
    .gone = supervisor_on_client_gone,
    .changed = supervisor_on_clients_changed,
    .held = supervisor_on_client_held,
};

/* ---- what the service manager wants */

static void supervisor_look(void *userdata, struct notify_figures *figures)
{
    struct supervisor *supervisor = userdata;

    figures->running = true;
    figures->refused = supervisor->persist.refused;
    figures->clients = supervisor->clients.n;
    for
        each_seat(seat, supervisor)
        {
            enum service_state state = seat_get_state(seat);

            if (state != SERVICE_RUNNING && figures->running) {
                figures->running = false;
                figures->state = seat_state_name(state);
            }
            figures->workers +=
                atomic_load_explicit(&seat->stats.header->n_workers, memory_order_relaxed);
            figures->plugins += (uint32_t)plugin_store_count_loaded(&seat->plugins);
        }
}

static void supervisor_on_reload_applied(void *userdata)
{
    struct supervisor *supervisor = userdata;

    clients_update_roles(&supervisor->clients);
}

static void supervisor_reload(struct supervisor *supervisor)
{
    if (!supervisor->reload.running)
        notify_reloading(&supervisor->notify);
    reload_begin(&supervisor->reload, supervisor_only_seat(supervisor));
}

static void supervisor_on_reload_ended(void *userdata)
{
    struct supervisor *supervisor = userdata;

    if (supervisor->stopping_ns)
        return;
    if (supervisor->reload.again)
        supervisor_reload(supervisor);
    else if (supervisor_only_seat(supervisor)->boot.boots > 0)
        notify_ready(&supervisor->notify);
}

static const struct reload_ops supervisor_reload_ops = { .applied = supervisor_on_reload_applied,
                                                         .ended = supervisor_on_reload_ended };

static void supervisor_on_signal(uv_signal_t *handle, int signal)
{
    struct supervisor *supervisor = handle->data;

    if (signal == SIGHUP && !supervisor->stopping_ns)
        supervisor_reload(supervisor);
    else if (signal != SIGHUP)
        supervisor_stop(supervisor, signal == SIGTERM ? "SIGTERM" : "SIGINT");
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
    sigset_t heard;

    sigemptyset(&heard);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        int r = uv_signal_init(&supervisor->loop, &supervisor->signals[i]);

        supervisor->signals[i].data = supervisor;
        if (r == 0)
            r = uv_signal_start(&supervisor->signals[i], supervisor_on_signal, signals[i]);
        if (r < 0)
            return r;
        sigaddset(&heard, signals[i]);
    }
    /* SIGHUP was kept until now (main.c); the others may be blocked by whoever has started this */
    return sigprocmask(SIG_UNBLOCK, &heard, NULL) < 0 ? -errno : 0;
}

/* ---- life */

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

static int supervisor_open_runtime(struct supervisor *supervisor)
{
    char text[RUNTIME_TEXT_MAX] = "";
    int r = runtime_open(&supervisor->runtime, supervisor->options.runtime_dir,
                         supervisor->options.socket_path, text);

    if (r < 0)
        log_error("%s", text);
    return r;
}

static int supervisor_listen(struct supervisor *supervisor)
{
    char text[RUNTIME_TEXT_MAX] = "";
    int r;

    supervisor->runtime.socket_mode = supervisor->config.socket_mode;
    supervisor->runtime.socket_group = supervisor->config.socket_group;
    /* the group that the former one had may be none of this one's any more */
    supervisor->runtime.group_may_fail = supervisor->persist.resumed && !supervisor->persist.clean;
    r = runtime_listen(&supervisor->runtime, supervisor->persist.listener_fd, text);
    supervisor->persist.listener_fd = -1;
    if (r < 0)
        log_error("%s", text);
    return r;
}

static int supervisor_start_serving(struct supervisor *supervisor)
{
    struct seat *kept = supervisor_only_seat(supervisor);
    int r = resume_clients(kept);

    if (r < 0) {
        log_error(
            "the clients of the former service cannot be taken up now, they stay as they are: %s",
            strerror(-r));
        return r;
    }
    if (supervisor->persist.refused)
        return supervisor_start_signals(supervisor);
    r = supervisor_listen(supervisor);
    if (r < 0)
        return r;
    check("store.D3", store_is_taken(&supervisor->persist.store));
    r = listener_start(&supervisor->listener, supervisor->runtime.listen_fd, &supervisor->clients);
    if (r == 0)
        r = supervisor_start_signals(supervisor);
    if (r < 0) {
        log_error("event loop: %s", uv_strerror(r));
        return r;
    }
    departed_start(&supervisor->departed, &supervisor->loop, kept);
    for
        each_seat(seat, supervisor)
        {
            r = boot_begin(seat);
            if (r < 0) {
                log_error("the executor cannot be started: %s: %s", seat->program, strerror(-r));
                return r;
            }
        }
    return 0;
}

/* The loop's handles, in any state of their start. */
static void supervisor_close_handle(uv_handle_t *handle, void *userdata)
{
    (void)userdata;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* All of them, whether the first two can be had or not: what closes them knows of no half. */
static int supervisor_open_parts(struct supervisor *supervisor)
{
    uint64_t watchdog_us = 0;
    int r, c;

    turns_start(&supervisor->loop);
    r = line_start(&supervisor->loop);
    if (r < 0)
        log_error("the line to the service manager cannot be watched: %s", strerror(-r));
    c = copier_start(&supervisor->loop);
    if (c < 0)
        log_error("files of plugins cannot be copied: %s", strerror(-c));
    if (config_reader_start(&supervisor->loop) < 0)
        log_warning("the configuration cannot be read again without a restart: the service has no "
                    "pipe for a thread");
    if (closer_start() < 0)
        log_warning("descriptors that clients send are closed in the event loop: the service has "
                    "no pipe for a thread");
    notify_init(&supervisor->notify, &supervisor->loop, !supervisor->options.foreground,
                supervisor_look, supervisor);
    if (!supervisor->notify.enabled || sd_watchdog_enabled(0, &watchdog_us) <= 0)
        watchdog_us = 0;
    clients_start(&supervisor->clients);
    silence_start(&supervisor->silence, &supervisor->loop, &supervisor->clients);
    for
        each_seat(seat, supervisor)
        {
            watchdog_init(seat, watchdog_us);
            load_watch_init(seat);
            drain_init(seat);
            port_waits_init(&seat->waits,
                            &(struct port_waits_world){ .loop = &supervisor->loop,
                                                        .clients = &supervisor->clients,
                                                        .ports = &seat->ports,
                                                        .try_again = command_port_open_again,
                                                        .userdata = seat });
            boot_init(seat);
            memory_count_init(&seat->memory, &supervisor->loop);
            executor_link_init(&seat->executor, &supervisor->loop, &supervisor_link_ops, seat);
        }
    return r < 0 ? r : c;
}

static void supervisor_close_parts(struct supervisor *supervisor)
{
    for
        each_seat(seat, supervisor)
        {
            seat->stopping = true;
            executor_link_fini(&seat->executor);
        }
    copier_stop();
    config_reader_stop();
    clients_drop_all(&supervisor->clients);
    closer_stop();
    for
        each_seat(seat, supervisor)
        {
            memory_count_fini(&seat->memory);
            boot_fini(seat);
            drain_fini(seat);
            port_waits_fini(&seat->waits);
            load_watch_fini(seat);
            watchdog_fini(seat);
        }
    reload_fini(&supervisor->reload);
    notify_fini(&supervisor->notify);
    line_stop();
    turns_stop();
    for
        each_seat(seat, supervisor)
        {
            struct stats_header *header = seat->stats.header;

            seat_set_state(seat, SERVICE_STOPPED);
            atomic_store_explicit(&header->executor_pid, 0, memory_order_relaxed);
            atomic_store_explicit(&header->supervisor_pid, 0, memory_order_relaxed);
        }
}

/* For whoever waits for the event: what is wrong has had a line of its own. */
static void supervisor_say_no_start(const struct supervisor *supervisor)
{
    if (!supervisor->options.check)
        log_event(LOG_LEVEL_ERROR, CATALOGUE_SERVICE_FAILED,
                  "the service does not start: the line before says why");
}

static void supervisor_run_loop(struct supervisor *supervisor)
{
    if (supervisor_open_parts(supervisor) < 0 || supervisor_start_serving(supervisor) < 0) {
        supervisor_say_no_start(supervisor);
        supervisor->exit_status = 1;
    } else {
        uv_run(&supervisor->loop, UV_RUN_DEFAULT);
    }
    persist_end(&supervisor->persist, supervisor->exit_status == 0);
    if (!supervisor->stopping_ns)
        supervisor->stopping_ns = uv_hrtime();
    supervisor_stop_listening(supervisor);
    supervisor_close_parts(supervisor);
    supervisor_block_late_signals();
    uv_walk(&supervisor->loop, supervisor_close_handle, NULL);
    uv_run(&supervisor->loop, UV_RUN_DEFAULT); /* until every handle is closed */
}

/* `text`: why the configuration could not be read. */
static void supervisor_tell_unread(const char *text, bool goes_on)
{
    log_event(LOG_LEVEL_ERROR, CATALOGUE_RELOAD_REFUSED, "the configuration cannot be read: %s%s",
              text, goes_on ? "; the service goes on with what the former one had read" : "");
}

/* What is kept comes before what is made. */
static int supervisor_take_up(struct supervisor *supervisor, const char *text)
{
    struct seat *kept = supervisor_only_seat(supervisor);
    int r;

    if (supervisor->options.check)
        return setting_list_merge(&kept->settings, &supervisor->config.executor);
    r = resume_begin(kept, &supervisor->config, supervisor->options.discard_state);
    log_set_level(supervisor->config.log_level);
    if (supervisor->config.unread)
        supervisor_tell_unread(text, r == 0 && !supervisor->persist.refused);
    return r < 0 ? r : supervisor_open_runtime(supervisor);
}

/* Behind a crash, what was read before it is known, and counts: a file that somebody is just
 * editing, or in which a user has a name who has been removed meanwhile, does not keep the service
 * down. `text`: why it was not read. */
static int supervisor_configure(struct supervisor *supervisor, char *text)
{
    const struct options *options = &supervisor->options;
    struct config *config = &supervisor->config;
    struct seat *kept = supervisor_only_seat(supervisor);
    int r = config_load(config, options, text),
        opened = options->check ? 0 : resume_open(kept, !options->foreground);

    if (opened < 0)
        return opened;
    if (r < 0 && (options->check || options->discard_state || !resume_knows_configuration(kept))) {
        supervisor->exit_status = config->argument_refused ? EXIT_USAGE : 1;
        log_error("%s", text);
        return r;
    }
    if (r < 0) {
        config_fini(config);
        config_init_unread(config);
    }
    return 0;
}

static int supervisor_prepare(struct supervisor *supervisor)
{
    bool only_check = supervisor->options.check;
    char text[OPTIONS_TEXT_MAX] = "";
    int r = supervisor_configure(supervisor, text);

    if (r < 0)
        return r;
    log_open("odeond", supervisor->config.log_level);
    if (supervisor->config.developer)
        log_warning("for a developer: plugins are loaded where they lie, and sizes are small");
    r = supervisor_take_up(supervisor, text);
    for
        each_seat(seat, supervisor)
        {
            if (r == 0)
                r = seat_make_memory(seat, only_check);
            if (r == 0 && !only_check)
                r = persist_publish(&supervisor->persist, seat->segment_fd, seat->stats.fd);
            if (r == 0 && !supervisor->persist.refused)
                r = seat_make_plugins(seat, only_check);
            if (supervisor->persist.refused)
                supervisor->exit_status = 1;
        }
    return r;
}

void supervisor_wire(struct supervisor *supervisor)
{
    supervisor->runtime.lock_fd = supervisor->runtime.listen_fd = -1;
    supervisor->persist.stats_fd = supervisor->persist.listener_fd =
        supervisor->persist.registry.fd = -1;
    supervisor->service = (struct service){ .loop = &supervisor->loop,
                                            .config = &supervisor->config,
                                            .runtime = &supervisor->runtime,
                                            .accounts = &supervisor->accounts,
                                            .clients = &supervisor->clients,
                                            .persist = &supervisor->persist,
                                            .started_ns = uv_hrtime() };
    clients_init(&supervisor->clients,
                 &(struct clients_world){ .loop = &supervisor->loop,
                                          .config = &supervisor->config,
                                          .accounts = &supervisor->accounts,
                                          .registry = &supervisor->persist.registry,
                                          .ops = &supervisor_clients_ops,
                                          .userdata = supervisor });
    supervisor->accounts.descriptors_max = accounts_descriptors_limit() / DESCRIPTORS_OF_ALL;
    supervisor->accounts.ring_bytes_max = memory_limit_for_service() / RINGS_OF_MEMORY;
    supervisor->accounts.answer_bytes_max = memory_limit_for_service() / ANSWERS_OF_MEMORY;
    reload_init(&supervisor->reload, &supervisor->config, &supervisor->options,
                &supervisor_reload_ops, supervisor);
    for
        each_seat(seat, supervisor)
            seat_init(seat, &supervisor->service, &supervisor_seat_ops, supervisor);
}

static void supervisor_release_all(struct supervisor *supervisor)
{
    for
        each_seat(seat, supervisor) seat_fini(seat);
    persist_fini(&supervisor->persist);
    accounts_fini(&supervisor->accounts);
    runtime_close(&supervisor->runtime);
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
    supervisor_wire(supervisor);
    supervisor_raise_descriptor_limit();
    if (supervisor_prepare(supervisor) < 0) {
        supervisor_say_no_start(supervisor);
        if (supervisor->exit_status == 0)
            supervisor->exit_status = 1;
    } else if (supervisor->options.check) {
        log_notice("the configuration is in order");
    } else if (uv_loop_init(&supervisor->loop) < 0) {
        log_error("event loop: no memory or descriptors");
        supervisor_say_no_start(supervisor);
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
