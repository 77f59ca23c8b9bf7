/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu_list.h. */
#include "daemon/executor/cpu_list.h"

#include <ctype.h>
#include <errno.h>

/* strtoul() takes blanks, signs and what not: a configuration file should mean one thing. */
static int cpu_number_parse(const char **cursor, int *ret_cpu)
{
    const char *p = *cursor;
    int cpu = 0;

    if (!isdigit((unsigned char)*p))
        return -EINVAL;
    for (; isdigit((unsigned char)*p); p++) {
        cpu = cpu * 10 + (*p - '0');
        if (cpu > CPU_NUMBER_MAX)
            return -ERANGE;
    }
    *cursor = p;
    *ret_cpu = cpu;
    return 0;
}

static int cpu_list_add(struct cpu_list *list, int cpu)
{
    for (unsigned i = 0; i < list->n; i++)
        if (list->cpus[i] == cpu)
            return -EINVAL;
    if (list->n == ODEON_WORKERS_MAX)
        return -E2BIG;
    list->cpus[list->n++] = cpu;
    return 0;
}

int cpu_list_parse(const char *text, struct cpu_list *ret_list)
{
    struct cpu_list list = { .n = 0 };
    const char *p = text;

    for (;;) {
        int first, last, r;

        r = cpu_number_parse(&p, &first);
        if (r < 0)
            return r;
        last = first;
        if (*p == '-') {
            p++;
            r = cpu_number_parse(&p, &last);
            if (r < 0)
                return r;
            if (last < first)
                return -EINVAL;
        }
        for (int cpu = first; cpu <= last; cpu++) {
            r = cpu_list_add(&list, cpu);
            if (r < 0)
                return r;
        }
        if (*p == '\0')
            break;
        if (*p++ != ',')
            return -EINVAL;
    }
    *ret_list = list;
    return 0;
}
