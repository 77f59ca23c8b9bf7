/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/asks/answer.h"

struct answer_sip {
    uint64_t a, b, c, d;
};

static inline struct answer_sip answer_begin(uint64_t key0, uint64_t key1)
{
    return (struct answer_sip){ .a = key0 ^ UINT64_C(0x736f6d6570736575),
                                .b = key1 ^ UINT64_C(0x646f72616e646f6d),
                                .c = key0 ^ UINT64_C(0x6c7967656e657261),
                                .d = key1 ^ UINT64_C(0x7465646279746573) };
}

static inline uint64_t answer_rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline void answer_round(struct answer_sip *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = answer_rotate(s->b, 13) ^ s->a;
    s->d = answer_rotate(s->d, 16) ^ s->c;
    s->a = answer_rotate(s->a, 32) + s->d;
    s->c += s->b;
    s->b = answer_rotate(s->b, 17) ^ s->c;
    s->d = answer_rotate(s->d, 21) ^ s->a;
    s->c = answer_rotate(s->c, 32);
}

static inline void answer_word(struct answer_sip *s, uint64_t word)
{
    s->d ^= word;
    answer_round(s);
    answer_round(s);
    s->a ^= word;
}

/* SipHash-2-4 of 16 bytes (Aumasson and Bernstein, "SipHash: a fast short-input PRF"). */
static uint64_t answer_sign(const struct engine *e, uint64_t first, uint64_t second)
{
    const uint64_t *key = e->segment.header->answer_key;
    struct answer_sip s = answer_begin(key[0], key[1]);
    answer_word(&s, first);
    answer_word(&s, second);
    answer_word(&s, UINT64_C(16) << 56); /* how many bytes it were */
    s.c ^= 0xff;
    for (int i = 0; i < 4; i++)
        answer_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

/* SipHash-1-3 of 8 bytes: of a length that no other signature under this key has. */
uint64_t answer_sign_id(const struct engine *e, uint64_t id)
{
    const uint64_t *key = e->segment.header->answer_key;
    struct answer_sip s = answer_begin(key[0], key[1]);
    s.d ^= id;
    answer_round(&s);
    s.a ^= id;
    s.d ^= UINT64_C(8) << 56;
    answer_round(&s);
    s.a ^= UINT64_C(8) << 56;
    s.c ^= 0xff;
    answer_round(&s);
    answer_round(&s);
    answer_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

struct answer_promise answer_promise_make(const struct engine *e, actor_ref to,
                                          uint64_t correlation)
{
    return (struct answer_promise){ .to = to,
                                    .correlation = correlation,
                                    .signature = answer_sign(e, to, correlation) };
}

bool answer_promise_is_ours(const struct engine *e, const struct answer_promise *promise)
{
    return promise->to != 0 &&
           answer_sign(e, promise->to, promise->correlation) == promise->signature;
}
