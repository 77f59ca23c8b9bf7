/* SPDX-License-Identifier: Apache-2.0 */
/* See settings.h. */
#include "daemon/executor/settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/executor/cpu_list.h"

enum setting_kind {
    SETTING_NUMBER,
    SETTING_BYTES,
    SETTING_YES_NO,
    SETTING_STEALING,
    SETTING_STEAL_MODE,
    SETTING_AFFINITY,
    SETTING_MEMORY
};

#define KIB(n) (UINT64_C(n) << 10)
#define MIB(n) (UINT64_C(n) << 20)
#define GIB(n) (UINT64_C(n) << 30)

/* The least window must hold two of the largest records. */
#define WINDOW_BYTES_MIN      KIB(128)
#define TIMER_BYTES_MIN       KIB(64)
#define WINDOW_ROUNDING_BYTES MIB(2)              /* pages of each outbox, and one record */
#define OUTBOX_BYTES_MIN      KIB(144)            /* the engine keeps 72 KiB of it for itself */
#define ADDRESS_BYTES_USUAL   (UINT64_C(1) << 46) /* where nobody has looked */

static const struct setting {
    const char *key;
    enum setting_kind kind;
    bool live;
    size_t offset; /* of the uint64_t, for numbers; of the bool, for yes and no */
    uint64_t initial, min, max;
    const char *doc;
} table[] = {
    { "workers", SETTING_NUMBER, true, offsetof(struct settings, workers), 0, 1, ODEON_WORKERS_MAX,
      "worker threads; default: one for each core that the service may use" },
    { "workers-max", SETTING_NUMBER, false, offsetof(struct settings, workers_max), 0, 1,
      ODEON_WORKERS_MAX,
      "worker threads that there is room for; default: workers, or the cores that may be used if "
      "they are more" },
    { "queues-per-worker", SETTING_NUMBER, false, offsetof(struct settings, queues_per_worker), 4,
      1, ODEON_QUEUES_MAX, "message queues of each worker; every actor belongs to one of them" },
    { "actors", SETTING_NUMBER, false, offsetof(struct settings, actors), ODEON_ACTORS_DEFAULT, 512,
      ODEON_ACTORS_MAX, "actors that can exist at once, ports of clients included" },
    { "limit-bytes", SETTING_BYTES, false, offsetof(struct settings, limit_bytes),
      ODEON_LIMIT_BYTES_DEFAULT, KIB(4), GIB(8),
      "bytes that may wait in one queue before sends to it are refused" },
    { "outbox-bytes", SETTING_BYTES, false, offsetof(struct settings, outbox_bytes),
      ODEON_OUTBOX_BYTES_DEFAULT, OUTBOX_BYTES_MIN, ODEON_OUTBOX_BYTES_MAX,
      "bytes that the handlers of one worker may send before they are flushed" },
    { "backlog-bytes", SETTING_BYTES, false, offsetof(struct settings, backlog_bytes),
      ODEON_BACKLOG_BYTES_DEFAULT, ODEON_BACKLOG_BYTES_MIN, GIB(4),
      "bytes that may wait for one port whose client does not receive" },
    { "dead-letter-bytes", SETTING_BYTES, false, offsetof(struct settings, dead_letter_bytes),
      ODEON_DLQ_BYTES_DEFAULT, WINDOW_BYTES_MIN, GIB(4), "bytes of dead letters that are kept" },
    { "waiting-bytes", SETTING_BYTES, true, offsetof(struct settings, waiting_bytes), GIB(1),
      MIB(1), GIB(65536),
      "memory of all that waits in queues and backlogs; default: three eighths of what the service "
      "may use" },
    { "quota-waiting-bytes", SETTING_BYTES, true, offsetof(struct settings, quota_waiting_bytes), 0,
      0, GIB(65536),
      "bytes that may wait for one user; 0: as many as waiting-bytes leaves to all others" },
    { "quota-waiting-ms", SETTING_NUMBER, true, offsetof(struct settings, quota_waiting_ms), 1000,
      0, 86400000,
      "milliseconds that what waits for one user in a queue may take, and in all for each worker; "
      "0: as long as it does" },
    { "durable-bytes", SETTING_BYTES, false, offsetof(struct settings, durable_bytes),
      ODEON_DURABLE_DEFAULT, 0, ODEON_DURABLE_MAX,
      "largest state of an actor that is kept over crashes, in bytes" },
    { "timers", SETTING_NUMBER, false, offsetof(struct settings, timers), ODEON_TIMERS_DEFAULT, 0,
      ODEON_TIMERS_MAX, "timers that actors have armed, and clients' posts for later, at a time" },
    { "timer-bytes", SETTING_BYTES, false, offsetof(struct settings, timer_bytes),
      ODEON_TIMER_BYTES_DEFAULT, TIMER_BYTES_MIN, ODEON_TIMER_BYTES_MAX,
      "bytes of the messages that wait for their time" },
    { "stash", SETTING_NUMBER, false, offsetof(struct settings, stash), ODEON_STASH_DEFAULT, 0,
      ODEON_STASH_MAX, "messages that one actor may have put off" },
    { "throughput", SETTING_NUMBER, true, offsetof(struct settings, throughput), 4096, 1,
      UINT32_MAX, "messages of one queue that a worker runs before it looks at its other queues" },
    { "attempts", SETTING_NUMBER, false, offsetof(struct settings, attempts),
      ODEON_ATTEMPTS_DEFAULT, 1, UINT8_MAX,
      "crashes of a handler on one message before the message becomes a dead letter" },
    { "suspect-deaths", SETTING_NUMBER, false, offsetof(struct settings, suspect_deaths),
      ODEON_SUSPECT_DEATHS_DEFAULT, 0, UINT8_MAX,
      "deaths of the executor without a known cause, all while the same message was running, "
      "before the message becomes a dead letter; 0: never" },
    { "stealing", SETTING_STEALING, true, 0, 0, 0, 0,
      "policy by which idle workers choose a victim" },
    { "steal-mode", SETTING_STEAL_MODE, true, 0, 0, 0, 0,
      "what becomes of a stolen queue: keep (it is the thief's) or visit (it goes home after one "
      "run)" },
    { "steal-sources", SETTING_NUMBER, true, offsetof(struct settings, steal_sources), 1, 1,
      ODEON_QUEUES_MAX,
      "queues that a steal takes at most, and never more than half of the victim's" },
    { "packing", SETTING_YES_NO, true, offsetof(struct settings, packing), 0, 0, 0,
      "whether workers rest while fewer of them are found to run more messages: yes or no" },
    { "spin-us", SETTING_NUMBER, true, offsetof(struct settings, spin_us), 50, 0, 1000000,
      "microseconds that a worker without work goes on looking before it sleeps" },
    { "moderate-sleeps", SETTING_NUMBER, true, offsetof(struct settings, moderate_sleeps), 0, 0,
      1000000,
      "short sleeps, each followed by a look everywhere, before a worker sleeps for long" },
    { "moderate-us", SETTING_NUMBER, true, offsetof(struct settings, moderate_us), 50, 1, 1000000,
      "microseconds of such a short sleep, at most" },
    { "relaxed-us", SETTING_NUMBER, true, offsetof(struct settings, relaxed_us), 0, 0, 3600000000,
      "microseconds of a long sleep, at most; 0: until the worker is woken" },
    { "affinity", SETTING_AFFINITY, true, 0, 0, 0, 0,
      "CPUs of the workers: auto (one core each), none, or a list such as 0,2,4-7" },
    { "smt", SETTING_YES_NO, true, offsetof(struct settings, smt), 0, 0, 0,
      "whether affinity auto uses all hardware threads of a core: yes or no" },
    { "memory", SETTING_MEMORY, false, 0, 0, 0, 0,
      "nodes on which queues and outboxes lie: local (their worker's), interleave, or "
      "first-touch" },
    { "detached", SETTING_NUMBER, false, offsetof(struct settings, detached), 8, 0,
      SETTINGS_DETACHED_MAX, "actors that can have a thread of their own" },
    { "stall-warn-ms", SETTING_NUMBER, true, offsetof(struct settings, stall_warn_ms), 1000, 0,
      86400000,
      "milliseconds after which a handler that has not returned is named in the log; 0: never" },
    { "stall-kill-ms", SETTING_NUMBER, true, offsetof(struct settings, stall_kill_ms), 0, 0,
      86400000,
      "milliseconds after which such a handler is ended with its executor, as if it had crashed; "
      "0: never" },
    { "quarantine-crashes", SETTING_NUMBER, true, offsetof(struct settings, quarantine_crashes), 10,
      0, 1000000,
      "crashes of a type's handlers within quarantine-window-s after which the type is not run any "
      "more; 0: never" },
    { "quarantine-window-s", SETTING_NUMBER, true, offsetof(struct settings, quarantine_window_s),
      60, 1, 86400, "seconds within which those crashes count, from the first of them" },
    { "quota-actors", SETTING_NUMBER, true, offsetof(struct settings, quota_actors), 65536, 0,
      ODEON_ACTORS_MAX, "actors that clients of one user can have spawned at once" },
    { "quota-posts", SETTING_NUMBER, true, offsetof(struct settings, quota_posts), 0, 0, UINT32_MAX,
      "records a second that are taken from the ports of one user; 0: as many as come" },
};
enum { N_SETTINGS = sizeof(table) / sizeof(table[0]) };

