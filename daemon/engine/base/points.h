/* SPDX-License-Identifier: Apache-2.0 */
/* The named points and steps of the protocols, for the builds that try what happens there. In an
 * ordinary build a point is nothing, a step its statement, and a value its expression.
 *
 *     POINT(flush_copied, queue, active, length);
 *     STEP(flush_first, turn_flush(w));
 *     flush_from(w, VALUE(flush_rest, step + 1));
 *
 * With -DODEON_INJECT=1 the process can kill itself at a point (inject.h). Where bugs are seeded
 * (-DODEON_SEED_BUG=NAME, and the simulator's -DODEON_SIMULATE) tests/seeded is asked as well: what
 * is to happen at a point first, whether a step is left out, whether a value is another one. The
 * wrong variants are all there, and the arguments behind the name are what they need.
 * An ordinary build does not evaluate them, nor does that which counts (-DODEON_COUNT, with
 * -DODEON_SIMULATE: tests/counting).
 */
#pragma once

#include "daemon/common/check.h"

#ifdef ODEON_INJECT
#include "daemon/engine/base/inject.h"
#define POINT_KILL(name) inject_pass(INJECT_##name)
#else
#define POINT_KILL(name) ((void)0)
#endif

#if defined(ODEON_SEED_BUG) || (defined(ODEON_SIMULATE) && !defined(ODEON_COUNT))

/* tests/seeded/hooks.h, which such a build includes before all else, declares what these call. */
#define POINT(name, ...)                                                                           \
    do {                                                                                           \
        __VA_OPT__(seeded_at_##name(__VA_ARGS__);)                                                 \
        POINT_KILL(name);                                                                          \
    } while (0)
#define STEP(name, statement)                                                                      \
    do {                                                                                           \
        if (!seeded_skips_##name()) {                                                              \
            statement;                                                                             \
        }                                                                                          \
    } while (0)
#define VALUE(name, expression, ...)                                                               \
    ({                                                                                             \
        __typeof__(expression) point_value;                                                        \
        if (!seeded_value_##name(&point_value __VA_OPT__(, ) __VA_ARGS__))                         \
            point_value = (expression);                                                            \
        point_value;                                                                               \
    })
/* A rule that runs (common/check.h). The instruments that look for seeded bugs are to find them:
 * the rules that these break are not checked there. */
#define engine_check(rule, expression) ((void)sizeof(!(expression)))

#else

#define POINT(name, ...) POINT_KILL(name)
#define STEP(name, statement)                                                                      \
    do {                                                                                           \
        statement;                                                                                 \
    } while (0)
#define VALUE(name, expression, ...)   (expression)
#define engine_check(rule, expression) check(rule, expression)

#endif
