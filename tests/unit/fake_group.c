/* SPDX-License-Identifier: Apache-2.0 */
/* Groups and their members, of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

int odeon_group_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    (void)client, (void)rows, (void)after;
    *ret = fake_list(1, sizeof(struct odeon_group_info));
    *(struct odeon_group_info *)(*ret)->rows =
        (struct odeon_group_info){ .ref = odeon_ref_make(1, 7, 1), .name = "prices", .members = 2 };
    return 0;
}

int odeon_group_member_list(struct odeon_client *client, odeon_ref group, uint64_t after,
                            uint32_t rows, struct odeon_list **ret)
{
    (void)client, (void)rows, (void)after;
    fake.to = group;
    *ret = fake_list(1, sizeof(struct odeon_group_member_info));
    *(struct odeon_group_member_info *)(*ret)->rows =
        (struct odeon_group_member_info){ .member = odeon_ref_make(1, 8, 4), .group = group };
    return 0;
}