static uint64_t *setting_number(struct settings *settings, const struct setting *setting)
{
    return (uint64_t *)((char *)settings + setting->offset);
}

static bool *setting_flag(struct settings *settings, const struct setting *setting)
{
    return (bool *)((char *)settings + setting->offset);
}

static const struct setting *setting_find(const char *key)
{
    for (unsigned i = 0; i < N_SETTINGS; i++)
        if (strcmp(table[i].key, key) == 0)
            return &table[i];
    return NULL;
}

/* Workers and detached actors share their numbers: where nobody has said how many of the latter,
 * workers go before. */
static void settings_make_room(struct settings *settings)
{
    if (settings->workers_max + settings->detached > ODEON_WORKERS_MAX)
        settings->detached = ODEON_WORKERS_MAX - settings->workers_max;
}

void settings_init(struct settings *settings, unsigned default_workers)
{
    memset(settings, 0, sizeof(*settings));
    for (unsigned i = 0; i < N_SETTINGS; i++)
        if (table[i].kind == SETTING_NUMBER || table[i].kind == SETTING_BYTES)
            *setting_number(settings, &table[i]) = table[i].initial;
    settings->workers = default_workers < 1                   ? 1
                        : default_workers > ODEON_WORKERS_MAX ? ODEON_WORKERS_MAX
                                                              : default_workers;
    settings->workers_max = settings->workers;
    settings_make_room(settings);
    settings->stealing = STEAL_LONGEST_VICTIM;
    settings->steal_mode = STEAL_KEEP;
    settings->memory = MEMORY_LOCAL;
    settings->packing = true;
    strcpy(settings->affinity, "auto");
    settings->address_bytes = ADDRESS_BYTES_USUAL;
}

