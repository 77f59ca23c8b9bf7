/* SPDX-License-Identifier: Apache-2.0 */
/* On which memory nodes the engine's windows lie: the setting `memory`.
 *
 * Plain data, no thread of its own.
 */
#pragma once

enum memory_policy {
    MEMORY_LOCAL,       /* each on the node of the worker that uses it most */
    MEMORY_INTERLEAVE,  /* page by page over all nodes of workers */
    MEMORY_FIRST_TOUCH, /* where the worker runs that writes a page first */
    MEMORY_POLICY_N
};

/* 0, or -EINVAL for a name that is none: "local", "interleave", "first-touch". */
int memory_policy_parse(const char *name, enum memory_policy *ret_policy);
const char *memory_policy_name(enum memory_policy policy);
