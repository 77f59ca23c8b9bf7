/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that run: an expression that the tree's own code keeps true, with the name of the rule that
 * says so.
 *
 * A check is on in every build. It stands at a border (a request answered, a port opened, an owner
 * taken), never on what a client or a handler can write: that is refused, or blamed. What it costs
 * is a branch that is not taken; the rest is in a cold function.
 *
 * check.CH1  A broken rule ends its process with CHECK_EXIT_STATUS, after one line of the log with
 *      rule, expression, file and line. Nothing else of the process runs: no exit handlers, no
 *      destructors, and no fault record, so that recovery blames nobody and counts no attempt.
 * check.CH2  The first one that is broken is told; others that are broken meanwhile wait for the
 *     end.
 */
#pragma once

enum { CHECK_EXIT_STATUS = 70 };

struct check_site {
    const char *rule;       /* "client.K2", as the header of the module numbers it */
    const char *expression; /* that did not hold */
    const char *file;
    unsigned line;
};

/* Without its folder, which is the build's. */
#ifdef __FILE_NAME__
#define CHECK_FILE __FILE_NAME__
#else
#define CHECK_FILE __FILE__
#endif

/* Any thread.  `rule_` is a string literal. */
#define check(rule_, expression_)                                                                  \
    do {                                                                                           \
        static const struct check_site check_site_ = { "" rule_, #expression_, CHECK_FILE,         \
                                                       __LINE__ };                                 \
        if (__builtin_expect(!(expression_), 0))                                                   \
            check_broken(&check_site_);                                                            \
    } while (0)

_Noreturn void check_broken(const struct check_site *site)
    __attribute__((cold, noinline, visibility("default")));

/* Called once, on the thread that broke the rule, between the line and the end: to tell others.
 * Before threads are started. */
void check_set_teller(void (*tell)(const struct check_site *site));
