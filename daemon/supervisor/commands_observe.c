/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/commands_observe.h"

#include <string.h>
#include <unistd.h>

#include "daemon/common/memfd.h"
#include "daemon/supervisor/port_admission.h"
#include "daemon/supervisor/seat.h"

void command_observe(struct seat *seat, struct client *client, Odeon__Request **request,
                     struct frame *frame)
{
    struct port_refusal refusal = { 0 };
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;
    int fd;

    (void)frame;
    client_expect_descriptors(client, 0);
    if (port_admission_judge_descriptors(seat, client, "what actors do", 1, &refusal) < 0) {
        client_refuse(client, (*request)->id, refusal.error, "%s", refusal.text);
        if (refusal.blame[0])
            client_blame(client, refusal.blame);
        return;
    }
    fd = memfd_reopen_read_only(seat->observed_fd);
    if (fd < 0) {
        client_refuse(client, (*request)->id, fd, "what actors do cannot be handed out: %s",
                      strerror(-fd));
        return;
    }
    reply.id = (*request)->id;
    reply.body_case = ODEON__REPLY__BODY_OK;
    reply.ok = &ok;
    client_send(client, &reply, &fd, 1);
    close(fd);
}
