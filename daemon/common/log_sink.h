/* SPDX-License-Identifier: Apache-2.0 */
/* Where log lines go: descriptors that are written to and never waited for.
 *
 * Opened once, before any thread is started; then any thread. What stands behind stderr belongs to
 * others, too: its flags stay as they are, and what must not wait is asked for by other means.
 *
 * log_sink.S1  No call waits for whoever reads: a terminal that is held, a pipe or socket that
 *     nobody empties, a journal that stands still.  A regular file is written as ever.
 * log_sink.S2  The end of the reader is an errno for who ignores SIGPIPE, as both services do; so
 *     is the limit of a file's size for who ignores SIGXFSZ.
 */
#pragma once

#include <stddef.h>
#include <sys/uio.h>

/* `journal`: the path of the journal's socket, NULL: it is not used. */
void log_sink_open(const char *journal);
/* One line, newline included, of at most PIPE_BUF bytes: all of it, or negative errno. */
int log_sink_text(const char *line, size_t size);
/* One entry of parts "KEY=value".  0 or negative errno. */
int log_sink_journal(const struct iovec *parts, size_t n);
