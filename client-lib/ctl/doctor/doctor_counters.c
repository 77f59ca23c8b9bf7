/* SPDX-License-Identifier: Apache-2.0 */
/* What grows while one looks: two snapshots of the statistics, a second apart. Nobody is asked. */
#include "client-lib/ctl/doctor/doctor.h"
#include "client-lib/ctl/stats_view.h"

#include <time.h>

enum { DOCTOR_LOOK_MS = 1000 };

/* Counters none of which should grow in health. */
static const struct doctor_sign {
    const char *name;
    enum harm harm;
    const char *about, *what, *mend;
} doctor_signs[] = {
    { "faults", HARM_BROKEN, "faults", "handlers fault", "odeonctl dlq list --summary" },
    { "dead_letters", HARM_BROKEN, "dead-letters-grow", "messages become dead letters",
      "odeonctl dlq list --summary" },
    { "dead_letters_dropped", HARM_BROKEN, "dead-letters-dropped",
      "dead letters are dropped, since their store is full",
      "odeonctl dlq purge all, or a larger dead-letter-bytes" },
    { "backlog_dropped", HARM_BROKEN, "backlog-dropped",
      "answers to clients that do not take them are dropped", "odeonctl mem --by client" },
    { "backlog_dropped_oldest", HARM_BROKEN, "backlog-dropped",
      "answers to clients that do not take them are dropped", "odeonctl mem --by client" },
    { "redeliveries", HARM_BAD, "redeliveries", "messages are run again after deaths",
      "journalctl -u odeond -g 'has died'" },
    { "refusals", HARM_BAD, "refusals", "messages of clients are refused",
      "journalctl -u odeond -p warning, which names them" },
    { "refused_slow", HARM_BAD, "refused-slow",
      "messages are refused since what waits for their user takes too long",
      "odeonctl top actors --sort wait" },
    { "sends_failed", HARM_BAD, "sends-failed", "sends fail in the handlers that make them",
      "odeonctl queue list --busy" },
    { "handler_stalls", HARM_BAD, "stalls", "handlers do not return for stall-warn-ms",
      "odeonctl top actors" },
    { "ports_muted", HARM_BAD, "ports-muted", "doorbells ring without end",
      "journalctl -u odeond -p warning, which names the clients" },
    { "clients_held", HARM_BAD, "clients-held", "clients offend again and again",
      "journalctl -u odeond -p warning, which names them" },
    { "timers_refused", HARM_BAD, "timers-refused", "there is no room for timers",
      "odeonctl timer list, or larger timers and timer-bytes" },
    { "stash_refused", HARM_BAD, "stash-refused", "there is no room for messages to put off",
      "a larger stash" },
    { "publications_missed", HARM_BAD, "publications-missed",
      "members of groups are left out, since their queues are full", "odeonctl queue list --busy" },
    { "control_waits", HARM_SLOW, "control-waits", "the control thread waits for workers",
      "odeonctl top actors: handlers that take long" },
    { "memory_binds_failed", HARM_SLOW, "memory-binds", "memory lies on another node than its user",
      "odeonctl executor show: memory" },
};

static void doctor_compare_counters(struct doctor *doctor, const struct snapshot *now,
                                    const struct snapshot *before)
{
    double seconds = (double)(now->taken_ns - before->taken_ns) / 1e9;

    for (size_t i = 0; i < sizeof(doctor_signs) / sizeof(doctor_signs[0]); i++) {
        const struct doctor_sign *sign = &doctor_signs[i];
        double more = snapshot_difference(now, before, -1, snapshot_find(now, sign->name));

        if (more > 0 && seconds > 0)
            doctor_find(doctor, sign->harm, sign->about, sign->mend, "%s: %.0f in %.1f s",
                        sign->what, more, seconds);
    }
}

static bool doctor_is_overdue(const struct snapshot *snapshot, unsigned worker)
{
    return worker < snapshot->n_workers &&
           snapshot_value(snapshot, (int)worker, snapshot_find(snapshot, "handler_overdue")) > 0;
}

/* Then, or now. */
static void doctor_look_at_handlers(struct doctor *doctor, const struct snapshot *now,
                                    const struct snapshot *before)
{
    for (unsigned w = 0; w < now->n_workers; w++)
        if (doctor_is_overdue(before, w) || doctor_is_overdue(now, w))
            doctor_find(doctor, HARM_BROKEN, "overdue",
                        "odeonctl top actors names it; executor set stall-kill-ms= ends such",
                        "a handler on worker %u does not return: what waits behind it waits", w);
}

static void doctor_wait(unsigned ms)
{
    struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

    nanosleep(&time, NULL);
}

void doctor_look_at_counters(struct doctor *doctor)
{
    struct snapshot *before = NULL, *now = NULL;
    struct odeon_stats *stats = NULL;

    if (stats_open(doctor->ctl, true, &stats) != 0) {
        doctor_find(doctor, HARM_NOTE, "not-looked-at", "odeonctl stats says why",
                    "counters: not looked at: there is no statistics segment to read");
        return;
    }
    if (snapshot_take(stats, true, &before) == 0) {
        doctor_wait(DOCTOR_LOOK_MS);
        if (snapshot_take(stats, true, &now) == 0) {
            doctor_compare_counters(doctor, now, before);
            doctor_look_at_handlers(doctor, now, before);
        }
    }
    if (!now)
        doctor_find(doctor, HARM_NOTE, "not-looked-at", "odeonctl stats says why",
                    "counters: not looked at: the statistics segment makes no sense");
    snapshot_free(before);
    snapshot_free(now);
    odeon_stats_close(stats);
}
