/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/ctl/trace/trace_tree.h"

#include <stdbool.h>

uint64_t trace_tree_sent_ns(const struct odeon_traced *m)
{
    return m->wait_ns != UINT64_MAX && m->wait_ns < m->began_ns ? m->began_ns - m->wait_ns
                                                                : m->began_ns;
}

/* trace_tree.TT1 */
static bool trace_tree_may_be_cause(const struct odeon_traced *cause, const struct odeon_traced *m,
                                    uint64_t sent_ns)
{
    if (cause->trace != m->trace || cause->began_ns > sent_ns)
        return false;
    return m->hops ? sent_ns <= cause->began_ns + cause->run_ns : cause->to == m->from;
}

size_t trace_tree_cause(const struct odeon_traced *rows, size_t i)
{
    uint64_t sent_ns = trace_tree_sent_ns(&rows[i]);
    size_t cause = TRACE_TREE_ROOT;

    for (size_t k = 0; k < i; k++)
        if (trace_tree_may_be_cause(&rows[k], &rows[i], sent_ns))
            cause = k;
    return cause;
}
