/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading the registry: layout and invariants are in proto/registry_layout.h.
 *
 * `map` is NULL where there is no store to keep it in; then every function that writes does
 * nothing, and those that find something find nothing. Event loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/supervisor/setting_list.h"
#include "proto/registry_layout.h"

enum { REGISTRY_TEXT_MAX = 512 };

struct registry_file {
    int fd;
    struct registry *map;
    bool own_forgotten; /* registry_forget_own() */
};

/* A new one; `instance` 0: with a name of its own.  0 or negative errno. */
int registry_make(struct registry_file *file, uint64_t instance);
/* One that another odeond has left. Takes `fd`. -EPROTO with a reason in `text`: of another layout;
 * other negative errno: it cannot be opened now. */
int registry_open(struct registry_file *file, int fd, char *text);
/* What happens from here on is not recorded: it is left as it is. */
void registry_close(struct registry_file *file);

/* registry_layout.G2, for clients. 0 or -ENOSPC. One that is there is overwritten: only name and
 * library can differ. */
int registry_put_client(struct registry_file *file, const struct registry_client *client);
void registry_free_client(struct registry_file *file, uint64_t id);
bool registry_has_client(const struct registry_file *file, uint64_t id);
void registry_note_client_id(struct registry_file *file, uint64_t id);

/* registry_layout.G2, for ports. */
void registry_put_port(struct registry_file *file, uint32_t index,
                       const struct registry_port *port);
void registry_set_port(struct registry_file *file, uint32_t index, enum registry_state state);
bool registry_has_port(const struct registry_file *file, uint32_t index);
void registry_set_port_ref(struct registry_file *file, uint32_t index, uint64_t ref,
                           uint32_t actors_max);

/* A serial that no plugin has had; 0 without a registry. */
uint32_t registry_next_plugin(struct registry_file *file);
/* `replaces`: registry_layout.G6.  0, -ENOSPC, -ENAMETOOLONG. */
int registry_put_plugin(struct registry_file *file, uint32_t serial, const char *name,
                        const char *path, uint32_t configured, uint32_t replaces);
void registry_set_plugin_name(struct registry_file *file, uint32_t serial, const char *name);
void registry_set_plugin_configured(struct registry_file *file, uint32_t serial,
                                    uint32_t configured);
void registry_free_plugin(struct registry_file *file, uint32_t serial);

/* registry_layout.G5.  0 or -ENOSPC: the former ones stay, but for `own`. */
int registry_put_settings(struct registry_file *file, const struct setting_list *in_force,
                          const struct setting_list *configured, const struct setting_list *own);
/* `own` alone: what else was there stays. */
void registry_put_own(struct registry_file *file, const struct setting_list *own);
/* From here on none of odeond's own are known, whoever puts some: the end is an orderly one, and
 * the next start goes by the configuration, however far this one comes. */
void registry_forget_own(struct registry_file *file);
int registry_get_settings(const struct registry_file *file, struct setting_list *in_force,
                          struct setting_list *configured);
/* Nothing is added where there are none. 0, -EPROTO, -ENOSPC, -ENOMEM. */
int registry_get_own(const struct registry_file *file, struct setting_list *own);
/* Whether `fd` is a registry of this layout which an odeond has left that crashed, and in it its
 * own settings. Nothing is changed. */
bool registry_is_of_crash(int fd);
