/* SPDX-License-Identifier: Apache-2.0 */
/* What the service says of itself, its types, queues, clients and letters. */
#include "client-lib/ctl/doctor/doctor.h"
#include "client-lib/ctl/output.h"

#include <odeon/version.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DOCTOR_NEAR = 50, DOCTOR_FULL = 90 }; /* percent of a bound */
enum { DOCTOR_CLIENTS_MAX = 256 };           /* that are asked for one by one */

static unsigned doctor_percent(uint64_t part, uint64_t whole)
{
    return whole ? (unsigned)((double)part / (double)whole * 100) : 0;
}

/* Calls `look` for each row of all pages. */
static void doctor_walk(struct doctor *doctor, const char *what, size_t row_size,
                        int (*fetch)(struct odeon_client *client, const char *filter,
                                     uint64_t after, uint32_t rows, struct odeon_list **ret),
                        void (*look)(struct doctor *doctor, void *userdata, const void *row),
                        void *userdata)
{
    uint64_t after = 0;
    bool more = true;

    while (more) {
        struct odeon_list *list = NULL;
        int r = fetch(doctor->ctl->client, NULL, after, 0, &list);

        if (r < 0) {
            doctor_skip(doctor, what, r);
            return;
        }
        for (size_t i = 0; i < list->n; i++)
            look(doctor, userdata, (const char *)list->rows + i * row_size);
        after = list->next;
        more = list->more && list->n > 0;
        odeon_list_free(list);
    }
}

/* ---- the service */

static void doctor_look_at_state(struct doctor *doctor)
{
    struct odeon_status *s = NULL;
    int r = odeon_service_status(doctor->ctl->client, &s);

    if (r < 0) {
        doctor_skip(doctor, "the service's state", r);
        return;
    }
    doctor->supervisor_pid = s->supervisor_pid;
    doctor->executor_pid = s->executor_pid;
    doctor->workers = s->workers;
    if (strcmp(s->state, "running") != 0)
        doctor_find(doctor, HARM_BROKEN, "state", "journalctl -u odeond -e",
                    "the service is not running, but %s: messages are accepted and wait", s->state);
    if (strcmp(s->version, ODEON_VERSION) != 0)
        doctor_find(doctor, HARM_NOTE, "versions", "systemctl restart odeond",
                    "the running service is version %s, this odeonctl %s", s->version,
                    ODEON_VERSION);
    if (s->executor_restarts > 0)
        doctor_find(doctor, HARM_BAD, "restarts", "journalctl -u odeond -g 'has died'",
                    "the executor has died since odeond began, and has gone on where it was: "
                    "deaths: %" PRIu64,
                    s->executor_restarts);
    odeon_result_free(s);
}

/* ---- types */

static int doctor_fetch_types(struct odeon_client *client, const char *filter, uint64_t after,
                              uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_type_list(client, after, rows, ret);
}

static void doctor_look_at_type(struct doctor *doctor, void *userdata, const void *row)
{
    const struct odeon_type_info *t = row;
    char mend[512];

    (void)userdata;
    if (t->quarantined) {
        snprintf(mend, sizeof(mend), "odeonctl type release %s", t->name);
        doctor_find(doctor, HARM_BROKEN, "quarantine", mend,
                    "type %s of plugin %s is in quarantine, since it crashed too often: its "
                    "actors (%" PRIu64 ") get no messages",
                    t->name, t->plugin, t->actors);
    } else if (!t->loaded && t->actors > 0) {
        doctor_find(doctor, HARM_BROKEN, "not-loaded", "odeonctl plugin load PATH",
                    "type %s has %" PRIu64 " actors, but its plugin %s is not loaded: what they "
                    "are sent becomes dead letters",
                    t->name, t->actors, t->plugin);
    }
}

/* ---- queues */

struct doctor_queues {
    uint64_t limit, bytes;
    uint32_t fullest, owner;
    unsigned near;
};

static int doctor_fetch_queues(struct odeon_client *client, const char *filter, uint64_t after,
                               uint32_t rows, struct odeon_list **ret)
{
    return odeon_queue_list(client, filter, after, rows, ret);
}

static void doctor_look_at_queue(struct doctor *doctor, void *userdata, const void *row)
{
    struct doctor_queues *queues = userdata;
    const struct odeon_queue_info *q = row;
    uint64_t bytes = q->bytes > q->urgent_bytes ? q->bytes : q->urgent_bytes;

    (void)doctor;
    queues->near += doctor_percent(bytes, queues->limit) >= DOCTOR_NEAR;
    if (bytes > queues->bytes) {
        queues->bytes = bytes;
        queues->fullest = q->id;
        queues->owner = q->owner;
    }
}