/* Decimal digits and, for bytes, one of the suffixes K, M, G. */
static int settings_number_parse(const char *text, bool bytes, uint64_t *ret_number)
{
    const char *p = text;
    uint64_t number = 0;
    unsigned shift = 0;

    if (!isdigit((unsigned char)*p))
        return -EINVAL;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
            return -ERANGE;
    if (bytes && *p != '\0') {
        shift = *p == 'K' ? 10 : *p == 'M' ? 20 : *p == 'G' ? 30 : 0;
        if (shift == 0)
            return -EINVAL;
        p++;
    }
    if (*p != '\0')
        return -EINVAL;
    if (number > UINT64_MAX >> shift)
        return -ERANGE;
    *ret_number = number << shift;
    return 0;
}

static int setting_parse_number(struct settings *settings, const struct setting *setting,
                                const char *value, struct explain *explain)
{
    bool bytes = setting->kind == SETTING_BYTES;
    uint64_t number = 0;
    int r = settings_number_parse(value, bytes, &number);

    if (r == -EINVAL)
        return explain_set(
            explain, -EINVAL,
            "setting %s: '%.64s' is not a number%s: give one from %" PRIu64 " to %" PRIu64,
            setting->key, value, bytes ? " of bytes (a suffix K, M or G is understood)" : "",
            setting->min, setting->max);
    if (r < 0 || number < setting->min || number > setting->max)
        return explain_set(explain, -ERANGE,
                           "setting %s: %.64s is out of range: from %" PRIu64 " to %" PRIu64
                           " is allowed",
                           setting->key, value, setting->min, setting->max);
    *setting_number(settings, setting) = number;
    return 0;
}

