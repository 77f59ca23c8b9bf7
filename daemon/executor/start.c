/* SPDX-License-Identifier: Apache-2.0 */
/* See start.h.  The order is engine.h's: open, ports, recover, plugins, start. */
#include "daemon/executor/start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"
#include "daemon/common/memfd.h"
#include "daemon/common/memory_limit.h"
#include "daemon/executor/address_space.h"
#include "daemon/executor/backtrace.h"
#include "daemon/executor/command_later.h"
#include "daemon/executor/contain.h"
#include "daemon/executor/fault_log.h"
#include "daemon/executor/places.h"
#include "daemon/executor/ports.h"
#include "daemon/executor/post_rate.h"
#include "daemon/executor/settings_sizes.h"
#include "daemon/executor/stalls.h"
#include "daemon/executor/timers.h"
#include "daemon/executor/turns.h"
#include "proto/observed_layout.h"

/* How long a former executor may take to end: its odeond has died, and the kernel is about to end
 * it, too. */
#define LOCK_TIMEOUT_NS UINT64_C(5000000000)

/* Large pages come when the first messages have gone through. */
#define HALT_NS UINT64_C(1000000000) /* for handlers, until they are in the books as running */
enum { STOP_SECONDS = 1, WIDEN_MS = 100, DRAIN_LOOK_MS = 1 };
enum { KEPT_MAX = SETTINGS_SIZES + 1, KEPT_TEXT_MAX = 24 }; /* workers go first */

static void start_plugins(struct executor *executor);

void start_fail(struct executor *executor, int error, const char *text)
{
    log_error("the executor cannot start: %s", text);
    executor_report_error(executor, executor->start_command, error, text);
    executor->exit_status = EXIT_FAILURE;
    uv_stop(&executor->loop);
}

/* ---- open */

/* `segment_fd`: NULL: there is none that a start could go on with. */
static struct settings_machine start_look_at_machine(const struct topology *topology,
                                                     const int *segment_fd)
{
    return (struct settings_machine){ .cores = topology_get_cores(topology),
                                      .threads = topology_get_threads(topology),
                                      .address_bytes = address_space_for_segment(),
                                      .memory_bytes = memory_limit_for_service(),
                                      .segment_fd = segment_fd };
}

/* Somebody has run on it: what has become of the machine since then must not keep the service from
 * going on. */
static bool start_segment_is_used(int fd)
{
    uint64_t magic = 0;

    return pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) && magic != 0;
}

/* What a start does with settings before it looks at anything else; also for somebody who only
 * asks. */
static int start_read_settings(const struct setting_pair *pairs, size_t n_pairs,
                               const int *segment_fd, struct settings *settings,
                               struct topology **ret_topology, struct explain *explain)
{
    struct topology_request request;
    struct settings_machine machine;
    int r = topology_new(ret_topology);

    if (r < 0)
        return explain_set(explain, r, "hwloc cannot tell which processors there are: %s",
                           strerror(-r));
    machine = start_look_at_machine(*ret_topology, segment_fd);
    r = settings_read_start(settings, pairs, n_pairs, &machine, explain);
    if (r < 0)
        return r;
    request = (struct topology_request){
        .affinity = settings->affinity,
        .smt = settings->smt,
        .n_workers = (unsigned)settings->workers_max,
        .restart = segment_fd && start_segment_is_used(*segment_fd),
    };
    topology_set_memory(*ret_topology, settings->memory);
    return topology_plan_workers(*ret_topology, &request, explain);
}

int start_segment_size(const struct setting_pair *pairs, size_t n_pairs, struct explain *explain,
                       uint64_t *ret_bytes)
{
    struct topology *topology = NULL;
    struct engine_config config;
    struct settings settings;
    int r = start_read_settings(pairs, n_pairs, NULL, &settings, &topology, explain);

    if (r == 0) {
        settings_get_config(&settings, &config);
        *ret_bytes = engine_segment_size(&config);
    }
    topology_free(topology);
    return r;
}

