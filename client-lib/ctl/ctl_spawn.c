/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl actor spawn: the new actor's arguments, and where it is to live. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPAWN_ARGS_MAX = 232 }; /* as odeon_actor_spawn() says */

static void ctl_spawn_print_ref(struct ctl *ctl, odeon_ref ref)
{
    struct json json;
    char text[ODEON_REF_TEXT];

    odeon_ref_format(ref, text);
    if (!ctl->json) {
        fprintf(ctl->out, "%s\n", text); /* alone, for scripts */
        return;
    }
    json_begin_document(&json, ctl->out);
    json_string(&json, "ref", text);
    json_end_document(&json);
}

static int ctl_spawn_fail(struct ctl *ctl, int error, const char *type)
{
    char *why = strdup(odeon_error_text()), *near = NULL; /* the next call replaces the text */
    int code;

    if (error == -ENOENT)
        near = ctl_type_nearest(ctl, type);
    if (near)
        code =
            ctl_fail(ctl, CTL_REFUSED,
                     "cannot make an actor: there is no type '%s'. Did you mean %s?", type, near);
    else if (error == -ENOENT)
        code = ctl_fail(ctl, CTL_REFUSED,
                        "cannot make an actor of type '%s': %s. odeonctl type list shows the types",
                        type, why && *why ? why : "there is no such type");
    else
        code = ctl_refuse(ctl, error, "cannot make an actor of type '%s'", type);
    free(near);
    free(why);
    return code;
}

/* A number of a node or a worker; 0, or the exit code, after a message. */
static int ctl_spawn_parse_number(struct ctl *ctl, enum option option, const char *what,
                                  uint32_t *ret_number)
{
    uint64_t number;

    if (!ctl_number_parse(ctl->option[option], &number) || number >= UINT32_MAX)
        return ctl_fail(
            ctl, CTL_USAGE,
            "--%s: '%s' is not a number of a %s. odeonctl topology says which there are",
            option_table[option].name, ctl->option[option], what);
    *ret_number = (uint32_t)number;
    return 0;
}

/* Where the new actor is to live; 0, or the exit code, after a message. */
static int ctl_spawn_parse_where(struct ctl *ctl, struct odeon_spawn_where *ret)
{
    static const struct {
        enum option option;
        enum odeon_where where;
    } ways[] = { { OPTION_NODE, ODEON_WHERE_NODE },
                 { OPTION_PINNED, ODEON_WHERE_PINNED },
                 { OPTION_FOLLOW, ODEON_WHERE_FOLLOW },
                 { OPTION_DETACHED, ODEON_WHERE_DETACHED } };
    const char *given = NULL;

    *ret = (struct odeon_spawn_where){ .struct_size = sizeof(*ret), .worker = ODEON_WORKER_ANY };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (!ctl->option[ways[i].option])
            continue;
        if (given)
            return ctl_fail(ctl, CTL_USAGE,
                            "--%s and --%s: an actor lives in one place. Leave one out", given,
                            option_table[ways[i].option].name);
        given = option_table[ways[i].option].name;
        ret->where = ways[i].where;
    }
    if (ret->where == ODEON_WHERE_NODE)
        return ctl_spawn_parse_number(ctl, OPTION_NODE, "memory node", &ret->node);
    if (ret->where == ODEON_WHERE_PINNED && *ctl->option[OPTION_PINNED])
        return ctl_spawn_parse_number(ctl, OPTION_PINNED, "worker", &ret->worker);
    return 0;
}

/* What the service knows of the type, in *ret_list, which the caller frees; NULL in *ret_type: it
 * knows no such type. 0, or the exit code, after a message. */
