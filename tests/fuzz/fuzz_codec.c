/* SPDX-License-Identifier: Apache-2.0 */
/* The codec of payloads: the input is a message's `fields`, what it is registered with, words to
 * fill it from, and bytes to print.
 *
 * Whatever comes in, a call ends with a result or with an error that says what to do; what is
 * printed is bounded and harmless to a terminal; and numbers that were printed and filled in again
 * print the same.
 */
#include <odeon/codec.h>

#include "tests/fuzz/fuzz.h"

enum { WORDS_MAX = 8, TEXT_MAX = 2048 };

static void check_refusal(int r)
{
    FUZZ_EXPECT(r < 0 && strstr(odeon_error_text(), ". "));
}

/* A line of text up to TEXT_MAX bytes, ended by a line feed of the input. */
static char *take_line(struct input *input)
{
    const uint8_t *end = input->left ? memchr(input->data, '\n', input->left) : NULL;
    size_t n = end ? (size_t)(end - input->data) : input->left;
    struct input line = input_part(input, n < TEXT_MAX ? n : TEXT_MAX);
    char *text = malloc(line.left + 1);

    FUZZ_EXPECT(text);
    memcpy(text, line.data, line.left);
    text[line.left] = '\0';
    (void)input_part(input, end && n <= TEXT_MAX ? 1 : 0);
    return text;
}

static void check_text(const char *text, enum odeon_payload_form form)
{
    size_t n = strlen(text), quotes = 0;

    FUZZ_EXPECT(n < ODEON_PAYLOAD_TEXT_MAX);
    for (size_t i = 0; i < n; i++) {
        FUZZ_EXPECT((uint8_t)text[i] >= 0x20 && text[i] != 0x7f);
        FUZZ_EXPECT(form == ODEON_PAYLOAD_JSON || (uint8_t)text[i] < 0x80);
        if (quotes % 2 == 1 && text[i] == '\\')
            i++;
        else
            quotes += text[i] == '"';
    }
    FUZZ_EXPECT(quotes % 2 == 0);
}

static char *print(const struct odeon_layout *layout, const void *payload, size_t size,
                   enum odeon_payload_form form)
{
    char *text = NULL;
    int r = odeon_payload_print(layout, payload, size, form, &text);

    if (r < 0) {
        check_refusal(r);
        FUZZ_EXPECT(!text);
        return NULL;
    }
    check_text(text, form);
    return text;
}

static bool has_characters(const struct odeon_layout *layout)
{
    struct odeon_field field = { .struct_size = sizeof(field) };

    for (size_t i = 0; odeon_layout_field(layout, i, &field) == 0; i++)
        if (field.kind == ODEON_FIELD_CHAR)
            return true;
    return false;
}

/* Words of numbers alone are a command line that gives the same words again. */
static void check_round_trip(const struct odeon_layout *layout, const char *text, size_t size)
{
    char *words[ODEON_LAYOUT_FIELDS_MAX], *copy = strdup(text), *save = NULL, *again;
    size_t n = 0, filled_size;
    void *filled = NULL;

    FUZZ_EXPECT(copy);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        words[n++] = word;
    FUZZ_EXPECT(n == odeon_layout_n(layout));
    FUZZ_EXPECT(odeon_payload_fill(layout, words, n, 0, &filled, &filled_size) == 0);
    FUZZ_EXPECT(filled_size == size);
    again = print(layout, filled, filled_size, ODEON_PAYLOAD_WORDS);
    FUZZ_EXPECT(again && strcmp(again, text) == 0);
    odeon_payload_free(again);
    odeon_payload_free(filled);
    free(copy);
}

static void print_both(const struct odeon_layout *layout, const void *payload, size_t size)
{
    char *words = print(layout, payload, size, ODEON_PAYLOAD_WORDS);
    char *json = print(layout, payload, size, ODEON_PAYLOAD_JSON);

    FUZZ_EXPECT(!words == !json);
    if (words && !has_characters(layout))
        check_round_trip(layout, words, size);
    odeon_payload_free(words);
    odeon_payload_free(json);
}

static void fill_and_print(const struct odeon_layout *layout, struct input *input, uint32_t least)
{
    size_t n = input_u8(input) % (WORDS_MAX + 1), size = 0;
    char *words[WORDS_MAX];
    void *payload = NULL;
    int r;

    for (size_t i = 0; i < n; i++)
        words[i] = take_line(input);
    r = odeon_payload_fill(layout, words, n, least, &payload, &size);
    if (r < 0) {
        check_refusal(r);
        FUZZ_EXPECT(!payload);
    } else {
        FUZZ_EXPECT(size >= least && size <= ODEON_PAYLOAD_BYTES_MAX);
        print_both(layout, payload, size);
    }
    odeon_payload_free(payload);
    for (size_t i = 0; i < n; i++)
        free(words[i]);
}

/* The rest of the input, in memory of its size alone: a byte too far is seen. */
static void print_bytes(const struct odeon_layout *layout, struct input *input, size_t size)
{
    uint8_t *payload = calloc(1, size ? size : 1);
    struct input part = input_part(input, size);

    FUZZ_EXPECT(payload);
    memcpy(payload, part.data, part.left);
    print_both(layout, payload, size);
    free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    uint8_t choice = input_u8(&input);
    uint32_t registered = input_u16(&input);
    struct odeon_layout *layout = NULL;
    char *fields = take_line(&input), described[64];
    int r = odeon_layout_parse(fields, &layout);

    if (r < 0) {
        check_refusal(r);
        FUZZ_EXPECT(!layout);
        free(fields);
        return 0;
    }
    FUZZ_EXPECT(odeon_layout_size(layout) <= ODEON_PAYLOAD_BYTES_MAX);
    odeon_layout_describe(layout, described, sizeof(described));
    if (choice & 1) /* mostly as a service that is right would say it */
        registered = (uint32_t)odeon_layout_size(layout);
    r = odeon_layout_check(layout, registered, choice & 2);
    if (r < 0)
        check_refusal(r);
    fill_and_print(layout, &input, registered);
    print_bytes(layout, &input, choice & 4 ? input.left : odeon_layout_size(layout));
    odeon_layout_free(layout);
    free(fields);
    return 0;
}
