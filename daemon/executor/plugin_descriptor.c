/* SPDX-License-Identifier: Apache-2.0 */
/* See plugin_descriptor.h. */
#include "daemon/executor/plugin_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon/common/name.h"
#include "proto/bounds.h"
#include "proto/fields.h"

/* A name that may not be one, made fit for a message. */
static const char *plugin_descriptor_name_show(const char *name)
{
    return !name ? "(none)" : name[0] == '\0' ? "(empty)" : name;
}

static int plugin_descriptor_refuse_name(const char *what, const char *name,
                                         struct explain *explain)
{
    return explain_set(
        explain, -EINVAL,
        "%s: the name '%.64s' is not allowed: 1 to %d letters, digits, '_', '.' or '-' make a name",
        what, plugin_descriptor_name_show(name), ODEON_NAME_MAX);
}

size_t plugin_descriptor_count_messages(const struct odeon_plugin *d)
{
    if (d->n_messages > 0)
        return d->n_messages;
    if (!d->messages || (uintptr_t)d->messages_end <= (uintptr_t)d->messages)
        return 0;
    return (size_t)(d->messages_end - d->messages);
}

struct odeon_message_type *plugin_descriptor_get_message(const struct odeon_plugin *d, size_t index)
{
    return d->messages[index];
}

uint32_t message_type_least_size(const struct odeon_message_type *type)
{
    return type->has_tail ? type->tail_offset : type->size;
}

/* More than any of these structs will ever have: what a plugin says of itself is not walked
 * further. */
enum { STRUCT_SIZE_MAX = 4096 };

/* Through a pipe, which has room for them; the kernel copies what is there. */
static bool plugin_descriptor_peek_by_pipe(const void *at, void *to, size_t size)
{
    int ends[2];
    bool there;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    there = write(ends[1], at, size) == (ssize_t)size && read(ends[0], to, size) == (ssize_t)size;
    close(ends[0]);
    close(ends[1]);
    return there;
}

/* A copy of bytes that may not be there: a size that a plugin gives wrongly must not end the
 * executor. The call for it is one that sandboxes forbid and emulators lack. */
static bool plugin_descriptor_peek(const void *at, void *to, size_t size)
{
    struct iovec theirs = { (void *)(uintptr_t)at, size }, ours = { to, size };
    ssize_t n = process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0);

    if (n < 0 && (errno == ENOSYS || errno == EPERM))
        return plugin_descriptor_peek_by_pipe(at, to, size);
    return n == (ssize_t)size;
}

/* A struct of the plugin's own version: at least what 2.0 has but for its reserved words, and zeros
 * behind what we know, however much that is. `plugin` NULL: its name is not known yet. */
static int plugin_descriptor_check_size(const char *plugin, const char *field, const void *at,
                                        uint32_t theirs, size_t known, size_t ours,
                                        struct explain *explain)
{
    const char *before = plugin ? "plugin " : "", *behind = plugin ? ": " : "";
    uint8_t bytes[STRUCT_SIZE_MAX];

    plugin = plugin ? plugin : "";
    if (theirs < known || theirs > sizeof(bytes) || !plugin_descriptor_peek(at, bytes, theirs))
        return explain_set(explain, -EINVAL,
                           "%s%s%s%s is %u, ours is %zu: compile the plugin with this version's "
                           "headers",
                           before, plugin, behind, field, theirs, ours);
    for (size_t i = known; i < theirs; i++)
        if (bytes[i] != 0)
            return explain_set(explain, -EINVAL,
                               "%s%s%s%s is %u, ours is %zu, and byte %zu, which this service does "
                               "not know, is %u: update the service, or compile the plugin with "
                               "its headers",
                               before, plugin, behind, field, theirs, ours, i, bytes[i]);
    return 0;
}

const struct odeon_behaviour *plugin_descriptor_get_behaviour(const struct odeon_actor_type *type,
                                                              uint32_t index)
{
    return (const struct odeon_behaviour *)((const uint8_t *)type->behaviours +
                                            (size_t)index * type->behaviour_size);
}

uint32_t plugin_descriptor_count_phases(const struct odeon_actor_type *type)
{
    return type->struct_size < offsetof(struct odeon_actor_type, reserved_phases) ? 0
                                                                                  : type->n_phases;
}

