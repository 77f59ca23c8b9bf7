/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal, by ncurses: frames onto it, keys from it. One at a time, the program's thread.
 *
 * screen.S1  Between screen_open() and screen_close() the terminal's modes are changed; they are
 *     set back by screen_close() and screen_leave(), and by nothing else: no signal may end the
 *     process in between.
 */
#pragma once

#include "client-lib/ctl/top/browse.h"
#include "client-lib/ctl/top/frame.h"

#include <stdbool.h>

/* False: this terminal is not known, and nothing has been changed. */
bool screen_open(void);
void screen_close(void);

/* To the shell for a while, and back. */
void screen_leave(void);
void screen_return(void);

/* Whether the locale's characters are those of Unicode. */
bool screen_is_unicode(void);
/* Asks the kernel how large the terminal is now. */
void screen_resize(void);
void screen_size(unsigned *ret_lines, unsigned *ret_columns);
void screen_show(const struct frame *frame);
/* The next key that is there; false: none is. */
bool screen_key(wint_t *ret_key);
