/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the service and steering it: what odeonctl uses.
 *
 * Every call is a blocking round trip on the client's control connection (threads, errors:
 * <odeon/client.h>). Results are allocated by the library and freed as a whole by odeon_list_free()
 * or odeon_result_free(), which also may be done by another thread or after
 * odeon_client_disconnect(); strings inside belong to the result, are never NULL; arrays are NULL
 * when they are empty. Nothing is allocated when a call fails. `struct_size` in a result says how
 * much of its struct this library knows. */
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
    const char *steal_mode;
    uint64_t reconfigurations, reconfigure_last_ns,
        reconfigure_longest_ns; /* changes while workers ran; their pauses */
    /* the caller, as the service sees it; the number is that of its client */
    uint64_t your_id;
    uint32_t your_uid, your_pid;
    const char *your_roles; /* "observe, post" */
    /* The executor's control thread, which answers what clients ask: how often it has waited for a
     * worker or a handler; its longest turn in processor time since the executor was ready, and
     * what that was. */
    uint64_t control_waits, control_turn_longest_ns;
    const char *control_turn_work; /* "request spawn", "" */
    /* The same of odeond's event loop, since it began to serve. */
    uint64_t supervisor_turn_longest_ns;
    const char *supervisor_turn_work;
};

struct odeon_setting_info {
    const char *key, *value, *doc;
    int live;            /* can be changed while the service runs */
    const char *initial; /* the value that it has when nobody sets it */
};
struct odeon_executor_info {
    uint32_t struct_size, pid, boots;
    uint64_t restarts;
    size_t n_settings;
    struct odeon_setting_info *settings;
    uint64_t reconfigurations, reconfigure_last_ns, reconfigure_longest_ns;
};
/* What a change of settings took.  The caller sets `struct_size` to sizeof, as compiled. */
struct odeon_reconfigured {
    uint32_t struct_size;
    uint64_t pause_ns; /* that workers stood still; 0: they did not have to */
    uint64_t moved;    /* queues and ports that changed their owner */
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
    const char *overflow; /* what becomes of messages that a full queue has no room for */
    int quarantined;      /* crashed too often: not run until it is released */
    /* What its actors are spawned with, as odeon_layout_parse() reads it; "" and 0: the type does
     * not say, or is not loaded. */
    const char *args_fields;
    uint32_t args_size;
};
struct odeon_actor_info {
    odeon_ref ref, spawned_by;
    const char *type, *name, *state;
    uint32_t queue, worker;
    /* of its queue: "ordinary", "pinned", "follow", "aside" (its worker does not get out of a
     * handler), "detached"; "" of a port */
    const char *kind;
};
struct odeon_actor_detail {
    uint32_t struct_size, state_size;
    uint64_t queue_bytes;
    struct odeon_actor_info actor;
    size_t n_accepts;
    const char **accepts;
    const char *phase; /* which of its type's sets of behaviours it has; "": there is one */
    uint64_t stashed, stashed_bytes; /* messages that it has put off, and bytes of their places */
};
/* What has gone through ports, since each of them was opened. A round trip is a call's, or that of
 * a post with a deadline, from the post to when its client found the answer; its library has
 * measured it, and the service tells what it says. Quantiles are at most an eighth, and 32 ns,
 * above the true ones, and never above the longest. */
