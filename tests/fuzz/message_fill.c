/* SPDX-License-Identifier: Apache-2.0 */
/* See message_fill.h. The input says of each field whether it is there; of a oneof, which member;
 * long lists and deep nesting end by themselves, as the input does. */
#include "tests/fuzz/message_fill.h"

enum { LIST_MAX = 4, BYTES_MAX = 300, DEPTH_MAX = 4 };

static ProtobufCMessage *fill(const ProtobufCMessageDescriptor *descriptor, struct input *input,
                              int depth);

static void *zeroed(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);

    FUZZ_EXPECT(memory);
    return memory;
}

static char *make_text(struct input *input)
{
    struct input part = input_part(input, input_u8(input) % 80);
    char *text = zeroed(part.left, 1);

    memcpy(text, part.data, part.left);
    for (size_t i = 0; i < part.left; i++)
        if (text[i] == '\0')
            text[i] = '0';
    return text;
}

/* Small numbers, those near the bounds, and any. */
static uint64_t make_number(struct input *input)
{
    uint8_t how = input_u8(input);

    if (how < 128)
        return how % 16;
    if (how < 192)
        return (UINT64_C(1) << (how % 64)) - (how & 1);
    return input_u64(input);
}

static size_t element_size(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

static void fill_element(const ProtobufCFieldDescriptor *field, void *at, struct input *input,
                         int depth)
{
    ProtobufCBinaryData bytes;
    struct input part;
    uint64_t number;

    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        *(char **)at = make_text(input);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)at = fill(field->descriptor, input, depth + 1);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        part = input_part(input, input_u16(input) % BYTES_MAX);
        bytes = (ProtobufCBinaryData){ .len = part.left, .data = zeroed(part.left, 1) };
        memcpy(bytes.data, part.data, part.left);
        *(ProtobufCBinaryData *)at = bytes;
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = input_u8(input) & 1;
        break;
    default:
        number = make_number(input);
        memcpy(at, &number, element_size(field));
        break;
    }
}

static void fill_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                       struct input *input, int depth)
{
    uint8_t *at = (uint8_t *)message + field->offset;
    size_t n;

    if (field->type == PROTOBUF_C_TYPE_MESSAGE && depth >= DEPTH_MAX)
        return;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        fill_element(field, at, input, depth);
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            *(uint32_t *)(void *)((uint8_t *)message + field->quantifier_offset) = field->id;
        return;
    }
    n = input_u8(input) % (LIST_MAX + 1);
    if (n == 0)
        return;
    uint8_t *list = zeroed(n, element_size(field));
    for (size_t i = 0; i < n; i++)
        fill_element(field, list + i * element_size(field), input, depth);
    *(void **)(void *)at = list;
    *(size_t *)(void *)((uint8_t *)message + field->quantifier_offset) = n;
}

static ProtobufCMessage *fill(const ProtobufCMessageDescriptor *descriptor, struct input *input,
                              int depth)
{
    ProtobufCMessage *message = zeroed(1, descriptor->sizeof_message);
    unsigned n_oneof = 0, chosen;

    protobuf_c_message_init(descriptor, message);
    for (unsigned i = 0; i < descriptor->n_fields; i++)
        n_oneof += (descriptor->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    chosen = n_oneof ? input_u8(input) % (n_oneof + 1) : 0; /* n_oneof: none of them */
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        bool wanted;

        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            wanted = chosen-- == 0;
        else
            wanted = input_u8(input) & 1;
        if (wanted)
            fill_field(message, field, input, depth);
    }
    return message;
}

ProtobufCMessage *message_fill(const ProtobufCMessageDescriptor *descriptor, struct input *input)
{
    return fill(descriptor, input, 0);
}
