/* SPDX-License-Identifier: Apache-2.0 */
/* The executor: its process and settings, and changing them.  Any thread. */
#include <errno.h>

#include "client-lib/src/admin_call.h"

enum { SETTINGS_MAX = 64 }; /* more than there are keys */

static int executor_fill_info(const struct admin_call *call, void *result,
                              const Odeon__Reply *reply)
{
    const Odeon__ExecutorShowReply *from = reply->executor_show;
    struct odeon_executor_info *info = result;

    (void)call;
    info->struct_size = sizeof(*info);
    info->pid = from->pid;
    info->boots = from->boots;
    info->restarts = from->restarts;
    info->reconfigurations = from->reconfigurations;
    info->reconfigure_last_ns = from->reconfigure_last_ns;
    info->reconfigure_longest_ns = from->reconfigure_longest_ns;
    info->settings = arena_alloc(info, from->n_settings, sizeof(*info->settings));
    for (; info->settings && info->n_settings < from->n_settings; info->n_settings++) {
        const Odeon__Setting *setting = from->settings[info->n_settings];

        info->settings[info->n_settings] = (struct odeon_setting_info){
            .key = arena_string(info, setting->key),
            .value = arena_string(info, setting->value),
            .doc = arena_string(info, setting->doc),
            .live = setting->live,
            .initial = arena_string(info, setting->initial),
        };
    }
    return 0;
}

int odeon_executor_show(struct odeon_client *client, struct odeon_executor_info **ret)
{
    Odeon__ExecutorShow body = ODEON__EXECUTOR_SHOW__INIT;

    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_EXECUTOR_SHOW,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_EXECUTOR_SHOW,
                                                    .size = sizeof(struct odeon_executor_info),
                                                    .ret = ret,
                                                    .fill = executor_fill_info });
}

/* The caller may have been compiled with another size of it. */
static int executor_check_reconfigured(const struct odeon_reconfigured *ret)
{
    if (ret && ret->struct_size < sizeof(*ret))
        return error_set(-EINVAL,
                         "odeon_executor_set: struct_size is %u, sizeof (struct "
                         "odeon_reconfigured) was expected",
                         ret->struct_size);
    return 0;
}

/* An older service does not say it. */
static int executor_fill_reconfigured(const struct admin_call *call, void *result,
                                      const Odeon__Reply *reply)
{
    const Odeon__Reconfigured *from = reply->reconfigured;
    struct odeon_reconfigured *done = result;

    (void)call;
    done->pause_ns = from ? from->pause_ns : 0;
    done->moved = from ? from->moved : 0;
    return 0;
}

static int executor_fill_settings(const char *const *keys, const char *const *values, size_t n,
                                  Odeon__Setting *settings, Odeon__Setting **pointers)
{
    if (n == 0 || n > SETTINGS_MAX || !keys || !values)
        return error_set(-EINVAL,
                         "odeon_executor_set: %zu settings were given, 1 to %d are possible", n,
                         SETTINGS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!keys[i] || !values[i])
            return error_set_literal(-EINVAL, "odeon_executor_set: a key or a value is missing");
        odeon__setting__init(&settings[i]);
        settings[i].key = admin_string(keys[i]);
        settings[i].value = admin_string(values[i]);
        pointers[i] = &settings[i];
    }
    return 0;
}

int odeon_executor_set(struct odeon_client *client, const char *const *keys,
                       const char *const *values, size_t n, struct odeon_reconfigured *ret)
{
    Odeon__Setting settings[SETTINGS_MAX], *pointers[SETTINGS_MAX];
    Odeon__ExecutorSet body = ODEON__EXECUTOR_SET__INIT;
    int r = executor_check_reconfigured(ret);

    if (r == 0)
        r = executor_fill_settings(keys, values, n, settings, pointers);
    if (r < 0)
        return r;
    body.n_settings = n;
    body.settings = pointers;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_EXECUTOR_SET,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_OK,
                                                    .ret = ret,
                                                    .fill = executor_fill_reconfigured });
}
