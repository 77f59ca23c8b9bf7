/* SPDX-License-Identifier: Apache-2.0 */
/* The engine as a behaviour sees it, through the host table: sends, timers, questions, groups,
 * spawns, and who it is. Results as in the public plugin header.
 *
 * Threads: a worker's own, from within a turn, with the context that the behaviour was handed; the
 * control thread within engine_run().
 */
#pragma once

#include "daemon/engine/engine.h"

int engine_ctx_send(struct engine_context *ctx, actor_ref to, uint32_t type, uint32_t behaviour,
                    const void *data, size_t size);
/* The same for a message without payload, and for one of exactly 8 bytes: `kind` is type |
 * behaviour << 32. */
int engine_ctx_signal(struct engine_context *ctx, actor_ref to, uint64_t kind);
int engine_ctx_send_word(struct engine_context *ctx, actor_ref to, uint64_t kind, uint64_t word);
int engine_ctx_send_tail(struct engine_context *ctx, actor_ref to, uint32_t type,
                         uint32_t behaviour, const void *head, size_t head_size, const void *tail,
                         size_t tail_size);
/* Into the receiver's urgent lane: overtakes what waits in its queue. To a client: as
 * engine_ctx_send. */
int engine_ctx_send_urgent(struct engine_context *ctx, actor_ref to, uint32_t type,
                           uint32_t behaviour, const void *data, size_t size);
/* Sends after `delay_ns`, and then each `period_ns` if that is not 0, counted from when it should
 * have been sent. *ret_id, never 0, is what cancels it. -EAGAIN: as many timers wait as may, of
 * this actor's or of all; -ERANGE: more than a hundred years, or a period below 100 us; -EPERM:
 * nobody's turn (engine_run). */
struct engine_timer_times {
    uint64_t delay_ns, period_ns;
    bool by_boot_time; /* time goes on while the machine is suspended */
};
int engine_ctx_send_after(struct engine_context *ctx, actor_ref to, uint32_t type,
                          uint32_t behaviour, const void *data, size_t size,
                          const struct engine_timer_times *times, uint64_t *ret_id);
/* 0: it will not fire, once this behaviour has returned; -ENOENT: it has fired for the last time,
 * or been cancelled, or there is no such one; -EPERM: another actor's. */
int engine_ctx_timer_cancel(struct engine_context *ctx, uint64_t id);
int engine_ctx_reply(struct engine_context *ctx, uint32_t type, const void *head, size_t head_size,
                     const void *tail, size_t tail_size);
/* A payload: its struct up to the tail, and the tail. */
struct engine_pieces {
    const void *head, *tail;
    size_t head_size, tail_size;
};
/* What answers the running message in another turn: a plain value. -ENOTCONN: it had no sender. */
struct engine_promise {
    uint64_t words[3];
};
int engine_ctx_reply_later(struct engine_context *ctx, struct engine_promise *ret_promise);
/* -EPERM: no such value was given to anybody; -ESTALE: the question is over. */
int engine_ctx_answer(struct engine_context *ctx, const struct engine_promise *promise,
                      uint32_t type, const struct engine_pieces *pieces);
/* As engine_ctx_send; one answer comes back, or MESSAGE_TYPE_NO_ANSWER: at the latest after
 * `timeout_ns` (0: 30 s). *ret_token, never 0, is in either's context as its correlation id.
 * -EOPNOTSUPP: this actor does not accept
 * MESSAGE_TYPE_NO_ANSWER; -EAGAIN, -ERANGE, -EPERM as engine_ctx_send_after. */
int engine_ctx_ask(struct engine_context *ctx, actor_ref to, uint32_t type, uint32_t behaviour,
                   const struct engine_pieces *pieces, uint64_t timeout_ns, uint64_t *ret_token);
/* 0: no outcome comes, once this behaviour has returned; -ENOENT: one has come, or it was
 * withdrawn, or there is no such question; -EPERM: another actor's. */
int engine_ctx_ask_cancel(struct engine_context *ctx, uint64_t token);
/* stash.h */
int engine_ctx_stash(struct engine_context *ctx, const void *message);
int engine_ctx_unstash(struct engine_context *ctx, uint32_t most);
/* For the messages behind this one, with its commit; phases.h. */
int engine_ctx_become(struct engine_context *ctx, const char *name);
/* When `ref` ends, MESSAGE_TYPE_DOWN says so, once, behind all that it has sent. *ret_id, never 0,
 * is in it. -EOPNOTSUPP: this actor does not accept that; -ESRCH; -EAGAIN, -EPERM as
 * engine_ctx_send_after. */
int engine_ctx_monitor(struct engine_context *ctx, actor_ref ref, uint64_t *ret_id);
/* 0: nothing comes of it, once this behaviour has returned; -ENOENT: it has been sent, or was given
 * up, or there is no such one; -EPERM: another actor's. */
int engine_ctx_demonitor(struct engine_context *ctx, uint64_t id);
/* The running message, whose payload is `message`, to another receiver, with its sender and
 * correlation id. -ELOOP: it has been passed on ENGINE_HOPS_MAX times; -EPERM: there is none. */
enum { ENGINE_HOPS_MAX = 64 };
int engine_ctx_forward(struct engine_context *ctx, actor_ref to, const void *message);
/* The running actor is a member of the group, which is made at once if there is none of that name.
 * True with the commit, and until it leaves, ends or begins anew. -EALREADY: it is one; -EAGAIN:
 * another turn is about to give an actor that name, or as engine_ctx_send_after; -EEXIST: an actor
 * has the name, which is no group; -EINVAL: no name; -ENOSPC: no room for another group; -ENOSYS:
 * there are no groups; -EPERM: nobody's turn. */
int engine_ctx_join(struct engine_context *ctx, const char *group);
/* 0: no publication that begins behind the commit comes. -ENOENT: no member, or no group. */
int engine_ctx_leave(struct engine_context *ctx, const char *group);
/* As engine_ctx_send, to all who are members when the group begins with it. -ENOENT: there is no
 * such group; -EEXIST: it is no group; -EAGAIN: the group's queue is full. */
int engine_ctx_publish(struct engine_context *ctx, const char *group, uint32_t type,
                       const struct engine_pieces *pieces);
/* As engine_actor_spawn_placed; -ESRCH: no such type. */
int engine_ctx_spawn(struct engine_context *ctx, uint32_t type, const struct engine_spawn *spawn,
                     actor_ref *ret_ref);
/* The same for an actor that asks for nothing but a place, PLACE_NEAR or PLACE_SPREAD. */
int engine_ctx_spawn_plain(struct engine_context *ctx, uint32_t type,
                           enum engine_placement placement, actor_ref *ret_ref);
int engine_ctx_lookup(struct engine_context *ctx, const char *name, actor_ref *ret_ref);
int engine_ctx_find_type(struct engine_context *ctx, const char *name, uint32_t *ret_id);
/* Names of the running actor's type and plugin, for log lines.  Valid until the behaviour
 * returns. */
void engine_ctx_describe(struct engine_context *ctx, const char **ret_type,
                         const char **ret_plugin);
