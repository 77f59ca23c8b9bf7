/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads from words: the layout must be the compiler's, whatever cannot be right must be refused
 * by name. */
#include "client-lib/ctl/payload.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A struct, and its body as text, as ODEON_MESSAGE makes it. */
#define BODY(name, ...)                                                                            \
    struct name __VA_ARGS__;                                                                       \
    static const char text_of_##name[] = #__VA_ARGS__

BODY(plain, {
    int64_t amount, weight;
    char name[16];
    uint32_t n;
    double x;
});
BODY(mixed, {
    uint8_t a;
    short b;
    char c;
    unsigned long long d;
    bool e;
    float f;
    long int g;
    unsigned h[3];
    int8_t i;
});
BODY(tailed, {
    uint32_t number;
    char text[];
});
BODY(gap, {
    uint64_t big;
    uint16_t small;
    char text[];
});
BODY(numbers, {
    uint16_t n;
    uint32_t all[];
});

static struct payload_layout *layout_of(const char *text)
{
    struct payload_layout *layout = NULL;
    char error[PAYLOAD_ERROR_TEXT];
    int r = payload_layout_parse(text, &layout, error);

    if (r)
        fail_msg("%s: %s", text, error);
    return layout;
}

static uint32_t offset_of(const struct payload_layout *layout, const char *name)
{
    for (size_t i = 0; i < layout->n; i++)
        if (!strcmp(layout->fields[i].name, name))
            return layout->fields[i].offset;
    fail_msg("no field %s", name);
    return 0;
}