/* What the settings that are looked at are; 0: not known. */
static uint64_t doctor_setting(const struct odeon_executor_info *info, const char *key)
{
    for (size_t i = 0; i < info->n_settings; i++)
        if (strcmp(info->settings[i].key, key) == 0)
            return strtoull(info->settings[i].value, NULL, 10);
    return 0;
}

static void doctor_look_at_queues(struct doctor *doctor, const struct odeon_executor_info *info)
{
    struct doctor_queues queues = { .limit = doctor_setting(info, "limit-bytes") };
    char bytes[OUTPUT_BYTES_TEXT], limit[OUTPUT_BYTES_TEXT];

    if (!queues.limit)
        return;
    doctor_walk(doctor, "queues", sizeof(struct odeon_queue_info), doctor_fetch_queues,
                doctor_look_at_queue, &queues);
    if (queues.near == 0)
        return;
    doctor_find(doctor, HARM_BAD, "queues",
                "odeonctl queue list --busy, and odeonctl top actors --sort wait",
                "%u queues are near the bound at which sends to them fail: queue %u, of worker "
                "%u, has %s of %s (limit-bytes)",
                queues.near, queues.fullest, queues.owner, output_format_bytes(queues.bytes, bytes),
                output_format_bytes(queues.limit, limit));
}

/* ---- clients and their users */

struct doctor_clients {
    unsigned n, older, asked;
    uint64_t first_older;
    char library[64];
    unsigned n_seen; /* quotas that are told of already */
    struct {
        uint32_t uid;
        char name[32];
    } seen[64];
};

static bool doctor_has_seen(struct doctor_clients *clients, uint32_t uid, const char *quota)
{
    for (unsigned i = 0; i < clients->n_seen; i++)
        if (clients->seen[i].uid == uid && strcmp(clients->seen[i].name, quota) == 0)
            return true;
    if (clients->n_seen < sizeof(clients->seen) / sizeof(clients->seen[0])) {
        clients->seen[clients->n_seen].uid = uid;
        snprintf(clients->seen[clients->n_seen].name, sizeof(clients->seen[0].name), "%s", quota);
        clients->n_seen++;
    }
    return false;
}

/* A user near one of his quotas is refused soon; each is told of once. */
static void doctor_look_at_usage(struct doctor *doctor, struct doctor_clients *clients, uint64_t id)
{
    struct odeon_client_detail *d = NULL;
    char mend[64];

    if (odeon_client_show(doctor->ctl->client, id, &d) < 0)
        return; /* it has gone meanwhile */
    snprintf(mend, sizeof(mend), "odeonctl client show %" PRIu64, id);
    for (size_t i = 0; d->bound && i < d->n_usage; i++) {
        const struct odeon_usage *u = &d->usage[i];

        if (!u->user_known || u->unlimited || u->per_second ||
            doctor_percent(u->user, u->limit) < DOCTOR_FULL ||
            doctor_has_seen(clients, d->client.uid, u->name))
            continue;
        doctor_find(doctor, HARM_BAD, "quota", mend,
                    "user %u has %" PRIu64 " of %" PRIu64 " %s, and is refused more (quota-%s)",
                    d->client.uid, u->user, u->limit, u->name, u->name);
    }
    odeon_result_free(d);
}

static int doctor_fetch_clients(struct odeon_client *client, const char *filter, uint64_t after,
                                uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_client_list(client, after, rows, ret);
}

static void doctor_look_at_client(struct doctor *doctor, void *userdata, const void *row)
{
    struct doctor_clients *clients = userdata;
    const struct odeon_client_info *c = row;
    char mend[64];

    if (c->broken_ports > 0) {
        snprintf(mend, sizeof(mend), "odeonctl client show %" PRIu64, c->id);
        doctor_find(doctor, HARM_BAD, "broken-ports", mend,
                    "client %" PRIu64 " (%s, process %u of user %u) has %u ports that were closed "
                    "for what it wrote there",
                    c->id, *c->name ? c->name : "-", c->pid, c->uid, c->broken_ports);
    }
    if (*c->library && strcmp(c->library, ODEON_VERSION) != 0 && clients->older++ == 0) {
        clients->first_older = c->id;
        snprintf(clients->library, sizeof(clients->library), "%s", c->library);
    }
    if (clients->asked++ < DOCTOR_CLIENTS_MAX)
        doctor_look_at_usage(doctor, clients, c->id);
}

