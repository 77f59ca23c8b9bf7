/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of ports, and those that ask nobody; see late_calls.h. */
#include "tests/system/late_calls.h"

#include <errno.h>
#include <string.h>

#include <odeon/codec.h>
#include <odeon/helper.h>
#include <odeon/names.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

struct late late;

int late_open_late(void)
{
    struct odeon_port *one = NULL;

    return odeon_port_open(late.client, NULL, &one);
}

int late_close_one(void)
{
    late.closing = odeon_port_close(late.closing);
    return 0;
}

int late_port_is_told(void)
{
    return odeon_port_ref(late.port) == ODEON_NOBODY || odeon_port_dropped(late.port) != 0 ||
           odeon_port_fd(late.port) < 0;
}

int late_port_register(void)
{
    return odeon_port_register(late.port, "late");
}

int late_port_arm(void)
{
    return odeon_port_arm(late.port);
}

int late_port_arm_room(void)
{
    int r = odeon_port_arm_room(late.port, 8);

    return r > 0 ? 0 : r;
}

int late_port_figures(void)
{
    struct odeon_port_figures figures = { .struct_size = sizeof(figures) };

    return odeon_port_figures(late.port, &figures);
}

int late_port_closed(void)
{
    return odeon_port_closed(late.port);
}

int late_port_check(void)
{
    return odeon_port_check(late.port);
}

/* Until the ring is full, where nobody takes anything out of it. */
int late_post(void)
{
    struct probe_number number = { 0 };
    int r;

    do
        r = odeon_port_post(late.port, late.ledger, late.number_type, &number, sizeof(number));
    while (r == 0 && late.executor_stands);
    return r;
}

int late_post_wait(void)
{
    struct probe_number number = { 0 };

    return odeon_port_post_wait(late.port, late.ledger, late.number_type, &number, sizeof(number),
                                late.executor_stands ? MILLISECONDS(SHORT_MS)
                                                     : SECONDS(PATIENCE_S));
}

int late_post_correlated(void)
{
    struct probe_number number = { 0 };

    return odeon_port_post_correlated(late.port, late.ledger, late.number_type, 7, &number,
                                      sizeof(number));
}

int late_answer(void)
{
    const struct probe_number number = { .n = 1 };
    const struct odeon_delivery question = { .from = late.ledger, .correlation = 7 };

    return odeon_port_answer(late.port, &question, late.number_type, &number, sizeof(number));
}

int late_post_urgent(void)
{
    struct probe_number number = { 0 };

    return odeon_port_post_urgent(late.port, late.ledger, late.number_type, &number,
                                  sizeof(number));
}

int late_post_after(void)
{
    struct probe_number number = { 0 };

    return odeon_port_post_after(late.port, late.ledger, late.number_type, 0, &number,
                                 sizeof(number), SECONDS(3600));
}

int late_port_monitor(void)
{
    return odeon_port_monitor(late.port, late.ledger, 1);
}

int late_port_demonitor(void)
{
    return odeon_port_demonitor(late.port, late.ledger, 1);
}

int late_post_with(void)
{
    struct probe_number number = { 0 };

    return odeon_port_post_with(
        late.port, late.ledger, late.number_type, &number, sizeof(number),
        ODEON_POST_OPTIONS(.correlation = 7, .within_ns = 1, .urgent = 1,
                           .wait_ns = late.executor_stands ? MILLISECONDS(SHORT_MS) : -1));
}

int late_forget(void)
{
    int r = odeon_port_forget(late.port, 7);

    return r < 0 || odeon_port_forget(late.port, 7) != 0 ? -EIO : 0;
}

int late_reserve_with(void)
{
    void *room =
        odeon_port_reserve_with(late.port, late.ledger, late.number_type,
                                sizeof(struct probe_number), ODEON_POST_OPTIONS(.correlation = 7));

    if (!room)
        return -errno;
    memset(room, 0, sizeof(struct probe_number));
    return 0;
}

int late_next_deadline(void)
{
    return odeon_port_timeout(late.port) < -1 ? -EIO : 0;
}

