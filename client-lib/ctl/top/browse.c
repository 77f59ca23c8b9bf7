/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at, and keys (browse.h). */
#include "client-lib/ctl/top/browse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void browse_init(struct browse *browse, enum view_id view, enum odeon_observe_by by, double seconds)
{
    *browse = (struct browse){ .seconds = seconds, .at.view = view, .page = 1 };
    for (unsigned i = 0; i < VIEW_N; i++)
        browse->sort[i] = view_sort((enum view_id)i, by);
}

static void browse_forget_table(struct browse *browse)
{
    browse->table = table_free(browse->table);
    free(browse->rows);
    browse->rows = NULL;
    browse->n_rows = 0;
}

void browse_fini(struct browse *browse)
{
    browse_forget_table(browse);
    browse->look = look_free(browse->look);
}

/* ---- rows ---- */

/* browse.B1 */
static void browse_find_chosen(struct browse *browse)
{
    for (size_t i = 0; *browse->at.chosen && i < browse->n_rows; i++)
        if (strcmp(browse->rows[i]->key, browse->at.chosen) == 0) {
            browse->chosen = i;
            return;
        }
    if (!*browse->at.chosen)
        browse->chosen = 0;
    if (browse->chosen >= browse->n_rows)
        browse->chosen = browse->n_rows ? browse->n_rows - 1 : 0;
}

static void browse_list(struct browse *browse)
{
    struct table_order order = { .column = browse->sort[browse->at.view],
                                 .reversed = browse->reversed[browse->at.view],
                                 .filter = browse->filter,
                                 .scope = *browse->at.scope ? browse->at.scope : NULL };

    if (!browse->table)
        return;
    if (!browse->rows)
        browse->rows = calloc(browse->table->n + 1, sizeof(*browse->rows));
    browse->n_rows = browse->rows ? table_choose(browse->table, &order, browse->rows) : 0;
    browse_find_chosen(browse);
}

void browse_fit(struct browse *browse, size_t page)
{
    browse->page = page ? page : 1;
    if (browse->chosen < browse->first)
        browse->first = browse->chosen;
    if (browse->chosen >= browse->first + browse->page)
        browse->first = browse->chosen - browse->page + 1;
    if (browse->n_rows <= browse->page)
        browse->first = 0;
    else if (browse->first > browse->n_rows - browse->page)
        browse->first = browse->n_rows - browse->page;
}

void browse_take(struct browse *browse, struct look *look)
{
    bool is_of_view = look->view == browse->at.view;

    if (browse->is_paused && look->is_fresh) { /* browse.B2: it was on its way */
        look_free(look);
        return;
    }
    if (look->is_fresh && look->seconds > 0) {
        spark_add(&browse->rates, look->rate);
        spark_add(&browse->waits, look->wait_p99_ns);
    }
    if (is_of_view && look->table) {
        browse_forget_table(browse);
        browse->table = look->table;
        look->table = NULL;
    }
    look_free(browse->look);
    browse->look = look;
    browse_list(browse);
}

/* ---- going from view to view ---- */

static void browse_go(struct browse *browse, const struct browse_place *place)
{
    if (place->view != browse->at.view)
        browse_forget_table(browse);
    browse->at = *place;
    browse->first = 0;
    browse->chosen = 0;
    browse_list(browse);
}

static void browse_show(struct browse *browse, enum view_id view)
{
    struct browse_place place = { .view = view };

    browse->n_back = 0;
    browse_go(browse, &place);
}

static void browse_enter(struct browse *browse)
{
    struct browse_place place = { .view = views[browse->at.view].leads };
    const struct table_row *row = browse->n_rows ? browse->rows[browse->chosen] : NULL;

    if (!row || !row->leads || place.view == browse->at.view || browse->n_back == BROWSE_DEPTH)
        return;
    snprintf(place.scope, sizeof(place.scope), "%s", row->leads);
    snprintf(browse->at.chosen, sizeof(browse->at.chosen), "%s", row->key);
    browse->back[browse->n_back++] = browse->at;
    browse->filter[0] = '\0'; /* it was about the rows that have been left */
    browse_go(browse, &place);
}

/* First what narrows the view, then where it came from. */
static void browse_return(struct browse *browse)
{
    struct browse_place place;

    if (browse->is_help) {
        browse->is_help = false;
    } else if (*browse->filter) {
        browse->filter[0] = '\0';
        browse_list(browse);
    } else if (browse->n_back) {
        place = browse->back[--browse->n_back];
        browse_go(browse, &place);
    }
}

