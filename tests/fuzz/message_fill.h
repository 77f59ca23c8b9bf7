/* SPDX-License-Identifier: Apache-2.0 */
/* Any message of the control protocol from an input: its fields by what protobuf-c knows of
 * them. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "tests/fuzz/fuzz.h"

/* A new message, to be freed with protobuf_c_message_free_unpacked(). */
ProtobufCMessage *message_fill(const ProtobufCMessageDescriptor *descriptor, struct input *input);
