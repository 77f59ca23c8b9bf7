/* SPDX-License-Identifier: Apache-2.0 */
/* What the statistics say of each worker, as rows (view.h). The order of the cells is that of the
 * columns in view.c. */
#include "client-lib/ctl/stats_view.h"
#include "client-lib/ctl/top/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A second; NAN: there is no look before this one. */
static double view_rate(const struct snapshot *now, const struct snapshot *before, unsigned worker,
                        const char *name)
{
    size_t figure = snapshot_find(now, name);
    double seconds, difference;

    if (!before || figure == now->n || now->taken_ns <= before->taken_ns)
        return (double)NAN;
    seconds = (double)(now->taken_ns - before->taken_ns) / 1e9;
    difference = snapshot_difference(now, before, (int)worker, figure);
    return now->figures[figure].kind == ODEON_STATS_COUNTER ? difference / seconds : difference;
}

/* One that rests has nothing to do, and is not to be given any. */
static const char *view_state(const struct snapshot *now, unsigned worker)
{
    double state = snapshot_value(now, (int)worker, snapshot_find(now, "state"));
    bool rests = snapshot_value(now, (int)worker, snapshot_find(now, "resting")) > 0;

    return rests && state != 1 ? "resting" : stats_state_name(state);
}

bool view_add_workers(struct table *table, const struct snapshot *now,
                      const struct snapshot *before, const double *shares, size_t n_shares)
{
    static const char *const rates[] = {
        "messages_processed", "messages_sent", "average_gulp_size", "steals", "parks",
        "wakeups_received"
    };

    for (unsigned i = 0; i < now->service.workers; i++) {
        const char *state = view_state(now, i);
        struct table_row *row;
        char key[16];

        snprintf(key, sizeof(key), "%08u", i);
        row = table_add(table, key);
        if (!row)
            return false;
        row->cell[0].number = i;
        row->cell[1].text = table_copy(state);
        if (i < n_shares)
            row->cell[2].number = row->cell[3].number = shares[i];
        for (size_t k = 0; k < sizeof(rates) / sizeof(rates[0]); k++)
            row->cell[4 + k].number = view_rate(now, before, i, rates[k]);
        if (i < now->n_workers && now->cpus[i] >= 0)
            row->cell[10].number = now->cpus[i];
    }
    return true;
}
