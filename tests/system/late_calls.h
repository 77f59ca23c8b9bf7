/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of libodeon for test_deadlines.c, one function each: those of ports, and those that ask
 * nobody. Each returns what the library's call returned. One thread. */
#pragma once

#include <stdbool.h>

#include <odeon/client.h>

enum { SHORT_MS = 50 };

/* What they are called with: an alarm ends the one that does not come back. */
extern struct late {
    struct odeon_client *client;
    struct odeon_port *port, *asking, *closing;
    odeon_ref ledger;
    uint32_t number_type, ask_type;
    bool executor_stands; /* else odeond does */
} late;

int late_open_late(void);
int late_close_one(void);
int late_port_is_told(void);
int late_port_register(void);
int late_port_arm(void);
int late_port_arm_room(void);
int late_port_figures(void);
int late_port_closed(void);
int late_port_check(void);
int late_post(void);
int late_post_wait(void);
int late_post_correlated(void);
int late_answer(void);
int late_post_urgent(void);
int late_post_after(void);
int late_port_monitor(void);
int late_port_demonitor(void);
int late_post_with(void);
int late_forget(void);
int late_reserve_with(void);
int late_next_deadline(void);
int late_reserve(void);
int late_commit(void);
int late_receive(void);
int late_receive_many(void);
int late_receive_wait(void);
int late_ask(void);
int late_ask_urgently(void);
int late_have_help(void);
int late_write_and_read(void);
int late_say_in_words(void);
