/* SPDX-License-Identifier: Apache-2.0 */
/* The walk in pieces by several threads says what one walk from the front says (verify_walk.W1):
 * records of one size and of many, whole and damaged, in one stretch and in several. */
#include "daemon/engine/recovery/verify_walk.h"
#include "engine_fixture.h"

/* enough for helpers, where there are processors */
enum { ACTORS_MAX = 4096, BUFFER_BYTES = 4 << 20, STRETCHES = 3 };

static uint8_t *buffers[STRETCHES];
static uint64_t ends[STRETCHES], seed;

static uint64_t draw(uint64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % n;
}

/* Payloads of 8 bytes, and one in `variety` of any length; variety 0: none. */
static void fill(unsigned stretch, uint64_t bytes, uint64_t variety)
{
    uint64_t at = 0;
    while (at < bytes) {
        uint16_t length = (uint16_t)(variety && draw(variety) == 0 ? draw(400) : 8);
        *(struct envelope *)(buffers[stretch] + at) =
            (struct envelope){ .to = actor_ref_make((uint32_t)draw(ACTORS_MAX), 1),
                               .type = MESSAGE_TYPE_FIRST_USER,
                               .length = length };
        at += envelope_size(length);
    }
    ends[stretch] = at;
}

/* The first stretch that is bad, and where; STRETCHES: none. */
static unsigned from_the_front(uint64_t *ret_at)
{
    for (unsigned i = 0; i < STRETCHES; i++) {
        *ret_at = walk_records(ACTORS_MAX, buffers[i], 0, ends[i], ends[i], 1);
        if (*ret_at != ends[i])
            return i;
    }
    return STRETCHES;
}

static unsigned in_pieces(uint64_t *ret_at, unsigned *ret_pieces)
{
    struct walk walk = { .actors_max = ACTORS_MAX };
    for (unsigned i = 0; i < STRETCHES; i++)
        assert_int_equal(walk_add(&walk,
                                  (struct walk_piece){
                                      .base = buffers[i], .end = ends[i], .least = 1, .queue = i }),
                         0);
    const struct walk_piece *bad = walk_all(&walk, ret_at);
    unsigned stretch = bad ? bad->queue : STRETCHES;
    *ret_pieces = walk.n;
    walk_free(&walk);
    return stretch;
}

static unsigned compare(void)
{
    uint64_t at = 0, expected_at = 0;
    unsigned pieces = 0, expected = from_the_front(&expected_at), found = in_pieces(&at, &pieces);
    if (found != expected || (found < STRETCHES && at != expected_at))
        fail_msg("stretch %u, byte %llu; one walk says: stretch %u, byte %llu", found,
                 (unsigned long long)at, expected, (unsigned long long)expected_at);
    return expected;
}

static void fill_all(uint64_t variety)
{
    for (unsigned i = 0; i < STRETCHES; i++)
        fill(i, BUFFER_BYTES - draw(1 << 16), variety);
}

static void test_whole(void **state)
{
    static const uint64_t varieties[] = { 0, 1, 2, 1000, 100000 };
    uint64_t at;
    unsigned pieces = 0;
    (void)state;
    for (unsigned i = 0; i < sizeof(varieties) / sizeof(varieties[0]); i++) {
        fill_all(varieties[i]);
        assert_int_equal(compare(), STRETCHES);
    }
    assert_int_equal(in_pieces(&at, &pieces), STRETCHES);
    assert_in_range(pieces, STRETCHES * 3, STRETCHES * 6);
}

/* One word somewhere, often in the front of a record; a million looks at a stretch that is good
 * would tell less. */
static void test_damaged(void **state)
{
    unsigned refused = 0;
    (void)state;
    for (unsigned round = 0; round < 24; round++) {
        fill_all(round % 3 == 0 ? 0 : round % 3 == 1 ? 50000 : 3);
        for (uint64_t n = 1 + draw(3); n > 0; n--) {
            unsigned stretch = (unsigned)draw(STRETCHES);
            uint64_t *word = (uint64_t *)(buffers[stretch] + draw(ends[stretch] / 32) * 32);
            word[draw(4)] = draw(4) == 0 ? draw(UINT64_MAX) : draw(1 << 20) << 16;
        }
        refused += compare() < STRETCHES;
    }
    assert_in_range(refused, 1, 23); /* both happen */
}

/* At a cut itself, at either side of it, and a record over it; a stretch that ends too early or too
 * late. */
static void test_at_cuts(void **state)
{
    static const int64_t around[] = { -64, -32, 0, 32, 64 };
    (void)state;
    for (unsigned i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
        fill_all(0);
        struct envelope *envelope = (struct envelope *)(buffers[1] + (2 << 20) + around[i]);
        envelope->type = MESSAGE_TYPE_NONE;
        assert_int_equal(compare(), 1);
        *envelope = (struct envelope){ .to = UINT64_C(1) << 32 | ACTOR_REF_OWN | 1,
                                       .type = MESSAGE_TYPE_FIRST_USER,
                                       .length = 8 + 3 * 32 };
        assert_int_equal(compare(), STRETCHES);
        envelope->to = 0;
        assert_int_equal(compare(), 1);
        *envelope = (struct envelope){ .to = UINT64_C(1) << 32 | ACTOR_REF_OWN | 1,
                                       .type = MESSAGE_TYPE_FIRST_USER,
                                       .length = 16 };
        /* the walk from the front takes this for a header; a piece that begins at the cut is
         * good */
        ((uint64_t *)envelope)[7] = 0;
        assert_int_equal(compare(), 1);
    }
    fill_all(0);
    ends[2] -= 8;
    assert_int_equal(compare(), 2);
    ends[2] += 16;
    memset(buffers[2] + ends[2] - 8, 0, 8);
    assert_int_equal(compare(), 2);
}

static int buffers_make(void **state)
{
    (void)state;
    seed = UINT64_C(88172645463325252);
    for (unsigned i = 0; i < STRETCHES; i++)
        buffers[i] = aligned_alloc(64, BUFFER_BYTES + 4096);
    return buffers[0] && buffers[1] && buffers[2] ? 0 : -1;
}

static int buffers_free(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STRETCHES; i++)
        free(buffers[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole),
                                        cmocka_unit_test(test_damaged),
                                        cmocka_unit_test(test_at_cuts) };
    return cmocka_run_group_tests_name("walk", tests, buffers_make, buffers_free);
}
