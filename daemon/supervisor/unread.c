/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that clients which have gone left unread; the interface is in unread.h. */
#include <stdlib.h>

#include "daemon/common/check.h"
#include "daemon/supervisor/channel.h"
#include "daemon/supervisor/closer.h"
#include "daemon/supervisor/unread.h"

void unreads_keep(struct unreads *unreads, struct unread *unread)
{
    check("unread.U1", unread->fd >= 0);
    unread->next = unreads->first;
    unreads->first = unread;
}

static void unreads_let_go(struct unreads *unreads, struct unread **at)
{
    struct unread *unread = *at;
    struct account *account = account_find(unreads->accounts, unread->uid);

    *at = unread->next;
    if (account)
        account_discharge(account, &unread->held);
    account_settle(unreads->accounts, unread->uid);
    closer_end(unread->fd);
    free(unread);
}

bool unreads_look(struct unreads *unreads)
{
    struct unread **at = &unreads->first;

    while (*at)
        if (channel_socket_is_read((*at)->fd))
            unreads_let_go(unreads, at);
        else
            at = &(*at)->next;
    return unreads->first;
}

void unreads_fini(struct unreads *unreads)
{
    while (unreads->first)
        unreads_let_go(unreads, &unreads->first);
}