struct odeon_traffic {
    int known;               /* 0: the service is too old to say; all else is 0 then */
    uint64_t posts;          /* records that were taken */
    uint64_t refused;        /* records that were refused, afterwards */
    uint64_t dropped;        /* deliveries that there was no room for */
    uint64_t calls_answered; /* round trips: the times are those of these */
    uint64_t calls_refused, calls_late;
    uint64_t call_p50_ns, call_p99_ns, call_most_ns;
};
struct odeon_client_info {
    uint64_t id;
    uint32_t pid, uid, ports, broken_ports;
    uint64_t connected_ns;
    const char *name, *library;
    const char *roles;   /* "observe, post" */
    const char *command; /* what the kernel calls its process; "": not known */
    struct odeon_traffic traffic;
};
/* A user who has clients, or ports that have not come to their end. */
struct odeon_user_info {
    uint32_t uid, clients, ports;
    uint64_t refusals; /* for a quota, as of odeon_client_detail */
    struct odeon_traffic traffic;
};
/* What a client and its user have of a quota. */
struct odeon_usage {
    const char *name; /* "ports": quota-ports in odeond.conf */
    uint64_t client, user;
    int client_known, user_known; /* 0: that figure is not told */
    uint64_t limit;
    int unlimited, per_second; /* of the limit */
};
/* A port of a client: what has come through it since it was opened, and what waits. */
struct odeon_port_info {
    uint64_t id;
    odeon_ref ref;         /* what a record of a message names as its sender */
    uint64_t posts;        /* records that have been taken from it; the next four are bytes */
    uint64_t not_taken;    /* posted, and not taken yet */
    uint64_t delivered;    /* to it */
    uint64_t not_received; /* delivered, and not read by its client yet */
    uint64_t backlog;      /* behind that: its ring is full */
    uint64_t dropped;      /* records that there was no room for */
    const char *waits_for; /* what its next record waits for: "a queue", "its user's share", "its
                              user's rate"; "": it does not */
    uint64_t refused;      /* records of its client that were refused; known if its traffic is */
};
struct odeon_client_detail {
    uint32_t struct_size;
    int bound;         /* the quotas are enforced */
    uint64_t refusals; /* of its user, for a quota */
    struct odeon_client_info client;
    size_t n_usage;
    struct odeon_usage *usage;
    /* Those that are open, as long as the executor runs: if struct_size reaches this far. */
    size_t n_ports;
    struct odeon_port_info *ports;
};
struct odeon_queue_info {
    uint32_t id, home, owner; /* workers: whose it is, who has it now */
    uint64_t bytes, actors;   /* that wait in it, that live in it */
    uint64_t urgent_bytes;    /* that wait in its urgent lane */
    int retiring;             /* takes no new actors: its worker is not active any more */
    const char *kind;         /* "ordinary", "pinned", "follow", "aside", "detached" */
    /* Of the oldest message that waits in either: who is to get it (ODEON_NOBODY: none waits, or
     * somebody is just appending to it), and how long it has waited, at least (0: not known). */
    odeon_ref oldest_to;
    uint64_t oldest_ns;
    const char *oldest_name, *oldest_type; /* of that actor; "": it has none, or has ended */
};
/* A message that an actor has asked for at a time to come. */
struct odeon_timer_info {
    uint64_t id;         /* what cancels it */
    odeon_ref owner, to; /* who has armed it, and who gets the message */
    const char *message;
    uint32_t size;      /* of its payload */
    uint64_t due_in_ns; /* 0: it is due */
    uint64_t period_ns; /* 0: it comes once */
    int by_boot_time;   /* its time goes on while the machine is suspended */
};
/* An actor, or a client's port, that is told when another one ends; or an actor that ends with
 * it. */
