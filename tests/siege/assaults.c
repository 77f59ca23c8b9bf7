/* SPDX-License-Identifier: Apache-2.0 */
/* Who attacks with what (siege.h). README.md says where each comes from. */
#include "tests/siege/siege.h"

const struct assault assaults[] = {
    { .name = "words", .who = POSTER, .attack = attack_write_words },
    { .name = "holes", .who = OTHER_POSTER, .attack = attack_punch_holes },
    { .name = "sizes", .who = REGISTRAR, .attack = attack_change_sizes },
    { .name = "doorbell", .who = POSTER, .attack = attack_ring_only },
    { .name = "flags", .who = OTHER_POSTER, .attack = attack_flip_flags },
    { .name = "futex", .who = REGISTRAR, .attack = attack_forge_words },
    { .name = "records", .who = POSTER, .attack = attack_bad_records },
    { .name = "records", .who = REGISTRAR, .attack = attack_bad_records },
    { .name = "graves", .who = OTHER_POSTER, .attack = attack_graves },
    { .name = "nonsense", .who = OTHER_POSTER, .act = act_nonsense },
    { .name = "descriptors", .who = POSTER, .act = act_descriptors },
    { .name = "silent", .who = POSTER, .act = act_silent },
    { .name = "churn", .who = OTHER_POSTER, .act = act_churn },
    { .name = "deaf", .who = POSTER, .act = act_deaf },
    { .name = "unread", .who = OTHER_POSTER, .act = act_unread },
    { .name = "unread", .who = POSTER, .act = act_unread },
    { .name = "requests", .who = OTHER_POSTER, .act = act_requests },
    { .name = "burglar", .who = POSTER, .act = act_burglar },
    { .name = "orphans", .who = OTHER_POSTER, .act = act_orphans },
    { .name = "ports", .who = POSTER, .act = act_ports, .holds = true, .asks = true },
    { .name = "ports", .who = OTHER_POSTER, .act = act_ports, .holds = true, .asks = true },
    { .name = "ports", .who = REGISTRAR, .act = act_ports, .holds = true, .asks = true },
    { .name = "types", .who = REGISTRAR, .act = act_types, .holds = true, .asks = true },
    { .name = "names", .who = REGISTRAR, .act = act_names },
    { .name = "actors", .who = REGISTRAR, .act = act_actors, .holds = true, .asks = true },
    { .name = "threads", .who = REGISTRAR, .act = act_threads, .holds = true, .asks = true },
    { .name = "flood", .who = POSTER, .act = act_flood, .holds = true },
    { .name = "flood", .who = OTHER_POSTER, .act = act_flood, .holds = true },
    { .name = "slow", .who = OTHER_POSTER, .act = act_slow, .holds = true },
    { .name = "stall", .who = POSTER, .act = act_stall },
    { .name = "backlog", .who = OTHER_POSTER, .act = act_backlog },
    { .name = "hang", .who = REGISTRAR, .act = act_hang },
    /* the last ones: where what there is is kept, nobody else of their users gets in behind them */
    { .name = "crowd", .who = POSTER, .act = act_crowd, .holds = true },
    { .name = "crowd", .who = OTHER_POSTER, .act = act_crowd, .holds = true },
    { .name = "crowd", .who = REGISTRAR, .act = act_crowd, .holds = true },
};
const unsigned n_assaults = sizeof(assaults) / sizeof(assaults[0]);