/* ---- keys ---- */

static void browse_mark(struct browse *browse, size_t row)
{
    if (!browse->n_rows)
        return;
    browse->chosen = row < browse->n_rows ? row : browse->n_rows - 1;
    snprintf(browse->at.chosen, sizeof(browse->at.chosen), "%s", browse->rows[browse->chosen]->key);
}

static bool browse_press_moving(struct browse *browse, wint_t key)
{
    size_t at = browse->chosen, page = browse->page;

    switch (key) {
    case BROWSE_UP:
    case L'k':
        browse_mark(browse, at ? at - 1 : 0);
        return true;
    case BROWSE_DOWN:
    case L'j':
        browse_mark(browse, at + 1);
        return true;
    case BROWSE_PAGE_UP:
        browse_mark(browse, at > page ? at - page : 0);
        return true;
    case BROWSE_PAGE_DOWN:
        browse_mark(browse, at + page);
        return true;
    case BROWSE_HOME: /* the first row, whichever it is */
        browse->at.chosen[0] = '\0';
        browse->chosen = 0;
        return true;
    case BROWSE_END:
        browse_mark(browse, browse->n_rows);
        return true;
    default:
        return false;
    }
}

static void browse_sort_by(struct browse *browse, size_t column)
{
    browse->sort[browse->at.view] = column;
    browse->reversed[browse->at.view] = false;
    browse_list(browse);
}

static bool browse_press_ordering(struct browse *browse, wint_t key)
{
    size_t n = views[browse->at.view].n_columns, column = browse->sort[browse->at.view];

    switch (key) {
    case L'<':
        browse_sort_by(browse, (column + n - 1) % n);
        return true;
    case L'>':
    case L's':
        browse_sort_by(browse, (column + 1) % n);
        return true;
    case L'r':
        browse->reversed[browse->at.view] = !browse->reversed[browse->at.view];
        browse_list(browse);
        return true;
    case L'/':
        browse->is_typing = true;
        memcpy(browse->filter_before, browse->filter, sizeof(browse->filter));
        return true;
    default:
        return false;
    }
}

static bool browse_press_going(struct browse *browse, wint_t key)
{
    if (key >= L'1' && key < L'1' + VIEW_N) {
        browse_show(browse, (enum view_id)(key - L'1'));
        return true;
    }
    switch (key) {
    case BROWSE_NEXT:
        browse_show(browse, (enum view_id)((browse->at.view + 1) % VIEW_N));
        return true;
    case BROWSE_BACK_TAB:
        browse_show(browse, (enum view_id)((browse->at.view + VIEW_N - 1) % VIEW_N));
        return true;
    case BROWSE_ENTER:
    case L'd':
        browse_enter(browse);
        return true;
    case BROWSE_BACK:
    case BROWSE_ESCAPE:
        browse_return(browse);
        return true;
    default:
        return false;
    }
}

/* Takes the last character off, whole. */
static void browse_rub_out(char *text)
{
    size_t n = strlen(text);

    while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
        n--;
    text[n ? n - 1 : 0] = '\0';
}

static void browse_type(struct browse *browse, wint_t key)
{
    char bytes[16] = "";
    mbstate_t state = { 0 };
    size_t n;

    if (key == BROWSE_ENTER) {
        browse->is_typing = false;
    } else if (key == BROWSE_ESCAPE) {
        browse->is_typing = false;
        memcpy(browse->filter, browse->filter_before, sizeof(browse->filter));
    } else if (key == BROWSE_BACK) {
        browse_rub_out(browse->filter);
    } else if (key >= 0x20 && key < BROWSE_UP && key != 0x7f) {
        n = wcrtomb(bytes, (wchar_t)key, &state);
        if (n != (size_t)-1 && strlen(browse->filter) + n < sizeof(browse->filter))
            strncat(browse->filter, bytes, n);
    }
    browse_list(browse);
}

void browse_press(struct browse *browse, wint_t key)
{
    if (browse->is_typing) {
        browse_type(browse, key);
        return;
    }
    if (key == L'q') {
        browse->is_over = true;
    } else if (key == L'?' || key == L'h') {
        browse->is_help = !browse->is_help;
    } else if (key == L' ') {
        browse->is_paused = !browse->is_paused;
    } else if (browse->is_help && key != BROWSE_ESCAPE && key != BROWSE_BACK) {
        browse->is_help = false; /* any key goes on */
    } else if (!browse_press_moving(browse, key) && !browse_press_ordering(browse, key)) {
        (void)browse_press_going(browse, key);
    }
}
