/* SPDX-License-Identifier: Apache-2.0 */
/* What plugin code must not do to the process, kept from it or told of it: the C library's
 * functions that end a process or take away what makes a fault attributable, as the program defines
 * them in the library's place.
 *
 * contain.CO1  _exit() in a handler is the handler's fault, as exit() is.
 * contain.CO2  On a worker's thread the signals of faults cannot be blocked, nowhere can they be
 *      taken by anybody else: EPERM.
 * contain.CO3  On a worker's thread the descriptors that were open when the executor had recovered,
 *      before any plugin was loaded, cannot be closed: EBADF.
 *
 * Not a wall: code that makes the system call itself gets what it asks for. Sanitizers define these
 * functions themselves; there nothing is contained.
 */
#pragma once

/* Control thread: what is open now. */
void contain_guard_descriptors(void);
/* One more, until the control thread closes it. */
void contain_guard_descriptor(int fd);
/* From here on. */
void contain_begin(void);
