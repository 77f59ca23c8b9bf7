/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the configuration that says who may use the service, for what, and how much of it;
 * the interface is in options_access.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "daemon/common/config.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/options_access.h"
#include "proto/bounds.h"

static int options_access_set_role(struct config *config, const char *name, const char *value,
                                   char *text)
{
    for (unsigned i = 0; i < ROLE_N; i++)
        if (strcmp(role_name((enum role)i), name) == 0)
            return access_set(&config->access, (enum role)i, value, text);
    snprintf(text, CONFIG_TEXT_MAX, "role-%.60s: there is no such role", name);
    return -EINVAL;
}

static int options_access_set_yes_no(bool *to, const char *key, const char *value, char *text)
{
    *to = strcmp(value, "yes") == 0;
    if (*to || strcmp(value, "no") == 0)
        return 0;
    snprintf(text, CONFIG_TEXT_MAX, "%s: '%.60s' is neither yes nor no", key, value);
    return -EINVAL;
}

static const struct {
    const char *key;
    size_t offset; /* in struct quotas */
    bool bytes;
    uint64_t initial, max; /* 0 at first: see options_access_init() */
} quota_keys[] = {
    { "quota-clients", offsetof(struct quotas, limits[QUOTA_CLIENTS]), false, 256,
      ODEON_CLIENTS_MAX },
    { "quota-ports", offsetof(struct quotas, limits[QUOTA_PORTS]), false, 64, ODEON_PORTS_MAX },
    { "quota-ring-bytes", offsetof(struct quotas, limits[QUOTA_RING_BYTES]), true,
      UINT64_C(256) << 20, UINT64_C(1) << 36 },
    { "quota-backlog-bytes", offsetof(struct quotas, limits[QUOTA_BACKLOG_BYTES]), true,
      UINT64_C(1) << 30, UINT64_C(1) << 40 },
    { "quota-descriptors", offsetof(struct quotas, limits[QUOTA_DESCRIPTORS]), false, 0, 1 << 20 },
    { "quota-answer-bytes", offsetof(struct quotas, limits[QUOTA_ANSWER_BYTES]), true,
      UINT64_C(16) << 20, UINT64_C(1) << 40 },
    { "quota-requests", offsetof(struct quotas, requests), false, 2000, 1000000 },
    { "offender-hold-ms", offsetof(struct quotas, hold_ms), false, 100, 1000 },
    { "hello-ms", offsetof(struct quotas, hello_ms), false, 30000, 3600000 },
};
enum { N_QUOTA_KEYS = sizeof(quota_keys) / sizeof(quota_keys[0]) };

static uint64_t *options_access_quota_at(struct quotas *quotas, size_t i)
{
    return (uint64_t *)((char *)quotas + quota_keys[i].offset);
}

static int options_access_set_quota(struct quotas *quotas, size_t i, const char *value, char *text)
{
    uint64_t *to = options_access_quota_at(quotas, i), max = quota_keys[i].max;
    int r = quota_keys[i].bytes ? config_parse_bytes(value, 0, max, to)
                                : config_parse_u64(value, 0, max, to);

    if (r < 0)
        snprintf(text, CONFIG_TEXT_MAX, "%s: '%.60s' is not a number%s from 0 to %llu",
                 quota_keys[i].key, value, quota_keys[i].bytes ? " of bytes" : "",
                 (unsigned long long)max);
    return r;
}

static int options_access_set_quotas_bind(struct quotas *quotas, const char *value, char *text)
{
    quotas->everybody = strcmp(value, "all") == 0;
    if (quotas->everybody || strcmp(value, "others") == 0)
        return 0;
    snprintf(text, CONFIG_TEXT_MAX,
             "quotas-bind: '%.60s' is neither others (than root and the service's user) nor all",
             value);
    return -EINVAL;
}

