/* SPDX-License-Identifier: Apache-2.0 */
/* Administration: requests that change something, and the service's status. Listings are in
 * admin_list.c. Any thread.
 */
#include <errno.h>

#include <odeon/admin.h>

#include "client-lib/src/admin_list.h"
#include "client-lib/src/arena.h"
#include "client-lib/src/connect.h"
#include "client-lib/src/error.h"

/* The last step of each result: hands it out, or gives it back when memory ran out on the way. */
static int admin_finish(void *result, struct client_answer *answer, void **ret)
{
    client_answer_fini(answer);
    if (!result || arena_failed(result)) {
        odeon_free(result);
        return error_set_literal(-ENOMEM, "no memory for the service's answer");
    }
    *ret = result;
    return 0;
}

static int admin_check_result(const struct odeon_client *client, const void *ret)
{
    return ret ? client_check(client) : error_set_literal(-EINVAL, "no place for the result");
}

int odeon_admin_status(struct odeon_client *client, struct odeon_status **ret)
{
    Odeon__Status body = ODEON__STATUS__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct client_answer answer;
    struct odeon_status *status;
    int result = admin_check_result(client, ret);

    if (result < 0)
        return result;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &body;
    result = client_call(client, &request, ODEON__REPLY__BODY_STATUS, &answer);
    if (result < 0)
        return result;
    status = arena_new(sizeof(*status));
    if (status) {
        const Odeon__StatusReply *reply = answer.reply->status;

        *status = (struct odeon_status){
            .struct_size = sizeof(*status),
            .version = arena_string(status, reply->version),
            .state = arena_string(status, reply->state),
            .stealing = arena_string(status, reply->stealing),
            .runtime_dir = arena_string(status, reply->runtime_dir),
            .supervisor_pid = reply->supervisor_pid,
            .executor_pid = reply->executor_pid,
            .workers = reply->workers,
            .queues = reply->queues,
            .plugins = reply->plugins,
            .clients = reply->clients,
            .ports = reply->ports,
            .throughput = reply->throughput,
            .uptime_ns = reply->uptime_ns,
            .executor_restarts = reply->executor_restarts,
            .actors = reply->actors,
            .steal_mode = arena_string(status, reply->steal_mode),
            .reconfigurations = reply->reconfigurations,
            .reconfigure_last_ns = reply->reconfigure_last_ns,
            .reconfigure_longest_ns = reply->reconfigure_longest_ns,
            .your_id = reply->your_id,
            .your_uid = reply->your_uid,
            .your_pid = reply->your_pid,
            .your_roles = arena_string(status, reply->your_roles),
        };
    }
    return admin_finish(status, &answer, (void **)ret);
}

int odeon_admin_executor_show(struct odeon_client *client, struct odeon_executor_info **ret)
{
    Odeon__ExecutorShow body = ODEON__EXECUTOR_SHOW__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct client_answer answer;
    struct odeon_executor_info *info;
    int result = admin_check_result(client, ret);

    if (result < 0)
        return result;
    request.body_case = ODEON__REQUEST__BODY_EXECUTOR_SHOW;
    request.executor_show = &body;
    result = client_call(client, &request, ODEON__REPLY__BODY_EXECUTOR_SHOW, &answer);
    if (result < 0)
        return result;
    info = arena_new(sizeof(*info));
    if (info) {
        const Odeon__ExecutorShowReply *reply = answer.reply->executor_show;

        info->struct_size = sizeof(*info);
        info->pid = reply->pid;
        info->boots = reply->boots;
        info->restarts = reply->restarts;
        info->reconfigurations = reply->reconfigurations;
        info->reconfigure_last_ns = reply->reconfigure_last_ns;
        info->reconfigure_longest_ns = reply->reconfigure_longest_ns;
        info->settings = arena_alloc(info, reply->n_settings, sizeof(*info->settings));
        for (; info->settings && info->n_settings < reply->n_settings; info->n_settings++) {
            const Odeon__Setting *setting = reply->settings[info->n_settings];

            info->settings[info->n_settings] = (struct odeon_setting_info){
                .key = arena_string(info, setting->key),
                .value = arena_string(info, setting->value),
                .doc = arena_string(info, setting->doc),
                .live = setting->live,
                .initial = arena_string(info, setting->initial),
            };
        }
    }
    return admin_finish(info, &answer, (void **)ret);
}

