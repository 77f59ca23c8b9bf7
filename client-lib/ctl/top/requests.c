/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for a view (requests.h). */
#include "client-lib/ctl/top/requests.h"

#include <errno.h>

enum { REQUESTS_DENIED_TIMES = 10, REQUESTS_USERS = 256 };

bool requests_are_for(enum view_id view)
{
    return view == VIEW_QUEUES || view == VIEW_CLIENTS || view == VIEW_USERS;
}

void requests_fini(struct requests *requests)
{
    requests->growing = table_free(requests->growing);
}

static void requests_begin(struct requests *requests, enum view_id view)
{
    requests->growing = table_free(requests->growing);
    requests->after = 0;
    if (view != requests->view)
        requests->denied = 0;
    requests->view = view;
}

/* Adds a page; 0: it is the last one, 1: there are more. */
static int requests_take_page(struct requests *requests, struct odeon_list *list,
                              bool (*add)(struct table *table, const struct odeon_list *list))
{
    bool is_more = list->more && list->next > requests->after,
         is_added = add(requests->growing, list);

    requests->after = list->next;
    odeon_list_free(list);
    return !is_added ? -ENOMEM : is_more;
}

/* Two round trips. An older service does not know the second question: then the columns are
 * empty. */
static int requests_ask_users(struct requests *requests, struct odeon_client *client)
{
    struct odeon_memory *memory = NULL;
    struct odeon_list *users = NULL;
    int r = odeon_memory_show(client, "user", &memory);

    if (r == 0)
        (void)odeon_user_list(client, 0, REQUESTS_USERS, &users);
    if (r == 0 && !view_add_users(requests->growing, memory, users))
        r = -ENOMEM;
    odeon_list_free(users);
    odeon_result_free(memory);
    return r;
}

static int requests_ask(struct requests *requests, struct odeon_client *client)
{
    struct odeon_list *list = NULL;
    int r;

    switch (requests->view) {
    case VIEW_QUEUES:
        r = odeon_queue_list(client, NULL, requests->after, 0, &list);
        return r < 0 ? r : requests_take_page(requests, list, view_add_queues);
    case VIEW_CLIENTS:
        r = odeon_client_list(client, requests->after, 0, &list);
        return r < 0 ? r : requests_take_page(requests, list, view_add_clients);
    default:
        return requests_ask_users(requests, client);
    }
}

int requests_make(struct requests *requests, struct odeon_client *client, enum view_id view,
                  uint64_t now_ns, struct table **ret)
{
    uint64_t every_ns = REQUESTS_EVERY_NS;
    int r;

    *ret = NULL;
    if (view != requests->view)
        requests_begin(requests, view);
    if (requests->denied)
        every_ns *= REQUESTS_DENIED_TIMES;
    if (requests->asked_ns && now_ns - requests->asked_ns < every_ns)
        return requests->denied ? requests->denied : -EAGAIN;
    requests->asked_ns = now_ns;
    if (!requests->growing)
        requests->growing = view_table(view);
    r = requests->growing ? requests_ask(requests, client) : -ENOMEM;
    requests->denied = r == -EACCES ? r : 0;
    if (r == 0) {
        *ret = requests->growing;
        requests->growing = NULL;
    }
    if (r != 1)
        requests_begin(requests, view);
    return r < 0 ? r : 0;
}
