/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of users and groups; the interface is in access.h. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/config.h"
#include "daemon/supervisor/access.h"

#define NUMBER_MAX (UINT32_MAX - 1) /* the last one means "none" to the kernel */

static int access_find_user(const char *name, uid_t *ret_uid)
{
    uint64_t number;
    const struct passwd *user;

    if (config_parse_u64(name, 0, NUMBER_MAX, &number) == 0) {
        *ret_uid = (uid_t)number;
        return 0;
    }
    user = getpwnam(name);
    if (!user)
        return -ENOENT;
    *ret_uid = user->pw_uid;
    return 0;
}

int access_find_group(const char *name, gid_t *ret_gid)
{
    uint64_t number;
    const struct group *group;

    if (config_parse_u64(name, 0, NUMBER_MAX, &number) == 0) {
        *ret_gid = (gid_t)number;
        return 0;
    }
    group = getgrnam(name);
    if (!group)
        return -ENOENT;
    *ret_gid = group->gr_gid;
    return 0;
}

void access_init(struct access *access)
{
    gid_t admin;

    *access = (struct access){ 0 };
    if (access_find_group(ACCESS_GROUP, &admin) < 0)
        return;
    for (unsigned i = 0; i < ROLE_N; i++) {
        access->lists[i].groups[0] = admin;
        access->lists[i].n_groups = 1;
    }
}

static int access_add_name(struct access_list *list, enum role role, const char *name, char *text)
{
    bool group = name[0] == '@';

    if (strcmp(name, "*") == 0) {
        list->everybody = true;
        return 0;
    }
    if ((group ? list->n_groups : list->n_users) == ACCESS_NAMES_MAX) {
        snprintf(text, ACCESS_TEXT_MAX, "role-%s: more than %d %s; make a group of them",
                 role_name(role), ACCESS_NAMES_MAX, group ? "groups" : "users");
        return -EINVAL;
    }
    if (group && access_find_group(name + 1, &list->groups[list->n_groups]) == 0) {
        list->n_groups++;
        return 0;
    }
    if (!group && access_find_user(name, &list->users[list->n_users]) == 0) {
        list->n_users++;
        return 0;
    }
    snprintf(text, ACCESS_TEXT_MAX,
             "role-%s: there is no %s '%.64s'; '*' is everybody, '@' stands before a group",
             role_name(role), group ? "group" : "user", group ? name + 1 : name);
    return -EINVAL;
}

int access_set(struct access *access, enum role role, const char *value, char *text)
{
    struct access_list list = { 0 };
    char words[CONFIG_LINE_MAX], *rest = words;

    if (snprintf(words, sizeof(words), "%s", value) >= (int)sizeof(words)) {
        snprintf(text, ACCESS_TEXT_MAX, "role-%s: the list is too long", role_name(role));
        return -EINVAL;
    }
    for (char *name; (name = strsep(&rest, ", \t"));) {
        int r = *name ? access_add_name(&list, role, name, text) : 0;

        if (r < 0)
            return r;
    }
    access->lists[role] = list;
    return 0;
}

void access_describe(const struct access_list *list, char text[ACCESS_LIST_MAX])
{
    size_t n = (size_t)snprintf(text, ACCESS_LIST_MAX, "%s", list->everybody ? "*" : "");

    for (size_t i = 0; i < list->n_users; i++)
        n += (size_t)snprintf(text + n, ACCESS_LIST_MAX - n, " %u", (unsigned)list->users[i]);
    for (size_t i = 0; i < list->n_groups; i++)
        n += (size_t)snprintf(text + n, ACCESS_LIST_MAX - n, " @%u", (unsigned)list->groups[i]);
}

static bool access_list_has(const struct access_list *list, const struct peer *peer)
{
    for (size_t i = 0; i < list->n_users; i++)
        if (list->users[i] == peer->uid)
            return true;
    for (size_t i = 0; i < list->n_groups; i++)
        if (peer_is_in_group(peer, list->groups[i]))
            return true;
    return list->everybody;
}

bool access_is_overflow_user(uid_t uid)
{
    static uid_t overflow;
    static bool known;

    if (!known) {
        FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");
        unsigned number = 65534;

        if (file) {
            if (fscanf(file, "%u", &number) != 1)
                number = 65534;
            fclose(file);
        }
        overflow = number;
        known = true;
    }
    return uid == overflow;
}

unsigned access_roles(const struct access *access, const struct peer *peer)
{
    unsigned roles = 0;

    if (peer->uid == 0 || peer->uid == geteuid())
        return ROLES_ALL;
    if (access_is_overflow_user(peer->uid) && !access->overflow_user)
        return 0;
    for (unsigned i = 0; i < ROLE_N; i++)
        if (access_list_has(&access->lists[i], peer))
            roles |= 1U << i;
    return roles;
}
