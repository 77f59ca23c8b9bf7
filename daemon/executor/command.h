/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of clients, as the supervisor passes them on: one table from the request's kind to the
 * function that answers it.
 *
 * A new noun or verb is one line in command.c and one function in the noun's file (command_actor.c,
 * ...). Control thread only.
 */
#pragma once

#include "daemon/executor/executor.h"
#include "daemon/executor/reply.h"

/* Answers the command with a report that carries the reply, at once or later. */
void command_run(struct executor *executor, uint64_t command, const Odeon__Request *request,
                 struct frame *frame);

/* 0: the reply's body is set; negative errno: refused, the reply's explain may say why;
 * EXECUTOR_LATER: it is to be asked again, where the table says that it may. */
typedef int (*command_fn)(struct executor *executor, const Odeon__Request *request,
                          struct frame *frame, struct reply *reply);

int command_lookup(struct executor *executor, const Odeon__Request *request, struct frame *frame,
                   struct reply *reply);
int command_port_register(struct executor *executor, const Odeon__Request *request,
                          struct frame *frame, struct reply *reply);
int command_spawn(struct executor *executor, const Odeon__Request *request, struct frame *frame,
                  struct reply *reply);
int command_start_actor(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply);
int command_queue_list(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply);
int command_timer_list(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply);
int command_monitor_list(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply);
int command_group_list(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply);
int command_member_list(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply);
int command_actor_list(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply);
int command_actor_show(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply);
int command_actor_send(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply);
int command_actor_stop(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply);

int command_dead_letter_list(struct executor *executor, const Odeon__Request *request,
                             struct frame *frame, struct reply *reply);
int command_dead_letter_show(struct executor *executor, const Odeon__Request *request,
                             struct frame *frame, struct reply *reply);
int command_dead_letter_replay(struct executor *executor, const Odeon__Request *request,
                               struct frame *frame, struct reply *reply);
int command_dead_letter_purge(struct executor *executor, const Odeon__Request *request,
                              struct frame *frame, struct reply *reply);
int command_type_release(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply);

int command_message_type_intern(struct executor *executor, const Odeon__Request *request,
                                struct frame *frame, struct reply *reply);
int command_message_type_find(struct executor *executor, const Odeon__Request *request,
                              struct frame *frame, struct reply *reply);
int command_message_list(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply);
int command_message_show(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply);
int command_type_list(struct executor *executor, const Odeon__Request *request, struct frame *frame,
                      struct reply *reply);

int command_plugin_load(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply);
int command_plugin_unload(struct executor *executor, const Odeon__Request *request,
                          struct frame *frame, struct reply *reply);
int command_plugin_list(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply);

int command_client_show(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply);

int command_memory_show(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply);

int command_executor_show(struct executor *executor, const Odeon__Request *request,
                          struct frame *frame, struct reply *reply);
int command_executor_set(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply);