const struct odeon_behaviour *
plugin_descriptor_get_behaviour_in(const struct odeon_actor_type *type,
                                   const struct odeon_behaviour_set *phase, uint32_t index)
{
    return (const struct odeon_behaviour *)((const uint8_t *)phase->behaviours +
                                            (size_t)index * type->behaviour_size);
}

const char *plugin_descriptor_first_phase(const struct odeon_actor_type *type)
{
    return type->behaviours_name && type->behaviours_name[0] ? type->behaviours_name : "initial";
}

/* What the description comes to, against the size that the compiler saw. Who fills arguments by
 * name writes where the description says. */
static int plugin_descriptor_check_args_layout(const struct odeon_actor_type *t, const char *plugin,
                                               struct explain *explain)
{
    static const char remedy[] = "give integers, floats, bool, references and arrays of them, and "
                                 "neither pack nor align the struct";
    struct fields_problem problem;
    struct fields laid_out;

    if (fields_parse(t->args_fields, &laid_out, &problem) < 0)
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: args_fields is '%s', but %s: %s", plugin,
                           t->name, t->args_fields, problem.why, remedy);
    for (size_t i = 0; i < laid_out.n; i++) {
        const struct field *f = &laid_out.field[i];
        uint32_t end = f->offset + f->count * f->type.size;

        if (f->count == 0)
            return explain_set(explain, -EINVAL,
                               "plugin %s: actor type %s: args_fields is '%s', and %s is a tail: "
                               "the body of a struct without a tail is expected",
                               plugin, t->name, t->args_fields, f->name);
        if (end > t->args_size)
            return explain_set(explain, -EINVAL,
                               "plugin %s: actor type %s: args_fields: %s ends at byte %u as laid "
                               "out here, but args_size is %u (at most %d): %s",
                               plugin, t->name, f->name, end, t->args_size, ODEON_SPAWN_ARGS_MAX,
                               remedy);
    }
    if (laid_out.size != t->args_size)
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: args_size is %u, but args_fields '%s' has %u "
                           "bytes as laid out here: %s",
                           plugin, t->name, t->args_size, t->args_fields, laid_out.size, remedy);
    return 0;
}

/* The struct's body as text, as messages have it, and its size; a tail makes no sense here. */
static int plugin_descriptor_check_args(const struct odeon_actor_type *t, const char *plugin,
                                        struct explain *explain)
{
    const char *fields = t->args_fields ? t->args_fields : "";
    size_t n = strnlen(fields, ODEON_FIELDS_MAX + 1);

    if (t->args_size > ODEON_SPAWN_ARGS_MAX)
        return explain_set(
            explain, -EINVAL,
            "plugin %s: actor type %s: args_size is %u: at most %d bytes are allowed", plugin,
            t->name, t->args_size, ODEON_SPAWN_ARGS_MAX);
    if (n > ODEON_FIELDS_MAX)
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: args_fields is too long: at most %d "
                           "characters are allowed",
                           plugin, t->name, ODEON_FIELDS_MAX);
    if ((n == 0) != (t->args_size == 0))
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: args_size is %u, and args_fields is '%s': "
                           "both describe the spawn arguments, or neither",
                           plugin, t->name, t->args_size, fields);
    if (n > 0 && (fields[0] != '{' || fields[n - 1] != '}'))
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: args_fields is '%s': the body of a struct "
                           "without a tail is expected, as in '{ int64_t start; }'",
                           plugin, t->name, fields);
    return n > 0 ? plugin_descriptor_check_args_layout(t, plugin, explain) : 0;
}

