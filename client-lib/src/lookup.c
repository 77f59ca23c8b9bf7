/* SPDX-License-Identifier: Apache-2.0 */
/* What a client asks by name: message types, actors, spawning, loading a plugin.  Any thread. */
#include <errno.h>
#include <string.h>

#include <odeon/admin.h>

#include "client-lib/src/connect.h"
#include "client-lib/src/error.h"

/* Arguments are checked here where the answer would be less clear from afar; the service checks
 * everything again. */
static int lookup_check_name(const char *what, const char *name)
{
    size_t length = name ? strnlen(name, ODEON_NAME_MAX + 1) : 0;

    if (length == 0)
        return error_set(-EINVAL, "%s: no name was given", what);
    if (length > ODEON_NAME_MAX)
        return error_set(-EINVAL, "%s: the name is longer than %d bytes: %.80s", what,
                         ODEON_NAME_MAX, name);
    return 0;
}

static int lookup_check_type(const struct odeon_message_type *type)
{
    int result;

    if (!type || type->struct_size < offsetof(struct odeon_message_type, id))
        return error_set_literal(
            -EINVAL, "message type: no description was given, or struct_size is not set");
    result = lookup_check_name("message type", type->name);
    if (result < 0)
        return result;
    if (type->fields && strnlen(type->fields, ODEON_FIELDS_MAX + 1) > ODEON_FIELDS_MAX)
        return error_set(-EINVAL, "message type %s: its fields take more than %d bytes as written",
                         type->name, ODEON_FIELDS_MAX);
    if (type->size > ODEON_PAYLOAD_MAX)
        return error_set(-EMSGSIZE, "message type %s: %u bytes, at most %d can be sent", type->name,
                         type->size, ODEON_PAYLOAD_MAX);
    return 0;
}

int odeon_message_id(struct odeon_client *client, const struct odeon_message_type *type,
                     uint32_t *ret_id)
{
    Odeon__MessageType described = ODEON__MESSAGE_TYPE__INIT;
    Odeon__MessageTypeIntern intern = ODEON__MESSAGE_TYPE_INTERN__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct client_answer answer;
    uint32_t id;
    int result = client_check(client);

    if (result == 0)
        result = lookup_check_type(type);
    if (result == 0 && !ret_id)
        result = error_set_literal(-EINVAL, "odeon_message_id: no place for the id");
    if (result < 0)
        return result;
    id = names_find(&client->names, type);
    if (id != 0) {
        *ret_id = id;
        return 0;
    }
    described.name = (char *)(uintptr_t)type->name;
    described.version = type->version;
    described.size = type->size;
    described.tail = type->has_tail != 0;
    described.fields = (char *)(uintptr_t)(type->fields ? type->fields : "");
    intern.type = &described;
    request.body_case = ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN;
    request.message_type_intern = &intern;
    result = client_call(client, &request, ODEON__REPLY__BODY_MESSAGE_TYPE, &answer);
    if (result < 0)
        return result;
    id = answer.reply->message_type->id;
    client_answer_fini(&answer);
    if (id == 0 || id > UINT16_MAX)
        return error_set(-EPROTO, "the service gave message type %s the impossible id %u",
                         type->name, id);
    names_add(&client->names, type, id);
    *ret_id = id;
    return 0;
}

static int lookup_ask_ref(struct odeon_client *client, Odeon__Request *request, odeon_ref *ret_ref)
{
    struct client_answer answer;
    int result = client_call(client, request, ODEON__REPLY__BODY_REF, &answer);

    if (result < 0)
        return result;
    if (ret_ref)
        *ret_ref = answer.reply->ref->ref;
    client_answer_fini(&answer);
    return 0;
}

int odeon_lookup(struct odeon_client *client, const char *name, odeon_ref *ret_ref)
{
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int result = client_check(client);

    if (result == 0)
        result = lookup_check_name("odeon_lookup", name);
    if (result < 0)
        return result;
    lookup.name = (char *)(uintptr_t)name;
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    return lookup_ask_ref(client, &request, ret_ref);
}

int odeon_spawn(struct odeon_client *client, const char *type, const char *name, const void *args,
                size_t args_size, odeon_ref *ret_ref)
{
    return odeon_admin_actor_spawn(client, type, name, args, args_size, NULL, ret_ref);
}

static int lookup_fill_where(const struct odeon_spawn_where *where, Odeon__Spawn *spawn)
{
    if (where->struct_size < sizeof(*where))
        return error_set(-EINVAL,
                         "odeon_admin_actor_spawn: struct_size is %u, sizeof (struct "
                         "odeon_spawn_where) was expected",
                         where->struct_size);
    spawn->place = (uint32_t)where->where;
    if (where->where == ODEON_WHERE_NODE)
        spawn->node = where->node;
    if (where->where == ODEON_WHERE_PINNED && where->worker != ODEON_WORKER_ANY)
        spawn->worker = where->worker + 1;
    return 0;
}

int odeon_admin_actor_spawn(struct odeon_client *client, const char *type, const char *name,
                            const void *args, size_t args_size,
                            const struct odeon_spawn_where *where, odeon_ref *ret_ref)
{
    Odeon__Spawn spawn = ODEON__SPAWN__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int result = client_check(client);

    if (result == 0)
        result = lookup_check_name("odeon_spawn: actor type", type);
    if (result == 0 && name)
        result = lookup_check_name("odeon_spawn: actor", name);
    if (result == 0 && where)
        result = lookup_fill_where(where, &spawn);
    if (result < 0)
        return result;
    if (args_size > ODEON_SPAWN_ARGS_MAX)
        return error_set(-E2BIG,
                         "odeon_spawn: %zu bytes of arguments, at most %d are kept with an actor; "
                         "send it a message instead",
                         args_size, ODEON_SPAWN_ARGS_MAX);
    if (args_size > 0 && !args)
        return error_set_literal(-EINVAL, "odeon_spawn: arguments have a size but no address");
    spawn.type = (char *)(uintptr_t)type;
    spawn.name = (char *)(uintptr_t)(name ? name : "");
    spawn.args.data = (uint8_t *)(uintptr_t)args;
    spawn.args.len = args_size;
    request.body_case = ODEON__REQUEST__BODY_SPAWN;
    request.spawn = &spawn;
    return lookup_ask_ref(client, &request, ret_ref);
}

int odeon_plugin_load(struct odeon_client *client, const char *path)
{
    Odeon__PluginLoad load = ODEON__PLUGIN_LOAD__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int result = client_check(client);

    if (result < 0)
        return result;
    if (!path || path[0] != '/')
        return error_set(-EINVAL,
                         "odeon_plugin_load: the service has another working directory, so the "
                         "path must begin with '/': %s",
                         path ? path : "(none)");
    load.path = (char *)(uintptr_t)path;
    request.body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
    request.plugin_load = &load;
    return client_call(client, &request, ODEON__REPLY__BODY_PLUGIN, NULL);
}
