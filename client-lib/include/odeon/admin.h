/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the service and steering it: what odeonctl uses.
 *
 * Every call is a blocking round trip on the client's control connection (threads, errors: <odeon/client.h>).  Results
 * are allocated by the library and freed as a whole by odeon_list_free() or odeon_free(), which also may be done by
 * another thread or after odeon_disconnect(); strings inside belong to the result, are never NULL; arrays are NULL when
 * they are empty.  Nothing is allocated when a call fails.  `struct_size` in a result says how much of its struct this
 * library knows.
 */
#ifndef ODEON_ADMIN_H
#define ODEON_ADMIN_H

#include <odeon/client.h>

#ifdef __cplusplus
extern "C" {
#endif

struct odeon_status {
    uint32_t struct_size;
    const char *version, *state, *stealing, *runtime_dir;
    uint32_t supervisor_pid, executor_pid, workers, queues, plugins, clients, ports, throughput;
    uint64_t uptime_ns, executor_restarts, actors;
};

struct odeon_setting_info {
    const char *key, *value, *doc;
    int live; /* can be changed while the service runs */
};
struct odeon_executor_info {
    uint32_t struct_size, pid, boots;
    uint64_t restarts;
    size_t n_settings;
    struct odeon_setting_info *settings;
};

struct odeon_plugin_info {
    const char *name, *version, *path;
    uint64_t actors;
    size_t n_types;
    const char **types;
};
struct odeon_type_info {
    const char *name, *plugin, *restart;
    uint32_t version, state_size;
    uint64_t actors;
    int loaded;
    size_t n_accepts;
    const char **accepts;
};
struct odeon_actor_info {
    odeon_ref ref, spawned_by;
    const char *type, *name, *state;
    uint32_t queue, worker;
};
struct odeon_actor_detail {
    uint32_t struct_size, state_size;
    uint64_t queue_bytes;
    struct odeon_actor_info actor;
    size_t n_accepts;
    const char **accepts;
};
struct odeon_client_info {
    uint32_t id, pid, uid, ports, broken_ports;
    uint64_t connected_ns;
    const char *name, *library;
};
struct odeon_message_info {
    uint32_t struct_size, id, version, size;
    int has_tail;
    const char *name, *fields;
};

/* A page of rows.  `rows` points to n structs of the call's kind.  Calls take `after` 0 for the first page and `rows` 0
 * for the service's usual number (at most 256 fit).  Rows come and go between two pages: one may be missed, or be shown
 * twice. */
struct odeon_list {
    size_t n;
    void *rows;
    uint64_t next; /* pass as `after` for the next page; meaningful when `more` */
    int more;
};
ODEON_API void odeon_list_free(struct odeon_list *list); /* NULL is fine */
ODEON_API void odeon_free(void *result);

ODEON_API int odeon_admin_status(struct odeon_client *client, struct odeon_status **ret);
ODEON_API int odeon_admin_executor_show(struct odeon_client *client, struct odeon_executor_info **ret);
/* All or nothing.  -EINVAL: unknown key or bad value; -EBUSY: the key cannot be changed while running. */
ODEON_API int odeon_admin_executor_set(struct odeon_client *client, const char *const *keys, const char *const *values,
                                       size_t n);

ODEON_API int odeon_admin_plugin_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                                      struct odeon_list **ret); /* struct odeon_plugin_info */
/* -EBUSY: odeon_error_text() lists what blocks it. */
ODEON_API int odeon_admin_plugin_unload(struct odeon_client *client, const char *name);
ODEON_API int odeon_admin_type_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                                    struct odeon_list **ret); /* struct odeon_type_info */
/* A message type by name; `version` 0: the newest.  -ENOENT. */
ODEON_API int odeon_admin_message_find(struct odeon_client *client, const char *name, uint32_t version,
                                       struct odeon_message_info **ret);

ODEON_API int odeon_admin_actor_list(struct odeon_client *client, const char *type, uint64_t after, uint32_t rows,
                                     struct odeon_list **ret); /* struct odeon_actor_info; type NULL: all */
/* By reference, or by registered name when `ref` is ODEON_NOBODY.  -ENOENT. */
ODEON_API int odeon_admin_actor_show(struct odeon_client *client, odeon_ref ref, const char *name,
                                     struct odeon_actor_detail **ret);
/* `payload` as the message's struct lies in memory. */
ODEON_API int odeon_admin_actor_send(struct odeon_client *client, odeon_ref ref, const char *message,
                                     const void *payload, size_t size);
/* Sends the poison message that belongs to ODEON_DELETE, ODEON_DESTROY or ODEON_FINISHED: what waits for the actor
 * comes first. */
ODEON_API int odeon_admin_actor_stop(struct odeon_client *client, odeon_ref ref, enum odeon_allocation how);

ODEON_API int odeon_admin_client_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                                      struct odeon_list **ret); /* struct odeon_client_info */

#ifdef __cplusplus
}
#endif

#endif
