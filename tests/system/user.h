/* SPDX-License-Identifier: Apache-2.0 */
/* Acts of other users: a function is run in a child process that has changed its user and connected
 * to the service.
 *
 * Needs root, which the tests ask for by user_can_change(); the child speaks through its outcome
 * alone, as cmocka's assertions do not work there.
 */
#pragma once

#include <sys/types.h>

#include "tests/system/harness.h"

enum { USER_TEXT = 640 };

struct user {
    uid_t uid;
    gid_t gid, group; /* `group`: a supplementary one, 0: none */
};
/* What the act returned, or the error of connecting; the library's last words on it. */
struct outcome {
    int r;
    bool connected;
    char text[USER_TEXT];
};
typedef int (*user_act)(struct odeon_client *client, void *argument);

bool user_can_change(void);
/* A small one with the plugin of probe.h, in which any user may post, and what waits is not bounded
 * by its time (hostile/test_fair.c): far less may wait then. `more` words, up to NULL. */
void service_start_for_users(struct service *service, const char *const *more);
struct outcome user_does(const struct service *service, struct user user, user_act act,
                         void *argument);
/* Fails the test unless the act ended so, and `words` (NULL: any) are among what the library
 * said. */
void user_expects(const struct service *service, struct user user, user_act act, void *argument,
                  int r, const char *words);
/* A client's life beside the test, which no assertion watches: its outcome is the process's exit
 * status, 9 where it could not connect. It ends with the test. */
typedef int (*user_life)(struct odeon_client *client);
pid_t user_begin(const struct service *service, struct user user, user_life life);
/* Its exit status, waited for; -1: of a signal. */
int user_ended(pid_t child);
void user_kill(pid_t child);
/* Within such a life: so many numbers to an echo, one at a time. 0: each came back; else the step
 * that did not go well, 2 to 4; 8: there is no port. */
int user_calls(struct odeon_port *port, odeon_ref echo, uint32_t number_type, uint64_t n);
/* Becomes the user, in a process that has no way back. */
bool user_become(struct user user);
