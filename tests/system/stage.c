/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/system/stage.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void stage_begin(struct stage *stage, const char *plugin, const char *name)
{
    const char *const arguments[] = { SMALL_SERVICE, "--plugin", plugin, NULL };

    service_start(&stage->service, arguments);
    stage->client = service_connect(&stage->service, name);
    stage->port = port_open_or_fail(stage->client, 0, 0, false);
}

void stage_end(struct stage *stage)
{
    odeon_port_close(stage->port);
    odeon_client_disconnect(stage->client);
    service_end(&stage->service);
}

void stage_post(const struct stage *stage, odeon_ref to, const struct odeon_message_type *type,
                const void *data, size_t size)
{
    assert_int_equal(odeon_port_post_wait(stage->port, to, message_id(stage->client, type), data,
                                          size, SECONDS(PATIENCE_S)),
                     0);
}

uint64_t stage_receive(const struct stage *stage, uint32_t type, void *ret, size_t size)
{
    struct odeon_delivery delivery;

    assert_int_equal(odeon_port_receive_wait(stage->port, &delivery, SECONDS(PATIENCE_S)), 1);
    if (delivery.type == ODEON_MSG_REFUSAL)
        fail_msg("message %llu was refused: %s", (unsigned long long)delivery.correlation,
                 odeon_reason_name(((const struct odeon_refusal *)delivery.data)->reason));
    assert_int_equal(delivery.type, type);
    assert_int_equal(delivery.size, size);
    memcpy(ret, delivery.data, size);
    odeon_port_release(stage->port);
    return delivery.correlation;
}

void stage_kill_executor(struct stage *stage)
{
    service_kill_executor(&stage->service);
}
