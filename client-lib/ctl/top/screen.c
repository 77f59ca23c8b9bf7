/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal (screen.h). */
#include "client-lib/ctl/top/screen.h"
#include "client-lib/ctl/top/terminfo.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    SCREEN_ESCAPE_MS = 100 /* the rest of a key's sequence comes within that, also from afar */
};

static SCREEN *screen_terminal;

static void screen_begin_colours(void)
{
    const char *no = getenv("NO_COLOR");

    if ((no && *no) || !has_colors() || start_color() == ERR)
        return;
    (void)use_default_colors();
    init_pair(FRAME_GOOD, COLOR_GREEN, -1);
    init_pair(FRAME_WARN, COLOR_YELLOW, -1);
    init_pair(FRAME_BAD, COLOR_RED, -1);
}

/* ncurses answers some signals by itself, which are the program's here. */
static SCREEN *screen_begin(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };
    struct sigaction before[sizeof(signals) / sizeof(signals[0])];
    SCREEN *terminal;

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], NULL, &before[i]);
    terminal = newterm(NULL, stdout, stdin);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &before[i], NULL);
    return terminal;
}

bool screen_open(void)
{
    screen_terminal = terminfo_suffices() ? screen_begin() : NULL;
    if (!screen_terminal)
        return false;
    screen_begin_colours();
    (void)set_escdelay(SCREEN_ESCAPE_MS);
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)intrflush(stdscr, FALSE);
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)curs_set(0);
    return true;
}

void screen_close(void)
{
    if (!screen_terminal)
        return;
    (void)endwin();
    delscreen(screen_terminal);
    screen_terminal = NULL;
}

void screen_leave(void)
{
    (void)endwin();
}

void screen_return(void)
{
    (void)reset_prog_mode();
    screen_resize();
    (void)clearok(stdscr, TRUE);
    (void)refresh();
}

bool screen_is_unicode(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void screen_resize(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        (void)resizeterm(size.ws_row, size.ws_col);
}

void screen_size(unsigned *ret_lines, unsigned *ret_columns)
{
    int lines, columns;

    getmaxyx(stdscr, lines, columns);
    *ret_lines = lines > 0 ? (unsigned)lines : 1;
    *ret_columns = columns > 0 ? (unsigned)columns : 1;
}

static attr_t screen_attribute(enum frame_style style)
{
    static const attr_t attributes[FRAME_STYLES] = {
        [FRAME_BOLD] = A_BOLD,     [FRAME_DIM] = A_DIM,
        [FRAME_TITLE] = A_REVERSE, [FRAME_CHOSEN] = A_REVERSE | A_BOLD,
        [FRAME_BAD] = A_BOLD,
    };

    return attributes[style];
}

void screen_show(const struct frame *frame)
{
    (void)erase();
    for (size_t i = 0; i < frame->n; i++) {
        const struct frame_piece *piece = &frame->pieces[i];
        bool is_coloured = piece->style >= FRAME_GOOD && piece->style <= FRAME_BAD;

        (void)attr_set(screen_attribute(piece->style), (short)(is_coloured ? piece->style : 0),
                       NULL);
        (void)mvaddstr((int)piece->line, (int)piece->column, piece->text);
    }
    (void)attr_set(A_NORMAL, 0, NULL);
    (void)refresh();
}

static wint_t screen_translate(wint_t key)
{
    static const struct {
        wint_t from, to;
    } keys[] = {
        { KEY_UP, BROWSE_UP },          { KEY_DOWN, BROWSE_DOWN },
        { KEY_PPAGE, BROWSE_PAGE_UP },  { KEY_NPAGE, BROWSE_PAGE_DOWN },
        { KEY_HOME, BROWSE_HOME },      { KEY_END, BROWSE_END },
        { KEY_BTAB, BROWSE_BACK_TAB },  { KEY_ENTER, BROWSE_ENTER },
        { KEY_BACKSPACE, BROWSE_BACK },
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i].from == key)
            return keys[i].to;
    return WEOF;
}

bool screen_key(wint_t *ret_key)
{
    wint_t key;

    for (;;) {
        int r = get_wch(&key);

        if (r == ERR)
            return false;
        if (r == KEY_CODE_YES) {
            *ret_key = screen_translate(key);
            if (*ret_key != WEOF)
                return true;
            continue; /* a key that means nothing here */
        }
        *ret_key = key == L'\t'                   ? BROWSE_NEXT
                   : key == L'\r' || key == L'\n' ? BROWSE_ENTER
                   : key == 0x1b                  ? BROWSE_ESCAPE
                   : key == 0x7f || key == L'\b'  ? BROWSE_BACK
                                                  : key;
        return true;
    }
}