/* Sizes that are smaller than a person knows them. */
static void start_log_sizes(const struct settings *settings)
{
    struct settings usual;

    settings_init(&usual, 1);
    if (settings->outbox_bytes >= usual.outbox_bytes &&
        settings->queues_per_worker >= usual.queues_per_worker &&
        settings->limit_bytes >= usual.limit_bytes &&
        settings->backlog_bytes >= usual.backlog_bytes)
        return;
    log_info("sizes with %" PRIu64 " workers at most: queues-per-worker=%" PRIu64
             " outbox-bytes=%" PRIu64 " limit-bytes=%" PRIu64 " backlog-bytes=%" PRIu64,
             settings->workers_max, settings->queues_per_worker, settings->outbox_bytes,
             settings->limit_bytes, settings->backlog_bytes);
}

/* What somebody has configured, and this start does not do: whoever has edited that line, and
 * wonders, finds here why, and when it comes. */
static void start_log_sizes_kept(const struct settings *settings, const struct setting_pair *pairs,
                                 size_t n_pairs, const struct settings_machine *machine)
{
    struct settings asked = *settings, fresh;
    struct explain explain;
    uint64_t value, wanted;
    const char *key;

    /* Whoever followed the advice below would give up the state, and have no service. */
    explain_init(&explain);
    if (settings_read_start(&fresh, pairs, n_pairs, machine, &explain) < 0) {
        log_warning("the service goes on with the sizes of its memory; behind a stop it would not "
                    "start with those that are configured: %s",
                    explain.text);
        return;
    }

    for (size_t i = 0; i < n_pairs; i++)
        (void)settings_parse(&asked, pairs[i].key, pairs[i].value, &explain);
    for (unsigned i = 0; settings_sizes_get(settings, i, &key, &value); i++)
        if (settings_sizes_get(&asked, i, &key, &wanted) && wanted != value)
            log_warning("%s = %" PRIu64 " waits until the service is stopped and started: its "
                        "memory is laid out for %" PRIu64 ", which a restart goes on with",
                        key, wanted, value);
    if (asked.workers > settings->workers)
        log_warning("workers = %" PRIu64 ": %" PRIu64 " are started, the memory that this start "
                    "goes on with has room for no more",
                    asked.workers, settings->workers);
}

static int start_settings(struct executor *executor, const Odeon__Start *start, int segment_fd,
                          struct explain *explain)
{
    struct setting_pair pairs[ODEON_PAGE_ROWS_MAX];
    struct settings_machine machine;
    int r;

    if (start->n_settings > ODEON_PAGE_ROWS_MAX)
        return explain_set(explain, -ERANGE, "Start has %zu settings: at most %d are allowed",
                           start->n_settings, ODEON_PAGE_ROWS_MAX);
    for (size_t i = 0; i < start->n_settings; i++)
        pairs[i] = (struct setting_pair){ start->settings[i]->key, start->settings[i]->value };
    r = start_read_settings(pairs, start->n_settings, &segment_fd, &executor->settings,
                            &executor->topology, explain);
    if (r < 0)
        return r;
    machine = start_look_at_machine(executor->topology, NULL);
    start_log_sizes_kept(&executor->settings, pairs, start->n_settings, &machine);
    (void)settings_read_start(&executor->defaults, NULL, 0, &machine, explain);
    start_log_sizes(&executor->settings);
    topology_log_notes(executor->topology, (unsigned)executor->settings.workers);
    return 0;
}

