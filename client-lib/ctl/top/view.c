/* SPDX-License-Identifier: Apache-2.0 */
/* The views' names and columns (view.h). */
#include "client-lib/ctl/top/view.h"

#include <string.h>

static const struct table_column view_types[] = {
    { "TYPE", TABLE_TEXT, 0 },      { "MSGS/S", TABLE_RATE, 2 },   { "RUNS", TABLE_SHARE, 1 },
    { "RUN P50", TABLE_TIME, 6 },   { "RUN P99", TABLE_TIME, 5 },  { "WAIT P50", TABLE_TIME, 7 },
    { "WAIT P99", TABLE_TIME, 3 },  { "WAITING", TABLE_RATE, 4 },  { "SENDS/S", TABLE_RATE, 8 },
    { "MESSAGES", TABLE_COUNT, 9 }, { "PLUGIN", TABLE_TEXT, 13 },  { "FAILED", TABLE_COUNT, 11 },
    { "ACTORS", TABLE_COUNT, 12 },  { "STATES", TABLE_BYTES, 10 },
};
static const struct table_column view_actors[] = {
    { "REF", TABLE_TEXT, 0 },    { "TYPE", TABLE_TEXT, 2 },    { "RUNS", TABLE_SHARE, 1 },
    { "MSGS/S", TABLE_RATE, 3 }, { "WAITING", TABLE_RATE, 4 }, { "RUNS AT LEAST", TABLE_SHARE, 5 },
};
static const struct table_column view_flows[] = {
    { "FROM", TABLE_TEXT, 0 },
    { "TO", TABLE_TEXT, 1 },
    { "MSGS/S", TABLE_RATE, 2 },
    { "AT LEAST", TABLE_RATE, 3 },
};

static const struct table_column view_queues[] = {
    { "QUEUE", TABLE_COUNT, 0 },  { "KIND", TABLE_TEXT, 3 },     { "BYTES", TABLE_BYTES, 1 },
    { "URGENT", TABLE_BYTES, 5 }, { "OWNER", TABLE_COUNT, 2 },   { "HOME", TABLE_COUNT, 6 },
    { "ACTORS", TABLE_COUNT, 4 }, { "RETIRING", TABLE_TEXT, 7 }, { "OLDEST", TABLE_DURATION, 8 },
    { "FOR", TABLE_TEXT, 9 },
};
static const struct table_column view_workers[] = {
    { "WORKER", TABLE_COUNT, 0 }, { "STATE", TABLE_TEXT, 4 },    { "BUSY", TABLE_SHARE, 1 },
    { "", TABLE_BAR, 3 },         { "MSGS/S", TABLE_RATE, 2 },   { "SENT/S", TABLE_RATE, 5 },
    { "GULP", TABLE_RATE, 8 },    { "STEALS/S", TABLE_RATE, 6 }, { "PARKS/S", TABLE_RATE, 7 },
    { "WAKES/S", TABLE_RATE, 9 }, { "CPU", TABLE_COUNT, 10 },
};
static const struct table_column view_clients[] = {
    { "CLIENT", TABLE_COUNT, 0 },  { "NAME", TABLE_TEXT, 1 },     { "USER", TABLE_COUNT, 2 },
    { "PROCESS", TABLE_COUNT, 4 }, { "COMMAND", TABLE_TEXT, 5 },  { "PORTS", TABLE_COUNT, 3 },
    { "BROKEN", TABLE_COUNT, 10 }, { "FOR", TABLE_DURATION, 9 },  { "ROLES", TABLE_TEXT, 12 },
    { "LIBRARY", TABLE_TEXT, 13 }, { "POSTS", TABLE_COUNT, 6 },   { "REFUSED", TABLE_COUNT, 11 },
    { "CALLS", TABLE_COUNT, 7 },   { "CALL P99", TABLE_TIME, 8 },
};
static const struct table_column view_users[] = {
    { "USER", TABLE_COUNT, 0 },     { "CLIENTS", TABLE_COUNT, 2 }, { "PORTS", TABLE_COUNT, 4 },
    { "MEMORY", TABLE_BYTES, 1 },   { "WAITING", TABLE_BYTES, 3 }, { "RINGS", TABLE_BYTES, 5 },
    { "BACKLOGS", TABLE_BYTES, 6 }, { "ANSWERS", TABLE_BYTES, 7 }, { "POSTS", TABLE_COUNT, 8 },
    { "REFUSED", TABLE_COUNT, 11 }, { "CALLS", TABLE_COUNT, 9 },   { "CALL P99", TABLE_TIME, 10 },
};

#define VIEW_COLUMNS(c) .columns = (c), .n_columns = sizeof(c) / sizeof((c)[0])

const struct view views[VIEW_N] = {
    [VIEW_TYPES] = { .name = "types",
                     .title = "Types",
                     .of = "Types of",
                     VIEW_COLUMNS(view_types),
                     .sort = 2,
                     .leads = VIEW_ACTORS,
                     .empty = "no actor has run anything since the look before" },
    [VIEW_ACTORS] = { .name = "actors",
                      .title = "Actors",
                      .of = "Actors of the type",
                      VIEW_COLUMNS(view_actors),
                      .sort = 2,
                      .leads = VIEW_FLOWS,
                      .empty = "none of them is among those that had most lately" },
    [VIEW_FLOWS] = { .name = "flows",
                     .title = "Flows",
                     .of = "Flows from and to the type",
                     VIEW_COLUMNS(view_flows),
                     .sort = 2,
                     .leads = VIEW_FLOWS,
                     .empty = "nobody has sent much lately" },
    [VIEW_QUEUES] = { .name = "queues",
                      .title = "Queues",
                      VIEW_COLUMNS(view_queues),
                      .sort = 2,
                      .leads = VIEW_QUEUES,
                      .empty = "there is no queue",
                      .tables = "odeonctl queue list" },
    [VIEW_WORKERS] = { .name = "workers",
                       .title = "Workers",
                       VIEW_COLUMNS(view_workers),
                       .sort = 2,
                       .leads = VIEW_WORKERS,
                       .empty = "there is no worker",
                       .tables = "odeonctl stats --worker" },
    [VIEW_CLIENTS] = { .name = "clients",
                       .title = "Clients",
                       .of = "Clients of the user",
                       VIEW_COLUMNS(view_clients),
                       .sort = 5,
                       .leads = VIEW_CLIENTS,
                       .empty = "there is no client",
                       .tables = "odeonctl client list" },
    [VIEW_USERS] = { .name = "users",
                     .title = "Users",
                     VIEW_COLUMNS(view_users),
                     .sort = 3,
                     .leads = VIEW_CLIENTS,
                     .empty = "no user has a client",
                     .tables = "odeonctl mem" },
};

enum view_id view_find(const char *name)
{
    enum view_id view = 0;

    while (view < VIEW_N && strcmp(name, views[view].name) != 0)
        view++;
    return view;
}

size_t view_sort(enum view_id view, enum odeon_observe_by by)
{
    static const char *const titles[] = {
        [ODEON_BY_RUN] = "RUNS", [ODEON_BY_MESSAGES] = "MSGS/S", [ODEON_BY_WAIT] = "WAITING"
    };

    for (size_t i = 0; i < views[view].n_columns; i++)
        if (strcmp(views[view].columns[i].title, titles[by]) == 0)
            return i;
    return views[view].sort;
}

struct table *view_table(enum view_id view)
{
    return table_new(views[view].columns, views[view].n_columns);
}