enum { SETTINGS_MAX = 64 }; /* more than there are keys */

/* The caller may have been compiled with another size of it. */
static int admin_check_reconfigured(const struct odeon_reconfigured *ret)
{
    if (ret && ret->struct_size < sizeof(*ret))
        return error_set(-EINVAL,
                         "odeon_admin_executor_set: struct_size is %u, sizeof (struct "
                         "odeon_reconfigured) was expected",
                         ret->struct_size);
    return 0;
}

/* An older service does not say it. */
static void admin_fill_reconfigured(const Odeon__Reconfigured *reply,
                                    struct odeon_reconfigured *ret)
{
    ret->pause_ns = reply ? reply->pause_ns : 0;
    ret->moved = reply ? reply->moved : 0;
}

int odeon_admin_executor_set(struct odeon_client *client, const char *const *keys,
                             const char *const *values, size_t n, struct odeon_reconfigured *ret)
{
    Odeon__Setting settings[SETTINGS_MAX], *pointers[SETTINGS_MAX];
    Odeon__ExecutorSet body = ODEON__EXECUTOR_SET__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct client_answer answer;
    int result = client_check(client);

    if (result == 0)
        result = admin_check_reconfigured(ret);
    if (result < 0)
        return result;
    if (n == 0 || n > SETTINGS_MAX || !keys || !values)
        return error_set(-EINVAL,
                         "odeon_admin_executor_set: %zu settings were given, 1 to %d are possible",
                         n, SETTINGS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!keys[i] || !values[i])
            return error_set_literal(-EINVAL,
                                     "odeon_admin_executor_set: a key or a value is missing");
        odeon__setting__init(&settings[i]);
        settings[i].key = (char *)(uintptr_t)keys[i];
        settings[i].value = (char *)(uintptr_t)values[i];
        pointers[i] = &settings[i];
    }
    body.n_settings = n;
    body.settings = pointers;
    request.body_case = ODEON__REQUEST__BODY_EXECUTOR_SET;
    request.executor_set = &body;
    result = client_call(client, &request, ODEON__REPLY__BODY_OK, &answer);
    if (result < 0)
        return result;
    if (ret)
        admin_fill_reconfigured(answer.reply->reconfigured, ret);
    client_answer_fini(&answer);
    return 0;
}

int odeon_admin_plugin_unload(struct odeon_client *client, const char *name)
{
    Odeon__PluginUnload body = ODEON__PLUGIN_UNLOAD__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int result = client_check(client);

    if (result == 0 && !name)
        result = error_set_literal(-EINVAL, "odeon_admin_plugin_unload: no name was given");
    if (result < 0)
        return result;
    body.name = (char *)(uintptr_t)name;
    request.body_case = ODEON__REQUEST__BODY_PLUGIN_UNLOAD;
    request.plugin_unload = &body;
    return client_call(client, &request, ODEON__REPLY__BODY_OK, NULL);
}

int odeon_admin_message_find(struct odeon_client *client, const char *name, uint32_t version,
                             struct odeon_message_info **ret)
{
    Odeon__MessageTypeFind body = ODEON__MESSAGE_TYPE_FIND__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct client_answer answer;
    struct odeon_message_info *info;
    int result = admin_check_result(client, ret);

