/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the terminal (terminfo.h). A file of its own: term.h has macros with the names
 * of half a language. */
#include "client-lib/ctl/top/terminfo.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

bool terminfo_suffices(void)
{
    const char *move;
    int error;

    if (setupterm(NULL, STDOUT_FILENO, &error) == ERR)
        return false;
    move = tigetstr("cup");
    move = move == (const char *)-1 ? NULL : move;
    (void)del_curterm(cur_term);
    return move != NULL;
}
