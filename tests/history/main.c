/* SPDX-License-Identifier: Apache-2.0 */
/* history LOG...: judges logs together.  One line; exit status 0: right, 1: wrong, 2: not
 * readable. */
#include <stdio.h>
#include <string.h>

#include "tests/history/history.h"

int main(int argc, char **argv)
{
    struct history_verdict verdict;
    if (argc < 2) {
        fputs("usage: history LOG...\n", stderr);
        return 2;
    }
    struct history *history = history_new();
    for (int i = 1; i < argc; i++) {
        int r = history_add_log(history, argv[i]);
        if (r < 0) {
            fprintf(stderr, "history: %s: %s\n", argv[i], strerror(-r));
            history_free(history);
            return 2;
        }
    }
    bool right = history_judge(history, &verdict);
    history_print(&verdict, stdout);
    history_free(history);
    return right ? 0 : 1;
}
