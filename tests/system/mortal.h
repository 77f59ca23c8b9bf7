/* SPDX-License-Identifier: Apache-2.0 */
/* A client that is there to be killed.
 *
 * Used by the thread that runs the tests; what cannot be done fails the test that runs.
 */
#pragma once

#include "tests/system/harness.h"

/* A process of its own opens a port, and waits to be killed, and to be waited for; *ret_ref: whose
 * end that is. */
pid_t mortal_begin(const struct service *service, odeon_ref *ret_ref);
