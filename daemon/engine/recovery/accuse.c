/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/recovery/accuse.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/run/suspect.h"
#include "daemon/engine/segment/slot.h"

void accuse_message_name(const struct engine *e, uint32_t type, char ret[ODEON_NAME_MAX + 1])
{
    if (type < MESSAGE_TYPE_FIRST_USER)
        strcpy(ret, type == MESSAGE_TYPE_INIT ? "init" : "poison");
    else if (type < load_relaxed(&e->segment.header->n_message_types))
        memcpy(ret, e->segment.message_types[type].name, ODEON_NAME_MAX + 1);
}

void accuse_type_names(const struct engine *e, uint32_t type, char ret_type[ODEON_NAME_MAX + 1],
                       char ret_plugin[ODEON_NAME_MAX + 1])
{
    if (type == 0 || type >= load_relaxed(&e->segment.header->n_actor_types))
        return;
    memcpy(ret_type, e->segment.actor_types[type].name, ODEON_NAME_MAX + 1);
    memcpy(ret_plugin, e->segment.actor_types[type].plugin, ODEON_NAME_MAX + 1);
}

static _Atomic uint32_t *accuse_verdict(const struct engine *e)
{
    return &e->segment.workers[e->segment.n_ids - 1].suspicion.verdict;
}

static bool accuse_has_fault(const struct segment_worker *durable)
{
    return load_relaxed(&durable->turn) && durable->fault.attempts > 0 &&
           durable->fault.tag == segment_count(durable);
}

void accuse_begin(struct engine *e)
{
    e->suspects.n = 0;
    if (load_relaxed(accuse_verdict(e)) != VERDICT_NONE)
        return; /* suspect.S2: a recovery from that death was killed */
    bool explained = e->config.suspect_deaths == 0 || e->config.death_explained;
    for (uint32_t id = 0; !explained && id < e->segment.n_ids; id++)
        explained = accuse_has_fault(&e->segment.workers[id]);
    store_relaxed(accuse_verdict(e), explained ? VERDICT_EXPLAINED : VERDICT_COUNTS);
    crash_order();
}

void accuse_end(struct engine *e)
{
    crash_order();
    store_relaxed(accuse_verdict(e), VERDICT_NONE);
    crash_order();
}

static void accuse_remember(struct engine *e, uint32_t id, const struct envelope *envelope,
                            uint32_t deaths)
{
    struct engine_suspect *list =
        realloc(e->suspects.list, (e->suspects.n + 1) * sizeof(*e->suspects.list));
    if (!list)
        return;
    e->suspects.list = list;
    struct engine_suspect *suspect = &list[e->suspects.n++];
    uint32_t slot = actor_ref_slot(envelope->to);
    *suspect = (struct engine_suspect){
        .worker = id, .deaths = deaths, .actor = envelope->to, .from = envelope->from
    };
    if (slot < e->config.actors_max)
        accuse_type_names(e, slot_word_type(load_relaxed(&e->segment.actors[slot].word)),
                          suspect->actor_type, suspect->plugin);
    accuse_message_name(e, envelope->type, suspect->message);
}

void accuse_running(struct engine *e, uint32_t id, struct envelope *envelope)
{
    struct segment_worker *durable = &e->segment.workers[id];
    struct segment_suspicion *s = &durable->suspicion;
    uint64_t count = segment_count(durable);
    uint32_t before = suspect_deaths(envelope), trial = load_relaxed(&s->trial);
    if (load_relaxed(accuse_verdict(e)) != VERDICT_COUNTS)
        return;
    if (s->deaths == 0 || s->tag != count) {
        if (before >= SUSPECT_ALONE && trial == TRIAL_NONE)
            return; /* suspect.S4 */
        s->deaths = before < UINT8_MAX ? before + 1 : before;
        crash_order();
        s->tag = count;
        crash_order();
    }
    envelope->behaviour = (uint8_t)s->deaths; /* suspect.S3 */
    crash_order();
    unsigned flags = envelope->flags | ENVELOPE_SUSPECT;
    if (trial != TRIAL_NONE && envelope->type >= MESSAGE_TYPE_FIRST_USER)
        flags = (flags & ~(unsigned)ENVELOPE_INIT) | (trial == TRIAL_INIT ? ENVELOPE_INIT : 0u);
    envelope->flags = (uint8_t)flags;
    if (s->deaths >= SUSPECT_ALONE || s->deaths >= e->config.suspect_deaths)
        accuse_remember(e, id, envelope, s->deaths);
}
