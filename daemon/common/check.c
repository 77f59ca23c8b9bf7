/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that run; the interface is in check.h. */
#include "daemon/common/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"

static void (*check_teller)(const struct check_site *site);
static _Atomic long check_breaker; /* the thread that tells of its rule; 0: none is broken */

/* The bare system call: _exit() may be somebody else's (executor/contain.h), who would blame the
 * handler that runs. */
static _Noreturn void check_end_process(void)
{
    for (;;)
        syscall(SYS_exit_group, CHECK_EXIT_STATUS);
}

void check_set_teller(void (*tell)(const struct check_site *site))
{
    check_teller = tell;
}

void check_broken(const struct check_site *site)
{
    long own = syscall(SYS_gettid), nobody = 0;
    char rule[80];
    const char *const fields[] = { CATALOGUE_RULE_BROKEN, rule, NULL };

    /* check.CH2.  Who says whether it is the first is the exchange; nothing is read by its
     * order. */
    if (!atomic_compare_exchange_strong_explicit(&check_breaker, &nobody, own, memory_order_relaxed,
                                                 memory_order_relaxed))
        while (nobody != own)
            pause();
    else {
        snprintf(rule, sizeof(rule), "ODEON_RULE=%s", site->rule);
        log_fields(LOG_LEVEL_ERROR, fields, "rule %s is broken: %s (%s:%u): the process stops",
                   site->rule, site->expression, site->file, site->line);
        if (check_teller)
            check_teller(site);
    }
    check_end_process();
}
