/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that stay until the test lets them go, for what an engine does beside such: they lie in
 * a section of their own, by which it tells them from itself (engine_config.is_handler). A worker's
 * thread runs them; the test's holds and lets go. */
#pragma once

#include <unistd.h>

#include "tests/unit/engine_fixture.h"

#define HANDLER __attribute__((section("stuck_handlers"), noinline))
extern const char __start_stuck_handlers[], __stop_stuck_handlers[];

static inline bool stuck_is_handler(void *userdata, const void *pc)
{
    (void)userdata;
    return (const char *)pc >= __start_stuck_handlers && (const char *)pc < __stop_stuck_handlers;
}

/* ThreadSanitizer makes what it keeps of a thread's signals in the thread's first call that blocks,
 * and loses a signal that comes just then: so that call comes before anybody knows. */
HANDLER static void stuck_stay(_Atomic uint32_t *inside, _Atomic uint32_t *hold)
{
    usleep(1);
    store_release(inside, 1);
    while (load_acquire(hold))
        usleep(50);
}