static int start_config(struct executor *executor, struct engine_config *ret_config)
{
    /* the engine makes copies */
    const struct topology_plan *plan = topology_get_plan(executor->topology);

    settings_get_config(&executor->settings, ret_config);
    if (getrandom(ret_config->answer_key, sizeof(ret_config->answer_key), 0) !=
        sizeof(ret_config->answer_key))
        return -errno;
    /* to be freed behind that; without memory for it nodes tell how far it is */
    ret_config->distances = topology_make_distances(executor->topology);
    ret_config->cpus = plan->cpus;
    ret_config->nodes = plan->nodes;
    ret_config->bind = topology_bind;
    ret_config->bind_memory = topology_bind_memory;
    ret_config->userdata = executor->topology;
    ret_config->host = host_get_table(executor->host);
    ret_config->inline_block = host_get_inline_block();
    ret_config->trace = backtrace_write;
    ret_config->is_handler = backtrace_is_plugin;
    if (getrandom(&ret_config->names_seed, sizeof(ret_config->names_seed), 0) < 0)
        ret_config->names_seed = uv_hrtime();
    return 0;
}

/* The engine writes workers' counters; the header's number of plugins is ours. */
static void start_stats(struct executor *executor, int stats_fd)
{
    struct stat st;
    void *map;

    if (fstat(stats_fd, &st) < 0 || (uint64_t)st.st_size < sizeof(struct stats_header))
        return;
    map = mmap(NULL, sizeof(struct stats_header), PROT_READ | PROT_WRITE, MAP_SHARED, stats_fd, 0);
    if (map != MAP_FAILED)
        executor->stats = map;
}

/* executor.X2.  Also where the former executor is dying of its odeond's death: a core dump takes
 * its time. */
