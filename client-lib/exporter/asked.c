/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/asked.h"

#include <time.h>

#include <odeon/client.h>

#define ASKED_AGAIN_NS UINT64_C(1000000000)

void asked_init(struct asked *asked, const char *socket, struct odeon_helper *helper)
{
    *asked = (struct asked){ .socket = socket, .helper = helper };
}

static void asked_forget(struct asked_lists *lists)
{
    odeon_list_free(lists->clients);
    odeon_list_free(lists->queues);
    *lists = (struct asked_lists){ .clients = NULL };
}

void asked_fini(struct asked *asked)
{
    asked_forget(&asked->now);
    asked_forget(&asked->next);
}

/* In the helper's thread. */
static int asked_ask(void *of)
{
    struct asked *asked = of;
    struct odeon_client *client = NULL;
    int r = odeon_client_connect(asked->socket, "odeon-exporter", &client);

    if (r == 0)
        r = odeon_client_list(client, 0, 0, &asked->next.clients);
    if (r == 0)
        r = odeon_queue_list(client, NULL, 0, 0, &asked->next.queues);
    odeon_client_disconnect(client);
    return r;
}

/* What is no more known is not shown. */
static void asked_answered(void *of, int result, const char *text)
{
    struct asked *asked = of;

    (void)result;
    (void)text;
    asked->asking = false;
    asked_forget(&asked->now);
    asked->now = asked->next;
    asked->next = (struct asked_lists){ .clients = NULL };
}

void asked_look(struct asked *asked)
{
    struct timespec now;
    uint64_t ns;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    if (!asked->helper || asked->asking ||
        (asked->asked_ns && ns - asked->asked_ns < ASKED_AGAIN_NS))
        return;
    asked->asked_ns = ns;
    asked->asking = odeon_helper_call(asked->helper, asked_ask, asked_answered, asked) == 0;
}
