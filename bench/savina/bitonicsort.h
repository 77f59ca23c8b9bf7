/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the bitonic sort share. Every actor of the network takes items, and the end
 * behind them, and passes both on to its next. */
#ifndef BITONICSORT_H
#define BITONICSORT_H

#include "program.h"

/* A value, and which of several ways it has come; nobody looks at that where there is one way. */
ODEON_MESSAGE(bitonicsort_item, 1, {
    int64_t value;
    uint64_t order;
});
ODEON_SIGNAL(bitonicsort_exit, 1);
ODEON_INTERFACE(bitonicsort_any, bitonicsort_item, bitonicsort_exit); /* one of these: */
ODEON_INTERFACE(bitonicsort_label, bitonicsort_item, bitonicsort_exit);
ODEON_INTERFACE(bitonicsort_splitter, bitonicsort_item, bitonicsort_exit);
ODEON_INTERFACE(bitonicsort_joiner, bitonicsort_item, bitonicsort_exit);
ODEON_INTERFACE(bitonicsort_compare, bitonicsort_item, bitonicsort_exit);
ODEON_INTERFACE(bitonicsort_part, bitonicsort_item, bitonicsort_exit);
ODEON_INTERFACE(bitonicsort_validator, bitonicsort_item, bitonicsort_exit);

/* What an actor of the network is made with. */
struct bitonicsort_args_of {
    bitonicsort_any_ref next;
    bitonicsort_any_ref *receivers; /* of a splitter: its own from now on */
    uint64_t n;                     /* receivers, inputs, workers, or a stage's numbers */
    uint64_t len;                   /* so many at a time; values of a part */
    uint64_t total;                 /* items that come */
    uint64_t dc;                    /* workers in a row that go the same way */
    uint32_t kind, order;
    bool up, all_up;
};

#endif
