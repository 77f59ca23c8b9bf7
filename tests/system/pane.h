/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal of a test's own: a shell in a pane of tmux, typed into and read as somebody in front
 * of it would.
 *
 * Used by the thread that runs the tests. The server and all that runs in it end with pane_end(),
 * or, when the test program dies, with its own shell's parent: tmux is run in the foreground of a
 * child that dies with the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pane {
    char dir[64], socket[96];
    pid_t server;
};

/* Whether there is a tmux at all. */
bool pane_can_be(void);
/* `locale`: its LC_ALL; `environment`: further words "KEY=VALUE KEY=VALUE", or "". */
void pane_begin(struct pane *pane, const char *locale, const char *environment, unsigned columns,
                unsigned lines);
void pane_end(struct pane *pane);

/* Text, as it is typed. */
void pane_type(const struct pane *pane, const char *text);
/* A key by tmux's name: "Enter", "Escape", "C-c". */
void pane_press(const struct pane *pane, const char *key);
void pane_resize(const struct pane *pane, unsigned columns, unsigned lines);

/* What is on it now, line by line; the caller frees it. `colours`: with its sequences, too. */
char *pane_read(const struct pane *pane, bool colours);
bool pane_has(const struct pane *pane, const char *text);
/* Line `line` begins with the text. */
bool pane_line_begins(const struct pane *pane, unsigned line, const char *text);
/* What tmux says of a format: "#{alternate_on}"; the caller frees it. */
char *pane_tell(const struct pane *pane, const char *format);
bool pane_is(const struct pane *pane, const char *format, const char *value);
/* The process that the shell waits for. */
pid_t pane_child(const struct pane *pane);
/* Waits for it, and fails the test with what there is instead. */
void pane_expect(const struct pane *pane, const char *text);