    if (result == 0 && !name)
        result = error_set_literal(-EINVAL, "odeon_admin_message_find: no name was given");
    if (result < 0)
        return result;
    body.name = (char *)(uintptr_t)name;
    body.version = version;
    request.body_case = ODEON__REQUEST__BODY_MESSAGE_TYPE_FIND;
    request.message_type_find = &body;
    result = client_call(client, &request, ODEON__REPLY__BODY_MESSAGE_TYPE, &answer);
    if (result < 0)
        return result;
    info = arena_new(sizeof(*info));
    if (info) {
        const Odeon__MessageType *reply = answer.reply->message_type;

        *info = (struct odeon_message_info){
            .struct_size = sizeof(*info),
            .id = reply->id,
            .version = reply->version,
            .size = reply->size,
            .has_tail = reply->tail,
            .name = arena_string(info, reply->name),
            .fields = arena_string(info, reply->fields),
        };
    }
    return admin_finish(info, &answer, (void **)ret);
}

int odeon_admin_actor_send(struct odeon_client *client, odeon_ref ref, const char *message,
                           const void *payload, size_t size)
{
    Odeon__ActorSend body = ODEON__ACTOR_SEND__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int result = client_check(client);

    if (result == 0 && (!message || (!payload && size > 0)))
        result = error_set_literal(
            -EINVAL, "odeon_admin_actor_send: no message type, or a payload without address");
    if (result == 0 && size > ODEON_PAYLOAD_MAX)
        result = error_set(-EMSGSIZE, "a payload of %zu bytes: at most %d can be sent", size,
                           ODEON_PAYLOAD_MAX);
    if (result < 0)
        return result;
    body.ref = ref;
    body.message = (char *)(uintptr_t)message;
    body.payload.data = (uint8_t *)(uintptr_t)payload;
    body.payload.len = size;
    request.body_case = ODEON__REQUEST__BODY_ACTOR_SEND;
    request.actor_send = &body;
    return client_call(client, &request, ODEON__REPLY__BODY_OK, NULL);
}

int odeon_admin_actor_stop(struct odeon_client *client, odeon_ref ref, enum odeon_allocation how)
{
    Odeon__ActorStop body = ODEON__ACTOR_STOP__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int result = client_check(client);

    if (result == 0 && how != ODEON_DELETE && how != ODEON_DESTROY && how != ODEON_FINISHED)
        result = error_set(-EINVAL,
                           "odeon_admin_actor_stop: an actor stops by ODEON_DELETE, ODEON_DESTROY "
                           "or ODEON_FINISHED, not by %d",
                           (int)how);
    if (result < 0)
        return result;
    body.ref = ref;
    body.how = (uint32_t)how;
    request.body_case = ODEON__REQUEST__BODY_ACTOR_STOP;
    request.actor_stop = &body;
    return client_call(client, &request, ODEON__REPLY__BODY_OK, NULL);
}

int odeon_admin_actor_show(struct odeon_client *client, odeon_ref ref, const char *name,
                           struct odeon_actor_detail **ret)
{
    Odeon__ActorShow body = ODEON__ACTOR_SHOW__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct client_answer answer;
    struct odeon_actor_detail *detail;
    int result = admin_check_result(client, ret);

    if (result < 0)
        return result;
    body.ref = ref;
    body.name = (char *)(uintptr_t)(name ? name : "");
    request.body_case = ODEON__REQUEST__BODY_ACTOR_SHOW;
    request.actor_show = &body;
    result = client_call(client, &request, ODEON__REPLY__BODY_ACTOR_SHOW, &answer);
    if (result < 0)
        return result;
    if (!answer.reply->actor_show->actor) {
        client_answer_fini(&answer);
        return error_set_literal(-EPROTO, "the service's answer lacks the actor");
    }
    detail = arena_new(sizeof(*detail));
    if (detail) {
        const Odeon__ActorShowReply *reply = answer.reply->actor_show;

        detail->struct_size = sizeof(*detail);
        detail->state_size = reply->state_size;
        detail->queue_bytes = reply->queue_bytes;
        admin_fill_actor(detail, reply->actor, &detail->actor);
        detail->accepts =
            admin_copy_strings(detail, reply->accepts, reply->n_accepts, &detail->n_accepts);
    }
    return admin_finish(detail, &answer, (void **)ret);
}
