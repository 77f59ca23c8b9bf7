/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's named points, steps and values (daemon/engine/base/points.h) call in builds
 * with deliberate bugs; the compiler includes this before each file of such a build. The commit's
 * are in commit.c, those of sending in send.c, of runs in run.c, and so on.
 *
 * A hook whose bug is not on changes nothing, and has no step of the simulator.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct engine_recovery;
struct envelope;
struct outbox_group;
struct port;
struct segment_actor;
struct segment_commit;
struct segment_port;
struct segment_queue;
struct segment_timer;
struct worker;

/* Before anything else at a point. */
void seeded_at_flip(struct segment_commit *valid, uint32_t source, uint64_t cursor, uint64_t tail);
void seeded_at_flush_locked(struct worker *w, uint32_t step, const struct outbox_group *group,
                            struct segment_queue *queue, unsigned active, uint64_t length);
void seeded_at_run_copied(uint8_t *base, uint64_t *length, uint64_t bytes);
void seeded_at_flush_copied(struct segment_queue *queue, unsigned active, uint64_t length);
void seeded_at_flush_signalled(struct engine *e, uint32_t mailbox, uint32_t destination);
void seeded_at_ring_copied(struct segment_port *durable, uint64_t tail);
void seeded_at_release(struct worker *w);
void seeded_at_mailbox_over(struct worker *w, uint32_t mailbox, bool left);
void seeded_at_bit_looked(struct worker *w, uint32_t source);
void seeded_at_actor_ends(struct worker *w, uint64_t ref, int how);
void seeded_at_spawn_slot(struct segment_actor *durable, uint64_t live);
void seeded_at_port_attached(struct worker *w, struct port *port, uint64_t tail);
void seeded_at_port_direct(struct segment_queue *queue, uint64_t bytes);
void seeded_at_port_later(struct worker *w);
void seeded_at_letters_kept(struct segment_queue *queue, unsigned active);
void seeded_at_timer_fires(struct segment_timer *timer, uint64_t next_ns);
void seeded_at_timer_recovered(struct engine *e, struct segment_timer *timer);
void seeded_at_group_sent(struct worker *w, const struct envelope *envelope);
void seeded_at_recovery_begins(struct engine *e, struct engine_recovery *report);
void seeded_at_recovery_flush(struct worker *w);

/* True: the step is left out. */
bool seeded_skips_undo_tag(void);
bool seeded_skips_urgent_byte(void);
bool seeded_skips_release_flush(void);
bool seeded_skips_mailbox_release(void);
bool seeded_skips_dead_letter_write(void);
bool seeded_skips_park_bit(void);
bool seeded_skips_waits_bound(void);
bool seeded_skips_visit_fence(void);
bool seeded_skips_visit_lock(void);
bool seeded_skips_trace_end(void);
bool seeded_skips_cold_fence(void);
bool seeded_skips_redelivered(void);
bool seeded_skips_redo_end(void);
bool seeded_skips_undo_spawns(void);
bool seeded_skips_letters_redo(void);
bool seeded_skips_timer_redo(void);
bool seeded_skips_timer_undo(void);
bool seeded_skips_claim_void(void);
bool seeded_skips_watches_look(void);
bool seeded_skips_phases_undo(void);
bool seeded_skips_timer_ended(void);

/* True: *ret is taken, and the right value is not asked for. */
bool seeded_value_journal_entry(uint32_t *ret);
bool seeded_value_flip_slot(struct segment_commit **ret, struct segment_commit *valid);
bool seeded_value_flip_whole(int *ret);
bool seeded_value_bit_cleared(bool *ret, struct worker *w, int64_t source);
bool seeded_value_urgent_left(bool *ret, bool done);
bool seeded_value_is_urgent(int *ret);
bool seeded_value_park_look(int *ret);
bool seeded_value_trace_id(uint64_t *ret, const struct envelope *envelope);
bool seeded_value_step_done(int *ret);
bool seeded_value_flush_rest(uint32_t *ret);
bool seeded_value_owner_left(int *ret);
bool seeded_value_kept_behind(bool *ret);
bool seeded_value_shelf_claimed(int *ret);
bool seeded_value_ask_taken(int *ret, struct worker *w, uint64_t token);
bool seeded_value_former_life(bool *ret);
bool seeded_value_another_life(bool *ret);
bool seeded_value_timer_revoked(bool *ret);
bool seeded_value_stash_next(uint32_t *ret, uint32_t i, uint32_t n);
