/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/system/ledger.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/system/probe.h"

void ledger_work(struct odeon_port *port, odeon_ref ref, uint32_t type, uint64_t ns)
{
    const struct probe_work message = { .ns = ns };

    assert_int_equal(
        odeon_port_post_wait(port, ref, type, &message, sizeof(message), SECONDS(PATIENCE_S)), 0);
}

void ledger_settle(struct odeon_port *port, odeon_ref ref, uint32_t type)
{
    struct odeon_delivery answer;

    assert_int_equal(odeon_port_call(port, ref, type, NULL, 0, SECONDS(PATIENCE_S), &answer),
                     ODEON_CALL_REPLY);
    odeon_port_release(port);
}
