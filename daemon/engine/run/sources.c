/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/sources.h"

#include "daemon/engine/ports/port.h"
#include "daemon/engine/ports/port_poll.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/signal/help.h"
#include "daemon/engine/signal/urgent.h"

/* Nobody polls a mailbox. */
static void sources_stay(struct engine *e, uint32_t index)
{
    (void)e, (void)index;
}

static bool sources_mailbox_has_work(struct engine *e, uint32_t mailbox)
{
    return urgent_mailbox_has_work(e, mailbox);
}

static void sources_port_run(struct worker *w, uint32_t port, bool stolen)
{
    (void)stolen;
    int64_t queue = port_run(w, port, true);
    if (queue < 0)
        return;
    /* a run of its own: the port may have become a polled one, or others may have work by now */
    help_begin_run(w, (uint32_t)queue);
    mailbox_run(w, (uint32_t)queue, false);
}

/* Its new owner looks, and makes it hot or has it ring. */
static bool sources_port_is_open(struct engine *e, uint32_t port)
{
    return load_relaxed(&e->ports.table[port].state) == PORT_OPEN;
}

const struct source_kind_row sources_kinds[SOURCE_KIND_N] = {
    [SOURCE_MAILBOX] = { mailbox_run, sources_mailbox_has_work, sources_stay },
    [SOURCE_PORT] = { sources_port_run, sources_port_is_open, port_have_it_ring },
};
