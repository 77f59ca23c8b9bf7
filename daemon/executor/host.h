/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions that plugins call, on top of the engine's.
 *
 * Owned by the executor; its functions run on workers, with the context that the engine handed to a
 * behaviour. The table's address is in every context (engine_config.host).
 *
 * host.H1  struct odeon_context and struct engine_context are one layout (asserted in host.c): the
 *     engine calls behaviours with its own.
 * host.H2  No function allocates, locks or calls the system on the way of a message; message
 *     objects and log lines are not on it.
 */
#pragma once

#include <odeon/plugin.h>
#include <stdint.h>

#include "daemon/engine/engine.h"

struct host;

int host_new(unsigned n_workers, struct host **ret_host);
/* No behaviour may run any more. */
struct host *host_free(struct host *host);
const struct odeon_host *host_get_table(const struct host *host);
/* Message objects that were made and never sent, those that were freed included. */
uint64_t host_count_unsent(const struct host *host);

/* Spawn options in the engine's words, for who spawns as a plugin does without being one. As struct
 * odeon_host.spawn. */
int host_read_spawn(const struct odeon_spawn_options *options, struct engine_spawn *ret_spawn);

/* The engine's types for a plugin's functions. */
/* struct odeon_inline_block: what contexts lead to. */
const void *host_get_inline_block(void);
engine_run_fn host_adapt_start(int (*start)(struct odeon_context *ctx));
engine_behaviour_fn host_adapt_behaviour(odeon_behaviour_fn run);
engine_init_fn host_adapt_init(odeon_init_fn init);
engine_fini_fn host_adapt_fini(odeon_fini_fn fini);
