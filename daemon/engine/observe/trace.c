/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/observe/trace.h"

/* trace.T1.  The fence keeps this record's words behind the number of the one before it: who sees
 * any of them sees that number as well, and knows which record is being written over. */
void trace_add(struct observed_trace *trace, const struct trace_message *message)
{
    uint64_t number = load_relaxed(&trace->n) + 1;
    struct observed_record *record = &trace->record[number % OBSERVED_RECORDS];
    atomic_thread_fence(memory_order_release);
    store_relaxed(&record->began_ns, message->began_ns);
    store_relaxed(&record->to, message->to);
    store_relaxed(&record->from, message->from);
    store_relaxed(&record->run_ns, message->run_ns);
    store_relaxed(&record->wait_ns, message->wait_ns);
    store_relaxed(&record->weight, message->weight);
    store_relaxed(&record->what, message->what);
    store_relaxed(&record->id, message->id);
    store_release(&trace->n, number);
}
