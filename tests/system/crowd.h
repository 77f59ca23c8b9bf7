/* SPDX-License-Identifier: Apache-2.0 */
/* Many alike: each sends what it gets back to whoever sent it, but for one message that it never
 * returns from. */
#pragma once

#include <odeon/message.h>

ODEON_MESSAGE(crowd_number, 1, { uint64_t n; });
ODEON_MESSAGE(crowd_hang, 1, { uint64_t nothing; });
ODEON_INTERFACE(crowd_echo, crowd_number, crowd_hang);
