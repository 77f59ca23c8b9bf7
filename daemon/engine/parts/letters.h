/* SPDX-License-Identifier: Apache-2.0 */
/* Where some of the dead letters lie (stuck/letter_marks.h). */
#pragma once

#include <stdint.h>

enum { LETTER_MARKS = 256, LETTER_MARKS_STRIDE = 4096 };

struct letter_mark {
    uint64_t id, at;
};
/* Control thread. */
struct letter_marks {
    uint64_t stride; /* 0: there are none */
    uint64_t next;   /* from here on in the buffer a letter gets a mark */
    uint64_t looked; /* letters that were looked at, since the start */
    uint32_t n;
    struct letter_mark list[LETTER_MARKS];
};
