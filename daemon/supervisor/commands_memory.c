/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds how much memory: what the kernel says of files and processes, by what they are for. The
 * pages of the segment are counted first (memory_count.h); then the executor is asked for what only
 * it knows; then all is told. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/memory_limit.h"
#include "daemon/supervisor/commands_executor.h"
#include "daemon/supervisor/commands_memory.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/seat.h"

enum { HOLDERS_MAX = 64, PARTS_MAX = 20 };
enum memory_by { BY_USER, BY_CLIENT, BY_PORT, BY_N };

static const char *const memory_by_names[BY_N] = { "user", "client", "port" };

/* ---- the parts */

/* Pages of a process that are in no file: its heap, its stacks, its tables.  0: it has gone. */
static uint64_t commands_memory_of_process(pid_t pid)
{
    unsigned long resident = 0, of_files = 0;
    char path[64];
    FILE *file;
    int n = 0;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    file = pid > 0 ? fopen(path, "re") : NULL;
    if (!file)
        return 0;
    n = fscanf(file, "%*u %lu %lu", &resident, &of_files);
    fclose(file);
    return n == 2 && resident > of_files
               ? (uint64_t)(resident - of_files) * (uint64_t)sysconf(_SC_PAGESIZE)
               : 0;
}

struct memory_parts {
    size_t n;
    Odeon__MemoryPart rows[PARTS_MAX], *list[PARTS_MAX];
};

static Odeon__MemoryPart *commands_memory_add(struct memory_parts *parts, const char *what,
                                              uint64_t bytes)
{
    Odeon__MemoryPart *row = &parts->rows[parts->n];

    odeon__memory_part__init(row);
    row->what = (char *)what;
    row->bytes = bytes;
    parts->list[parts->n++] = row;
    return row;
}

static void commands_memory_add_segment(struct memory_parts *parts,
                                        const struct memory_figures *figures)
{
    static const char *const names[MEMORY_PARTS] = {
        [MEMORY_QUEUES] = "message queues",
        [MEMORY_OUTBOXES] = "outboxes",
        [MEMORY_DEAD_LETTERS] = "dead letters",
        [MEMORY_KEPT_STATES] = "kept states",
        [MEMORY_ACTORS] = "actors",
        [MEMORY_TABLES] = "tables",
    };
    static const enum memory_part order[MEMORY_PARTS] = { MEMORY_QUEUES,       MEMORY_OUTBOXES,
                                                          MEMORY_DEAD_LETTERS, MEMORY_KEPT_STATES,
                                                          MEMORY_ACTORS,       MEMORY_TABLES };
    uint64_t backlogs = 0;

    for (size_t i = 0; i < ODEON_PORTS_MAX; i++)
        backlogs += figures->backlogs[i];
    for (size_t i = 0; i < MEMORY_PARTS; i++) {
        commands_memory_add(parts, names[order[i]], figures->parts[order[i]]);
        if (i == 0)
            commands_memory_add(parts, "backlogs", backlogs);
    }
}

static void commands_memory_add_files(struct memory_parts *parts, const struct seat *seat)
{
    const struct persist *persist = seat->service->persist;
    uint64_t clients = 0, executors = 0, plugins = 0,
             records = file_pages_all(seat->stats.fd) + file_pages_all(seat->observed_fd) +
                       (persist_is_on(persist) ? file_pages_all(persist->registry.fd) : 0);

    for (size_t i = 0; i < ODEON_PORTS_MAX; i++) {
        clients += file_pages_all(seat->ports.ports[i].client_fd);
        executors += file_pages_all(seat->ports.ports[i].executor_fd);
    }
    for (size_t i = 0; i < seat->plugins.n; i++)
        plugins += file_pages_all(seat->plugins.list[i].fd);
    commands_memory_add(parts, "rings of deliveries", executors);
    commands_memory_add(parts, "rings of posts", clients)->of_clients = true;
    commands_memory_add(parts, "files of plugins", plugins);
    commands_memory_add(parts, "statistics, registry", records);
}

/* ---- the holders */

struct memory_holders {
    enum memory_by by;
    size_t n, room;
    Odeon__MemoryHolder *rows;
};

static uint64_t commands_memory_sum(const Odeon__MemoryHolder *row)
{
    return row->rings + row->backlogs + row->answers + row->waiting;
}

static Odeon__MemoryHolder *commands_memory_add_holder(struct memory_holders *holders, uid_t uid)
{
    Odeon__MemoryHolder *row = &holders->rows[holders->n++];

    odeon__memory_holder__init(row);
    row->uid = uid;
    return row;
}

