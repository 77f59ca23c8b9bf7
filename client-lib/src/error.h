/* SPDX-License-Identifier: Apache-2.0 */
/* The text behind odeon_error_text(): why the calling thread's last failed call failed.
 *
 * One text per thread; nobody else touches it.  A call that succeeds leaves it alone.
 */
#pragma once

/* Both return `error`, a negative errno, so that a failing function ends with "return
 * error_set(...)". */
int error_set(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Without formatting, for conditions that a caller may poll for ("ring full"): costs two stores. */
int error_set_literal(int error, const char *literal);
/* What happens between the two may fail and the call succeed all the same (a connection that is
 * made again, an event that is looked for): on success the text that was there before is there
 * again. They nest; the outermost counts. error_settle() returns `result`. */
void error_keep(void);
int error_settle(int result);
/* The system's description of a negative errno. */
const char *error_describe(int error);
