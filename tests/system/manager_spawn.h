/* SPDX-License-Identifier: Apache-2.0 */
/* Starting odeond as a service manager does: environment, descriptors from 3 on, log, death with
 * the thread that starts. */
#pragma once

#include <sys/types.h>

#include "tests/system/harness.h"
#include "tests/system/manager_store.h"

struct manager_spawn {
    const char *program;
    const char *const *arguments; /* up to NULL; may be NULL */
    const char *environment;      /* one more "KEY=VALUE"; may be NULL */
    const char *notify_path;
    const struct service *service;
    int listener; /* -1: none */
    const struct manager_store *store;
};

/* The process, or -1. */
pid_t manager_spawn(const struct manager_spawn *spawn);