static int plugin_descriptor_check_message(const struct odeon_message_type *m, const char *plugin,
                                           struct explain *explain)
{
    if (plugin_descriptor_check_size(plugin, "a message type's struct_size", m, m->struct_size,
                                     offsetof(struct odeon_message_type, reserved), sizeof(*m),
                                     explain) < 0)
        return -EINVAL;
    if (!name_is_good(m->name))
        return plugin_descriptor_refuse_name("a message type", m->name, explain);
    if (m->version == 0)
        return explain_set(explain, -EINVAL,
                           "plugin %s: message %s has version 0: versions begin with 1", plugin,
                           m->name);
    if (m->size > ODEON_PAYLOAD_MAX)
        return explain_set(explain, -EINVAL,
                           "plugin %s: message %s has %u bytes: at most %d are allowed", plugin,
                           m->name, m->size, ODEON_PAYLOAD_MAX);
    if (m->has_tail > 1 || (m->has_tail && m->tail_offset > m->size))
        return explain_set(explain, -EINVAL,
                           "plugin %s: message %s has a tail at byte %u of %u: it must begin "
                           "inside the struct or right behind it",
                           plugin, m->name, m->tail_offset, m->size);
    if (!m->fields || strnlen(m->fields, ODEON_FIELDS_MAX + 1) > ODEON_FIELDS_MAX)
        return explain_set(explain, -EINVAL,
                           "plugin %s: message %s: the description of its fields is %s: at most %d "
                           "characters are allowed",
                           plugin, m->name, m->fields ? "too long" : "missing", ODEON_FIELDS_MAX);
    return 0;
}

static int plugin_descriptor_check_behaviours(const struct odeon_actor_type *t, const char *plugin,
                                              struct explain *explain)
{
    for (uint32_t i = 0; i < t->n_behaviours; i++) {
        const struct odeon_behaviour *b = plugin_descriptor_get_behaviour(t, i);
        int r;

        if (plugin_descriptor_check_size(
                plugin, "a behaviour's behaviour_size", b, t->behaviour_size,
                offsetof(struct odeon_behaviour, reserved), sizeof(*b), explain) < 0)
            return -EINVAL;
        if (!b->message || !b->run)
            return explain_set(explain, -EINVAL, "plugin %s: actor type %s: behaviour %u has no %s",
                               plugin, t->name, i, b->message ? "function" : "message type");
        r = plugin_descriptor_check_message(b->message, plugin, explain);
        if (r < 0)
            return r;
        for (uint32_t j = 0; j < i; j++) {
            const struct odeon_message_type *other = plugin_descriptor_get_behaviour(t, j)->message;

            if (other == b->message || (strcmp(other->name, b->message->name) == 0 &&
                                        other->version == b->message->version))
                return explain_set(explain, -EINVAL,
                                   "plugin %s: actor type %s has two behaviours for message %s",
                                   plugin, t->name, other->name);
        }
    }
    return 0;
}

/* What a type lacks of them is 0: ABI 2.3 ended before them. */
static size_t plugin_descriptor_type_known(const struct odeon_actor_type *t)
{
    return t->struct_size < offsetof(struct odeon_actor_type, reserved_phases)
               ? offsetof(struct odeon_actor_type, phases)
               : offsetof(struct odeon_actor_type, reserved_phases);
}

static bool plugin_descriptor_is_same_message(const struct odeon_message_type *a,
                                              const struct odeon_message_type *b)
{
    return a == b || (a && strcmp(a->name, b->name) == 0 && a->version == b->version);
}

/* Its behaviours are those of the type, in their order, with functions of their own. */
static int plugin_descriptor_check_phase(const struct odeon_actor_type *t, uint32_t i,
                                         const char *plugin, struct explain *explain)
{
    const struct odeon_behaviour_set *set = t->phases[i];

    if (!set)
        return explain_set(explain, -EINVAL, "plugin %s: actor type %s: phase %u is missing",
                           plugin, t->name, i);
    if (plugin_descriptor_check_size(plugin, "a phase's struct_size", set, set->struct_size,
                                     offsetof(struct odeon_behaviour_set, reserved), sizeof(*set),
                                     explain) < 0)
        return -EINVAL;
    if (!name_is_good(set->name))
        return plugin_descriptor_refuse_name("a phase", set->name, explain);
    if (set->n_behaviours != t->n_behaviours || (set->n_behaviours > 0 && !set->behaviours))
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: phase %s has %u behaviours, the type has %u: "
                           "each phase needs one for each message",
                           plugin, t->name, set->name, set->behaviours ? set->n_behaviours : 0,
                           t->n_behaviours);
    for (uint32_t j = 0; j < t->n_behaviours; j++) {
        const struct odeon_behaviour *b = plugin_descriptor_get_behaviour_in(t, set, j);

        if (!plugin_descriptor_is_same_message(b->message,
                                               plugin_descriptor_get_behaviour(t, j)->message) ||
            !b->run)
            return explain_set(explain, -EINVAL,
                               "plugin %s: actor type %s: phase %s has no function for message %s "
                               "as behaviour %u",
                               plugin, t->name, set->name,
                               plugin_descriptor_get_behaviour(t, j)->message->name, j);
    }
    for (uint32_t j = 0; j < i; j++)
        if (strcmp(t->phases[j]->name, set->name) == 0)
            return explain_set(explain, -EINVAL, "plugin %s: actor type %s has two phases named %s",
                               plugin, t->name, set->name);
    return strcmp(plugin_descriptor_first_phase(t), set->name) == 0
               ? explain_set(explain, -EINVAL,
                             "plugin %s: actor type %s: its first behaviours are named %s, and so "
                             "is a phase",
                             plugin, t->name, set->name)
               : 0;
}

