/* SPDX-License-Identifier: Apache-2.0 */
/* Tells odeond which rule the executor has stopped itself over (common/check.h).
 *
 * The report goes past the queue of the control connection, as a record of its own, since it is
 * sent by the thread that broke the rule, which may be any. Where the socket is full it is lost:
 * the exit status still says that it was a rule, and the log says which.
 */
#pragma once

/* Before threads are started.  `socket`: the control connection's. */
void broken_rule_tell_to(int socket);