/* Who can write to the socket can connect; reading it means nothing. */
static int options_access_set_socket_mode(struct config *config, const char *value, char *text)
{
    unsigned mode = 0;
    size_t n = 0;

    for (; value[n] >= '0' && value[n] <= '7' && n < 5; n++)
        mode = mode * 8 + (unsigned)(value[n] - '0');
    if (n < 3 || value[n] != '\0' || (mode & ~0666U) || (mode & 0600) != 0600) {
        snprintf(text, CONFIG_TEXT_MAX,
                 "socket-mode: '%.60s' is not a mode such as 0600, 0660 or 0666", value);
        return -EINVAL;
    }
    config->socket_mode = mode;
    return 0;
}

static int options_access_set_socket_group(struct config *config, const char *value, char *text)
{
    gid_t group;

    if (access_find_group(value, &group) < 0) {
        snprintf(text, CONFIG_TEXT_MAX, "socket-group: there is no group '%.60s'", value);
        return -EINVAL;
    }
    config->socket_group = group;
    return 0;
}

void options_access_init(struct config *config)
{
    access_init(&config->access);
    config->quotas = (struct quotas){ .everybody = false };
    for (size_t i = 0; i < N_QUOTA_KEYS; i++)
        *options_access_quota_at(&config->quotas, i) = quota_keys[i].initial;
    config->quotas.limits[QUOTA_DESCRIPTORS] = accounts_descriptors_limit() / DESCRIPTORS_OF_USER;
    config->socket_mode = 0600;
    config->socket_group = -1;
}

void options_access_clear(struct config *config)
{
    options_access_init(config);
    config->access = (struct access){ 0 };
}

static int options_access_list_roles(const struct access *access, struct setting_list *list)
{
    char key[32], value[ACCESS_LIST_MAX];
    int r = setting_list_set(list, "overflow-user", access->overflow_user ? "yes" : "no");

    for (unsigned i = 0; i < ROLE_N && r == 0; i++) {
        snprintf(key, sizeof(key), "role-%s", role_name((enum role)i));
        access_describe(&access->lists[i], value);
        r = setting_list_set(list, key, value);
    }
    return r;
}

/* One that no line could say is the default, and follows the bound that it is made of. */
static int options_access_list_quotas(const struct quotas *quotas, struct setting_list *list)
{
    struct quotas copy = *quotas;
    int r = setting_list_set(list, "quotas-bind", quotas->everybody ? "all" : "others");

    for (size_t i = 0; i < N_QUOTA_KEYS && r == 0; i++) {
        uint64_t number = *options_access_quota_at(&copy, i);
        char value[24];

        snprintf(value, sizeof(value), "%llu", (unsigned long long)number);
        if (number <= quota_keys[i].max)
            r = setting_list_set(list, quota_keys[i].key, value);
    }
    return r;
}

int options_access_list(const struct config *config, struct setting_list *list)
{
    char value[24];
    int r = options_access_list_roles(&config->access, list);

    if (r == 0)
        r = options_access_list_quotas(&config->quotas, list);
    snprintf(value, sizeof(value), "0%o", config->socket_mode);
    if (r == 0)
        r = setting_list_set(list, "socket-mode", value);
    snprintf(value, sizeof(value), "%lld", (long long)config->socket_group);
    if (r == 0 && config->socket_group >= 0)
        r = setting_list_set(list, "socket-group", value);
    return r;
}

int options_access_set(struct config *config, const char *key, const char *value, char *text)
{
    if (strncmp(key, "role-", 5) == 0)
        return options_access_set_role(config, key + 5, value, text);
    for (size_t i = 0; i < N_QUOTA_KEYS; i++)
        if (strcmp(key, quota_keys[i].key) == 0)
            return options_access_set_quota(&config->quotas, i, value, text);
    if (strcmp(key, "quotas-bind") == 0)
        return options_access_set_quotas_bind(&config->quotas, value, text);
    if (strcmp(key, "overflow-user") == 0)
        return options_access_set_yes_no(&config->access.overflow_user, key, value, text);
    if (strcmp(key, "socket-mode") == 0)
        return options_access_set_socket_mode(config, value, text);
    if (strcmp(key, "socket-group") == 0)
        return options_access_set_socket_group(config, value, text);
    return -ENOENT;
}
