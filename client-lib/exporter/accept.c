/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/accept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct accept_range {
    char type[64], version[16];
    double q; /* how much it is wanted: 0 not at all, 1 most */
};

/* "text" of "  text  ;", cut to what has room: what is longer is nothing that is known. */
static const char *accept_word(const char *at, const char *ends, char *word, size_t size)
{
    size_t n;

    at += strspn(at, " \t");
    n = strcspn(at, ends);
    while (n && (at[n - 1] == ' ' || at[n - 1] == '\t'))
        n--;
    snprintf(word, size, "%.*s", (int)(n < size ? n : 0), at);
    return at + strcspn(at, ends);
}

static const char *accept_parameter(const char *at, struct accept_range *range)
{
    char name[16], value[16];

    at = accept_word(at, "=;,", name, sizeof(name));
    value[0] = '\0';
    if (*at == '=')
        at = accept_word(at + 1, ";,", value, sizeof(value));
    if (strcasecmp(name, "q") == 0)
        range->q = strtod(value, NULL);
    else if (strcasecmp(name, "version") == 0)
        memcpy(range->version, value, sizeof(value));
    return at;
}

static const char *accept_range(const char *at, struct accept_range *ret)
{
    *ret = (struct accept_range){ .q = 1 };
    at = accept_word(at, ";,", ret->type, sizeof(ret->type));
    while (*at == ';')
        at = accept_parameter(at + 1, ret);
    return *at == ',' ? at + 1 : at;
}

static bool accept_is_version(const struct accept_range *range, const char *one, const char *other)
{
    return range->version[0] == '\0' || strcmp(range->version, one) == 0 ||
           strcmp(range->version, other) == 0;
}

enum metrics_format accept_format(const char *accept)
{
    double text = 0, open = 0;

    while (accept && *accept) {
        struct accept_range range;

        accept = accept_range(accept, &range);
        if (strcasecmp(range.type, "application/openmetrics-text") == 0) {
            if (accept_is_version(&range, "1.0.0", "0.0.1") && range.q > open)
                open = range.q;
        } else if (strcasecmp(range.type, "text/plain") == 0 && range.q > text &&
                   accept_is_version(&range, "0.0.4", "0.0.4")) {
            text = range.q;
        }
    }
    return open > 0 && open >= text ? METRICS_OPEN : METRICS_TEXT;
}