static int plugin_descriptor_check_phases(const struct odeon_actor_type *t, const char *plugin,
                                          struct explain *explain)
{
    uint32_t n = plugin_descriptor_count_phases(t);

    if (n > ODEON_TYPE_PHASES_MAX)
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s has %u phases: at most %d are allowed", plugin,
                           t->name, n, ODEON_TYPE_PHASES_MAX);
    if (n > 0 && !t->phases)
        return explain_set(explain, -EINVAL, "plugin %s: actor type %s has %u phases at no address",
                           plugin, t->name, n);
    for (uint32_t i = 0; i < n; i++) {
        int r = plugin_descriptor_check_phase(t, i, plugin, explain);

        if (r < 0)
            return r;
    }
    return 0;
}

static int plugin_descriptor_check_type(const struct odeon_actor_type *t, const char *plugin,
                                        struct explain *explain)
{
    int r;

    if (plugin_descriptor_check_size(plugin, "an actor type's struct_size", t, t->struct_size,
                                     plugin_descriptor_type_known(t), sizeof(*t), explain) < 0)
        return -EINVAL;
    if (!name_is_good(t->name))
        return plugin_descriptor_refuse_name("an actor type", t->name, explain);
    if (t->behaviour_size < offsetof(struct odeon_behaviour, reserved) ||
        t->behaviour_size > STRUCT_SIZE_MAX || t->behaviour_size % alignof(struct odeon_behaviour))
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: behaviour_size is %u, ours is %zu", plugin,
                           t->name, t->behaviour_size, sizeof(struct odeon_behaviour));
    if (t->state_size > ODEON_STATE_MAX)
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: state_size is %u: at most %d bytes are "
                           "allowed, allocate more in init",
                           plugin, t->name, t->state_size, ODEON_STATE_MAX);
    if (t->n_behaviours > ODEON_BEHAVIOURS_MAX)
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s has %u behaviours: at most %d are allowed",
                           plugin, t->name, t->n_behaviours, ODEON_BEHAVIOURS_MAX);
    if (t->n_behaviours > 0 && !t->behaviours)
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s has %u behaviours at no address", plugin,
                           t->name, t->n_behaviours);
    if (t->restart > ODEON_RESTART_KEEP)
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: restart policy %u is unknown", plugin,
                           t->name, t->restart);
    if (t->overflow > ODEON_OVERFLOW_STALL)
        return explain_set(explain, -EINVAL,
                           "plugin %s: actor type %s: overflow policy %u is unknown", plugin,
                           t->name, t->overflow);
    r = plugin_descriptor_check_args(t, plugin, explain);
    if (r < 0)
        return r;
    if (t->behaviours_name && t->behaviours_name[0] && !name_is_good(t->behaviours_name))
        return plugin_descriptor_refuse_name("a set of behaviours", t->behaviours_name, explain);
    r = plugin_descriptor_check_behaviours(t, plugin, explain);
    return r < 0 ? r : plugin_descriptor_check_phases(t, plugin, explain);
}

static int plugin_descriptor_check_types(const struct odeon_plugin *d, struct explain *explain)
{
    if (d->n_types > ODEON_PLUGIN_TYPES_MAX)
        return explain_set(explain, -EINVAL, "plugin %s has %u actor types: at most %d are allowed",
                           d->name, d->n_types, ODEON_PLUGIN_TYPES_MAX);
    if (d->n_types > 0 && !d->types)
        return explain_set(explain, -EINVAL, "plugin %s has %u actor types at no address", d->name,
                           d->n_types);
    for (uint32_t i = 0; i < d->n_types; i++) {
        int r;

        if (!d->types[i])
            return explain_set(explain, -EINVAL, "plugin %s: actor type %u is missing", d->name, i);
        r = plugin_descriptor_check_type(d->types[i], d->name, explain);
        if (r < 0)
            return r;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(d->types[j]->name, d->types[i]->name) == 0)
                return explain_set(explain, -EINVAL, "plugin %s has two actor types named %s",
                                   d->name, d->types[i]->name);
    }
    return 0;
}

