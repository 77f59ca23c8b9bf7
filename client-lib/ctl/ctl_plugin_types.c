/* SPDX-License-Identifier: Apache-2.0 */
/* What the service would refuse of a plugin's actor types: the same tests as its own, of what lies
 * in a file. */
#include "client-lib/ctl/ctl_plugin_check.h"

#include <odeon/codec.h>
#include <odeon/plugin.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STATE_MAX = 1 << 20, STATE_KEPT_MAX = 4096, STATE_KEPT_DEFAULT = 512, PHASES_MAX = 32 };

/* The body of an actor's state as ODEON_STATE wrote it; NULL: nobody did. The linker has put name
 * and body of all of them one behind the other, with gaps of zeros. */
static const char *ctl_plugin_types_state_of(const struct plugin_check *check, const char *type)
{
    const char *at, *end, *name = NULL;
    Elf64_Shdr section;

    if (!elf_view_section(check->view, SHT_PROGBITS, "odeon_states", &section))
        return NULL;
    at = (const char *)check->view->bytes + section.sh_offset;
    end = at + section.sh_size;
    while (at < end) {
        size_t n = strnlen(at, (size_t)(end - at));

        if (at + n == end)
            return NULL; /* it does not end */
        if (n > 0 && name && strcmp(name, type) == 0)
            return at;
        if (n > 0)
            name = name ? NULL : at;
        at += n + 1;
    }
    return NULL;
}

static void ctl_plugin_types_kept(struct plugin_check *check, const struct odeon_actor_type *type,
                                  const char *name)
{
    const char *body = ctl_plugin_types_state_of(check, name);

    if (type->state_size > STATE_KEPT_DEFAULT)
        plugin_check_note(check, type->state_size > STATE_KEPT_MAX,
                          "actor type %.64s keeps %u bytes over crashes: at most setting "
                          "durable-bytes, which is %d by itself and never more than %d",
                          name, type->state_size, STATE_KEPT_DEFAULT, STATE_KEPT_MAX);
    if (!body)
        plugin_check_note(check, false,
                          "actor type %.64s keeps its state over crashes, and does not say "
                          "what is in it: no pointer may be, since it lies elsewhere then",
                          name);
    else if (strchr(body, '*'))
        plugin_check_note(check, false,
                          "actor type %.64s keeps a pointer over crashes, after which nothing "
                          "lies where it leads: %.100s",
                          name, body);
}

static uint64_t ctl_plugin_types_message(const struct plugin_check *check,
                                         const struct odeon_actor_type *type, uint64_t behaviours,
                                         uint32_t i)
{
    return elf_view_pointer(check->view, behaviours + i * type->behaviour_size +
                                             offsetof(struct odeon_behaviour, message));
}

static uint64_t ctl_plugin_types_function(const struct plugin_check *check,
                                          const struct odeon_actor_type *type, uint64_t behaviours,
                                          uint32_t i)
{
    return elf_view_pointer(check->view, behaviours + i * type->behaviour_size +
                                             offsetof(struct odeon_behaviour, run));
}

static void ctl_plugin_types_behaviour(struct plugin_check *check,
                                       const struct odeon_actor_type *type, const char *name,
                                       uint64_t behaviours, uint32_t i)
{
    uint64_t message = ctl_plugin_types_message(check, type, behaviours, i);

    if (ctl_plugin_types_function(check, type, behaviours, i) == 0)
        plugin_check_note(check, true,
                          "actor type %.64s: behaviour %u has no function: a message of its "
                          "interface has no ODEON_ON",
                          name, i);
    else if (message == 0)
        plugin_check_note(check, true, "actor type %.64s: behaviour %u has no message", name, i);
    for (uint32_t j = 0; message != 0 && j < i; j++)
        if (ctl_plugin_types_message(check, type, behaviours, j) == message) {
            plugin_check_note(check, true,
                              "actor type %.64s: behaviours %u and %u are for one message", name, j,
                              i);
            break;
        }
}