static int setting_parse_stealing(struct settings *settings, const char *value,
                                  struct explain *explain)
{
    enum steal_policy_id id;

    if (steal_policy_parse(value, &id) == 0) {
        settings->stealing = id;
        return 0;
    }
    explain_set(explain, -EINVAL, "setting stealing: '%.64s' is no policy: one of", value);
    for (unsigned i = 0; i < STEAL_N; i++)
        explain_add(explain, "%s %s", i == 0 ? "" : ",",
                    steal_policy_name((enum steal_policy_id)i));
    explain_add(explain, " is allowed");
    return -EINVAL;
}

static int setting_parse_steal_mode(struct settings *settings, const char *value,
                                    struct explain *explain)
{
    if (steal_mode_parse(value, &settings->steal_mode) < 0)
        return explain_set(explain, -EINVAL,
                           "setting steal-mode: '%.64s' is neither keep nor visit", value);
    return 0;
}

static int setting_parse_affinity(struct settings *settings, const char *value,
                                  struct explain *explain)
{
    struct cpu_list list;

    if (strlen(value) >= sizeof(settings->affinity))
        return explain_set(explain, -ERANGE,
                           "setting affinity: %zu characters are too long: at most %zu are allowed",
                           strlen(value), sizeof(settings->affinity) - 1);
    if (strcmp(value, "auto") != 0 && strcmp(value, "none") != 0) {
        int r = cpu_list_parse(value, &list);

        if (r == -EINVAL)
            return explain_set(explain, r,
                               "setting affinity: '%.64s' is neither auto, none nor a list of "
                               "different CPUs such as 0,2,4-7",
                               value);
        if (r < 0)
            return explain_set(explain, -ERANGE,
                               "setting affinity: '%.64s' is out of range: at most %d CPUs with "
                               "numbers up to %d are allowed",
                               value, ODEON_WORKERS_MAX, CPU_NUMBER_MAX);
    }
    strcpy(settings->affinity, value);
    return 0;
}

static int setting_parse_yes_no(struct settings *settings, const struct setting *setting,
                                const char *value, struct explain *explain)
{
    bool yes = strcmp(value, "yes") == 0;

    if (!yes && strcmp(value, "no") != 0)
        return explain_set(explain, -EINVAL, "setting %s: '%.64s' is neither yes nor no",
                           setting->key, value);
    *setting_flag(settings, setting) = yes;
    return 0;
}

static int setting_parse_memory(struct settings *settings, const char *value,
                                struct explain *explain)
{
    if (memory_policy_parse(value, &settings->memory) < 0)
        return explain_set(explain, -EINVAL,
                           "setting memory: '%.64s' is none of local, interleave and first-touch",
                           value);
    return 0;
}

static int setting_parse(struct settings *settings, const struct setting *setting,
                         const char *value, struct explain *explain)
{
    switch (setting->kind) {
    case SETTING_NUMBER:
    case SETTING_BYTES:
        return setting_parse_number(settings, setting, value, explain);
    case SETTING_YES_NO:
        return setting_parse_yes_no(settings, setting, value, explain);
    case SETTING_STEALING:
        return setting_parse_stealing(settings, value, explain);
    case SETTING_STEAL_MODE:
        return setting_parse_steal_mode(settings, value, explain);
    case SETTING_AFFINITY:
        return setting_parse_affinity(settings, value, explain);
    case SETTING_MEMORY:
        return setting_parse_memory(settings, value, explain);
    }
    return -EINVAL;
}

