/* SPDX-License-Identifier: Apache-2.0 */
/* How long a test waits for what must happen.
 *
 * It is not how long that takes: on one core at a quarter of its speed, beside other work, with a
 * sanitizer, what takes a second may take a minute, and is right all the same. So the patience is
 * far beyond all of that, and a test whose numbers flow begins anew with each that comes. What is
 * waited for in vain is a fault, and costs this long once; a test that computes for ever is ended
 * by its processor time (tests/run/limit.c).
 */
#pragma once

#include <stdint.h>

enum { PATIENCE_S = 300, PATIENCE_MS = PATIENCE_S * 1000 };
#define SERVICE_TIMEOUT_MS "300000" /* the same, of requests (ODEON_TIMEOUT_MS) */
#define PATIENCE_NS        (PATIENCE_S * INT64_C(1000000000))