static void ctl_plugin_types_behaviours(struct plugin_check *check, uint64_t address,
                                        const struct odeon_actor_type *type, const char *name)
{
    uint64_t at =
        elf_view_pointer(check->view, address + offsetof(struct odeon_actor_type, behaviours));

    if (type->n_behaviours > ODEON_BEHAVIOURS_LIMIT ||
        (type->n_behaviours > 0 &&
         type->behaviour_size < offsetof(struct odeon_behaviour, reserved))) {
        plugin_check_note(check, true,
                          "actor type %.64s has %u behaviours of %u bytes: at most %d of at "
                          "least %zu are allowed",
                          name, type->n_behaviours, type->behaviour_size, ODEON_BEHAVIOURS_LIMIT,
                          offsetof(struct odeon_behaviour, reserved));
        return;
    }
    for (uint32_t i = 0; i < type->n_behaviours; i++)
        ctl_plugin_types_behaviour(check, type, name, at, i);
}

/* What the description comes to, against the size that the compiler saw. */
static void ctl_plugin_types_layout(struct plugin_check *check, const struct odeon_actor_type *type,
                                    const char *name, const char *fields)
{
    struct odeon_layout *layout = NULL;

    if (odeon_layout_parse(fields, &layout) < 0)
        plugin_check_note(check, true, "actor type %.64s: its arguments %.100s: %s", name, fields,
                          odeon_error_text());
    else if (odeon_layout_check(layout, type->args_size, 0) < 0)
        plugin_check_note(check, true,
                          "actor type %.64s: its arguments %.100s have %u bytes, and %zu as laid "
                          "out by the service: neither pack nor align the struct, nor end it in "
                          "a tail",
                          name, fields, type->args_size, odeon_layout_size(layout));
    odeon_layout_free(layout);
}

static void ctl_plugin_types_args(struct plugin_check *check, uint64_t address,
                                  const struct odeon_actor_type *type, const char *name)
{
    const char *fields = elf_view_text(
        check->view,
        elf_view_pointer(check->view, address + offsetof(struct odeon_actor_type, args_fields)));
    size_t n = fields ? strlen(fields) : 0;

    if (type->args_size > ODEON_ARGS_LIMIT || n > ODEON_FIELDS_LIMIT)
        plugin_check_note(check, true,
                          "actor type %.64s takes arguments of %u bytes, described by %zu "
                          "characters: at most %d and %d are allowed",
                          name, type->args_size, n, ODEON_ARGS_LIMIT, ODEON_FIELDS_LIMIT);
    else if ((n == 0) != (type->args_size == 0))
        plugin_check_note(check, true,
                          "actor type %.64s: args_size is %u, and args_fields is '%.100s': both "
                          "describe the arguments, or neither",
                          name, type->args_size, fields ? fields : "");
    else if (n > 0)
        ctl_plugin_types_layout(check, type, name, fields);
}

/* Its behaviours are those of the type, in their order, with functions of their own. */
static void ctl_plugin_types_phase(struct plugin_check *check, uint64_t address,
                                   const struct odeon_actor_type *type, const char *name,
                                   uint64_t behaviours)
{
    const size_t least = offsetof(struct odeon_behaviour_set, reserved);
    struct odeon_behaviour_set set;
    const char *phase;
    uint64_t at;

    if (!elf_view_read(check->view, address, &set, least) || set.struct_size < least) {
        plugin_check_note(check, true,
                          "actor type %.64s: a phase is not there, or shorter than %zu bytes", name,
                          least);
        return;
    }
    phase =
        plugin_check_name(check, address + offsetof(struct odeon_behaviour_set, name), "a phase");
    at = elf_view_pointer(check->view, address + offsetof(struct odeon_behaviour_set, behaviours));
    if (set.n_behaviours != type->n_behaviours) {
        plugin_check_note(check, true,
                          "actor type %.64s: phase %.64s has %u behaviours, the type has %u: each "
                          "phase needs one for each message",
                          name, phase, set.n_behaviours, type->n_behaviours);
        return;
    }
    for (uint32_t i = 0; i < type->n_behaviours; i++)
        if (ctl_plugin_types_message(check, type, at, i) !=
                ctl_plugin_types_message(check, type, behaviours, i) ||
            ctl_plugin_types_function(check, type, at, i) == 0)
            plugin_check_note(check, true,
                              "actor type %.64s: phase %.64s has no function for the message of "
                              "behaviour %u",
                              name, phase, i);
}