static int ctl_spawn_find_type(struct ctl *ctl, const char *name, struct odeon_list **ret_list,
                               const struct odeon_type_info **ret_type)
{
    uint64_t after = 0;

    *ret_type = NULL;
    for (;;) {
        struct odeon_list *list = NULL;
        int r = odeon_type_list(ctl->client, after, 0, &list);
        const struct odeon_type_info *types = list ? list->rows : NULL;

        if (r < 0)
            return ctl_refuse(ctl, r, "cannot look up the type '%s'", name);
        for (size_t i = 0; i < list->n; i++)
            if (strcmp(types[i].name, name) == 0) {
                *ret_type = &types[i];
                *ret_list = list;
                return 0;
            }
        /* a service whose pages lead back must not keep us */
        if (!list->more || list->next <= after) {
            odeon_list_free(list);
            return 0;
        }
        after = list->next;
        odeon_list_free(list);
    }
}

/* The arguments from words of the form FIELD=VALUE, by what the type says of them. */
static int ctl_spawn_fill(struct ctl *ctl, const char *name, void **ret_args, size_t *ret_size)
{
    const struct odeon_type_info *type;
    struct odeon_list *list = NULL;
    char what[128];
    int code = ctl_spawn_find_type(ctl, name, &list, &type);

    if (code)
        return code;
    if (!type)
        return ctl_spawn_fail(ctl, -ENOENT, name);
    snprintf(what, sizeof(what), "the arguments of '%s'", name);
    if (type->args_size == 0)
        code = ctl_fail(ctl, CTL_REFUSED,
                        "cannot write %s: %s. Write its bytes as hexadecimal digits", what,
                        type->loaded ? "its plugin does not say what it is spawned with"
                                     : "its plugin is not loaded");
    else
        code = ctl_struct_fill(ctl,
                               &(struct ctl_struct){ .what = what,
                                                     .fields = type->args_fields,
                                                     .size = type->args_size,
                                                     .first_word = 1 },
                               ret_args, ret_size);
    odeon_list_free(list);
    return code;
}

static bool ctl_spawn_has_fields(const struct ctl *ctl)
{
    for (size_t i = 1; i < ctl->n_words; i++)
        if (strchr(ctl->words[i], '='))
            return true;
    return false;
}

/* The arguments: in `hex` or, from fields, in *ret_filled, which odeon_payload_free() frees; the
 * latter connects. 0, or the exit code, after a message. */
static int ctl_spawn_make_args(struct ctl *ctl, uint8_t hex[static SPAWN_ARGS_MAX],
                               void **ret_filled, size_t *ret_size)
{
    int r, code;

    if (ctl_spawn_has_fields(ctl)) {
        code = ctl_connect(ctl);
        return code ? code : ctl_spawn_fill(ctl, ctl->words[0], ret_filled, ret_size);
    }
    r = odeon_payload_parse_hex(ctl->words + 1, ctl->n_words - 1, hex, SPAWN_ARGS_MAX, ret_size);
    if (r < 0)
        return ctl_fail(ctl, CTL_USAGE, "the actor's arguments: %s", odeon_error_text());
    return 0;
}

int ctl_actor_spawn(struct ctl *ctl)
{
    const char *type = ctl->words[0], *name = ctl->option[OPTION_NAME];
    struct odeon_spawn_where where;
    odeon_ref ref = ODEON_NOBODY;
    uint8_t hex[SPAWN_ARGS_MAX];
    void *filled = NULL;
    size_t size = 0;
    int r, code;

    if (!*type)
        return ctl_fail(ctl, CTL_USAGE, "actor spawn: '' names no type. See odeonctl type list");
    if (name && (!*name || odeon_ref_parse(name, &ref) == 0))
        return ctl_fail(ctl, CTL_USAGE, "--name: '%s' is %s. Choose another name", name,
                        *name ? "written like a reference" : "empty");
    code = ctl_spawn_parse_where(ctl, &where);
    if (!code)
        code = ctl_spawn_make_args(ctl, hex, &filled, &size);
    if (!code)
        code = ctl_connect(ctl);
    if (!code) {
        const void *args = filled ? filled : hex;

        r = odeon_actor_spawn_at(ctl->client, type, name, size ? args : NULL, size, &where, &ref);
        if (r < 0)
            code = ctl_spawn_fail(ctl, r, type);
        else
            ctl_spawn_print_ref(ctl, ref);
    }
    odeon_payload_free(filled);
    return code;
}
