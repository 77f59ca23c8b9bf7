/* SPDX-License-Identifier: Apache-2.0 */
/* What has caused what among messages with a trace's id. No record says so: it follows from who has
 * sent a message, and when.
 *
 * trace_tree.TT1  A message's cause is one of the same trace, which had begun when it was sent:
 *     what its sender ran then or last, or, of one that has been passed on in its sender's name,
 *     what ran then. Of two, the later one.
 *
 * No state, any thread.
 */
#pragma once

#include <odeon/observe.h>

#include <stddef.h>

#define TRACE_TREE_ROOT SIZE_MAX

/* When it was sent; when it began, where that is not known. */
uint64_t trace_tree_sent_ns(const struct odeon_traced *m);
/* The cause of rows[i], which are in the order of their beginnings: one before it; TRACE_TREE_ROOT:
 * it is not among them. */
size_t trace_tree_cause(const struct odeon_traced *rows, size_t i);