struct odeon_monitor_info {
    uint64_t id;                /* what odeon_monitor() gave; of a client's, none that it knows */
    odeon_ref watcher, watched; /* who is told, or ends; and whose end that is */
    int link;                   /* it ends the watcher: the option `link` of a spawn */
};
/* What actors have joined to get what is published there; posting to it is publishing. */
struct odeon_group_info {
    odeon_ref ref;
    const char *name;
    uint32_t members;
};
struct odeon_group_member_info {
    odeon_ref member, group;
};
/* What memory is for, in bytes of pages that exist. */
struct odeon_memory_part {
    const char *what; /* "message queues", "outboxes", ... */
    uint64_t bytes;
    int of_clients; /* clients write it as well: which of the two touched a page is not known */
    int within;     /* of the part before it that is not, counted there already */
};
/* What a user, a client or a port holds. */
struct odeon_memory_holder {
    uint32_t uid;
    uint32_t clients, ports; /* how many it has */
    uint64_t client;         /* by client, by port; 0: it has gone, its ports are being drained */
    uint64_t port;           /* by port */
    const char *name;        /* by client: its name */
    uint64_t rings;          /* memory of its ports, the client's and the service's */
    uint64_t backlogs;       /* deliveries behind full rings */
    uint64_t answers;        /* that it has not read */
    uint64_t waiting; /* by user: bytes in message queues; 0 where users are not accounted yet */
};
struct odeon_memory {
    uint32_t struct_size;
    int executor_silent; /* it is down: what only it knows is missing */
    uint64_t bytes;      /* of all parts that the service has alone */
    uint64_t shared;     /* of those of clients, too */
    uint64_t limit;      /* what the service may use: the machine's, or its group's; 0: not known */
    size_t n_parts, n_holders;
    struct odeon_memory_part *parts;
    struct odeon_memory_holder *holders; /* who have most, 64 at most */
    uint32_t others;                     /* holders that are not among them */
    uint64_t others_bytes;
};
struct odeon_dead_letter_info {
    uint64_t id;        /* rising */
    odeon_ref to, from; /* from ODEON_NOBODY: nobody that could be told */
    const char *type;   /* the receiver's; "": it had ended */
    const char *message, *reason;
    uint32_t size, attempts;
    uint64_t time_ns; /* since 1970 */
    /* Of the message's type, for odeon_message_show(). Both 0: an older service does not say; the
     * version alone 0: it is nobody's type, as that of an init. */
    uint32_t message_id, message_version;
};
struct odeon_dead_letter_detail {
    uint32_t struct_size;
    struct odeon_dead_letter_info letter;
    const void *payload; /* letter.size bytes */
};
/* The caller sets `struct_size` to sizeof, as compiled. */
struct odeon_dead_letters_done {
    uint32_t struct_size;
    uint64_t done;
    uint64_t gone; /* stay: their receiver has ended */
    uint64_t full; /* stay: their receiver's queue is at its limit */
};
struct odeon_message_info {
    uint32_t struct_size, id, version, size;
    int has_tail;
    const char *name, *fields;
};
/* A message type, and who has to do with it. */
struct odeon_message_detail {
    uint32_t struct_size;
    int by_user; /* clients have made it known, ... */
    struct odeon_message_info message;
    uint32_t user;      /* ... of this user */
    uint32_t accepting; /* actor types of loaded plugins that have a behaviour for it */
    size_t n_plugins;
    const char **plugins; /* loaded ones that declare it; none, and no user: one that has gone */
    /* Of odeon_message_detail(): those types, 512 at most. */
    size_t n_accepted_by;
    const char **accepted_by;
};

/* A page of rows. `rows` points to n structs of the call's kind. Calls take `after` 0 for the first
 * page and `rows` 0 for the service's usual number (at most 256 fit). Rows come and go between two
 * pages: one may be missed, or be shown twice. */
struct odeon_list {
    size_t n;
    void *rows;
    uint64_t next; /* pass as `after` for the next page; meaningful when `more` */
    int more;
};
ODEON_API void odeon_list_free(struct odeon_list *list); /* NULL is fine */
ODEON_API void odeon_result_free(void *result);

ODEON_API int odeon_service_status(struct odeon_client *client, struct odeon_status **ret);
ODEON_API int odeon_executor_show(struct odeon_client *client, struct odeon_executor_info **ret);
/* All or nothing, in one transaction. `ret` may be NULL. -EINVAL: unknown key or bad value;
 * -ERANGE: out of range; -EBUSY: the key cannot be changed while running, or a worker's handler did
 * not let it stop. */
ODEON_API int odeon_executor_set(struct odeon_client *client, const char *const *keys,
                                 const char *const *values, size_t n,
                                 struct odeon_reconfigured *ret);
