/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's descriptor: whatever numbers and strings a plugin may have in it, behind pointers that
 * are good or NULL (a wild one cannot be told from a good one; the plugin's code could do worse).
 *
 * Strings lie in memory of exactly the length that the check may look at, with or without an end.
 */
#include <stdalign.h>

#include <odeon/plugin.h>

#include "daemon/common/name.h"
#include "daemon/executor/plugin_descriptor.h"
#include "proto/bounds.h"
#include "proto/fields.h"
#include "tests/fuzz/fuzz.h"

/* Bytes that a behaviour may claim to have: more are refused. */
enum { ROOM = 4096 };
enum { MESSAGES = 6, TYPES = 4, BEHAVIOURS = 6, STRINGS = 3 * MESSAGES + 2 * TYPES + 8 };

static void *strings[STRINGS];
static size_t n_strings;

/* NULL; a good name; or `size` bytes of the input, without a zero unless there is one among
 * them. */
static char *make_string(struct input *input, size_t size)
{
    static const char *const good[] = { "counter", "count", "a.b-c_d", "x" };
    uint8_t how = input_u8(input);
    char *string;

    if (how == 0)
        return NULL;
    string = malloc(size);
    FUZZ_EXPECT(string && n_strings < STRINGS);
    strings[n_strings++] = string;
    if (how < 200) {
        snprintf(string, size, "%s%d", good[how % 4], how / 8);
    } else {
        struct input part = input_part(input, how & 1 ? size : how % 40u);

        memset(string, 'a', size);
        memcpy(string, part.data, part.left);
        if (how & 2)
            string[part.left < size ? part.left : size - 1] = '\0';
    }
    return string;
}

/* Mostly what is right, so that the checks behind it are reached. */
static uint32_t number(struct input *input, uint32_t right)
{
    uint8_t how = input_u8(input);

    return how < 220 ? right : how < 240 ? right + how - 230 : input_u32(input);
}

static int behave(void *self, const void *message, struct odeon_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    return ODEON_NODELETE;
}

static void make_message(struct input *input, struct odeon_message_type *m)
{
    memset(m, 0, sizeof(*m));
    m->struct_size = number(input, sizeof(*m));
    m->name = make_string(input, ODEON_NAME_MAX + 1);
    m->version = number(input, 1);
    m->size = number(input, input_u8(input));
    m->has_tail = number(input, input_u8(input) & 1);
    m->tail_offset = number(input, m->size);
    m->fields = make_string(input, ODEON_FIELDS_MAX + 1);
}

/* What is spawned with the type: mostly a description and the size that belongs to it. */
static void make_arguments(struct input *input, struct odeon_actor_type *t)
{
    static const struct {
        const char *fields;
        uint32_t size;
    } good[] = { { "{ int64_t start; uint8_t step; }", 16 },
                 { "{ odeon_ref port; char name[24], c; }", 40 },
                 { "{ float f; bool b[3]; }", 8 } };
    uint8_t how = input_u8(input);

    if (how < 128)
        return;
    t->args_fields = how < 192 ? good[how % 3].fields : make_string(input, ODEON_FIELDS_MAX + 1);
    t->args_size = number(input, how < 192 ? good[how % 3].size : how % 64u);
}

static void make_type(struct input *input, struct odeon_actor_type *t, uint8_t *room,
                      struct odeon_message_type *messages)
{
    uint32_t n = input_u8(input) % (BEHAVIOURS + 1);
    uint32_t stride = number(input, sizeof(struct odeon_behaviour));
    bool fits = stride >= offsetof(struct odeon_behaviour, reserved) && stride <= ROOM;

    /* They lie as far from each other as the type says, if it says anything that can be. */
    memset(room, 0, BEHAVIOURS * ROOM);
    for (uint32_t i = 0; i < n; i++) {
        struct odeon_behaviour b = { 0 };
        uint8_t which = input_u8(input);

        b.message = which == 255 ? NULL : &messages[which % MESSAGES];
        b.run = input_u8(input) == 255 ? NULL : behave;
        memcpy(room + (size_t)i * (fits ? stride : sizeof(b)), &b,
               fits && stride < sizeof(b) ? stride : sizeof(b));
    }
    memset(t, 0, sizeof(*t));
    t->struct_size = number(input, sizeof(*t));
    t->name = make_string(input, ODEON_NAME_MAX + 1);
    t->version = number(input, 1);
    t->state_size = number(input, 8);
    t->restart = number(input, 0);
    t->overflow = number(input, 0);
    t->behaviour_size = stride;
    t->behaviours = input_u8(input) == 255 ? NULL : (const struct odeon_behaviour *)(void *)room;
    t->n_behaviours =
        input_u8(input) < 250 ? n : ODEON_BEHAVIOURS_MAX + 1 + input_u32(input) % 1000000;
}

enum { PHASES = 3 };
struct phases {
    struct odeon_behaviour_set sets[PHASES];
    const struct odeon_behaviour_set *list[PHASES];
};

/* Their behaviours are mostly those of the type: each has one for each message then. */
static void make_phases(struct input *input, struct odeon_actor_type *t, struct phases *phases)
{
    uint8_t how = input_u8(input);
    uint32_t n = how % (PHASES + 1);

    if (how < 128)
        return;
    for (uint32_t i = 0; i < n; i++) {
        phases->sets[i] = (struct odeon_behaviour_set){
            .struct_size = number(input, sizeof(phases->sets[i])),
            .n_behaviours = number(input, t->n_behaviours),
            .name = make_string(input, ODEON_NAME_MAX + 1),
            .behaviours = input_u8(input) == 255 ? NULL : t->behaviours,
        };
        phases->list[i] = input_u8(input) == 255 ? NULL : &phases->sets[i];
    }
    t->phases = input_u8(input) == 255 ? NULL : phases->list;
    t->n_phases = input_u8(input) < 250 ? n : ODEON_TYPE_PHASES_MAX + 1 + input_u16(input);
}

static void use_phases(const struct odeon_actor_type *t)
{
    for (uint32_t i = 0; i < plugin_descriptor_count_phases(t); i++) {
        FUZZ_EXPECT(name_is_good(t->phases[i]->name) &&
                    strcmp(t->phases[i]->name, plugin_descriptor_first_phase(t)) != 0);
        for (uint32_t j = 0; j < t->n_behaviours; j++)
            FUZZ_EXPECT(plugin_descriptor_get_behaviour_in(t, t->phases[i], j)->run != NULL);
    }
}

/* What the loader does with a descriptor that was accepted. */
static void use(const struct odeon_plugin *d)
{
    size_t n = plugin_descriptor_count_messages(d);

    FUZZ_EXPECT(strlen(d->name) <= ODEON_NAME_MAX && n <= ODEON_MESSAGE_TYPES_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct odeon_message_type *m = plugin_descriptor_get_message(d, i);

        if (m)
            FUZZ_EXPECT(strlen(m->name) <= ODEON_NAME_MAX &&
                        strlen(m->fields) <= ODEON_FIELDS_MAX &&
                        message_type_least_size(m) <= ODEON_PAYLOAD_MAX);
    }
    for (uint32_t i = 0; i < d->n_types; i++) {
        struct fields_problem problem;
        struct fields laid_out;

        if (d->types[i]->args_size > 0)
            FUZZ_EXPECT(fields_parse(d->types[i]->args_fields, &laid_out, &problem) == 0 &&
                        laid_out.size == d->types[i]->args_size && !laid_out.has_tail);
        use_phases(d->types[i]);
        for (uint32_t j = 0; j < d->types[i]->n_behaviours; j++) {
            const struct odeon_behaviour *b = plugin_descriptor_get_behaviour(d->types[i], j);

            FUZZ_EXPECT(b->run && name_is_good(b->message->name));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct odeon_message_type messages[MESSAGES];
    static struct odeon_actor_type types[TYPES];
    static struct odeon_plugin plugin;
    static struct phases phases[TYPES];
    static alignas(64) uint8_t behaviours[TYPES][BEHAVIOURS * ROOM];
    struct odeon_message_type *message_list[MESSAGES];
    struct odeon_actor_type *type_list[TYPES];
    struct odeon_plugin *d = &plugin;
    struct input input = { data, size };
    struct explain explain;
    int r;

    for (size_t i = 0; i < MESSAGES; i++) {
        make_message(&input, &messages[i]);
        message_list[i] = input_u8(&input) == 255 ? NULL : &messages[i];
    }
    for (size_t i = 0; i < TYPES; i++) {
        make_type(&input, &types[i], behaviours[i], messages);
        type_list[i] = input_u8(&input) == 255 ? NULL : &types[i];
    }
    memset(d, 0, sizeof(*d));
    d->struct_size = number(&input, sizeof(*d));
    d->abi_major = (uint16_t)number(&input, ODEON_PLUGIN_ABI_MAJOR);
    d->abi_minor = (uint16_t)number(&input, ODEON_PLUGIN_ABI_MINOR);
    d->context_size = number(&input, sizeof(struct odeon_context));
    d->message_type_size = number(&input, sizeof(struct odeon_message_type));
    d->name = make_string(&input, ODEON_NAME_MAX + 1);
    d->version = make_string(&input, ODEON_NAME_MAX + 1);
    /* lengths beyond what is there would be wild pointers; those beyond the bounds are refused
     * before they are used */
    d->n_types = input_u8(&input) < 250 ? input_u8(&input) % (TYPES + 1)
                                        : ODEON_PLUGIN_TYPES_MAX + 1 + input_u16(&input);
    d->types = input_u8(&input) == 255 ? NULL : type_list;
    d->messages = input_u8(&input) == 255 ? NULL : message_list;
    if (input_u8(&input) & 1)
        d->n_messages = input_u8(&input) < 250 ? input_u8(&input) % (MESSAGES + 1)
                                               : ODEON_PLUGIN_LISTED_MAX + 1 + input_u16(&input);
    else
        d->messages_end = d->messages ? d->messages + input_u8(&input) % (MESSAGES + 1) : NULL;
    for (size_t i = 0; i < TYPES; i++) /* last: seeds from before mean what they meant */
        make_arguments(&input, &types[i]);
    for (size_t i = 0; i < TYPES; i++)
        make_phases(&input, &types[i], &phases[i]);
    explain_init(&explain);
    r = plugin_descriptor_check(d, &explain);
    FUZZ_EXPECT(r <= 0 && (r == 0 || explain.length > 0));
    if (r == 0)
        use(d);
    while (n_strings > 0)
        free(strings[--n_strings]);
    return 0;
}
