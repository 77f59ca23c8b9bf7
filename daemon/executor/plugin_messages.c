/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/executor/plugin_messages.h"

#include <errno.h>
#include <string.h>

#include "daemon/executor/plugin_descriptor.h"

/* A list has each message once for each source file that declares it. */
static bool plugin_messages_is_known(struct engine *engine, const struct odeon_message_type *m,
                                     const struct message_set *messages)
{
    struct engine_message_type known;

    return m->id != 0 && message_set_has(messages, m->id) &&
           engine_message_type_get(engine, (uint16_t)m->id, &known) == 0 &&
           known.version == m->version && known.size == m->size &&
           known.has_tail == (m->has_tail != 0) && strcmp(known.name, m->name) == 0 &&
           strcmp(known.fields, m->fields) == 0;
}

static int plugin_messages_intern_one(struct engine *engine, struct odeon_message_type *m,
                                      const char *plugin, struct message_set *messages,
                                      struct explain *explain)
{
    struct engine_message_type known;
    uint16_t id;
    int r;

    if (plugin_messages_is_known(engine, m, messages))
        return 0;
    r = engine_message_type_intern(engine, m->name, m->version, m->size, m->has_tail != 0,
                                   m->fields, &id);
    if (r == 0) {
        m->id = id;
        messages->words[id / 64] |= UINT64_C(1) << id % 64;
        return 0;
    }
    if (r == -EBADMSG && engine_message_type_find(engine, m->name, m->version, &known) == 0)
        return explain_set(explain, r,
                           "plugin %s: message %s version %u has %u bytes%s and the fields '%s', "
                           "but is known with %u "
                           "bytes%s and the fields "
                           "'%s': give the changed message another version",
                           plugin, m->name, m->version, m->size, m->has_tail ? " and a tail" : "",
                           m->fields, known.size, known.has_tail ? " and a tail" : "",
                           known.fields);
    if (r == -ENOSPC)
        return explain_set(
            explain, r,
            "plugin %s: no room for message %s: %d message types are known, which is the limit",
            plugin, m->name, ODEON_MESSAGE_TYPES_MAX);
    return explain_set(explain, r, "plugin %s: message %s cannot be registered: %s", plugin,
                       m->name, strerror(-r));
}

/* Those of the list and, should one be missing there, those that behaviours name. */
int plugin_messages_intern(struct engine *engine, const struct odeon_plugin *d,
                           struct message_set *ret_messages, struct explain *explain)
{
    size_t n = plugin_descriptor_count_messages(d);
    int r;

    *ret_messages = (struct message_set){ 0 };
    for (size_t i = 0; i < n; i++) {
        struct odeon_message_type *m = plugin_descriptor_get_message(d, i);

        if (!m)
            continue;
        r = plugin_messages_intern_one(engine, m, d->name, ret_messages, explain);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < d->n_types; i++)
        for (uint32_t j = 0; j < d->types[i]->n_behaviours; j++) {
            r = plugin_messages_intern_one(engine,
                                           plugin_descriptor_get_behaviour(d->types[i], j)->message,
                                           d->name, ret_messages, explain);
            if (r < 0)
                return r;
        }
    return 0;
}
