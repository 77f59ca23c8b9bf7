/* SPDX-License-Identifier: Apache-2.0 */
/* What the next executor of a seat is started with, as it follows what happens while one runs. In
 * the registry, too, so that a restart of odeond goes on with it. Event loop thread only. */
#pragma once

#include "proto/control.pb-c.h"

struct seat;

/* Settings that an executor has accepted while it ran: the next one starts with them. Not those
 * that the answer (NULL: it lists none) says wait for the next start of the service: the segment
 * that executors share was made without them.
 */
void seat_settings_note(struct seat *seat, const Odeon__ExecutorSet *set,
                        const Odeon__Reconfigured *answer);
/* The configuration has been read again: what it says is recorded beside what is in force. */
void seat_settings_note_configured(struct seat *seat);
/* What an executor has chosen by itself at its start: later ones on the same segment are told. */
void seat_settings_note_kept(struct seat *seat, const Odeon__Report *report);
