/* SPDX-License-Identifier: Apache-2.0 */
/* An actor whose handler breaks a rule of the executor (daemon/common/check.h) as long as the page
 * says so: what the plugin cannot do in an executor as it is delivered, which does not export
 * the function.
 *
 * breaker.B1  The page does not say so.
 * breaker.B2  While the plugin is loaded there is no file that BREAKER_FILE names.
 */
#pragma once

#include <odeon/message.h>
#include <stdatomic.h>

ODEON_MESSAGE(breaker_number, 1, { uint64_t n; });
/* the answer: what the handler was told of earlier runs */
ODEON_MESSAGE(breaker_told, 1, { uint64_t n, attempts, redelivered; });
ODEON_INTERFACE(breaker, breaker_number);

struct breaker_args {
    char page[96]; /* file */
};

struct breaker_page {
    _Atomic uint32_t breaks;  /* written by the test */
    _Atomic uint32_t entered; /* by the actor: runs of its handler */
};
