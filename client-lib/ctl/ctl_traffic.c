/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl client traffic, user list: what has gone through ports, by client and by user. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/top/figure.h"

enum { TRAFFIC_FIGURES = 9 };

/* The columns behind those that say whose they are. */
#define TRAFFIC_COLUMNS                                                                            \
    { "POSTS", "posts", true }, { "REFUSED", "refused", true }, { "DROPPED", "dropped", true },    \
        { "CALLS", "calls_answered", true }, { "CALLS REFUSED", "calls_refused", true },           \
        { "LATE", "calls_late", true }, { "CALL P50", "call_p50_ns", true },                       \
        { "CALL P99", "call_p99_ns", true },                                                       \
    {                                                                                              \
        "LONGEST", "call_most_ns", true                                                            \
    }

struct traffic_texts {
    struct figure p50, p99, most;
};

static struct cell traffic_time(const struct odeon_traffic *traffic, uint64_t ns,
                                struct figure *text)
{
    if (traffic->calls_answered == 0)
        return CELL_NONE;
    *text = figure_time(ns);
    return CELL_SHOWN(ns, text->text);
}

static void traffic_fill(struct cell *cells, const struct odeon_traffic *traffic,
                         struct traffic_texts *texts)
{
    if (!traffic->known) {
        for (unsigned i = 0; i < TRAFFIC_FIGURES; i++)
            cells[i] = CELL_NONE;
        return;
    }
    cells[0] = CELL_NUMBER(traffic->posts);
    cells[1] = CELL_NUMBER(traffic->refused);
    cells[2] = CELL_NUMBER(traffic->dropped);
    cells[3] = CELL_NUMBER(traffic->calls_answered);
    cells[4] = CELL_NUMBER(traffic->calls_refused);
    cells[5] = CELL_NUMBER(traffic->calls_late);
    cells[6] = traffic_time(traffic, traffic->call_p50_ns, &texts->p50);
    cells[7] = traffic_time(traffic, traffic->call_p99_ns, &texts->p99);
    cells[8] = traffic_time(traffic, traffic->call_most_ns, &texts->most);
}

/* ---- by client */

static int traffic_fetch_clients(struct odeon_client *client, const char *filter, uint64_t after,
                                 uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_client_list(client, after, rows, ret);
}

static void traffic_add_client(struct listing *listing, const void *row)
{
    const struct odeon_client_info *c = row;
    struct cell cells[3 + TRAFFIC_FIGURES] = { CELL_NUMBER(c->id), CELL_TEXT(c->name),
                                               CELL_NUMBER(c->uid) };
    struct traffic_texts texts;

    traffic_fill(cells + 3, &c->traffic, &texts);
    listing_add(listing, cells);
}

int ctl_client_traffic(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "CLIENT", "id", true },
        { "NAME", "name", false },
        { "USER", "uid", true },
        TRAFFIC_COLUMNS,
    };
    static const struct listing_source source = { .what = "cannot list the clients",
                                                  .fetch = traffic_fetch_clients,
                                                  .row_size = sizeof(struct odeon_client_info),
                                                  .add = traffic_add_client };

    return listing_fetch(ctl, "clients", columns, 3 + TRAFFIC_FIGURES, &source);
}

/* ---- by user */

static int traffic_fetch_users(struct odeon_client *client, const char *filter, uint64_t after,
                               uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_user_list(client, after, rows, ret);
}

static void traffic_add_user(struct listing *listing, const void *row)
{
    const struct odeon_user_info *u = row;
    struct cell cells[4 + TRAFFIC_FIGURES] = { CELL_NUMBER(u->uid), CELL_NUMBER(u->clients),
                                               CELL_NUMBER(u->ports), CELL_NUMBER(u->refusals) };
    struct traffic_texts texts;

    traffic_fill(cells + 4, &u->traffic, &texts);
    listing_add(listing, cells);
}

int ctl_user_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "USER", "uid", true },
        { "CLIENTS", "clients", true },
        { "PORTS", "ports", true },
        { "OVER QUOTA", "refusals", true },
        TRAFFIC_COLUMNS,
    };
    static const struct listing_source source = { .what = "cannot list the users",
                                                  .fetch = traffic_fetch_users,
                                                  .row_size = sizeof(struct odeon_user_info),
                                                  .add = traffic_add_user };

    return listing_fetch(ctl, "users", columns, 4 + TRAFFIC_FIGURES, &source);
}
