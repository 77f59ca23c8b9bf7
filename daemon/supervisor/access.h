/* SPDX-License-Identifier: Apache-2.0 */
/* Access: who has which role (docs/access.md).
 *
 * Part of the configuration; a value, copied with it. Names are looked up when the configuration is
 * read, so that admitting a client asks nobody. Event loop thread only.
 *
 * access.A1  Root and the service's own user have every role, whatever is configured.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "daemon/supervisor/peer.h"
#include "daemon/supervisor/roles.h"

enum {
    ACCESS_NAMES_MAX = 32,
    ACCESS_TEXT_MAX = 320,
    ACCESS_LIST_MAX = 2 * ACCESS_NAMES_MAX * 12 + 8, /* blank, '@' and ten digits each */
};
#define ACCESS_GROUP "odeon-admin" /* has every role where nothing else is configured */

struct access_list {
    bool everybody;
    size_t n_users, n_groups;
    uid_t users[ACCESS_NAMES_MAX];
    gid_t groups[ACCESS_NAMES_MAX];
};
struct access {
    struct access_list lists[ROLE_N];
    /* whoever a user namespace has no number for is let in as the user that the kernel shows
     * instead */
    bool overflow_user;
};

void access_init(struct access *access);
/* "*", users, and groups with '@', by name or number, between commas or blanks. 0, or -EINVAL with
 * a reason in `text` (ACCESS_TEXT_MAX). */
int access_set(struct access *access, enum role role, const char *value, char *text);
/* As access_set() reads it, with numbers for names. */
void access_describe(const struct access_list *list, char text[ACCESS_LIST_MAX]);
/* By name or number.  0 or -ENOENT. */
int access_find_group(const char *name, gid_t *ret_gid);
/* A set of roles, one bit each; 0: none, the peer has no business here. */
unsigned access_roles(const struct access *access, const struct peer *peer);
/* The user whom the kernel shows where it has no number (65534). */
bool access_is_overflow_user(uid_t uid);