/* Message queues; `kind` NULL: all. */
ODEON_API int odeon_queue_list(struct odeon_client *client, const char *kind, uint64_t after,
                               uint32_t rows,
                               struct odeon_list **ret); /* struct odeon_queue_info */

/* Timers that are armed, of the actor `owner`, or of all (ODEON_NOBODY), in no order that means
 * anything. A page that is looked for among very many may be empty, with `more`. */
ODEON_API int odeon_timer_list(struct odeon_client *client, odeon_ref owner, uint64_t after,
                               uint32_t rows,
                               struct odeon_list **ret); /* struct odeon_timer_info */

/* Monitors and links in which `of` watches or is watched, or all (ODEON_NOBODY); pages as of
 * odeon_timer_list(). */
ODEON_API int odeon_monitor_list(struct odeon_client *client, odeon_ref of, uint64_t after,
                                 uint32_t rows,
                                 struct odeon_list **ret); /* struct odeon_monitor_info */

/* Groups, in no order that means anything. */
ODEON_API int odeon_group_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                               struct odeon_list **ret); /* struct odeon_group_info */
/* Who is a member of `group`, or of any (ODEON_NOBODY); pages as of odeon_timer_list(). */
ODEON_API int odeon_group_member_list(struct odeon_client *client, odeon_ref group, uint64_t after,
                                      uint32_t rows,
                                      struct odeon_list **ret); /* odeon_group_member_info */

ODEON_API int odeon_plugin_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                                struct odeon_list **ret); /* struct odeon_plugin_info */
/* Asks the service to load the plugin at `path` (absolute), and waits until it is loaded: requests
 * that are sent meanwhile may be answered before. Refusals: -EINVAL and a text with field, theirs,
 * ours, or that the executor has died of it, and is started again without it; -ETIMEDOUT: the file
 * could not be read within 30 s; -EBUSY: too many are being read. */
ODEON_API int odeon_plugin_load(struct odeon_client *client, const char *path);
/* -EBUSY: odeon_error_text() lists what blocks it. */
ODEON_API int odeon_plugin_unload(struct odeon_client *client, const char *name);
ODEON_API int odeon_type_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                              struct odeon_list **ret); /* struct odeon_type_info */
/* A message type by name; `version` 0: the newest.  -ENOENT. */
ODEON_API int odeon_message_find(struct odeon_client *client, const char *name, uint32_t version,
                                 struct odeon_message_info **ret);
/* The same by its id, as a delivery has it. -ENOENT; -EINVAL: no type can have it. */
ODEON_API int odeon_message_show(struct odeon_client *client, uint32_t id,
                                 struct odeon_message_info **ret);
/* All that are known, each version for itself, in the order in which they became known. */
ODEON_API int odeon_message_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                                 struct odeon_list **ret); /* struct odeon_message_detail */
/* One by name, with those who accept it; `version` 0: the newest.  -ENOENT. */
ODEON_API int odeon_message_detail(struct odeon_client *client, const char *name, uint32_t version,
                                   struct odeon_message_detail **ret);

/* A page that is looked for among very many may be empty, with `more`. */
ODEON_API int odeon_actor_list(struct odeon_client *client, const char *type, uint64_t after,
                               uint32_t rows,
                               /* struct odeon_actor_info; type NULL: all */
                               struct odeon_list **ret);
/* By reference, or by registered name when `ref` is ODEON_NOBODY.  -ENOENT. */
ODEON_API int odeon_actor_show(struct odeon_client *client, odeon_ref ref, const char *name,
                               struct odeon_actor_detail **ret);
