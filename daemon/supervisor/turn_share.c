/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/turn_share.h"

#include "daemon/common/check.h"

/* A turn in which nobody was put off ends the round. */
static void turn_share_look(struct turn_share *share, uint64_t turn)
{
    if (share->turn == turn)
        return;
    share->turn = turn;
    share->used_ns = 0;
    if (!share->is_short)
        share->round++;
    share->is_short = false;
}

bool turn_share_may(struct turn_share *share, struct turn_part *part, uint64_t turn)
{
    turn_share_look(share, turn);
    if (part->round == share->round)
        return false;
    if (share->used_ns >= TURN_SHARE_NS) {
        share->is_short = true;
        return false;
    }
    check("turn_share.H2", part->round < share->round);
    part->round = share->round;
    return true;
}

bool turn_share_count(struct turn_share *share, struct turn_part *part, uint64_t turn, uint64_t ns)
{
    turn_share_look(share, turn);
    if (part->turn != turn)
        part->used_ns = 0;
    part->turn = turn;
    part->used_ns += ns;
    share->used_ns += ns;
    return part->used_ns >= TURN_PART_NS || share->used_ns >= TURN_SHARE_NS;
}
