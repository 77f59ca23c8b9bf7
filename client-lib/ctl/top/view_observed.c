/* SPDX-License-Identifier: Apache-2.0 */
/* What actors do, as rows of the views of types, actors and flows (view.h). The order of the cells
 * is that of the columns in view.c. */
#include "client-lib/ctl/top/view.h"

#include <odeon/codec.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double view_per_second(uint64_t count, double seconds)
{
    return seconds > 0 ? (double)count / seconds : 0;
}

bool view_add_types(struct table *table, const struct odeon_list *types, double seconds)
{
    const struct odeon_type_figures *t = types->rows;

    for (size_t i = 0; i < types->n; i++, t++) {
        struct table_row *row;

        if (!t->messages && !t->waited && !t->failed && !t->state_bytes)
            continue;
        row = table_add(table, t->type);
        if (!row)
            return false;
        row->leads = table_copy(t->type);
        row->cell[0].text = table_copy(t->type);
        row->cell[1].number = view_per_second(t->messages, seconds);
        row->cell[2].number = view_per_second(t->run_ns, seconds) / 1e9;
        if (t->messages) {
            row->cell[3].number = (double)t->run_p50_ns;
            row->cell[4].number = (double)t->run_p99_ns;
        }
        if (t->waited) {
            row->cell[5].number = (double)t->wait_p50_ns;
            row->cell[6].number = (double)t->wait_p99_ns;
        }
        row->cell[7].number = view_per_second(t->wait_ns, seconds) / 1e9;
        row->cell[8].number = view_per_second(t->sends, seconds);
        row->cell[9].number = (double)t->messages;
        row->cell[10].text = table_copy(t->plugin);
        row->cell[11].number = (double)t->failed;
        row->cell[12].number = (double)t->actors;
        row->cell[13].number = (double)t->state_bytes;
    }
    return true;
}

static struct table_row *view_find_row(struct table *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->rows[i].key, key) == 0)
            return &table->rows[i];
    return NULL;
}

static struct table_row *view_find_actor(struct table *table, const struct odeon_actor_figures *a)
{
    char ref[ODEON_REF_TEXT];
    struct table_row *row;

    odeon_ref_format(a->ref, ref);
    row = view_find_row(table, ref);
    if (row)
        return row;
    row = table_add(table, ref);
    if (!row)
        return NULL;
    row->scope[0] = table_copy(a->type);
    row->leads = table_copy(a->type);
    row->cell[0].text = table_copy(ref);
    row->cell[1].text = table_copy(a->type);
    return row;
}

bool view_add_actors(struct table *table, struct odeon_list *const by[3])
{
    static const size_t column[3] = {
        [ODEON_BY_RUN] = 2, [ODEON_BY_MESSAGES] = 3, [ODEON_BY_WAIT] = 4
    };

    for (size_t k = 0; k < 3; k++) {
        const struct odeon_actor_figures *a = by[k] ? by[k]->rows : NULL;

        for (size_t i = 0; by[k] && i < by[k]->n; i++) {
            struct table_row *row = view_find_actor(table, &a[i]);

            if (!row)
                return false;
            row->cell[column[k]].number = a[i].most;
            if (k == ODEON_BY_RUN)
                row->cell[5].number = a[i].least;
        }
    }
    return true;
}

bool view_add_flows(struct table *table, const struct odeon_list *flows)
{
    const struct odeon_flow_figures *f = flows->rows;
    char from[TABLE_CELL_TEXT], key[2 * TABLE_CELL_TEXT];

    for (size_t i = 0; i < flows->n; i++, f++) {
        bool is_port = strcmp(f->from, "port") == 0;
        struct table_row *row;

        if (is_port)
            snprintf(from, sizeof(from), "port %" PRIu32, f->port);
        else
            snprintf(from, sizeof(from), "%s", f->from);
        snprintf(key, sizeof(key), "%s %s", from, f->to);
        row = table_add(table, key);
        if (!row)
            return false;
        row->scope[0] = is_port ? NULL : table_copy(f->from);
        row->scope[1] = table_copy(f->to);
        row->cell[0].text = table_copy(from);
        row->cell[1].text = table_copy(f->to);
        row->cell[2].number = f->most;
        row->cell[3].number = f->least;
    }
    return true;
}
