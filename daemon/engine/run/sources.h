/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of sources: one row for each, and a new kind is a new row (and a range of ids, in
 * core.h). Who runs a source, gives it away or moves it asks here, and knows no kind by name.
 *
 * Threads: run() by the worker that holds the owner word; the rest by the control thread, while all
 * workers stand or while it gives the source away.
 */
#pragma once

#include "daemon/engine/core/core.h"

struct source_kind_row {
    /* Runs what is there, and gives the owner word back. */
    void (*run)(struct worker *w, uint32_t index, bool stolen);
    /* Is it to be looked at by whoever has it now? */
    bool (*has_work)(struct engine *engine, uint32_t index);
    /* Its owner will not poll it for long, and nobody else can have it. */
    void (*make_cold)(struct engine *engine, uint32_t index);
};
extern const struct source_kind_row sources_kinds[SOURCE_KIND_N];

static inline void sources_run(struct worker *w, uint32_t source, bool stolen)
{
    uint32_t index;
    enum source_kind kind = source_kind_of(w->engine, source, &index);
    sources_kinds[kind].run(w, index, stolen);
}
static inline bool sources_has_work(struct engine *engine, uint32_t source)
{
    uint32_t index;
    enum source_kind kind = source_kind_of(engine, source, &index);
    return sources_kinds[kind].has_work(engine, index);
}
static inline void sources_make_cold(struct engine *engine, uint32_t source)
{
    uint32_t index;
    enum source_kind kind = source_kind_of(engine, source, &index);
    sources_kinds[kind].make_cold(engine, index);
}