static int setting_unknown(const char *key, const char *value, struct explain *explain)
{
    explain_set(explain, -EINVAL, "unknown setting '%.64s' (value '%.64s'): the executor's are",
                key, value);
    for (unsigned i = 0; i < N_SETTINGS; i++)
        explain_add(explain, "%s %s", i == 0 ? "" : ",", table[i].key);
    explain_add(explain, "; those of odeond are in odeond.conf(5)");
    return -EINVAL;
}

int settings_parse(struct settings *settings, const char *key, const char *value,
                   struct explain *explain)
{
    const struct setting *setting = setting_find(key);

    if (!setting)
        return setting_unknown(key, value, explain);
    return setting_parse(settings, setting, value, explain);
}

static bool setting_given(const struct setting_pair *pairs, size_t n_pairs, const char *key)
{
    for (size_t i = 0; i < n_pairs; i++)
        if (strcmp(pairs[i].key, key) == 0)
            return true;
    return false;
}

/* ---- sizes that fit the machine ---- */

static bool settings_fit(const struct settings *settings)
{
    struct engine_config config;

    settings_get_config(settings, &config);
    return settings->workers_max * settings->queues_per_worker <= ODEON_QUEUES_MAX &&
           engine_window_size(&config) + WINDOW_ROUNDING_BYTES <= ODEON_WINDOW_BYTES_MAX &&
           engine_segment_size(&config) <= settings->address_bytes;
}

/* Each queue's window has room for all outboxes at once, so what is reserved grows with the third
 * power of the number of workers. What nobody has set is halved until it fits, first what is missed
 * least. */
static void settings_shrink(struct settings *settings, const struct setting_pair *pairs,
                            size_t n_pairs)
{
    static const struct {
        const char *key;
        size_t offset;
        uint64_t least;
    } steps[] = {
        { "outbox-bytes", offsetof(struct settings, outbox_bytes), MIB(8) },
        { "backlog-bytes", offsetof(struct settings, backlog_bytes), MIB(4) },
        { "limit-bytes", offsetof(struct settings, limit_bytes), MIB(64) },
        { "outbox-bytes", offsetof(struct settings, outbox_bytes), MIB(2) },
        { "queues-per-worker", offsetof(struct settings, queues_per_worker), 1 },
        { "outbox-bytes", offsetof(struct settings, outbox_bytes), KIB(512) },
        { "limit-bytes", offsetof(struct settings, limit_bytes), MIB(4) },
        { "backlog-bytes", offsetof(struct settings, backlog_bytes), KIB(512) },
    };

    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        uint64_t *value = (uint64_t *)((char *)settings + steps[i].offset);

        if (setting_given(pairs, n_pairs, steps[i].key))
            continue;
        while (!settings_fit(settings) && *value / 2 >= steps[i].least)
            *value /= 2;
    }
}

static int settings_check_sizes(const struct settings *settings, struct explain *explain)
{
    struct engine_config config;
    uint64_t threads = settings->workers_max + settings->detached + 1;

    settings_get_config(settings, &config);
    uint64_t window = engine_window_size(&config), segment = engine_segment_size(&config);
    if (window + WINDOW_ROUNDING_BYTES > ODEON_WINDOW_BYTES_MAX)
        return explain_set(explain, -ERANGE,
                           "settings limit-bytes = %" PRIu64 ", twice, and outbox-bytes = %" PRIu64
                           ", for each of %" PRIu64 " threads, make queues of %" PRIu64
                           " bytes: less than %" PRIu64 " are allowed, lower one of the two",
                           settings->limit_bytes, settings->outbox_bytes, threads, window,
                           ODEON_WINDOW_BYTES_MAX);
    if (segment > settings->address_bytes)
        return explain_set(explain, -ERANGE,
                           "settings workers-max = %" PRIu64 ", queues-per-worker = %" PRIu64
                           ", limit-bytes = %" PRIu64 ", outbox-bytes = %" PRIu64
                           " and backlog-bytes = %" PRIu64 " make a segment of %" PRIu64
                           " MiB of addresses: this machine has room for %" PRIu64
                           " MiB, lower one of them",
                           settings->workers_max, settings->queues_per_worker,
                           settings->limit_bytes, settings->outbox_bytes, settings->backlog_bytes,
                           segment >> 20, settings->address_bytes >> 20);
    return 0;
}

