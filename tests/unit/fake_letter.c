/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters, of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

#include <errno.h>

/* Three a page, of two types in turn, every third one for another reason. */
static void fake_letters(uint64_t after, struct odeon_list **ret)
{
    size_t from = after ? (size_t)after - 1 : 0,
           n = fake.n_letters - from < 3 ? fake.n_letters - from : 3;
    struct odeon_dead_letter_info *rows;

    *ret = fake_list(n, sizeof(*rows));
    rows = (*ret)->rows;
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct odeon_dead_letter_info){
            .id = from + i + 1,
            .to = 0x101000009,
            .type = (from + i) % 2 ? "account" : "counter",
            .message = "go",
            .reason = (from + i) % 3 ? "queue-full" : "quarantined",
            .size = 10,
            .time_ns = UINT64_C(1700000000000000000) + (from + i) * 1000000000,
        };
    (*ret)->next = from + n + 1;
    (*ret)->more = from + n < fake.n_letters;
}

int odeon_dead_letter_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                           struct odeon_list **ret)
{
    (void)client, (void)rows;
    if (fake.n_letters) {
        fake_letters(after, ret);
        return 0;
    }
    *ret = fake_list(1, sizeof(struct odeon_dead_letter_info));
    *(struct odeon_dead_letter_info *)(*ret)->rows =
        (struct odeon_dead_letter_info){ .id = 12,
                                         .to = 0x101000009,
                                         .type = "counter",
                                         .message = "counter_add",
                                         .reason = "quarantined",
                                         .size = 3,
                                         .attempts = 1,
                                         .time_ns = UINT64_C(1700000000123456789) };
    return 0;
}

int odeon_dead_letter_show(struct odeon_client *client, uint64_t id,
                           struct odeon_dead_letter_detail **ret)
{
    (void)client;
    if (id != 12)
        return -ENOENT;
    *ret = fake_alloc(sizeof(**ret));
    (*ret)->letter = (struct odeon_dead_letter_info){ .id = id,
                                                      .to = 0x101000009,
                                                      .type = "counter",
                                                      .message = "counter_add",
                                                      .reason = "quarantined",
                                                      .size = 3,
                                                      .time_ns = 1,
                                                      .message_id = fake.letter_message };
    (*ret)->payload = "\x01\xab\xff";
    return 0;
}

int odeon_dead_letter_replay(struct odeon_client *client, const uint64_t *ids, size_t n,
                             odeon_ref to, struct odeon_dead_letters_done *ret)
{
    (void)client;
    fake.n_ids = n;
    fake.last_id = n ? ids[n - 1] : 0;
    fake.replay_to = to;
    ret->done = 5;
    ret->gone = 2;
    ret->full = 1;
    return fake.call_result;
}

int odeon_dead_letter_purge(struct odeon_client *client, const uint64_t *ids, size_t n,
                            struct odeon_dead_letters_done *ret)
{
    (void)client;
    fake.n_ids = n;
    fake.last_id = n ? ids[n - 1] : 0;
    ret->done = n ? n : 9;
    return 0;
}
