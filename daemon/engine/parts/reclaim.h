/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a window's pages (reclaim.h). */
#pragma once

#include <stdint.h>

/* What a window has held and needed, in pages (reclaim.h). */
struct window_history {
    uint32_t resident; /* no page from here on exists */
    uint32_t need;     /* the most since more than half of that was used */
    uint32_t little;   /* uses since then */
};