int late_reserve(void)
{
    void *room =
        odeon_port_reserve(late.port, late.ledger, late.number_type, sizeof(struct probe_number));

    if (!room)
        return -errno;
    memset(room, 0, sizeof(struct probe_number));
    return 0;
}

int late_commit(void)
{
    return odeon_port_commit(late.port);
}

int late_receive(void)
{
    struct odeon_delivery delivery;
    int r = odeon_port_receive(late.port, &delivery);

    odeon_port_release(late.port);
    return r;
}

int late_receive_many(void)
{
    struct odeon_delivery deliveries[4];
    int r = odeon_port_receive_many(late.port, deliveries, 4);

    for (int i = 0; i < r; i++)
        if (odeon_port_release_until(late.port, &deliveries[i]) < 0)
            return -EIO;
    return r > 0 ? 0 : r;
}

int late_receive_wait(void)
{
    struct odeon_delivery delivery;

    return odeon_port_receive_wait(late.port, &delivery, MILLISECONDS(SHORT_MS));
}

int late_ask(void)
{
    struct odeon_delivery reply;
    int r = odeon_port_call(late.asking, late.ledger, late.ask_type, NULL, 0,
                            late.executor_stands ? MILLISECONDS(SHORT_MS) : SECONDS(PATIENCE_S),
                            &reply);

    odeon_port_release(late.asking);
    return r;
}

int late_ask_urgently(void)
{
    struct odeon_delivery reply;
    int r =
        odeon_port_call_with(late.asking, late.ledger, late.ask_type, NULL, 0,
                             late.executor_stands ? MILLISECONDS(SHORT_MS) : SECONDS(PATIENCE_S),
                             ODEON_POST_OPTIONS(.urgent = 1), &reply);

    odeon_port_release(late.asking);
    return r;
}

static int late_nothing(void *userdata)
{
    (void)userdata;
    return 0;
}

int late_have_help(void)
{
    struct odeon_helper *helper = NULL;
    int r = odeon_helper_new(&helper);

    if (r == 0)
        r = odeon_helper_call(helper, late_nothing, NULL, NULL);
    if (r == 0 && (odeon_helper_fd(helper) < 0 || odeon_helper_dispatch(helper) < 0))
        r = -EIO;
    odeon_helper_free(helper);
    return r;
}

int late_write_and_read(void)
{
    char name[] = "n=1", hex[] = "0a", text[ODEON_REF_TEXT], described[64], byte, *quoted = NULL;
    char *words[] = { name }, *digits[] = { hex }, *printed = NULL;
    struct odeon_field field = { .struct_size = sizeof(field) };
    struct odeon_layout *layout = NULL;
    void *payload = NULL;
    size_t size = 0, n = 0;
    odeon_ref ref;
    int r = odeon_layout_parse("{ uint64_t n; }", &layout);

    if (r == 0)
        r = odeon_layout_check(layout, (uint32_t)odeon_layout_size(layout), 0);
    if (r == 0)
        r = odeon_layout_field(layout, odeon_layout_n(layout) - 1, &field);
    if (r == 0)
        r = odeon_payload_fill(layout, words, 1, 8, &payload, &size);
    if (r == 0)
        r = odeon_payload_print(layout, payload, size, ODEON_PAYLOAD_JSON, &printed);
    if (r == 0)
        r = odeon_payload_parse_hex(digits, 1, &byte, 1, &n);
    if (r == 0)
        r = odeon_ref_parse(odeon_ref_format(odeon_ref_make(1, 7, 1000), text), &ref);
    if (r == 0)
        r = odeon_text_quote_json("x", 1, &quoted);
    odeon_layout_describe(layout, described, sizeof(described));
    odeon_layout_free(layout);
    odeon_payload_free(payload);
    odeon_payload_free(printed);
    odeon_payload_free(quoted);
    return r;
}

int late_say_in_words(void)
{
    return odeon_strerror(-EAGAIN) && odeon_reason_name(ODEON_REASON_NONE) &&
                   odeon_outcome_name(ODEON_CALL_REPLY) && odeon_port_closed_name(ODEON_CLOSED_NOT)
               ? 0
               : -EIO;
}