/* By port each has a row of its own; a client, or all of a user's, may have gone before its ports
 * have. */
static Odeon__MemoryHolder *commands_memory_find_holder(struct memory_holders *holders,
                                                        const struct seat_port *port)
{
    Odeon__MemoryHolder *row;

    for (size_t i = 0; i < holders->n && holders->by != BY_PORT; i++) {
        row = &holders->rows[i];
        if (row->uid == port->uid && (holders->by == BY_USER || row->client == port->client_id))
            return row;
    }
    row = commands_memory_add_holder(holders, port->uid);
    row->client = holders->by == BY_USER ? 0 : port->client_id;
    row->port = holders->by == BY_PORT ? port->index : 0;
    return row;
}

static void commands_memory_add_ports(struct memory_holders *holders, const struct seat *seat,
                                      const struct memory_figures *figures)
{
    for (size_t i = 0; i < ODEON_PORTS_MAX; i++) {
        const struct seat_port *port = &seat->ports.ports[i];
        Odeon__MemoryHolder *row;

        if (port->state == PORT_FREE)
            continue;
        row = commands_memory_find_holder(holders, port);
        row->ports++;
        row->rings += file_pages_all(port->client_fd) + file_pages_all(port->executor_fd);
        row->backlogs += figures->backlogs[i];
    }
}

static void commands_memory_add_clients(struct memory_holders *holders, const struct seat *seat)
{
    const struct client *client = seat->service->clients->first;

    for (; client && holders->by == BY_CLIENT; client = client->next) {
        Odeon__MemoryHolder *row = commands_memory_add_holder(holders, client->uid);

        row->client = client->id;
        row->name = (char *)client->name;
        row->clients = 1;
        row->answers = client->held.amounts[QUOTA_ANSWER_BYTES];
    }
}

static void commands_memory_add_users(struct memory_holders *holders, const struct seat *seat)
{
    const struct account *account = seat->service->accounts->first;

    for (; account && holders->by == BY_USER; account = account->next) {
        Odeon__MemoryHolder *row = commands_memory_add_holder(holders, account->uid);

        row->clients = (uint32_t)account->used.amounts[QUOTA_CLIENTS];
        row->answers = account->used.amounts[QUOTA_ANSWER_BYTES];
    }
}

static size_t commands_memory_count_accounts(const struct seat *seat)
{
    size_t n = 0;

    for (const struct account *a = seat->service->accounts->first; a; a = a->next)
        n++;
    return n;
}

/* 0 or -ENOMEM. */
static int commands_memory_find_holders(struct memory_holders *holders, const struct seat *seat,
                                        const struct memory_figures *figures)
{
    holders->room = ODEON_PORTS_MAX + 1; /* at least one, and a row for each port */
    if (holders->by == BY_CLIENT)
        for (const struct client *c = seat->service->clients->first; c; c = c->next)
            holders->room++;
    if (holders->by == BY_USER)
        holders->room += commands_memory_count_accounts(seat);
    holders->rows = calloc(holders->room, sizeof(*holders->rows));
    if (!holders->rows)
        return -ENOMEM;
    commands_memory_add_users(holders, seat);
    commands_memory_add_clients(holders, seat);
    commands_memory_add_ports(holders, seat, figures);
    return 0;
}

/* What the executor says: whom it waits for is known there by user alone. */
static void commands_memory_note_waiting(struct memory_holders *holders,
                                         const Odeon__MemoryShowReply *executors)
{
    for (size_t i = 0; executors && holders->by == BY_USER && i < executors->n_holders; i++)
        for (size_t k = 0; k < holders->n; k++)
            if (holders->rows[k].uid == executors->holders[i]->uid)
                holders->rows[k].waiting = executors->holders[i]->waiting;
}

static int commands_memory_compare(const void *a, const void *b)
{
    uint64_t first = commands_memory_sum(a), second = commands_memory_sum(b);

    return first > second ? -1 : first < second;
}

/* ---- the answer */

static void commands_memory_list_holders(Odeon__MemoryShowReply *body,
                                         struct memory_holders *holders,
                                         Odeon__MemoryHolder *list[HOLDERS_MAX])
{
    qsort(holders->rows, holders->n, sizeof(*holders->rows), commands_memory_compare);
    body->holders = list;
    for (size_t i = 0; i < holders->n; i++) {
        if (i < HOLDERS_MAX) {
            list[body->n_holders++] = &holders->rows[i];
        } else {
            body->others++;
            body->others_bytes += commands_memory_sum(&holders->rows[i]);
        }
    }
}

