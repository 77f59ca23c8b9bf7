/* SPDX-License-Identifier: Apache-2.0 */
/* Timers, of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

int odeon_timer_list(struct odeon_client *client, odeon_ref owner, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    (void)client, (void)rows;
    fake.to = owner;
    /* the first page is empty */
    *ret = fake_list(after > 0, sizeof(struct odeon_timer_info));
    (*ret)->more = after == 0;
    (*ret)->next = 4096;
    if (after > 0)
        *(struct odeon_timer_info *)(*ret)->rows =
            (struct odeon_timer_info){ .id = 77,
                                       .owner = odeon_ref_make(1, 5, 2),
                                       .to = odeon_ref_make(1, 6, 3),
                                       .message = "tick",
                                       .size = 8,
                                       .due_in_ns = UINT64_C(5000000000),
                                       .period_ns = 250000 };
    return 0;
}
