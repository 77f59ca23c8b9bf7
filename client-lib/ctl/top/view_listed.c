/* SPDX-License-Identifier: Apache-2.0 */
/* What odeond lists, as rows of the views of queues, clients and users (view.h). The order of the
 * cells is that of the columns in view.c. */
#include "client-lib/ctl/top/view.h"

#include <odeon/codec.h>

#include <inttypes.h>
#include <stdio.h>

enum { VIEW_KEY = 32 };

/* Numbers of equal length, so that rows which are equal otherwise are in their order. */
static struct table_row *view_add_numbered(struct table *table, uint64_t number)
{
    char key[VIEW_KEY];

    snprintf(key, sizeof(key), "%020" PRIu64, number);
    return table_add(table, key);
}

/* By its name, or, where it has none, by its reference. */
static char *view_copy_actor(odeon_ref ref, const char *name)
{
    char text[ODEON_REF_TEXT];

    odeon_ref_format(ref, text);
    return table_copy(*name ? name : text);
}

bool view_add_queues(struct table *table, const struct odeon_list *queues)
{
    const struct odeon_queue_info *q = queues->rows;

    for (size_t i = 0; i < queues->n; i++, q++) {
        struct table_row *row = view_add_numbered(table, q->id);

        if (!row)
            return false;
        row->cell[0].number = q->id;
        row->cell[1].text = table_copy(q->kind);
        row->cell[2].number = (double)q->bytes;
        row->cell[3].number = (double)q->urgent_bytes;
        row->cell[4].number = q->owner;
        row->cell[5].number = q->home;
        row->cell[6].number = (double)q->actors;
        row->cell[7].text = table_copy(q->retiring ? "yes" : "no");
        if (q->oldest_ns)
            row->cell[8].number = (double)q->oldest_ns;
        if (q->oldest_to != ODEON_NOBODY)
            row->cell[9].text = view_copy_actor(q->oldest_to, q->oldest_name);
    }
    return true;
}

/* From the column `at` on. */
static void view_add_traffic(struct table_row *row, size_t at, const struct odeon_traffic *traffic)
{
    if (!traffic->known)
        return;
    row->cell[at].number = (double)traffic->posts;
    row->cell[at + 1].number = (double)traffic->refused;
    row->cell[at + 2].number = (double)traffic->calls_answered;
    if (traffic->calls_answered)
        row->cell[at + 3].number = (double)traffic->call_p99_ns;
}

bool view_add_clients(struct table *table, const struct odeon_list *clients)
{
    const struct odeon_client_info *c = clients->rows;
    char uid[VIEW_KEY];

    for (size_t i = 0; i < clients->n; i++, c++) {
        struct table_row *row = view_add_numbered(table, c->id);

        if (!row)
            return false;
        snprintf(uid, sizeof(uid), "%" PRIu32, c->uid);
        row->scope[0] = table_copy(uid);
        row->cell[0].number = (double)c->id;
        row->cell[1].text = table_copy(c->name);
        row->cell[2].number = c->uid;
        row->cell[3].number = c->pid;
        row->cell[4].text = table_copy(c->command);
        row->cell[5].number = c->ports;
        row->cell[6].number = c->broken_ports;
        row->cell[7].number = (double)c->connected_ns;
        row->cell[8].text = table_copy(c->roles);
        row->cell[9].text = table_copy(c->library);
        view_add_traffic(row, 10, &c->traffic);
    }
    return true;
}

static const struct odeon_user_info *view_find_user(const struct odeon_list *users, uint32_t uid)
{
    const struct odeon_user_info *u = users ? users->rows : NULL;

    for (size_t i = 0; users && i < users->n; i++)
        if (u[i].uid == uid)
            return &u[i];
    return NULL;
}

bool view_add_users(struct table *table, const struct odeon_memory *memory,
                    const struct odeon_list *users)
{
    const struct odeon_memory_holder *h = memory->holders;
    char uid[VIEW_KEY];

    for (size_t i = 0; i < memory->n_holders; i++, h++) {
        const struct odeon_user_info *user = view_find_user(users, h->uid);
        struct table_row *row = view_add_numbered(table, h->uid);

        if (!row)
            return false;
        snprintf(uid, sizeof(uid), "%" PRIu32, h->uid);
        row->leads = table_copy(uid);
        row->cell[0].number = h->uid;
        row->cell[1].number = h->clients;
        row->cell[2].number = h->ports;
        row->cell[3].number = (double)(h->rings + h->backlogs + h->answers);
        row->cell[4].number = (double)h->waiting;
        row->cell[5].number = (double)h->rings;
        row->cell[6].number = (double)h->backlogs;
        row->cell[7].number = (double)h->answers;
        if (user)
            view_add_traffic(row, 8, &user->traffic);
    }
    return true;
}
