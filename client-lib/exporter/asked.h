/* SPDX-License-Identifier: Apache-2.0 */
/* What the service has to be asked for: clients and queues, for the web page. Asked by the thread
 * of libodeon's helper, so that nobody waits; what is shown is what was answered last.
 *
 * Owned by its caller, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <odeon/admin.h>
#include <odeon/helper.h>

struct asked_lists {
    struct odeon_list *clients, *queues; /* the first page of each; NULL: not known */
};

struct asked {
    const char *socket;
    struct odeon_helper *helper; /* NULL: nobody will ask */
    struct asked_lists now;
    struct asked_lists next; /* the helper's, while it asks */
    bool asking;
    uint64_t asked_ns;
};

/* `helper` stays the caller's, and goes before this. */
void asked_init(struct asked *asked, const char *socket, struct odeon_helper *helper);
void asked_fini(struct asked *asked);
/* Somebody looks: asks anew where the last time is a second ago. */
void asked_look(struct asked *asked);
