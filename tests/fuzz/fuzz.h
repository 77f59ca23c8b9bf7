/* SPDX-License-Identifier: Apache-2.0 */
/* What every fuzzer needs: the input as a stream of numbers and bytes.
 *
 * One thread.  An input that has come to its end gives zeros: every prefix of an input is one, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer calls it with one input after the other; always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t left;
};

static inline uint64_t input_number(struct input *input, size_t bytes)
{
    uint64_t number = 0;
    size_t n = input->left < bytes ? input->left : bytes;

    memcpy(&number, input->data, n);
    input->data += n;
    input->left -= n;
    return number;
}
static inline uint8_t input_u8(struct input *input)
{
    return (uint8_t)input_number(input, 1);
}
static inline uint16_t input_u16(struct input *input)
{
    return (uint16_t)input_number(input, 2);
}
static inline uint32_t input_u32(struct input *input)
{
    return (uint32_t)input_number(input, 4);
}
static inline uint64_t input_u64(struct input *input)
{
    return input_number(input, 8);
}
/* At most `size` bytes of what is left. */
static inline struct input input_part(struct input *input, size_t size)
{
    struct input part = { input->data, input->left < size ? input->left : size };

    input->data += part.left;
    input->left -= part.left;
    return part;
}

/* A promise that was broken: libFuzzer keeps the input. */
#define FUZZ_EXPECT(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