static int plugin_descriptor_check_messages(const struct odeon_plugin *d, struct explain *explain)
{
    size_t n = plugin_descriptor_count_messages(d);

    if (n > ODEON_PLUGIN_LISTED_MAX)
        return explain_set(explain, -EINVAL,
                           "plugin %s lists %zu message types: at most %d are allowed", d->name, n,
                           ODEON_PLUGIN_LISTED_MAX);
    if (n > 0 && !d->messages)
        return explain_set(explain, -EINVAL, "plugin %s has %zu message types at no address",
                           d->name, n);
    for (size_t i = 0; i < n; i++) {
        const struct odeon_message_type *m = plugin_descriptor_get_message(d, i);
        int r;

        /* A list that the linker put together may have gaps, an explicit one not. */
        if (!m && d->n_messages == 0)
            continue;
        if (!m)
            return explain_set(explain, -EINVAL, "plugin %s: message type %zu is missing", d->name,
                               i);
        r = plugin_descriptor_check_message(m, d->name, explain);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The sizes come first: without them no other field is where it seems to be. */
static int plugin_descriptor_check_abi(const struct odeon_plugin *d, struct explain *explain)
{
    static const char remedy[] = "compile the plugin with this version's headers";
    const size_t context_known = offsetof(struct odeon_context, kind); /* ABI 2.0 */

    if (d->struct_size < offsetof(struct odeon_plugin, context_size))
        return explain_set(explain, -EINVAL, "the plugin's struct_size is %u, ours is %zu: %s",
                           d->struct_size, sizeof(*d), remedy);
    if (d->abi_major == 1)
        return explain_set(
            explain, -EINVAL,
            "the plugin's abi_major is 1 (a build before ABI 2), ours is %d: compile the plugin "
            "again with this version's headers; its source can stay as it is",
            ODEON_PLUGIN_ABI_MAJOR);
    if (d->abi_major != ODEON_PLUGIN_ABI_MAJOR)
        return explain_set(explain, -EINVAL, "the plugin's abi_major is %u, ours is %d: %s",
                           d->abi_major, ODEON_PLUGIN_ABI_MAJOR, remedy);
    if (d->abi_minor > ODEON_PLUGIN_ABI_MINOR)
        return explain_set(explain, -EINVAL,
                           "the plugin's abi_minor is %u, ours is %d: update the service, or %s",
                           d->abi_minor, ODEON_PLUGIN_ABI_MINOR, remedy);
    if (plugin_descriptor_check_size(NULL, "the plugin's struct_size", d, d->struct_size,
                                     offsetof(struct odeon_plugin, reserved), sizeof(*d),
                                     explain) < 0)
        return -EINVAL;
    /* which the service fills: what a plugin expects beyond it would not be there */
    if (d->context_size < context_known || d->context_size > sizeof(struct odeon_context))
        return explain_set(explain, -EINVAL, "the plugin's context_size is %u, ours is %zu: %s",
                           d->context_size, sizeof(struct odeon_context), remedy);
    if (d->message_type_size < offsetof(struct odeon_message_type, reserved) ||
        d->message_type_size > STRUCT_SIZE_MAX)
        return explain_set(explain, -EINVAL,
                           "the plugin's message_type_size is %u, ours is %zu: %s",
                           d->message_type_size, sizeof(struct odeon_message_type), remedy);
    return 0;
}

int plugin_descriptor_check(const struct odeon_plugin *d, struct explain *explain)
{
    int r = plugin_descriptor_check_abi(d, explain);

    if (r < 0)
        return r;
    if (!name_is_good(d->name))
        return plugin_descriptor_refuse_name("the plugin", d->name, explain);
    if (!name_is_good(d->version))
        return plugin_descriptor_refuse_name("the plugin's version", d->version, explain);
    r = plugin_descriptor_check_messages(d, explain);
    if (r < 0)
        return r;
    return plugin_descriptor_check_types(d, explain);
}