static void commands_memory_answer(const struct seat *seat, struct client *client,
                                   uint64_t request_id, enum memory_by by,
                                   const Odeon__MemoryShowReply *executors)
{
    const struct memory_figures *figures = memory_count_get(&seat->memory);
    struct memory_parts parts = { 0 };
    struct memory_holders holders = { .by = by };
    Odeon__MemoryHolder *list[HOLDERS_MAX];
    Odeon__MemoryShowReply body = ODEON__MEMORY_SHOW_REPLY__INIT;
    Odeon__Reply reply = ODEON__REPLY__INIT;

    if (commands_memory_find_holders(&holders, seat, figures) < 0) {
        client_refuse(client, request_id, -ENOMEM, "no memory");
        return;
    }
    commands_memory_add_segment(&parts, figures);
    commands_memory_add_files(&parts, seat);
    commands_memory_add(&parts, "odeond", commands_memory_of_process(getpid()));
    commands_memory_add(&parts, "odeon-executor",
                        commands_memory_of_process(seat->executor.child.pid));
    for (size_t i = 0; executors && i < executors->n_parts && parts.n < PARTS_MAX; i++)
        commands_memory_add(&parts, executors->parts[i]->what, executors->parts[i]->bytes)->within =
            true;
    commands_memory_note_waiting(&holders, executors);
    commands_memory_list_holders(&body, &holders, list);
    body.parts = parts.list;
    body.n_parts = parts.n;
    body.limit = memory_limit_for_service();
    body.executor_silent = executors == NULL;
    reply.id = request_id;
    reply.body_case = ODEON__REPLY__BODY_MEMORY_SHOW;
    reply.memory_show = &body;
    client_send(client, &reply, NULL, 0);
    free(holders.rows);
}

static enum memory_by commands_memory_by(const char *name)
{
    for (unsigned i = 0; i < BY_N; i++)
        if (strcmp(name, memory_by_names[i]) == 0)
            return (enum memory_by)i;
    return *name ? BY_N : BY_USER;
}

/* Who asked may have gone meanwhile.  The executor's figures are left out if it does not answer. */
static void commands_memory_on_executor(void *userdata, struct link_request *request,
                                        Odeon__Reply *reply)
{
    struct seat *seat = userdata;
    struct client *client = clients_find(seat->service->clients, request->asker.client_id);
    bool told = reply->error == 0 && reply->body_case == ODEON__REPLY__BODY_MEMORY_SHOW;

    if (!client)
        return;
    client_end_request(client);
    commands_memory_answer(seat, client, request->tag,
                           commands_memory_by(request->request->memory_show->by),
                           told ? reply->memory_show : NULL);
}

/* A request while the segment is counted. */
struct commands_memory_asker {
    struct memory_asker asker;
    struct seat *seat;
    uint64_t client_id;
    Odeon__Request *request;
};

static void commands_memory_on_count(struct memory_asker *asker)
{
    struct commands_memory_asker *own = (struct commands_memory_asker *)asker;
    struct seat *seat = own->seat;
    struct client *client = clients_find(seat->service->clients, own->client_id);

    if (client)
        client_end_request(client);
    if (client && seat->executor.state == LINK_READY && !seat->stopping)
        command_ask_executor(seat, client, &own->request, -1, commands_memory_on_executor);
    else if (client)
        commands_memory_answer(seat, client, own->request->id,
                               commands_memory_by(own->request->memory_show->by), NULL);
    odeon__request__free_unpacked(own->request, NULL);
    free(own);
}

void command_memory_show(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame)
{
    const char *by = (*request)->memory_show->by;
    struct commands_memory_asker *own;

    (void)frame;
    if (commands_memory_by(by) == BY_N) {
        client_refuse(client, (*request)->id, -EINVAL,
                      "memory is shown by user, by client or by port, not by '%.64s'", by);
        return;
    }
    own = malloc(sizeof(*own));
    if (!own) {
        client_refuse(client, (*request)->id, -ENOMEM, "no memory");
        return;
    }
    *own = (struct commands_memory_asker){ .asker.done = commands_memory_on_count,
                                           .seat = seat,
                                           .client_id = client->id,
                                           .request = *request };
    *request = NULL;
    client_begin_request(client);
    memory_count_ask(&seat->memory, seat->segment_fd, &own->asker);
}