static int start_lock(int segment_fd, struct explain *explain)
{
    uint64_t deadline = uv_hrtime() + LOCK_TIMEOUT_NS;
    struct flock lock;

    for (;;) {
        lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
        if (fcntl(segment_fd, F_SETLK, &lock) == 0)
            return 0;
        if (errno != EAGAIN && errno != EACCES)
            return explain_set(explain, -errno, "the engine's segment cannot be locked: %s",
                               strerror(errno));
        if (uv_hrtime() >= deadline)
            break;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    if (fcntl(segment_fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        lock.l_pid = 0;
    return explain_set(explain, -EBUSY,
                       "the engine's segment is in use by another executor, process %d",
                       (int)lock.l_pid);
}

/* The lock is the process's: to the open file it is somebody's. */
static bool start_has_lock(int segment_fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    return fcntl(segment_fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK &&
           lock.l_pid == getpid();
}

static int start_explain_open(const struct executor *executor, int r, const char *text,
                              struct explain *explain)
{
    struct rlimit limit;

    if (r == -EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        return explain_set(
            explain, r,
            "%" PRIu64 " threads of workers and detached actors need two descriptors "
            "each, and this process may have %" PRIu64
            " (LimitNOFILE=): raise that, or lower workers-max",
            executor->settings.workers_max + executor->settings.detached, (uint64_t)limit.rlim_cur);
    return explain_set(explain, r, "the engine's segment cannot be opened: %s",
                       text && *text ? text : strerror(-r));
}

struct start_files {
    int segment, stats, observed;
};

/* As far as this executor has ids of workers. NULL: it cannot be had, and nothing is observed. */
static struct observed_header *start_observed(struct executor *executor, int fd)
{
    const uint64_t n_ids = executor->settings.workers_max + executor->settings.detached + 1;
    struct observed_header *file;

    if (n_ids > ODEON_WORKERS_MAX + 1 || memfd_check(fd, OBSERVED_FILE_SIZE(n_ids)) < 0)
        return NULL;
    file = mmap(NULL, OBSERVED_FILE_SIZE(n_ids), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED)
        return NULL;
    /* A dump would fill its holes; a child of a handler's has nothing to count. */
    (void)madvise(file, OBSERVED_FILE_SIZE(n_ids), MADV_DONTDUMP);
    (void)madvise(file, OBSERVED_FILE_SIZE(n_ids), MADV_DONTFORK);
    return file;
}

static int start_check_protocol(const Odeon__Start *start, struct explain *explain)
{
    if (start->protocol != ODEON_EXECUTOR_PROTOCOL)
        return explain_set(explain, -EPROTO,
                           "odeond speaks version %u of the protocol between it and its executor, "
                           "this executor (%s) version %d: they are of two builds, install both of "
                           "one; the segment is left as it is",
                           start->protocol, ODEON_VERSION, ODEON_EXECUTOR_PROTOCOL);
    return 0;
}

static int start_open(struct executor *executor, const Odeon__Start *start,
                      const struct start_files *files, struct explain *explain)
{
    const int segment_fd = files->segment, stats_fd = files->stats;
    struct engine_config config;
    const char *text = NULL;
    uint64_t placed_ns;
    int r;

    r = start_check_protocol(start, explain);
    if (r < 0)
        return r;
    if (segment_fd < 0 || stats_fd < 0)
        return explain_set(
            explain, -EBADF,
            "Start needs two descriptors: the engine's segment and the statistics segment");
    if (start->ports > ODEON_PORTS_MAX || start->plugins > ODEON_PLUGINS_MAX)
        return explain_set(explain, -ERANGE,
                           "Start announces %u ports and %u plugins: at most %d and %d are allowed",
                           start->ports, start->plugins, ODEON_PORTS_MAX, ODEON_PLUGINS_MAX);
    r = start_lock(segment_fd, explain);
    if (r == 0)
        r = start_settings(executor, start, segment_fd, explain);
    if (r < 0)
        return r;
    placed_ns = uv_hrtime();
    r = host_new((unsigned)(executor->settings.workers_max + executor->settings.detached),
                 &executor->host);
    if (r < 0)
        return explain_set(explain, r, "no memory for %" PRIu64 " workers",
                           executor->settings.workers_max);
    r = start_config(executor, &config);
    if (r < 0)
        return explain_set(explain, r, "no random numbers can be had: %s", strerror(-r));
    config.death_explained = start->death_explained;
    config.observed = start_observed(executor, files->observed);
    check("executor.X2", start_has_lock(segment_fd));
    r = engine_open(&config, segment_fd, stats_fd, &executor->engine, &text);
    free((void *)config.distances);
    if (r < 0)
        return start_explain_open(executor, r, text, explain);
    engine_hide_from_children(executor->engine);
    /* The engine has given the file its size if it had none: from here on it keeps it. -EPERM:
     * sealed already. */
    if (fcntl(segment_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 &&
        errno != EPERM)
        return explain_set(explain, -errno, "the engine's segment cannot be sealed: %s",
                           strerror(errno));
    start_stats(executor, stats_fd);
    executor_publish_step(executor, START_ENTERED, executor->entered_ns);
    executor_publish_step(executor, START_PLACED, placed_ns);
    executor_publish_step(executor, START_MAPPED, uv_hrtime());
    executor_publish_mode(executor);
    r = plugin_registry_new(executor->engine, executor->host, start->developer, &executor->plugins);
    if (r < 0)
        return explain_set(explain, r, "no memory for the table of plugins");
    plugin_registry_hold_starts(executor->plugins);
    return 0;
}

void start_begin(struct executor *executor, uint64_t command, const Odeon__Start *start,
                 struct frame *frame)
{
    struct explain explain;
    int segment_fd, stats_fd, observed_fd, r;

    if (executor->state != EXECUTOR_WAITING) {
        executor_report_error(executor, command, -EALREADY,
                              "the executor has been started already");
        return;
    }
    explain_init(&explain);
    executor->start_command = command;
    segment_fd = frame_take_fd(frame, 0);
    stats_fd = frame_take_fd(frame, 1);
    observed_fd = frame_take_fd(frame, 2);
    executor->watch_fd = frame_take_fd(frame, 3);
    r = start_open(executor, start, &(struct start_files){ segment_fd, stats_fd, observed_fd },
                   &explain);
    executor->segment_fd = segment_fd;
    if (stats_fd >= 0)
        close(stats_fd);
    if (observed_fd >= 0)
        close(observed_fd);
    if (r < 0) {
        start_fail(executor, r, explain.text);
        return;
    }
    executor->state = EXECUTOR_PORTS;
    executor->awaited_plugins = start->plugins;
    /* as if Start were one of them: no port is the usual number */
    executor->awaited_ports = start->ports + 1;
    start_port_done(executor);
}

/* ---- recover */

void start_port_done(struct executor *executor)
{
    char text[ENGINE_DAMAGE_MAX + 128];
    int r;

    if (--executor->awaited_ports > 0)
        return;
    r = engine_recover(executor->engine, &executor->recovery);
    if (r < 0) {
        if (r == -EPROTO)
            snprintf(text, sizeof(text),
                     "the engine's segment is damaged, and is left as it is: %s",
                     executor->recovery.damage);
        else if (r == -ESRCH)
            snprintf(text, sizeof(text),
                     "the engine's segment is not this executor's, and is left as it is: %s",
                     executor->recovery.damage);
        else
            snprintf(text, sizeof(text), "the engine's segment cannot be recovered: %s",
                     strerror(-r));
        /* Whatever is wrong with the segment, odeond is not to try it again. */
        start_fail(executor, r == -ESRCH ? -EPROTO : r, text);
        return;
    }
    r = engine_groups_open(executor->engine);
    if (r < 0) { /* those there are would not be run, and could be ended */
        snprintf(text, sizeof(text), "there can be no groups: %s", strerror(-r));
        start_fail(executor, r, text);
        return;
    }
    fault_log_recovery(&executor->recovery);
    fault_log_faults(executor->engine, &executor->settings);
    fault_log_suspects(executor->engine);
    contain_guard_descriptors();
    executor->state = EXECUTOR_PLUGINS;
    if (executor->awaited_plugins == 0)
        start_plugins(executor);
}

/* ---- plugins, then work */

void start_plugin_done(struct executor *executor, bool loaded)
{
    executor->refused_plugins += !loaded;
    if (--executor->awaited_plugins == 0 && executor->refused_plugins == 0)
        start_plugins(executor);
}

void start_go_without(struct executor *executor)
{
    if (executor->state != EXECUTOR_PLUGINS || executor->refused_plugins == 0)
        return;
    if (--executor->refused_plugins == 0 && executor->awaited_plugins == 0)
        start_plugins(executor);
}

/* Actors whose plugin did not come back wait: their messages become dead letters with a reason,
 * which somebody should know of. */
static void start_log_types_missing(const struct executor *executor)
{
    struct engine_actor_type_view view;

    for (uint32_t id = 1; engine_actor_type_get(executor->engine, id, &view) == 0; id++)
        if (!view.loaded && view.live > 0)
            log_warning("%" PRIu64 " actors of type %s cannot run: their plugin %s is not loaded",
                        view.live, view.name, view.plugin);
}

/* What an executor before has left, and does not keep its state: whoever wonders where that went
 * finds it here. */
static void start_log_types_anew(const struct executor *executor)
{
    struct engine_actor_type_view view;

    for (uint32_t id = 1; engine_actor_type_get(executor->engine, id, &view) == 0; id++)
        if (view.loaded && view.live > 0 && view.restart == RESTART_INIT && !view.is_group)
            log_notice("%" PRIu64 " actors of type %s begin anew: their states are not kept",
                       view.live, view.name);
}

/* What follows from the machine, or from the build, when nobody says it must be the same for the
 * segment's later executors, whatever becomes of the machine and of the other settings. */
static size_t start_list_kept(const struct executor *executor, Odeon__Setting *rows,
                              char (*texts)[KEPT_TEXT_MAX])
{
    uint64_t value = executor->settings.workers;
    const char *key = "workers";
    size_t n = 0;

    do {
        snprintf(texts[n], KEPT_TEXT_MAX, "%" PRIu64, value);
        odeon__setting__init(&rows[n]);
        rows[n].key = (char *)(uintptr_t)key;
        rows[n].value = texts[n];
        n++;
    } while (n < KEPT_MAX &&
             settings_sizes_get(&executor->settings, (unsigned)n - 1, &key, &value));
    return n;
}

static void start_report_ready(struct executor *executor)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;
    Odeon__Setting rows[KEPT_MAX], *list[KEPT_MAX];
    char texts[KEPT_MAX][KEPT_TEXT_MAX];

    report.n_kept = start_list_kept(executor, rows, texts);
    for (size_t i = 0; i < report.n_kept; i++)
        list[i] = &rows[i];
    report.id = executor->start_command;
    report.protocol = ODEON_EXECUTOR_PROTOCOL;
    report.ready = &ok;
    report.body_case = ODEON__REPORT__BODY_READY;
    report.kept = list;
    control_send(executor->control, &report);
}

static void start_on_widen(uv_timer_t *timer)
{
    struct executor *executor = timer->data;

    engine_widen(executor->engine);
}

static void start_on_plugin_starts(void *userdata, unsigned index)
{
    struct executor *executor = userdata;

    executor_publish_loading(executor, executor->plugin_places[index]);
}

/* Whoever is refused has been by now, and the service goes without it: no executor ends over that
 * any more, to have what the plugins' starts do done again by the next one. What else may fail has
 * that done again: workers and events that cannot be had, a death. */
static void start_run_starts(struct executor *executor)
{
    plugin_registry_run_starts(executor->plugins, start_on_plugin_starts, executor);
    executor_publish_loading(executor, 0);
}

static void start_plugins(struct executor *executor)
{
    char text[128];
    int r;

    start_run_starts(executor);
    start_log_types_missing(executor);
    start_log_types_anew(executor);
    executor_publish_step(executor, START_LOADED, uv_hrtime());
    /* before anything can fail: what a fault is told by is learned here */
    executor_publish_plugins(executor);
    contain_begin();                    /* recovery has set the engine's own handlers */
    executor->state = EXECUTOR_RUNNING; /* some workers run, also if others cannot */
    plugin_registry_set_runs(executor->plugins);
    r = engine_start(executor->engine);
    if (r < 0) {
        snprintf(text, sizeof(text), "the workers cannot be started: %s", strerror(-r));
        start_fail(executor, r, text);
        return;
    }
    r = ports_start(executor);
    if (r < 0) {
        snprintf(text, sizeof(text), "the engine's events cannot be watched: %s", uv_strerror(r));
        start_fail(executor, r, text);
        return;
    }
    r = timers_start(executor);
    if (r < 0) {
        snprintf(text, sizeof(text), "timers cannot be watched: %s", uv_strerror(r));
        start_fail(executor, r, text);
        return;
    }
    r = stalls_start(executor);
    if (r < 0)
        log_warning("handlers that do not return are not noticed: %s", uv_strerror(r));
    r = places_start(executor);
    if (r < 0)
        log_warning("changes of processors are not noticed: %s", strerror(-r));
    log_info("%" PRIu64 " workers, %" PRIu64 " queues each, %u plugins, stealing %s",
             executor->settings.workers, executor->settings.queues_per_worker,
             plugin_registry_count(executor->plugins),
             steal_policy_name(executor->settings.stealing));
    start_report_ready(executor);
    uv_timer_start(&executor->widen_timer, start_on_widen, WIDEN_MS, 0);
}

/* ---- drain */

static void start_report_drained(struct executor *executor, bool complete,
                                 const struct engine_left *left)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__Drained drained = ODEON__DRAINED__INIT;

    drained.complete = complete;
    drained.unreceived = left->running + left->waiting + left->untaken;
    drained.running = left->running;
    drained.untaken = left->untaken;
    drained.messages_unsent = host_count_unsent(executor->host);
    log_info("%s: %" PRIu64 " messages sent but not received, %" PRIu64
             " message objects never sent, %" PRIu32 " timers left, %" PRIu32 " messages stashed",
             complete ? "drained" : "draining has run out of time", drained.unreceived,
             drained.messages_unsent, engine_timers_count(executor->engine),
             engine_stashed_count(executor->engine));
    report.id = executor->drain_command;
    report.drained = &drained;
    report.body_case = ODEON__REPORT__BODY_DRAINED;
    control_send(executor->control, &report);
}

/* Everything has been said by now, and the segment is good at any instruction. The bare system
 * call: threads are still running, so nothing that hooks into a process's end has any business
 * here. */
static void start_on_alarm(int signal)
{
    (void)signal;
    syscall(SYS_exit_group, EXIT_SUCCESS);
}

/* From here on a handler, or a plugin's fini, that does not return has STOP_SECONDS left. */
static void start_stop_workers(struct executor *executor)
{
    struct sigaction action = { .sa_handler = start_on_alarm };

    (void)control_flush(executor->control, STOP_SECONDS * 1000);
    sigaction(SIGALRM, &action, NULL);
    alarm(STOP_SECONDS);
    engine_stop(executor->engine);
    executor->state = EXECUTOR_STOPPING;
    uv_stop(&executor->loop);
}

/* While the executor goes on, its engine is looked at once in a while and nobody is waited for. At
 * the end there is nothing else to do, and the engine divides the time between what clients have
 * published and what is queued: it gets all of it at once. 0: drained; 1: not, and the time is
 * over; -EAGAIN: not yet. */
static int start_drain(struct executor *executor, struct engine_left *ret_left)
{
    uint64_t now = uv_hrtime(), deadline = executor->drain_deadline_ns;
    uint64_t left = deadline > now ? deadline - now : 0;

    if (executor->drain_stop)
        return engine_drain(executor->engine, left, true, &ret_left->waiting);
    executor->drain_quiet = engine_is_quiet(executor->engine) ? executor->drain_quiet + 1 : 0;
    if (executor->drain_quiet >= 2)
        return 0;
    return left > 0 ? -EAGAIN : engine_drain(executor->engine, 0, false, &ret_left->waiting);
}

static void start_on_drain_timer(uv_timer_t *timer)
{
    struct executor *executor = timer->data;
    struct engine_left drained = { 0 };
    int r;

    turns_begin_piece(executor, "drain");
    r = start_drain(executor, &drained);
    if (r == -EAGAIN) {
        uv_timer_start(timer, start_on_drain_timer, DRAIN_LOOK_MS, 0);
        return;
    }
    executor->draining = false;
    if (executor->drain_stop) /* from here on nothing runs that is not in the books */
        engine_halt(executor->engine, HALT_NS, &drained);
    start_report_drained(executor, r == 0, &drained);
    if (executor->drain_stop)
        start_stop_workers(executor);
}

void drain_begin(struct executor *executor, uint64_t command, const Odeon__Drain *drain)
{
    uint64_t now = uv_hrtime();

    if (executor->state != EXECUTOR_RUNNING) {
        executor_report_error(executor, command, -EAGAIN, "the executor does not run yet");
        return;
    }
    if (executor->draining) {
        executor_report_error(executor, command, -EALREADY,
                              "the executor is being drained already");
        return;
    }
    if (drain->stop) {
        command_later_end(executor);
        post_rate_lift(executor);
    }
    executor->draining = true;
    executor->drain_quiet = 0;
    executor->drain_stop = drain->stop;
    executor->drain_command = command;
    executor->drain_deadline_ns =
        drain->timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + drain->timeout_ns;
    uv_timer_start(&executor->drain_timer, start_on_drain_timer, 0, 0);
}