/* Where an actor is to live. */
enum odeon_where {
    ODEON_WHERE_ANY,    /* a queue of any worker, in turn */
    ODEON_WHERE_NODE,   /* of a worker on the memory node `node`, in turn; -ENODEV: there is none */
    ODEON_WHERE_PINNED, /* on the worker `worker`, never stolen */
    ODEON_WHERE_FOLLOW, /* runs where its last sender runs */
    ODEON_WHERE_DETACHED, /* on a thread of its own; -ENOSPC: all of those are in use */
};
#define ODEON_WORKER_ANY UINT32_MAX
struct odeon_spawn_where {
    uint32_t struct_size; /* sizeof, as compiled */
    enum odeon_where where;
    uint32_t node, worker; /* ODEON_WORKER_ANY: pinned to the workers in turn */
};
/* As odeon_actor_spawn(), and says where; `where` NULL: anywhere. */
ODEON_API int odeon_actor_spawn_at(struct odeon_client *client, const char *type, const char *name,
                                   const void *args, size_t args_size,
                                   const struct odeon_spawn_where *where, odeon_ref *ret_ref);
/* `payload` as the message's struct lies in memory, of several versions the newest that the actor
 * accepts. For a user whom quotas bind it counts as what is posted: -EDQUOT when as much waits on
 * the user's behalf as may (quota-waiting-bytes, quota-waiting-ms). -EAGAIN: the actor's queue is
 * at its limit. */
ODEON_API int odeon_actor_send(struct odeon_client *client, odeon_ref ref, const char *message,
                               const void *payload, size_t size);
/* The same in the very version that odeon_message_find() or odeon_message_detail() has told; a
 * service that is older than this call goes by the name. */
ODEON_API int odeon_actor_send_as(struct odeon_client *client, odeon_ref ref,
                                  const struct odeon_message_info *message, const void *payload,
                                  size_t size);
/* Sends the poison message that belongs to ODEON_DELETE, ODEON_DESTROY or ODEON_FINISHED: what
 * waits for the actor comes first. -EAGAIN: its queue is at its limit, try again. */
ODEON_API int odeon_actor_stop(struct odeon_client *client, odeon_ref ref,
                               enum odeon_allocation how);

ODEON_API int odeon_dead_letter_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                                     /* struct odeon_dead_letter_info, oldest first */
                                     struct odeon_list **ret);
/* -ENOENT. */
ODEON_API int odeon_dead_letter_show(struct odeon_client *client, uint64_t id,
                                     struct odeon_dead_letter_detail **ret);
/* Gives dead letters, all of them when n is 0, to their receivers once more (`to` ODEON_NOBODY), or
 * to another actor; each that arrives is a dead letter no more, by one and the same step. -ENOENT:
 * one of them is none, nothing was done; -ESRCH: no such actor. */
ODEON_API int odeon_dead_letter_replay(struct odeon_client *client, const uint64_t *ids, size_t n,
                                       odeon_ref to, struct odeon_dead_letters_done *ret);
/* Forgets them. */
ODEON_API int odeon_dead_letter_purge(struct odeon_client *client, const uint64_t *ids, size_t n,
                                      struct odeon_dead_letters_done *ret);
/* Runs a type again that was put into quarantine.  -EALREADY: it is not there. */
ODEON_API int odeon_type_release(struct odeon_client *client, const char *name);

/* Who holds how much memory; `by`: "user", NULL too; "client"; "port". The service counts pages
 * for it, some milliseconds for some gigabytes, beside its other work. -EINVAL: by something
 * else. */
ODEON_API int odeon_memory_show(struct odeon_client *client, const char *by,
                                struct odeon_memory **ret);

ODEON_API int odeon_client_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                                struct odeon_list **ret); /* struct odeon_client_info */
/* By number; `after` is what the page before says. */
ODEON_API int odeon_user_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                              struct odeon_list **ret); /* struct odeon_user_info */
/* -ENOENT: no such client. */
ODEON_API int odeon_client_show(struct odeon_client *client, uint64_t id,
                                struct odeon_client_detail **ret);
/* Ends its connection; what it has posted is still consumed.  -ENOENT; -EINVAL: it is the
 * caller. */
ODEON_API int odeon_client_kick(struct odeon_client *client, uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
