/* SPDX-License-Identifier: Apache-2.0 */
/* Offenders; the interface is in offenders.h. */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/supervisor/offenders.h"

enum { WHOLE_USER = -1 };

static uint64_t offenders_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* offenders.F1 */
static bool offenders_is_remembered(const struct offender *offender, uint64_t now_ns)
{
    return offender->n > 0 && now_ns < offender->last_ns + OFFENDERS_MEMORY_NS;
}

static struct offender *offenders_find(struct offenders *offenders, pid_t pid, uid_t uid,
                                       uint64_t now_ns)
{
    for (size_t i = 0; i < OFFENDERS_MAX; i++) {
        struct offender *offender = &offenders->list[i];

        if (offenders_is_remembered(offender, now_ns) && offender->pid == pid &&
            offender->uid == uid)
            return offender;
    }
    return NULL;
}

/* offenders.F4 */
static struct offender *offenders_find_or_add(struct offenders *offenders, pid_t pid, uid_t uid,
                                              uint64_t now_ns)
{
    struct offender *offender = offenders_find(offenders, pid, uid, now_ns),
                    *oldest = &offenders->list[0];

    if (offender)
        return offender;
    for (size_t i = 1; i < OFFENDERS_MAX; i++)
        if (offenders->list[i].last_ns < oldest->last_ns)
            oldest = &offenders->list[i];
    *oldest = (struct offender){ .pid = pid, .uid = uid };
    return oldest;
}

/* offenders.F3 */
static void offenders_hold(struct offender *offender, uint64_t now_ns, uint64_t hold_ns,
                           uint64_t hold_max_ns)
{
    uint64_t end = offenders_later(offender->until_ns, now_ns) + hold_ns,
             last = now_ns + OFFENDERS_HOLDS_MAX * hold_max_ns;

    offender->until_ns = end < last ? end : last;
}

/* Once more; the holds grow with each. */
static void offenders_count(struct offender *offender, uint64_t now_ns, uint64_t hold_max_ns)
{
    uint64_t hold_ns = OFFENDERS_FIRST_HOLD_MS * UINT64_C(1000000);

    if (offender->n < UINT32_MAX)
        offender->n++;
    for (uint32_t i = OFFENDERS_TOLERATED + 1; i < offender->n && hold_ns < hold_max_ns; i++)
        hold_ns *= 2;
    if (offender->n > OFFENDERS_TOLERATED)
        offenders_hold(offender, now_ns, hold_ns < hold_max_ns ? hold_ns : hold_max_ns,
                       hold_max_ns);
    offender->last_ns = offenders_later(now_ns, offender->until_ns);
}

static unsigned offenders_count_processes(const struct offenders *offenders, uid_t uid,
                                          uint64_t now_ns)
{
    unsigned n = 0;

    for (size_t i = 0; i < OFFENDERS_MAX; i++) {
        const struct offender *offender = &offenders->list[i];

        n += offenders_is_remembered(offender, now_ns) && offender->uid == uid &&
             offender->pid != WHOLE_USER;
    }
    return n;
}

uint64_t offenders_note(struct offenders *offenders, pid_t pid, uid_t uid, uint64_t now_ns,
                        uint64_t hold_max_ns)
{
    struct offender *offender = offenders_find_or_add(offenders, pid, uid, now_ns);
    uint64_t until_ns;

    offenders_count(offender, now_ns, hold_max_ns);
    until_ns = offender->until_ns;
    if (offenders_count_processes(offenders, uid, now_ns) >= OFFENDERS_PROCESSES) {
        offender = offenders_find_or_add(offenders, WHOLE_USER, uid, now_ns);
        offenders_count(offender, now_ns, hold_max_ns);
        until_ns = offenders_later(until_ns, offender->until_ns);
    }
    return offenders_later(now_ns, until_ns);
}

/* One more of a user whose newcomers come one after the other. */
static void offenders_queue(struct offender *user, uint64_t now_ns, uint64_t hold_max_ns)
{
    if (user->n == 0) /* newly added: no offence of its own yet, but not free either */
        user->n = 1;
    offenders_hold(user, now_ns, hold_max_ns / OFFENDERS_HOLDS_MAX, hold_max_ns);
    user->last_ns = offenders_later(now_ns, user->until_ns);
}

uint64_t offenders_admit(struct offenders *offenders, pid_t pid, uid_t uid, uint64_t now_ns,
                         uint64_t hold_max_ns)
{
    const struct offender *offender = offenders_find(offenders, pid, uid, now_ns);
    uint64_t until_ns = offender ? offenders_later(now_ns, offender->until_ns) : now_ns;
    struct offender *user = offenders_find(offenders, WHOLE_USER, uid, now_ns);

    if (offenders_count_processes(offenders, uid, now_ns) >= OFFENDERS_PROCESSES) {
        user = offenders_find_or_add(offenders, WHOLE_USER, uid, now_ns);
        offenders_queue(user, now_ns, hold_max_ns);
    }
    return user ? offenders_later(until_ns, user->until_ns) : until_ns;
}

bool offenders_are_many(struct offenders *offenders, uid_t uid, uint64_t now_ns)
{
    return offenders_find(offenders, WHOLE_USER, uid, now_ns) ||
           offenders_count_processes(offenders, uid, now_ns) >= OFFENDERS_PROCESSES;
}
