/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements of odeon-latency. Each prints a line for each of its points, and returns 0 or an
 * enum session_exit after having said why. What each is, is said in its file. */
#pragma once

struct session;

int measure_step(struct session *session);
int measure_turn(struct session *session);  /* step.c */
int measure_timer(struct session *session); /* timer.c */
int measure_burst(struct session *session); /* burst.c */
int measure_crowd(struct session *session); /* crowd.c */
int measure_roundtrip(struct session *session);
int measure_fan(struct session *session); /* roundtrip.c */
int measure_chain(struct session *session);