static void doctor_look_at_clients(struct doctor *doctor)
{
    struct doctor_clients clients = { 0 };

    doctor_walk(doctor, "clients", sizeof(struct odeon_client_info), doctor_fetch_clients,
                doctor_look_at_client, &clients);
    if (clients.older > 0)
        doctor_find(doctor, HARM_NOTE, "versions", "restart these programs: odeonctl client list",
                    "%u clients use another libodeon than %s, client %" PRIu64 " for one: %s",
                    clients.older, ODEON_VERSION, clients.first_older, clients.library);
    if (clients.asked > DOCTOR_CLIENTS_MAX)
        doctor_find(doctor, HARM_NOTE, "not-looked-at", "odeonctl client show ID",
                    "quotas of %u clients: not looked at, since there are more than %u",
                    clients.asked - DOCTOR_CLIENTS_MAX, (unsigned)DOCTOR_CLIENTS_MAX);
}

/* ---- memory, and who does not take what he is sent */

static void doctor_look_at_backlogs(struct doctor *doctor, const struct odeon_memory *m,
                                    uint64_t bound)
{
    for (size_t i = 0; i < m->n_holders; i++) {
        const struct odeon_memory_holder *h = &m->holders[i];
        char bytes[OUTPUT_BYTES_TEXT], mend[64];

        if (h->ports == 0 || doctor_percent(h->backlogs, bound) < DOCTOR_NEAR)
            continue;
        snprintf(mend, sizeof(mend), "odeonctl client kick %" PRIu64, h->client);
        doctor_find(doctor, HARM_BAD, "backlog", mend,
                    "client %" PRIu64 " (%s, user %u) does not take what it is sent: %s wait for "
                    "it",
                    h->client, *h->name ? h->name : "-", h->uid,
                    output_format_bytes(h->backlogs, bytes));
    }
}

static void doctor_look_at_memory(struct doctor *doctor, const struct odeon_executor_info *info)
{
    struct odeon_memory *m = NULL;
    char bytes[OUTPUT_BYTES_TEXT], limit[OUTPUT_BYTES_TEXT];
    uint64_t backlog = doctor_setting(info, "backlog-bytes");
    int r = odeon_memory_show(doctor->ctl->client, "client", &m);

    if (r < 0) {
        doctor_skip(doctor, "memory", r);
        return;
    }
    if (m->limit && doctor_percent(m->bytes + m->shared, m->limit) >= DOCTOR_NEAR)
        doctor_find(doctor, HARM_BAD, "memory", "odeonctl mem --by user",
                    "the service holds %s of the %s that it may use",
                    output_format_bytes(m->bytes + m->shared, bytes),
                    output_format_bytes(m->limit, limit));
    if (backlog)
        doctor_look_at_backlogs(doctor, m, backlog);
    odeon_result_free(m);
}

/* ---- dead letters */

static void doctor_look_at_letters(struct doctor *doctor)
{
    struct odeon_list *list = NULL;
    int r = odeon_dead_letter_list(doctor->ctl->client, 0, 0, &list);

    if (r < 0) {
        doctor_skip(doctor, "dead letters", r);
        return;
    }
    if (list->n > 0) {
        const struct odeon_dead_letter_info *oldest = list->rows;

        doctor_find(doctor, HARM_NOTE, "dead-letters", "odeonctl dlq list --summary",
                    "dead letters wait: %zu%s; the oldest: %s to type %s, %s", list->n,
                    list->more ? " and more" : "", oldest->message,
                    *oldest->type ? oldest->type : "-", oldest->reason);
    }
    odeon_list_free(list);
}

void doctor_look_at_service(struct doctor *doctor)
{
    struct odeon_executor_info *info = NULL;
    int r;

    doctor_look_at_state(doctor);
    doctor_walk(doctor, "types", sizeof(struct odeon_type_info), doctor_fetch_types,
                doctor_look_at_type, NULL);
    r = odeon_executor_show(doctor->ctl->client, &info);
    if (r < 0) {
        doctor_skip(doctor, "settings, and with them queues and memory", r);
    } else {
        doctor_look_at_queues(doctor, info);
        doctor_look_at_memory(doctor, info);
        odeon_result_free(info);
    }
    doctor_look_at_clients(doctor);
    doctor_look_at_letters(doctor);
}
