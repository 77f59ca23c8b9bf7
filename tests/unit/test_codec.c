/* SPDX-License-Identifier: Apache-2.0 */
/* <odeon/codec.h>: the layout must be the compiler's, what is printed must be what was filled, and
 * whatever cannot be right must be refused by name. */
#include <odeon/codec.h>

#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

static struct odeon_layout *layout_of(const char *text)
{
    struct odeon_layout *layout = NULL;
    int r = odeon_layout_parse(text, &layout);

    if (r)
        fail_msg("%s: %s", text, odeon_error_text());
    return layout;
}

static struct odeon_field field_of(const struct odeon_layout *layout, const char *name)
{
    struct odeon_field field = { .struct_size = sizeof(field) };

    for (size_t i = 0; odeon_layout_field(layout, i, &field) == 0; i++)
        if (!strcmp(field.name, name))
            return field;
    fail_msg("no field %s", name);
    return field;
}

#define CHECK_OFFSET(layout, type, field)                                                          \
    assert_int_equal(field_of(layout, #field).offset, offsetof(struct type, field))

static void test_layout_is_the_compilers(void **state)
{
    struct odeon_layout *l = layout_of(text_of_plain);

    (void)state;
    assert_int_equal(odeon_layout_size(l), sizeof(struct plain));
    CHECK_OFFSET(l, plain, weight);
    CHECK_OFFSET(l, plain, name);
    CHECK_OFFSET(l, plain, x);
    odeon_layout_free(l);

    l = layout_of(text_of_mixed);
    assert_int_equal(odeon_layout_size(l), sizeof(struct mixed));
    CHECK_OFFSET(l, mixed, b);
    CHECK_OFFSET(l, mixed, d);
    CHECK_OFFSET(l, mixed, f);
    CHECK_OFFSET(l, mixed, g);
    CHECK_OFFSET(l, mixed, h);
    CHECK_OFFSET(l, mixed, i);
    odeon_layout_free(l);

    l = layout_of(text_of_gap);
    assert_int_equal(field_of(l, "text").count, 0);
    assert_int_equal(odeon_layout_size(l), sizeof(struct gap));
    CHECK_OFFSET(l, gap, text);
    odeon_layout_free(l);

    l = layout_of(text_of_numbers);
    CHECK_OFFSET(l, numbers, all);
    odeon_layout_free(l);

    l = layout_of("{ const int32_t a[0x10]; odeon_ref who; }");
    assert_int_equal(odeon_layout_size(l), 72);
    odeon_layout_free(l);
    l = layout_of("");
    assert_int_equal(odeon_layout_size(l), 0);
    odeon_layout_free(l);
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
        struct odeon_layout *layout = NULL;
        int r = odeon_layout_parse(bad[i].text, &layout);

        if (r != bad[i].error || layout || !strstr(odeon_error_text(), bad[i].says))
            fail_msg("%s: %d, '%s'", bad[i].text, r, odeon_error_text());
        if (!strstr(odeon_error_text(), ". "))
            fail_msg("%s: does not say what to do: '%s'", bad[i].text, odeon_error_text());
    }
}

static void test_layout_has_limits(void **state)
{
    char text[ODEON_LAYOUT_FIELDS_MAX * 8 + 64] = "{";
    struct odeon_layout *layout = NULL;
    size_t used = 1;

    (void)state;
    for (int i = 0; i <= ODEON_LAYOUT_FIELDS_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "int a%d;", i);
    snprintf(text + used, sizeof(text) - used, "}");
    assert_int_equal(odeon_layout_parse(text, &layout), -ENOTSUP);
    assert_non_null(strstr(odeon_error_text(), "more than 128 fields"));
}

static void test_registered_size_must_agree(void **state)
{
    struct odeon_layout *l = layout_of("{ char a; int64_t b; }");

    (void)state;
    assert_int_equal(odeon_layout_check(l, 16, false), 0);
    assert_int_equal(odeon_layout_check(l, 9, false), -EBADMSG); /* packed */
    assert_non_null(strstr(odeon_error_text(), "16 bytes"));
    assert_non_null(strstr(odeon_error_text(), "with 9"));
    assert_int_equal(odeon_layout_check(l, 16, true), -EBADMSG);
    odeon_layout_free(l);

    l = layout_of(text_of_gap);
    assert_int_equal(odeon_layout_check(l, 16, true), 0);
    assert_int_equal(odeon_layout_check(l, 10, true), 0);
    assert_int_equal(odeon_layout_check(l, 12, true), -EBADMSG);
    odeon_layout_free(l);
}

/* Fills a struct of text `body` with up to 12 words; the result of odeon_payload_fill(). */
static int fill(const char *body, uint32_t size_min, void **ret, size_t *ret_size, ...)
{
    struct odeon_layout *l = layout_of(body);
    char *words[12], *word;
    va_list args;
    size_t n = 0;
    int r;

    va_start(args, ret_size);
    while ((word = va_arg(args, char *)) && n < 12)
        words[n++] = word;
    va_end(args);
    r = odeon_payload_fill(l, words, n, size_min, ret, ret_size);
    odeon_layout_free(l);
    return r;
}

static void test_fill_values(void **state)
{
    struct plain *p = NULL;
    struct mixed *m = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(fill(text_of_plain, 0, (void **)&p, &size, "amount=-3", "weight=0x10",
                          "name=fifteen letters", "n=4294967295", "x=-1.5e3", NULL),
                     0);
    assert_int_equal(size, sizeof(*p));
    assert_int_equal(p->amount, -3);
    assert_int_equal(p->weight, 16);
    assert_string_equal(p->name, "fifteen letters");
    assert_int_equal(p->n, UINT32_MAX);
    assert_true(p->x == -1500.0);
    odeon_payload_free(p);

    assert_int_equal(fill(text_of_mixed, 0, (void **)&m, &size, "a=255", "b=-32768",
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
    odeon_payload_free(m);
}

static void test_fill_tails(void **state)
{
    struct numbers *n = NULL;
    struct tailed *t = NULL;
    struct gap *g = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(
        fill(text_of_tailed, 4, (void **)&t, &size, "text=hello, world", "number=7", NULL), 0);
    assert_int_equal(size, 4 + 12);
    assert_int_equal(t->number, 7);
    assert_memory_equal(t->text, "hello, world", 12);
    odeon_payload_free(t);

    assert_int_equal(fill(text_of_tailed, 4, (void **)&t, &size, "number=7", NULL), 0);
    assert_int_equal(size, 4); /* an empty tail */
    odeon_payload_free(t);

    assert_int_equal(fill(text_of_gap, 16, (void **)&g, &size, "text=ab", NULL), 0);
    assert_int_equal(size, 16); /* not less than the service takes as its size */
    assert_memory_equal(g->text, "ab", 2);
    odeon_payload_free(g);

    assert_int_equal(fill(text_of_numbers, 4, (void **)&n, &size, "all=1,0x2,3", NULL), 0);
    assert_int_equal(size, offsetof(struct numbers, all) + 12);
    assert_int_equal(n->all[2], 3);
    odeon_payload_free(n);
}

static void test_fill_refuses(void **state)
{
    static const struct {
        const char *body, *word;
        int error;
        const char *says;
    } bad[] = {
        { text_of_plain, "ammount=1", -ENOENT, "no field 'ammount'" },
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
        { "{ odeon_ref who; }", "who=17", -EINVAL, "EXECUTOR.SLOT.GENERATION" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        void *payload = NULL;
        size_t size;
        int r = fill(bad[i].body, 0, &payload, &size, bad[i].word, NULL);

        if (r != bad[i].error || payload || !strstr(odeon_error_text(), bad[i].says))
            fail_msg("%s: %d, '%s'", bad[i].word, r, odeon_error_text());
    }
}

static void test_fill_refuses_twice_and_too_much(void **state)
{
    void *payload = NULL;
    char *word;
    size_t size;

    (void)state;
    assert_int_equal(fill(text_of_plain, 0, &payload, &size, "n=1", "n=2", NULL), -EEXIST);
    assert_int_equal(fill(text_of_plain, ODEON_PAYLOAD_BYTES_MAX + 1, &payload, &size, NULL),
                     -EMSGSIZE);

    word = malloc(ODEON_PAYLOAD_BYTES_MAX + 16);
    assert_non_null(word);
    memcpy(word, "text=", 5);
    memset(word + 5, 'a', ODEON_PAYLOAD_BYTES_MAX);
    word[5 + ODEON_PAYLOAD_BYTES_MAX - 4] = '\0'; /* just fits */
    assert_int_equal(fill(text_of_tailed, 4, &payload, &size, word, NULL), 0);
    assert_int_equal(size, ODEON_PAYLOAD_BYTES_MAX);
    odeon_payload_free(payload);
    payload = NULL;
    word[5 + ODEON_PAYLOAD_BYTES_MAX - 4] = 'a';
    word[5 + ODEON_PAYLOAD_BYTES_MAX - 3] = '\0';
    assert_int_equal(fill(text_of_tailed, 4, &payload, &size, word, NULL), -EMSGSIZE);
    assert_null(payload);
    free(word);
}

static void test_hex(void **state)
{
    char *good[] = { (char *)"0x0102", (char *)"fFee" }, *odd[] = { (char *)"123" };
    /* an odd number of digits, and behind its end what would make it even */
    char odd_and_more[] = "123\0"
                          "456";
    char *beyond[] = { odd_and_more }, *large[] = { (char *)"0XaAAfFA" };
    char *bad[] = { (char *)"0g" }, *many[] = { (char *)"0102030405" };
    uint8_t bytes[4];
    size_t size = 0;

    (void)state;
    assert_int_equal(odeon_payload_parse_hex(good, 2, bytes, sizeof(bytes), &size), 0);
    assert_int_equal(size, 4);
    assert_memory_equal(bytes, "\x01\x02\xff\xee", 4);
    assert_int_equal(odeon_payload_parse_hex(large, 1, bytes, sizeof(bytes), &size), 0);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "\xaa\xaf\xfa", 3);
    assert_int_equal(odeon_payload_parse_hex(beyond, 1, bytes, sizeof(bytes), &size), -EINVAL);
    assert_int_equal(odeon_payload_parse_hex(odd, 1, bytes, sizeof(bytes), &size), -EINVAL);
    assert_int_equal(odeon_payload_parse_hex(bad, 1, bytes, sizeof(bytes), &size), -EINVAL);
    assert_int_equal(odeon_payload_parse_hex(many, 1, bytes, sizeof(bytes), &size), -E2BIG);
}

static void check_print(const char *body, const void *payload, size_t size, const char *words,
                        const char *json)
{
    struct odeon_layout *l = layout_of(body);
    char *text = NULL;

    assert_int_equal(odeon_payload_print(l, payload, size, ODEON_PAYLOAD_WORDS, &text), 0);
    assert_string_equal(text, words);
    odeon_payload_free(text);
    assert_int_equal(odeon_payload_print(l, payload, size, ODEON_PAYLOAD_JSON, &text), 0);
    assert_string_equal(text, json);
    odeon_payload_free(text);
    odeon_layout_free(l);
}

static void test_print(void **state)
{
    const struct plain plain = { INT64_MIN, -1, "two words", UINT32_MAX, 0.1 };
    const struct mixed mixed = { .a = 255,
                                 .b = -2,
                                 .c = '=',
                                 .d = UINT64_MAX,
                                 .e = true,
                                 .f = 1.1f,
                                 .g = 7,
                                 .h = { 1, 2, 3 },
                                 .i = -128 };
    const odeon_ref who = odeon_ref_make(1, 7, 5);
    uint8_t tail[] = { 7, 0, 0, 0, '"', '\\', '\n', 0x1b, 0xff, 0xc3, 0xa4 };

    (void)state;
    check_print(text_of_plain, &plain, sizeof(plain),
                "amount=-9223372036854775808 weight=-1 name=\"two words\" n=4294967295 x=0.1",
                "\"amount\":-9223372036854775808,\"weight\":-1,\"name\":\"two words\","
                "\"n\":4294967295,\"x\":0.1");
    check_print(text_of_mixed, &mixed, sizeof(mixed),
                "a=255 b=-2 c=\"=\" d=18446744073709551615 e=true f=1.1 g=7 h=1,2,3 i=-128",
                "\"a\":255,\"b\":-2,\"c\":\"=\",\"d\":18446744073709551615,\"e\":true,"
                "\"f\":1.1,\"g\":7,\"h\":[1,2,3],\"i\":-128");
    check_print(text_of_tailed, tail, sizeof(tail),
                "number=7 text=\"\\\"\\\\\\x0a\\x1b\\xff\\xc3\\xa4\"",
                "\"number\":7,\"text\":\"\\\"\\\\\\n\\u001b\\ufffd\xc3\xa4\"");
    check_print("{ char text[4]; }", "a\x7f~", 4, "text=\"a\\x7f~\"", "\"text\":\"a\\u007f~\"");
    /* as many digits as there can be */
    check_print("{ double x; }", &(double){ 0.1 + 0.2 }, 8, "x=0.30000000000000004",
                "\"x\":0.30000000000000004");
    check_print("{ float x; }", &(float){ 0.100000024f }, 4, "x=0.100000024", "\"x\":0.100000024");
    check_print(text_of_tailed, tail, 4, "number=7 text=", "\"number\":7,\"text\":\"\"");
    check_print("{ odeon_ref who; }", &who, sizeof(who), "who=1.7.5", "\"who\":\"1.7.5\"");
    check_print("", NULL, 0, "", "");
}

static void test_print_what_json_has_no_number_for(void **state)
{
    const double odd[] = { 0.0 / 0.0, 1.0 / 0.0, -1.0 / 0.0, -0.0, 5e-324 };

    (void)state;
    check_print("{ double x[5]; }", odd, sizeof(odd), "x=nan,inf,-inf,-0,4.94065645841247e-324",
                "\"x\":[null,null,null,-0,4.94065645841247e-324]");
}

static void test_print_refuses(void **state)
{
    static const struct {
        const char *body;
        size_t size;
        int error;
        const char *says;
    } bad[] = {
        { text_of_plain, 0, -EBADMSG, "has 0 bytes" },
        { text_of_plain, sizeof(struct plain) - 1, -EBADMSG, "another type" },
        { text_of_plain, sizeof(struct plain) + 1, -EBADMSG, "another type" },
        { text_of_tailed, 3, -EBADMSG, "before the tail 4" },
        { text_of_numbers, 4 + 3, -EBADMSG, "elements 4 each" },
        { text_of_tailed, ODEON_PAYLOAD_BYTES_MAX + 1, -EMSGSIZE, "32768" },
    };
    static const uint8_t zeros[ODEON_PAYLOAD_BYTES_MAX + 1];
    struct odeon_layout *l;
    char *text = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int r;

        l = layout_of(bad[i].body);
        r = odeon_payload_print(l, zeros, bad[i].size, ODEON_PAYLOAD_JSON, &text);
        odeon_layout_free(l);
        if (r != bad[i].error || text || !strstr(odeon_error_text(), bad[i].says))
            fail_msg("%zu: %d, '%s'", i, r, odeon_error_text());
    }
    l = layout_of("");
    assert_int_equal(odeon_payload_print(l, NULL, 0, (enum odeon_payload_form)7, &text), -EINVAL);
    assert_int_equal(odeon_payload_print(NULL, NULL, 0, ODEON_PAYLOAD_JSON, &text), -EINVAL);
    assert_int_equal(odeon_payload_print(l, NULL, 0, ODEON_PAYLOAD_JSON, NULL), -EINVAL);
    assert_int_equal(odeon_payload_print(l, NULL, 1, ODEON_PAYLOAD_JSON, &text), -EINVAL);
    assert_int_equal(odeon_payload_fill(l, NULL, 1, 0, (void **)&text, &(size_t){ 0 }), -EINVAL);
    assert_int_equal(odeon_payload_fill(NULL, NULL, 0, 0, (void **)&text, &(size_t){ 0 }), -EINVAL);
    odeon_layout_free(l);
    assert_int_equal(odeon_layout_parse(NULL, &l), -EINVAL);
    assert_int_equal(odeon_layout_check(NULL, 0, 0), -EINVAL);
    assert_null(text);
}

/* The worst that can be printed stays within what the header says. */
static void test_print_is_bounded(void **state)
{
    static uint8_t payload[ODEON_PAYLOAD_BYTES_MAX];
    static const char *const bodies[] = {
        "{ char t[]; }",  "{ int8_t t[]; }", "{ bool t[]; }",
        "{ float t[]; }", "{ double t[]; }", "{ odeon_ref t[]; }"
    };
    static const uint8_t fills[] = { 0x01, 0x80, 0x81, 0xff, 0x5c };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        for (size_t j = 0; j < 2 * sizeof(fills); j++) {
            struct odeon_layout *l = layout_of(bodies[i]);
            char *text = NULL;

            memset(payload, fills[j / 2], sizeof(payload));
            assert_int_equal(odeon_payload_print(l, payload, sizeof(payload),
                                                 j % 2 ? ODEON_PAYLOAD_JSON : ODEON_PAYLOAD_WORDS,
                                                 &text),
                             0);
            assert_true(strlen(text) < ODEON_PAYLOAD_TEXT_MAX);
            odeon_payload_free(text);
            odeon_layout_free(l);
        }
}

static void test_fields_can_be_looked_at(void **state)
{
    struct odeon_field f = { .struct_size = sizeof(f) };
    struct odeon_layout *l = layout_of("{ uint16_t a[3]; char text[]; }");
    char text[16];

    (void)state;
    assert_int_equal(odeon_layout_n(l), 2);
    assert_int_equal(odeon_layout_size(l), 6);
    assert_int_equal(odeon_layout_field(l, 0, &f), 0);
    assert_string_equal(f.name, "a");
    assert_true(f.kind == ODEON_FIELD_UNSIGNED && f.size == 2 && f.count == 3 && f.is_array);
    assert_int_equal(odeon_layout_field(l, 1, &f), 0);
    assert_true(f.kind == ODEON_FIELD_CHAR && f.offset == 6 && f.count == 0 && f.is_array);
    assert_int_equal(odeon_layout_field(l, 2, &f), -ENOENT);
    f.struct_size = 4;
    assert_int_equal(odeon_layout_field(l, 0, &f), -EINVAL);
    assert_int_equal(odeon_layout_field(l, 0, NULL), -EINVAL);
    odeon_layout_describe(l, text, sizeof(text));
    assert_string_equal(text, "a (uint16_t[3])");
    odeon_layout_free(l);
}

/* A comma as decimal point, and letters that are not ASCII's, are other people's. */
static void test_locale_has_no_say(void **state)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE", "tr_TR.UTF-8" };
    const double x = 1.5;
    bool found = false;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
        found = setlocale(LC_ALL, names[i]) != NULL;
    if (!found)
        skip(); /* none of them is on this machine */
    check_print("{ double x; }", &x, sizeof(x), "x=1.5", "\"x\":1.5");
    setlocale(LC_ALL, "C");
}

static void test_references(void **state)
{
    static const char *const bad[] = { "",
                                       "7",
                                       ".",
                                       "7.",
                                       ".5",
                                       "7.5.",
                                       "7.5x",
                                       " 7.5",
                                       "+7.5",
                                       "-7.5",
                                       "4294967296.1",
                                       "1.4294967296",
                                       "16777216.1",
                                       "1.16777216.1",
                                       "256.7.5",
                                       "1.7.5.",
                                       "1.7.5.9",
                                       "1..5",
                                       "99999999999999999999.1" };
    char text[ODEON_REF_TEXT];
    odeon_ref ref = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(odeon_ref_parse(bad[i], &ref), -EINVAL);
    assert_int_equal(odeon_ref_parse(NULL, &ref), -EINVAL);
    assert_int_equal(ref, 1);
    assert_int_equal(odeon_ref_parse("7.5", &ref), 0);
    assert_string_equal(odeon_ref_format(ref, text), "1.7.5");
    assert_int_equal(odeon_ref_parse("1.7.5", &ref), 0);
    assert_int_equal(ref, odeon_ref_make(1, 7, 5));
    assert_int_equal(odeon_ref_parse("255.16777215.4294967295", &ref), 0);
    assert_int_equal(ref, UINT64_MAX);
    assert_string_equal(odeon_ref_format(ref, text), "255.16777215.4294967295");
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
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_what_json_has_no_number_for),
        cmocka_unit_test(test_print_refuses),
        cmocka_unit_test(test_print_is_bounded),
        cmocka_unit_test(test_fields_can_be_looked_at),
        cmocka_unit_test(test_locale_has_no_say),
        cmocka_unit_test(test_references),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
