/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the file of what actors do: layout and invariants are in proto/observed_layout.h. A memory
 * file of odeond's, which executors write, and which those who may observe get to read. It begins
 * at zero with odeond. Event loop thread only.
 */
#pragma once

#include "proto/observed_layout.h"

/* The descriptor, for executors; negative errno. */
int observed_file_make(void);
