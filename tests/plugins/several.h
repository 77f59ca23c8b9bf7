/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the plugin `several`, which uses every macro and has two source files, so that the
 * tests can look at what the macros make of it. */
#ifndef SEVERAL_H
#define SEVERAL_H

#include <stdbool.h>

#include <odeon/message.h>
#include <odeon/monitor.h>

#define SEVERAL_LABEL_SIZE 16

ODEON_MESSAGE(several_point, 3, {
    int32_t x, y;
    char label[SEVERAL_LABEL_SIZE];
});
ODEON_MESSAGE(several_text, 1, {
    uint32_t line, column;
    char text[];
});
ODEON_MESSAGE(several_tight, 1, {
    uint16_t at;
    char text[];
});
ODEON_MESSAGE(several_loose, 1, {
    uint64_t at; /* a comment with [] in it */
    char text[];
});
ODEON_MESSAGE_TAIL(several_pixels, 1, pixels, {
    uint32_t width;
    uint8_t pixels[];
});
ODEON_MESSAGE(several_array, 1, { uint64_t words[4]; });
ODEON_SIGNAL(several_tick, 2);
ODEON_SIGNAL(several_stop, 1);

ODEON_INTERFACE(left, several_tick, several_point, several_text, several_stop);
ODEON_INTERFACE(right, several_point, several_tight, several_loose);
ODEON_INTERFACE(bare, several_tick);
ODEON_INTERFACE(filler, several_point, several_pixels);
ODEON_INTERFACE(asker, several_point);
ODEON_INTERFACE(watcher, several_point, odeon_down);
ODEON_INTERFACE(door, several_point, several_tick);

struct left_args {
    int64_t start;
};

#endif