/* The rest is for rings, states, outboxes, and all that is not the service's. */
static uint64_t settings_waiting_usual(uint64_t memory_bytes)
{
    uint64_t bytes = (memory_bytes / 8 * 3) & ~(MIB(1) - 1);

    return bytes < MIB(4) ? MIB(4) : bytes;
}

/* Those that settings_sizes.h lists; and no more workers than they have room for. */
static void settings_take_sizes(struct settings *settings, const struct engine_config *segment)
{
    settings->workers_max = segment->workers_max;
    settings->queues_per_worker = segment->queues_per_worker;
    settings->detached = segment->detached_max;
    settings->actors = segment->actors_max;
    settings->limit_bytes = segment->limit_bytes;
    settings->outbox_bytes = segment->outbox_bytes;
    settings->backlog_bytes = segment->backlog_bytes;
    settings->dead_letter_bytes = segment->dlq_bytes;
    settings->durable_bytes = segment->durable_bytes;
    settings->timers = segment->timers_max;
    settings->timer_bytes = segment->timer_bytes;
    if (settings->workers > settings->workers_max)
        settings->workers = settings->workers_max;
}

/* False: there is no segment that anybody has used. */
static bool settings_keep_sizes(struct settings *settings, const struct settings_machine *machine)
{
    struct engine_config config;

    settings_get_config(settings, &config);
    if (!machine->segment_fd || !engine_segment_config(*machine->segment_fd, &config, &config))
        return false;
    settings_take_sizes(settings, &config);
    return true;
}

int settings_read_start(struct settings *settings, const struct setting_pair *pairs, size_t n_pairs,
                        const struct settings_machine *machine, struct explain *explain)
{
    struct settings usual;

    settings_init(settings, machine->cores);
    for (size_t i = 0; i < n_pairs; i++) {
        int r = settings_parse(settings, pairs[i].key, pairs[i].value, explain);

        if (r < 0)
            return r;
    }
    settings_init(&usual, settings->smt ? machine->threads : machine->cores);
    if (setting_given(pairs, n_pairs, "detached") &&
        usual.workers > ODEON_WORKERS_MAX - settings->detached)
        usual.workers = ODEON_WORKERS_MAX - settings->detached;
    if (!setting_given(pairs, n_pairs, "workers"))
        settings->workers = usual.workers;
    if (!setting_given(pairs, n_pairs, "workers-max"))
        settings->workers_max =
            settings->workers > usual.workers ? settings->workers : usual.workers;
    if (!setting_given(pairs, n_pairs, "detached"))
        settings_make_room(settings);
    settings->address_bytes = machine->address_bytes;
    if (!setting_given(pairs, n_pairs, "waiting-bytes") && machine->memory_bytes)
        settings->waiting_bytes = settings_waiting_usual(machine->memory_bytes);
    if (!settings_keep_sizes(settings, machine))
        settings_shrink(settings, pairs, n_pairs);
    return settings_check(settings, explain);
}

int settings_check(const struct settings *settings, struct explain *explain)
{
    if (settings->workers > settings->workers_max)
        return explain_set(explain, -ERANGE,
                           "setting workers: %" PRIu64 " are more than workers-max = %" PRIu64
                           " has room for, which takes a stop and a start of the service",
                           settings->workers, settings->workers_max);
    if (settings->workers_max + settings->detached > ODEON_WORKERS_MAX)
        return explain_set(explain, -ERANGE,
                           "settings workers-max = %" PRIu64 " and detached = %" PRIu64
                           " make %" PRIu64
                           " threads: at most %d are allowed, lower one of the two",
                           settings->workers_max, settings->detached,
                           settings->workers_max + settings->detached, ODEON_WORKERS_MAX);
    if (settings->workers_max * settings->queues_per_worker > ODEON_QUEUES_MAX)
        return explain_set(explain, -ERANGE,
                           "settings workers-max = %" PRIu64 " and queues-per-worker = %" PRIu64
                           " make %" PRIu64 " queues: at most %d are allowed, lower one of the two",
                           settings->workers_max, settings->queues_per_worker,
                           settings->workers_max * settings->queues_per_worker, ODEON_QUEUES_MAX);
    return settings_check_sizes(settings, explain);
}

