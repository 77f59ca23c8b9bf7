/* SPDX-License-Identifier: Apache-2.0 */
/* The wait before a start of odeond when the starts before it have failed.
 *
 * The service manager starts it again for ever (StartLimitIntervalSec=0), since a service that has
 * been given up loses what lies in its descriptor store. So that a broken configuration does not
 * turn without a pause, odeond counts its starts in a file of the runtime directory, `starts`, and
 * waits before the second and later ones: from 10 ms, doubled, up to 10 s. A start that becomes
 * ready removes the file, and so does a stop while it waits: who has repaired the cause and starts
 * by hand does not wait.
 */
#pragma once

/* Counts this start; how many there are since one was ready, this one included. 0: they cannot be
 * counted (no directory yet). */
unsigned start_delay_count(const char *dir);
/* Waits as long as the `starts`th start has to.  0, or -EINTR: SIGTERM or SIGINT came meanwhile. */
int start_delay_wait(unsigned starts);
/* The next start is the first again. */
void start_delay_forget(const char *dir);
