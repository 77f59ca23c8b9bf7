/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody in front of `odeonctl top` looks at: a view, its order, its filter, a row; and what
 * keys change of that. Knows no terminal.
 *
 * Owned by the program, one thread.
 *
 * browse.B1  A row that has been chosen by a key stays chosen, wherever the next look puts it.
 * browse.B2  While it is paused, what is shown stays as it is, whatever comes.
 */
#pragma once

#include "client-lib/ctl/top/look.h"
#include "client-lib/ctl/top/spark.h"

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

/* Keys that are no characters; these are themselves. */
enum browse_key {
    BROWSE_UP = 0x110000,
    BROWSE_DOWN,
    BROWSE_PAGE_UP,
    BROWSE_PAGE_DOWN,
    BROWSE_HOME,
    BROWSE_END,
    BROWSE_NEXT, /* tab */
    BROWSE_BACK_TAB,
    BROWSE_ENTER,
    BROWSE_BACK, /* backspace */
    BROWSE_ESCAPE,
};

enum { BROWSE_TEXT = 160, BROWSE_DEPTH = 8 };

struct browse_place {
    enum view_id view;
    char scope[BROWSE_TEXT]; /* "": all */
    char chosen[BROWSE_TEXT];
};

struct browse {
    double seconds; /* between looks */
    struct browse_place at;
    struct browse_place back[BROWSE_DEPTH]; /* where it came from, the last one last */
    size_t n_back;
    size_t sort[VIEW_N];
    bool reversed[VIEW_N];
    char filter[BROWSE_TEXT], filter_before[BROWSE_TEXT];
    bool is_typing; /* the filter is being written */
    bool is_paused, is_help, is_over;
    /* what is shown */
    struct look *look;   /* the last one; NULL: there was none */
    struct table *table; /* of the view, perhaps of a look before; NULL: there is none yet */
    const struct table_row **rows; /* those of it that are chosen, in their order */
    size_t n_rows;
    size_t chosen, first; /* the row that is marked; the first one that is on the screen */
    size_t page;          /* rows that are on the screen; drawing says so */
    struct spark rates, waits;
};

void browse_init(struct browse *browse, enum view_id view, enum odeon_observe_by by,
                 double seconds);
void browse_fini(struct browse *browse);
/* Takes the look over. */
void browse_take(struct browse *browse, struct look *look);
/* A character, or one of the above. */
void browse_press(struct browse *browse, wint_t key);
/* So many rows have room; moves what is on the screen so that the marked one is among them. */
void browse_fit(struct browse *browse, size_t page);
