/* SPDX-License-Identifier: Apache-2.0 */
/* What `odeonctl plugin check` has found. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/ctl/elf_view.h"

enum { PLUGIN_FINDINGS_MAX = 64, PLUGIN_FINDING_TEXT = 256 };

struct plugin_check {
    const struct elf_view *view;
    size_t n, n_refused;
    struct {
        bool refused;
        char text[PLUGIN_FINDING_TEXT];
    } findings[PLUGIN_FINDINGS_MAX];
};

/* `refused`: the service would not load it for this; else it is a worry. More than there is room
 * for is counted and not kept. */
__attribute__((format(printf, 3, 4))) void plugin_check_note(struct plugin_check *check,
                                                             bool refused, const char *format, ...);
/* The name that the pointer at this address leads to; one that is none is noted, as `what`'s. Never
 * NULL. */
const char *plugin_check_name(struct plugin_check *check, uint64_t address, const char *what);
/* An actor type of the plugin: its description is at this address. */
void plugin_check_type(struct plugin_check *check, uint64_t address);
