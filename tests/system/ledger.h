/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of observing have ledgers (probe.h) do: be busy, and answer when they have been.
 *
 * Used by the thread that runs the tests; what cannot be done fails the test that runs.
 */
#pragma once

#include "tests/system/harness.h"

/* A work that keeps its worker busy for so long; `type` is the id of probe_work. */
void ledger_work(struct odeon_port *port, odeon_ref ref, uint32_t type, uint64_t ns);
/* What has been posted to it through this port has been run; `type` is the id of probe_ask. */
void ledger_settle(struct odeon_port *port, odeon_ref ref, uint32_t type);
