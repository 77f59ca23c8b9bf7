/* SPDX-License-Identifier: Apache-2.0 */
/* Stealing: what all workers read of the policy, and how a worker searches (steal.h). */
#pragma once

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"

/* Searchers of a node: a cache line of its own. */
struct search_count {
    alignas(64) _Atomic uint32_t n;
};

/* Bits of steal.placing. */
enum { PLACING_HOME = 1, PLACING_COMMON = 2, PLACING_LENT = 4 };

/* Of the engine. */
struct steal {
    _Atomic uint32_t policy;
    _Atomic uint32_t sources; /* at most so many a steal */
    /* PLACING_...: what a release does besides giving the source back; 0: nothing */
    _Atomic uint32_t placing;
    /* there has been policy share: everybody looks at `common`, for ever */
    _Atomic uint32_t common_used;
    _Atomic uint32_t active;        /* workers from this one on rest (pack.h) */
    struct search_count *searching; /* by node */
    _Atomic uint64_t *common;       /* ready bits that are nobody's in particular (policy share) */
    _Atomic uint64_t *fixed;        /* a bit for each source that is SOURCE_FIXED */
};

/* Of a worker, which alone uses it. */
struct search {
    bool searcher;
    bool told;            /* it searches because somebody woke it and told it whom to visit */
    uint32_t victim_next; /* round robin: who is tried first */
    uint32_t port_next;   /* which port is looked at first (steal.T5) */
    uint64_t random;
};
