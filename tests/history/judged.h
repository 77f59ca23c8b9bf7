/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the checker by histories that are written by hand: what has been noted, the verdict on
 * it, and what is expected of that. One in a program; one thread. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/history/history.h"

enum { JUDGED_MAX = 1 << 17 };

static struct history_record records[JUDGED_MAX];
static size_t n_records;

static inline struct history_record *judged_add(struct history_record record)
{
    assert_true(n_records < JUDGED_MAX);
    records[n_records] = record;
    return &records[n_records++];
}

/* It tells nothing. */
static inline void judged_erase(struct history_record *record)
{
    *record = (struct history_record){ .kind = HISTORY_DROPS };
}

static inline struct history_verdict judge(void)
{
    struct history *history = history_new();
    struct history_verdict verdict;

    for (size_t i = 0; i < n_records; i++)
        history_add(history, &records[i]);
    history_judge(history, &verdict);
    history_free(history);
    return verdict;
}

/* Exactly this is wrong, so many times. */
static inline void expect_wrong(enum history_wrong wrong, uint64_t times)
{
    struct history_verdict verdict = judge();

    for (int i = 0; i < HISTORY_WRONG_N; i++)
        if (verdict.wrong[i] != (i == (int)wrong ? times : 0))
            fail_msg("%s: %llu (%s)", history_wrong_name((enum history_wrong)i),
                     (unsigned long long)verdict.wrong[i], verdict.first);
    assert_memory_equal(verdict.first, history_wrong_name(wrong),
                        strlen(history_wrong_name(wrong)));
}

static inline struct history_verdict expect_right(void)
{
    struct history_verdict verdict = judge();

    if (verdict.first[0])
        fail_msg("%s", verdict.first);
    return verdict;
}

/* Of what actors note of themselves: the last one of its kind, actor and number. */
static inline struct history_record *record_of_actor(enum history_kind kind, uint64_t actor,
                                                     uint64_t number)
{
    for (size_t i = n_records; i-- > 0;)
        if (records[i].kind == kind && records[i].sender == actor && records[i].sequence == number)
            return &records[i];
    abort(); /* the test is wrong */
}