const char *settings_get_key(const char *key)
{
    const struct setting *setting = setting_find(key);

    return setting ? setting->key : NULL;
}

bool settings_is_live(const char *key)
{
    const struct setting *setting = setting_find(key);

    return setting && setting->live;
}

void settings_get_config(const struct settings *settings, struct engine_config *ret_config)
{
    *ret_config = (struct engine_config){
        .queues_per_worker = (uint32_t)settings->queues_per_worker,
        .actors_max = (uint32_t)settings->actors,
        .limit_bytes = settings->limit_bytes,
        .outbox_bytes = settings->outbox_bytes,
        .backlog_bytes = settings->backlog_bytes,
        .dlq_bytes = settings->dead_letter_bytes,
        .durable_bytes = settings->durable_bytes,
        .timers_max = (uint32_t)settings->timers,
        .timer_bytes = settings->timer_bytes,
        .stash_max = (uint32_t)settings->stash,
        .attempts_max = (uint32_t)settings->attempts,
        .suspect_deaths = (uint32_t)settings->suspect_deaths,
        .workers_max = (uint32_t)settings->workers_max,
        .detached_max = (uint32_t)settings->detached,
    };
    settings_update_config(settings, ret_config);
}

void settings_update_config(const struct settings *settings, struct engine_config *config)
{
    config->n_workers = (uint32_t)settings->workers;
    config->throughput = (uint32_t)settings->throughput;
    config->waiting_bytes = settings->waiting_bytes;
    config->waiting_quota_bytes = settings->quota_waiting_bytes;
    config->waiting_quota_ns = settings->quota_waiting_ms * 1000000;
    config->stealing = settings->stealing;
    config->mode = settings->steal_mode;
    config->steal_sources = (uint32_t)settings->steal_sources;
    config->packing = settings->packing;
    config->spin_ns = settings->spin_us * 1000;
    config->moderate_sleeps = (uint32_t)settings->moderate_sleeps;
    config->moderate_ns = settings->moderate_us * 1000;
    config->relaxed_ns = settings->relaxed_us * 1000;
    config->stall_warn_ns = settings->stall_warn_ms * 1000000;
    config->stall_kill_ns = settings->stall_kill_ms * 1000000;
}

int settings_show(const struct settings *settings, unsigned index, struct setting_view *ret_view)
{
    const struct setting *setting;

    if (index >= N_SETTINGS)
        return -ENOENT;
    setting = &table[index];
    *ret_view =
        (struct setting_view){ .key = setting->key, .doc = setting->doc, .live = setting->live };
    switch (setting->kind) {
    case SETTING_NUMBER:
    case SETTING_BYTES:
        snprintf(ret_view->value, sizeof(ret_view->value), "%" PRIu64,
                 *(const uint64_t *)((const char *)settings + setting->offset));
        break;
    case SETTING_YES_NO:
        snprintf(ret_view->value, sizeof(ret_view->value), "%s",
                 *(const bool *)((const char *)settings + setting->offset) ? "yes" : "no");
        break;
    case SETTING_STEALING:
        snprintf(ret_view->value, sizeof(ret_view->value), "%s",
                 steal_policy_name(settings->stealing));
        break;
    case SETTING_STEAL_MODE:
        snprintf(ret_view->value, sizeof(ret_view->value), "%s",
                 steal_mode_name(settings->steal_mode));
        break;
    case SETTING_AFFINITY:
        snprintf(ret_view->value, sizeof(ret_view->value), "%s", settings->affinity);
        break;
    case SETTING_MEMORY:
        snprintf(ret_view->value, sizeof(ret_view->value), "%s",
                 memory_policy_name(settings->memory));
        break;
    }
    return 0;
}