#define CHECK_OFFSET(layout, type, field)                                                          \
    assert_int_equal(offset_of(layout, #field), offsetof(struct type, field))

static void test_layout_is_the_compilers(void **state)
{
    struct payload_layout *l = layout_of(text_of_plain);

    (void)state;
    assert_int_equal(l->size, sizeof(struct plain));
    CHECK_OFFSET(l, plain, weight);
    CHECK_OFFSET(l, plain, name);
    CHECK_OFFSET(l, plain, x);
    payload_layout_free(l);

    l = layout_of(text_of_mixed);
    assert_int_equal(l->size, sizeof(struct mixed));
    CHECK_OFFSET(l, mixed, b);
    CHECK_OFFSET(l, mixed, d);
    CHECK_OFFSET(l, mixed, f);
    CHECK_OFFSET(l, mixed, g);
    CHECK_OFFSET(l, mixed, h);
    CHECK_OFFSET(l, mixed, i);
    payload_layout_free(l);

    l = layout_of(text_of_gap);
    assert_true(l->has_tail);
    assert_int_equal(l->size, sizeof(struct gap));
    assert_int_equal(l->tail_offset, offsetof(struct gap, text));
    payload_layout_free(l);

    l = layout_of(text_of_numbers);
    CHECK_OFFSET(l, numbers, all);
    payload_layout_free(l);

    l = layout_of("{ const int32_t a[0x10]; odeon_ref who; }");
    assert_int_equal(l->size, 72);
    payload_layout_free(l);
    l = layout_of("");
    assert_int_equal(l->size, 0);
    payload_layout_free(l);
}

static void test_layout_refuses(void **state)
{
    static const struct {
        const char *text;
        int error;
        const char *says;
    } bad[] = {
        { "{ struct point p; }", -ENOTSUP, "'struct'" },
        { "{ foo_t x; }", -ENOTSUP, "'foo_t'" },
        { "{ char *p; }", -ENOTSUP, "pointer" },
        { "{ int a, *b; }", -ENOTSUP, "pointer" },
        { "{ int a : 3; }", -ENOTSUP, "bit field" },
        { "{ int a[2][2]; }", -ENOTSUP, "array of arrays" },
        { "{ char a[NAME_SIZE]; }", -ENOTSUP, "length of 'a'" },
        { "{ char a[4 * 4]; }", -ENOTSUP, "length of 'a'" },
        { "{ char a[0]; }", -EINVAL, "length of 'a'" },
        { "{ char a[99999999999999999999]; }", -EINVAL, "length of 'a'" },
        { "{ uint64_t a[30000]; }", -EINVAL, "more bytes" },
        { "{ long double x; }", -ENOTSUP, "long double" },
        { "{ unsigned double x; }", -EINVAL, "type of a field" },
        { "{ long long long x; }", -EINVAL, "type of a field" },
        { "{ int; }", -EINVAL, "name is expected" },
        { "{ int x }", -ENOTSUP, "what follows 'x'" },
        { "{ int x;", -EINVAL, "braces" },
        { "int x; }", -EINVAL, "braces" },
        { "{ int x; } packed", -EINVAL, "more after" },
        { "{ int x; int x; }", -EINVAL, "two fields 'x'" },
        { "{ char t[]; int x; }", -EINVAL, "tail" },
        { "{ int x[; }", -ENOTSUP, "length of 'x'" },
        { "{ 7 }", -EINVAL, "type is expected" },
        { "{ int32_t "
          "a23456789012345678901234567890123456789012345678901234567890123456789; }",
          -ENOTSUP, "too long" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct payload_layout *layout = NULL;
        char error[PAYLOAD_ERROR_TEXT];
        int r = payload_layout_parse(bad[i].text, &layout, error);

        if (r != bad[i].error || layout || !strstr(error, bad[i].says))
            fail_msg("%s: %d, '%s'", bad[i].text, r, error);
        if (!strstr(error, ". "))
            fail_msg("%s: does not say what to do: '%s'", bad[i].text, error);
    }
}

static void test_layout_has_limits(void **state)
{
    char text[PAYLOAD_FIELDS_MAX * 8 + 64] = "{", error[PAYLOAD_ERROR_TEXT];
    struct payload_layout *layout = NULL;
    size_t used = 1;

    (void)state;
    for (int i = 0; i <= PAYLOAD_FIELDS_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "int a%d;", i);
    snprintf(text + used, sizeof(text) - used, "}");
    assert_int_equal(payload_layout_parse(text, &layout, error), -ENOTSUP);
    assert_non_null(strstr(error, "more than 128 fields"));
}

static void test_registered_size_must_agree(void **state)
{
    char error[PAYLOAD_ERROR_TEXT];
    struct payload_layout *l = layout_of("{ char a; int64_t b; }");

    (void)state;
    assert_int_equal(payload_layout_check(l, 16, false, error), 0);
    assert_int_equal(payload_layout_check(l, 9, false, error), -EBADMSG); /* packed */
    assert_non_null(strstr(error, "16 bytes"));
    assert_non_null(strstr(error, "with 9"));
    assert_int_equal(payload_layout_check(l, 16, true, error), -EBADMSG);
    payload_layout_free(l);

    l = layout_of(text_of_gap);
    assert_int_equal(payload_layout_check(l, 16, true, error), 0);
    assert_int_equal(payload_layout_check(l, 10, true, error), 0);
    assert_int_equal(payload_layout_check(l, 12, true, error), -EBADMSG);
    payload_layout_free(l);
}

/* Fills a struct of text `body` with up to 12 words; the result of payload_fill(). */
static int fill(const char *body, uint32_t size_min, void **ret, size_t *ret_size, char *error, ...)
{
    struct payload_layout *l = layout_of(body);
    char *words[12], *word;
    va_list args;
    size_t n = 0;
    int r;

    va_start(args, error);
    while ((word = va_arg(args, char *)) && n < 12)
        words[n++] = word;
    va_end(args);
    r = payload_fill(l, words, n, size_min, ret, ret_size, error);
    payload_layout_free(l);
    return r;
}

static void test_fill_values(void **state)
{
    char error[PAYLOAD_ERROR_TEXT];
    struct plain *p = NULL;
    struct mixed *m = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(fill(text_of_plain, 0, (void **)&p, &size, error, "amount=-3", "weight=0x10",
                          "name=fifteen letters", "n=4294967295", "x=-1.5e3", NULL),
                     0);
    assert_int_equal(size, sizeof(*p));
    assert_int_equal(p->amount, -3);
    assert_int_equal(p->weight, 16);
    assert_string_equal(p->name, "fifteen letters");
    assert_int_equal(p->n, UINT32_MAX);
    assert_true(p->x == -1500.0);
    free(p);

    assert_int_equal(fill(text_of_mixed, 0, (void **)&m, &size, error, "a=255", "b=-32768",
                          "c==", "d=0xffffffffffffffff", "e=true", "f=0.5", "g=-0x8000000000000000",
                          "h=1,2", "i=-128", NULL),
                     0);
    assert_int_equal(m->a, 255);
    assert_int_equal(m->b, -32768);
    assert_int_equal(m->c, '=');
    assert_true(m->d == UINT64_MAX);
    assert_true(m->e);
    assert_true(m->f == 0.5f);
    assert_true(m->g == INT64_MIN);
    assert_int_equal(m->h[0], 1);
    assert_int_equal(m->h[1], 2);
    assert_int_equal(m->h[2], 0);
    assert_int_equal(m->i, -128);
    free(m);
}

static void test_fill_tails(void **state)
{
    char error[PAYLOAD_ERROR_TEXT];
    struct numbers *n = NULL;
    struct tailed *t = NULL;
    struct gap *g = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(
        fill(text_of_tailed, 4, (void **)&t, &size, error, "text=hello, world", "number=7", NULL),
        0);
    assert_int_equal(size, 4 + 12);
    assert_int_equal(t->number, 7);
    assert_memory_equal(t->text, "hello, world", 12);
    free(t);

    assert_int_equal(fill(text_of_tailed, 4, (void **)&t, &size, error, "number=7", NULL), 0);
    assert_int_equal(size, 4); /* an empty tail */
    free(t);

    assert_int_equal(fill(text_of_gap, 16, (void **)&g, &size, error, "text=ab", NULL), 0);
    assert_int_equal(size, 16); /* not less than the service takes as its size */
    assert_memory_equal(g->text, "ab", 2);
    free(g);

    assert_int_equal(fill(text_of_numbers, 4, (void **)&n, &size, error, "all=1,0x2,3", NULL), 0);
    assert_int_equal(size, offsetof(struct numbers, all) + 12);
    assert_int_equal(n->all[2], 3);
    free(n);
}

static void test_fill_refuses(void **state)
{
    static const struct {
        const char *body, *word;
        int error;
        const char *says;
    } bad[] = {
        { text_of_plain, "ammount=1", -ENOENT, "Did you mean amount" },
        { text_of_plain, "ammount=1", -ENOENT, "weight (int64_t), name (char[16])" },
        { "", "x=1", -ENOENT, "has none" },
        { text_of_plain, "amount", -EINVAL, "FIELD=VALUE" },
        { text_of_plain, "=1", -EINVAL, "FIELD=VALUE" },
        { text_of_plain, "amount=", -EINVAL, "not a value of amount" },
        { text_of_plain, "amount=1x", -EINVAL, "not a value of amount" },
        { text_of_plain, "amount= 1", -EINVAL, "not a value of amount" },
        { text_of_plain, "amount=--1", -EINVAL, "not a value of amount" },
        { text_of_plain, "amount=0x", -EINVAL, "not a value of amount" },
        { text_of_plain, "amount=9223372036854775808", -ERANGE,
          "from -9223372036854775808 to 9223372036854775807" },
        { text_of_plain, "amount=99999999999999999999999", -ERANGE, "out of the range" },
        { text_of_plain, "n=-1", -ERANGE, "from 0 to 4294967295" },
        { text_of_plain, "n=4294967296", -ERANGE, "out of the range" },
        { text_of_plain, "name=sixteen letters!", -ERANGE, "Write 15 at most" },
        { text_of_plain, "x=1,5", -EINVAL, "not a value of x" },
        { text_of_plain, "x=1e999", -ERANGE, "out of the range" },
        { text_of_mixed, "f=1e39", -ERANGE, "float" },
        { text_of_mixed, "a=256", -ERANGE, "from 0 to 255" },
        { text_of_mixed, "i=-129", -ERANGE, "from -128 to 127" },
        { text_of_mixed, "c=no", -EINVAL, "one character" },
        { text_of_mixed, "e=maybe", -EINVAL, "true or false" },
        { text_of_mixed, "h=1,2,3,4", -ERANGE, "more values for h than its 3" },
        { text_of_mixed, "h=1,,3", -EINVAL, "not a value of h" },
        { "{ odeon_ref who; }", "who=17", -EINVAL, "SLOT.GENERATION" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char error[PAYLOAD_ERROR_TEXT];
        void *payload = NULL;
        size_t size;
        int r = fill(bad[i].body, 0, &payload, &size, error, bad[i].word, NULL);

        if (r != bad[i].error || payload || !strstr(error, bad[i].says))
            fail_msg("%s: %d, '%s'", bad[i].word, r, error);
    }
}

static void test_fill_refuses_twice_and_too_much(void **state)
{
    char error[PAYLOAD_ERROR_TEXT];
    void *payload = NULL;
    char *word;
    size_t size;

    (void)state;
    assert_int_equal(fill(text_of_plain, 0, &payload, &size, error, "n=1", "n=2", NULL), -EEXIST);
    assert_int_equal(fill(text_of_plain, PAYLOAD_BYTES_MAX + 1, &payload, &size, error, NULL),
                     -EMSGSIZE);

    word = malloc(PAYLOAD_BYTES_MAX + 16);
    assert_non_null(word);
    memcpy(word, "text=", 5);
    memset(word + 5, 'a', PAYLOAD_BYTES_MAX);
    word[5 + PAYLOAD_BYTES_MAX - 4] = '\0'; /* just fits */
    assert_int_equal(fill(text_of_tailed, 4, &payload, &size, error, word, NULL), 0);
    assert_int_equal(size, PAYLOAD_BYTES_MAX);
    free(payload);
    payload = NULL;
    word[5 + PAYLOAD_BYTES_MAX - 4] = 'a';
    word[5 + PAYLOAD_BYTES_MAX - 3] = '\0';
    assert_int_equal(fill(text_of_tailed, 4, &payload, &size, error, word, NULL), -EMSGSIZE);
    assert_null(payload);
    free(word);
}

static void test_hex(void **state)
{
    char *good[] = { (char *)"0x0102", (char *)"fFee" }, *odd[] = { (char *)"123" };
    char *bad[] = { (char *)"0g" }, *many[] = { (char *)"0102030405" };
    char error[PAYLOAD_ERROR_TEXT];
    uint8_t bytes[4];
    size_t size = 0;

    (void)state;
    assert_int_equal(payload_parse_hex(good, 2, bytes, sizeof(bytes), &size, error), 0);
    assert_int_equal(size, 4);
    assert_memory_equal(bytes, "\x01\x02\xff\xee", 4);
    assert_int_equal(payload_parse_hex(odd, 1, bytes, sizeof(bytes), &size, error), -EINVAL);
    assert_int_equal(payload_parse_hex(bad, 1, bytes, sizeof(bytes), &size, error), -EINVAL);
    assert_int_equal(payload_parse_hex(many, 1, bytes, sizeof(bytes), &size, error), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout_is_the_compilers),
        cmocka_unit_test(test_layout_refuses),
        cmocka_unit_test(test_layout_has_limits),
        cmocka_unit_test(test_registered_size_must_agree),
        cmocka_unit_test(test_fill_values),
        cmocka_unit_test(test_fill_tails),
        cmocka_unit_test(test_fill_refuses),
        cmocka_unit_test(test_fill_refuses_twice_and_too_much),
        cmocka_unit_test(test_hex),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
