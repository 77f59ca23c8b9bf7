/* SPDX-License-Identifier: Apache-2.0 */
/* Ordered pairs of strings; the interface is in setting_list.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/supervisor/setting_list.h"

static struct setting *setting_list_find(const struct setting_list *settings, const char *key)
{
    for (size_t i = 0; i < settings->n; i++)
        if (strcmp(settings->list[i].key, key) == 0)
            return (struct setting *)&settings->list[i];
    return NULL;
}

int setting_list_set(struct setting_list *settings, const char *key, const char *value)
{
    struct setting *old = setting_list_find(settings, key);
    char *own_key = NULL, *own_value;

    if (!old && settings->n == SETTINGS_MAX)
        return -ENOSPC;
    own_value = strdup(value);
    if (!old)
        own_key = strdup(key);
    if (!own_value || (!old && !own_key)) {
        free(own_value);
        free(own_key);
        return -ENOMEM;
    }
    if (old) {
        free(old->value);
        free(old->origin);
        old->value = own_value;
        old->origin = NULL;
    } else {
        settings->list[settings->n++] = (struct setting){ .key = own_key, .value = own_value };
    }
    return 0;
}

int setting_list_set_origin(struct setting_list *settings, const char *key, const char *origin)
{
    struct setting *setting = setting_list_find(settings, key);
    char *own = setting ? strdup(origin) : NULL;

    if (!setting)
        return 0;
    if (!own)
        return -ENOMEM;
    free(setting->origin);
    setting->origin = own;
    return 0;
}

const char *setting_list_get(const struct setting_list *settings, const char *key)
{
    const struct setting *found = setting_list_find(settings, key);

    return found ? found->value : NULL;
}

int setting_list_merge(struct setting_list *to, const struct setting_list *from)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct setting *setting = &from->list[i];
        int r = setting_list_set(to, setting->key, setting->value);

        if (r == 0 && setting->origin)
            r = setting_list_set_origin(to, setting->key, setting->origin);
        if (r < 0)
            return r;
    }
    return 0;
}

void setting_list_fini(struct setting_list *settings)
{
    for (size_t i = 0; i < settings->n; i++) {
        free(settings->list[i].key);
        free(settings->list[i].value);
        free(settings->list[i].origin);
    }
    settings->n = 0;
}