/* Of the phase before which there are `i` others; NULL: it has none. */
static const char *ctl_plugin_types_phase_name(const struct plugin_check *check, uint64_t phases,
                                               uint32_t i)
{
    uint64_t phase = elf_view_pointer(check->view, phases + i * sizeof(uint64_t));

    return elf_view_text(
        check->view,
        elf_view_pointer(check->view, phase + offsetof(struct odeon_behaviour_set, name)));
}

static void ctl_plugin_types_phases(struct plugin_check *check, uint64_t address,
                                    const struct odeon_actor_type *type, const char *name)
{
    uint64_t phases =
        elf_view_pointer(check->view, address + offsetof(struct odeon_actor_type, phases));
    uint64_t behaviours =
        elf_view_pointer(check->view, address + offsetof(struct odeon_actor_type, behaviours));
    const char *first = elf_view_text(
        check->view, elf_view_pointer(check->view, address + offsetof(struct odeon_actor_type,
                                                                      behaviours_name)));

    if (type->n_phases > PHASES_MAX) {
        plugin_check_note(check, true, "actor type %.64s has %u phases: at most %d are allowed",
                          name, type->n_phases, PHASES_MAX);
        return;
    }
    first = first && first[0] ? first : "initial";
    for (uint32_t i = 0; i < type->n_phases; i++) {
        const char *phase = ctl_plugin_types_phase_name(check, phases, i), *other = first;

        ctl_plugin_types_phase(check, elf_view_pointer(check->view, phases + i * sizeof(uint64_t)),
                               type, name, behaviours);
        for (uint32_t j = 0; phase && other && j < i && strcmp(other, phase) != 0; j++)
            other = ctl_plugin_types_phase_name(check, phases, j);
        if (phase && other && strcmp(other, phase) == 0)
            plugin_check_note(check, true, "actor type %.64s: two phases are named %.64s", name,
                              phase);
    }
}

void plugin_check_type(struct plugin_check *check, uint64_t address)
{
    const size_t least = offsetof(struct odeon_actor_type, phases); /* ABI 2.3 ended there */
    const size_t whole = offsetof(struct odeon_actor_type, reserved);
    struct odeon_actor_type type = { 0 };
    const char *name;

    if (!elf_view_read(check->view, address, &type, least) || type.struct_size < least ||
        (type.struct_size >= whole && !elf_view_read(check->view, address, &type, whole))) {
        plugin_check_note(check, true,
                          "an actor type is not there, or shorter than %zu bytes: compile it "
                          "with this version's headers",
                          least);
        return;
    }
    name = plugin_check_name(check, address + offsetof(struct odeon_actor_type, name),
                             "an actor type");
    if (type.state_size > STATE_MAX)
        plugin_check_note(check, true,
                          "actor type %.64s: state_size is %u: at most %d bytes are allowed, "
                          "allocate more in init",
                          name, type.state_size, STATE_MAX);
    if (type.restart > ODEON_RESTART_KEEP || type.overflow > ODEON_OVERFLOW_STALL)
        plugin_check_note(check, true,
                          "actor type %.64s: restart policy %u or overflow policy %u is "
                          "unknown",
                          name, type.restart, type.overflow);
    if (type.restart == ODEON_RESTART_KEEP)
        ctl_plugin_types_kept(check, &type, name);
    ctl_plugin_types_behaviours(check, address, &type, name);
    ctl_plugin_types_args(check, address, &type, name);
    ctl_plugin_types_phases(check, address, &type, name);
}
