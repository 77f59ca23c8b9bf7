/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of ports, added up (traffic.h). */
#include "daemon/supervisor/traffic.h"

#include <stddef.h>
#include <unistd.h>

#include "proto/port_layout.h"
#include "proto/time_cells.h"

/* The sum. */
struct traffic {
    uint64_t posts, refused, dropped;
    uint64_t calls_refused, calls_late, longest_ns, answered[TIME_CELLS];
};

/* Two reads a port. A file that is not there, as of a port that is being opened, has counted
 * nothing. */
static void traffic_add(struct traffic *to, const struct seat_port *port)
{
    struct port_executor words;
    struct port_round_trips trips;

    if (pread(port->executor_fd, &words, sizeof(words), 0) == sizeof(words)) {
        to->posts += words.posts;
        to->refused += words.refused;
        to->dropped += words.dropped;
    }
    if (pread(port->client_fd, &trips, sizeof(trips),
              (off_t)offsetof(struct port_client, round_trips)) != sizeof(trips))
        return;
    to->calls_refused += trips.refused;
    to->calls_late += trips.late;
    if (trips.longest_ns > to->longest_ns)
        to->longest_ns = trips.longest_ns;
    for (uint32_t i = 0; i < TIME_CELLS; i++)
        to->answered[i] += trips.answered[i];
}

static uint64_t traffic_count_answered(const struct traffic *traffic)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < TIME_CELLS; i++)
        n += traffic->answered[i];
    return n;
}

/* No more than an eighth above the true one, nor above the longest. */
static uint64_t traffic_quantile(const struct traffic *traffic, uint64_t n, double share)
{
    uint64_t rank = (uint64_t)((double)n * share), below = 0;

    for (uint32_t i = 0; i < TIME_CELLS && n > 0; i++) {
        below += traffic->answered[i];
        if (below > rank || below == n)
            return time_cell_top(i) < traffic->longest_ns ? time_cell_top(i) : traffic->longest_ns;
    }
    return 0;
}

static void traffic_tell(const struct traffic *traffic, Odeon__Traffic *ret)
{
    uint64_t n = traffic_count_answered(traffic);

    odeon__traffic__init(ret);
    ret->posts = traffic->posts;
    ret->refused = traffic->refused;
    ret->dropped = traffic->dropped;
    ret->calls_answered = n;
    ret->calls_refused = traffic->calls_refused;
    ret->calls_late = traffic->calls_late;
    ret->p50_ns = traffic_quantile(traffic, n, 0.5);
    ret->p99_ns = traffic_quantile(traffic, n, 0.99);
    ret->longest_ns = traffic->longest_ns;
}

void traffic_of_client(const struct port_table *ports, uint64_t client_id, Odeon__Traffic *ret)
{
    struct traffic sum = { 0 };

    for (size_t i = 0; i < ODEON_PORTS_MAX; i++)
        if (ports->ports[i].state != PORT_FREE && ports->ports[i].client_id == client_id)
            traffic_add(&sum, &ports->ports[i]);
    traffic_tell(&sum, ret);
}

void traffic_of_user(const struct port_table *ports, uid_t uid, Odeon__Traffic *ret)
{
    struct traffic sum = { 0 };

    for (size_t i = 0; i < ODEON_PORTS_MAX; i++)
        if (ports->ports[i].state != PORT_FREE && ports->ports[i].uid == uid)
            traffic_add(&sum, &ports->ports[i]);
    traffic_tell(&sum, ret);
}
