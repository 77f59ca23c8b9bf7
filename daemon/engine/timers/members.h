/* SPDX-License-Identifier: Apache-2.0 */
/* Who is in which group, and where: memberships are timers that are never due (timers.h), whose
 * entries say which group, and at which place. How they begin and end, with a turn, with their
 * actor, and over a crash, is timers' (timers.TM1, timers.TM2, timers.TM4). Here is what the
 * process knows of them, made anew from the table by each start.
 *
 * Threads: under the mutex of the timers.
 *
 * members.M1  A membership has one place in its group from its beginning to its end, over restarts,
 *     too; no other one has it meanwhile. Places are given from the lowest one on.
 * members.M2  A block is as many places as one turn can send the largest message to, whatever else
 *     is in its outbox: the same number for as long as the segment lives.
 * members.M3  Of two memberships the one that was begun later has the greater sequence, also when
 *     there was a restart between them [MEMBER_SEQUENCE].
 */
#pragma once

#include "daemon/engine/core/core.h"

enum { MEMBERS_BLOCK_MAX = 128 };

int members_open(struct engine *engine);
void members_close(struct engine *engine);

/* An empty one if nobody has joined it since the start. A group's slot is nobody else's. */
struct member_group *members_of(struct engine *engine, actor_ref group);

/* For another membership. 0; -ENOSPC: there are as many groups as may be; -ENOMEM. */
int members_make_room(struct engine *engine, actor_ref group);
/* The place of the next one, for which room has been made. */
uint32_t members_place(struct engine *engine, actor_ref group);
/* A timer that is known from now on, or ends: if it is a membership. */
void members_add(struct engine *engine, uint32_t timer);
void members_remove(struct engine *engine, uint32_t timer);

/* How many memberships it has, those that are on their way out included. Takes the mutex. */
uint32_t members_count(struct engine *engine, actor_ref group);

/* In recovery, of a timer that lives: there is room for it, if it is a membership. */
bool members_recover_room(struct engine *engine, const struct segment_timer *timer);
