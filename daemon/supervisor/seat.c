/* SPDX-License-Identifier: Apache-2.0 */
/* A seat; the interface is in seat.h. */
#include "daemon/supervisor/seat.h"

#include <stdatomic.h>
#include <unistd.h>

#include "daemon/supervisor/client.h"

void seat_init(struct seat *seat, const struct service *service, const struct seat_ops *ops,
               void *userdata)
{
    *seat = (struct seat){ .service = service, .ops = ops, .userdata = userdata };
    seat->segment_fd = seat->observed_fd = seat->stats.fd = -1;
    port_table_init(&seat->ports);
}

void seat_fini(struct seat *seat)
{
    port_table_fini(&seat->ports);
    plugin_store_fini(&seat->plugins);
    if (seat->segment_fd >= 0)
        close(seat->segment_fd);
    if (seat->observed_fd >= 0)
        close(seat->observed_fd);
    stats_file_fini(&seat->stats);
    setting_list_fini(&seat->settings);
}

const char *seat_state_name(enum service_state state)
{
    switch (state) {
    case SERVICE_STARTING:
        return "starting";
    case SERVICE_RECOVERING:
        return "recovering";
    case SERVICE_RUNNING:
        return "running";
    case SERVICE_DRAINING:
        return "draining";
    case SERVICE_EXECUTOR_DOWN:
        return "executor-down";
    case SERVICE_STOPPED:
        return "stopped";
    }
    return "unknown";
}

/* Readers look at one word at a time: relaxed. */
void seat_set_state(struct seat *seat, enum service_state state)
{
    atomic_store_explicit(&seat->stats.header->service_state, state, memory_order_relaxed);
    seat->ops->changed(seat);
}

enum service_state seat_get_state(const struct seat *seat)
{
    return (enum service_state)atomic_load_explicit(&seat->stats.header->service_state,
                                                    memory_order_relaxed);
}

void seat_update_counts(struct seat *seat)
{
    struct stats_header *header = seat->stats.header;

    atomic_store_explicit(&header->n_clients, seat->service->clients->n, memory_order_relaxed);
    atomic_store_explicit(&header->n_ports, port_table_count_open(&seat->ports),
                          memory_order_relaxed);
    atomic_store_explicit(&header->n_plugins, (uint32_t)plugin_store_count_loaded(&seat->plugins),
                          memory_order_relaxed);
    seat->ops->changed(seat);
}
