/* SPDX-License-Identifier: Apache-2.0 */
/* The views' names and columns (view.h). */
#include "client-lib/ctl/top/view.h"

#include <string.h>

static const struct table_column view_types[] = {
    { "TYPE", TABLE_TEXT, 0 },      { "MSGS/S", TABLE_RATE, 2 },  { "RUNS", TABLE_SHARE, 1 },
    { "RUN P50", TABLE_TIME, 6 },   { "RUN P99", TABLE_TIME, 5 }, { "WAIT P50", TABLE_TIME, 7 },
    { "WAIT P99", TABLE_TIME, 3 },  { "WAITING", TABLE_RATE, 4 }, { "SENDS/S", TABLE_RATE, 8 },
    { "MESSAGES", TABLE_COUNT, 9 }, { "PLUGIN", TABLE_TEXT, 10 },
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
