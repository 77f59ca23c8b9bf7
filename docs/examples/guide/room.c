/* SPDX-License-Identifier: Apache-2.0 */
/* A chat room: what docs/plugins.md explains piece by piece.
 *
 * The room makes a guest for whoever enters. What the client behind a guest says goes to the room,
 * and from there to all guests, each of which passes it on to its client.
 */
#include "room.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <odeon/plugin.h>

/* ---- state ---- */

/* `log`: a file to which everything is appended; "" for none */
ODEON_ARGUMENTS(room_args, {
    uint32_t limit;
    char log[64];
});
ODEON_STATE(room, {
    guest_ref guests[ROOM_GUESTS_MAX];
    uint32_t n, limit;
    int log;
});

ODEON_INIT(room, struct room_args)
{
    self->log = -1;
    self->limit = args->limit < ROOM_GUESTS_MAX ? args->limit : ROOM_GUESTS_MAX;
    if (args->log[0] == '\0')
        return 0;
    self->log = open(args->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (self->log < 0) {
        odeon_logf(ctx, ODEON_LOG_ERROR, "cannot open %.64s: %s", args->log, strerror(errno));
        return -errno;
    }
    return 0;
}

ODEON_FINI(room)
{
    if (self->log >= 0)
        close(self->log);
}

/* ---- spawning ---- */

ODEON_RECEIVE(room, room_enter)
{
    guest_ref guest;
    int r = -EMFILE;
    if (self->n < self->limit)
        r = odeon_spawn_into(
            ctx, &guest, guest, .placement = ODEON_PLACE_HERE, .link = 1,
            ODEON_ARGS(struct guest_args, .port = msg->port, .room = odeon_as(room, ctx->self)));
    if (r == 0 && (r = odeon_monitor(ctx, NULL, guest)) < 0)
        odeon_poison_delete(ctx, guest);
    if (r < 0) {
        odeon_reply(ctx, room_entered, .error = r);
        return ODEON_NODELETE;
    }
    self->guests[self->n++] = guest;
    odeon_reply(ctx, room_entered, .guest = guest.ref);
    return ODEON_NODELETE;
}

/* ---- the world outside ---- */

/* What is written to a file stays written when the message is run again: `redelivered` says that
 * this may be the second time. */
static void write_log(const struct room_state *self, const struct odeon_context *ctx,
                      const struct room_say *msg, size_t n)
{
    static const char mark[] = "(perhaps again) ";
    if (self->log < 0)
        return;
    if (ctx->redelivered && write(self->log, mark, sizeof(mark) - 1) < 0)
        return;
    if (write(self->log, msg->text, n) < 0 || write(self->log, "\n", 1) < 0)
        return;
}

/* ---- one message to many ---- */

ODEON_RECEIVE(room, room_say)
{
    size_t n = odeon_tail_size(ctx, msg);
    write_log(self, ctx, msg, n);
    if (self->n == 0)
        return ODEON_NODELETE;

    struct odeon_message_object *object = odeon_msg_new_tail(ctx, room_say, n);
    if (object == NULL)
        return ODEON_NODELETE;
    odeon_msg_fields(object, room_say)->number = msg->number;
    memcpy(odeon_msg_fields(object, room_say)->text, msg->text, n);
    for (uint32_t i = 0; i < self->n; i++) {
        int r = odeon_msg_send_tail(ctx, self->guests[i], room_say, object, n);
        if (r < 0)
            odeon_logf(ctx, ODEON_LOG_WARNING, "guest %u does not hear number %llu: %s", i,
                       (unsigned long long)msg->number, odeon_strerror(r));
    }
    odeon_msg_free(ctx, object);
    return ODEON_NODELETE;
}

/* ---- the end of actors ---- */

/* A guest has ended: who has gone makes room for others. */
ODEON_RECEIVE(room, odeon_down)
{
    uint32_t i = 0;
    while (i < self->n && self->guests[i].ref != msg->ref)
        i++;
    if (i < self->n)
        self->guests[i] = self->guests[--self->n];
    return ODEON_NODELETE;
}

ODEON_RECEIVE(room, room_close)
{
    return ODEON_DELETE; /* guests, which are linked to it, end with their room */
}

ODEON_HANDLERS(room, ODEON_ON(room, room_enter), ODEON_ON(room, room_say),
               ODEON_ON(room, room_close), ODEON_ON(room, odeon_down));
ODEON_ACTOR_TYPE(room, ODEON_TAKES(room_args));

/* ---- guests ---- */

ODEON_STATE(guest, {
    odeon_ref port;
    room_ref room;
    uint64_t heard;
});

ODEON_INIT(guest, struct guest_args)
{
    self->port = args->port;
    self->room = args->room;
    return odeon_monitor_any(ctx, NULL, self->port);
}

ODEON_RECEIVE(guest, room_say)
{
    size_t n = odeon_tail_size(ctx, msg);
    if (ctx->sender == self->port)
        odeon_send_tail(ctx, self->room, room_say, msg->text, n, .number = msg->number);
    else
        odeon_send_tail_any(ctx, self->port, room_say, msg->text, n, .number = ++self->heard);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(guest, room_leave)
{
    return ODEON_DELETE;
}

/* Its client has gone. */
ODEON_RECEIVE(guest, odeon_down)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(guest, ODEON_ON(guest, room_say), ODEON_ON(guest, room_leave),
               ODEON_ON(guest, odeon_down));
ODEON_ACTOR_TYPE(guest, ODEON_POLICY(ODEON_RESTART_STOP));

ODEON_PLUGIN("room", "1.0.0", ODEON_TYPE(room), ODEON_TYPE(guest));
