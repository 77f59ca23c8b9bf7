/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/common/turn_count.h"

#include <time.h>

uint64_t turn_count_cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

static void turn_count_end_piece(struct turn_count *turns, uint64_t now_ns)
{
    if (turns->piece && now_ns - turns->piece_ns >= turns->most_ns) {
        turns->most_ns = now_ns - turns->piece_ns;
        turns->most = turns->piece;
    }
    turns->piece = NULL;
}

void turn_count_piece(struct turn_count *turns, const char *what)
{
    uint64_t now_ns = turn_count_cpu_ns();

    turn_count_end_piece(turns, now_ns);
    turns->piece = what;
    turns->piece_ns = now_ns;
}

bool turn_count_end(struct turn_count *turns)
{
    uint64_t now_ns = turn_count_cpu_ns();
    bool longest = turns->counts && now_ns - turns->begin_ns > turns->longest_ns;

    turn_count_end_piece(turns, now_ns);
    if (longest) {
        turns->longest_ns = now_ns - turns->begin_ns;
        turns->longest_work = turns->most ? turns->most : "";
    }
    turns->begin_ns = now_ns;
    turns->most_ns = 0;
    turns->most = NULL;
    return longest;
}
