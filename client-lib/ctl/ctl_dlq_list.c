/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl dlq list: the dead letters, all of them or those of a type or a reason, one by one or as
 * sums. The service lists them; they are chosen and summed here. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/suggest.h"

#include <inttypes.h>
#include <odeon/names.h>
#include <stdlib.h>
#include <string.h>

static bool dlq_list_wants(const struct ctl *ctl, const void *row)
{
    const struct odeon_dead_letter_info *l = row;
    const char *type = ctl->option[OPTION_TYPE], *reason = ctl->option[OPTION_REASON];

    return (!type || strcmp(type, l->type) == 0) && (!reason || strcmp(reason, l->reason) == 0);
}

static uint64_t dlq_list_after(const void *row)
{
    return ((const struct odeon_dead_letter_info *)row)->id + 1;
}

static int dlq_list_fetch(struct odeon_client *client, const char *filter, uint64_t after,
                          uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_dead_letter_list(client, after, rows, ret);
}

static void dlq_list_add(struct listing *listing, const void *row)
{
    const struct odeon_dead_letter_info *l = row;
    char when[OUTPUT_TIME_TEXT];

    listing_add(listing, (struct cell[]){
                             CELL_NUMBER(l->id), CELL_TEXT(output_format_time(l->time_ns, when)),
                             CELL_REF(l->to), CELL_TEXT(l->type), CELL_TEXT(l->message),
                             CELL_VERSION(l->message_version), CELL_NUMBER(l->size),
                             CELL_TEXT(l->reason), CELL_NUMBER(l->attempts),
                             l->from == ODEON_NOBODY ? CELL_NONE : CELL_REF(l->from) });
}

/* ---- sums ---- */

enum { DLQ_TEXT = 64 }; /* of a name, with its end */

/* Letters of one type, message and reason. */
struct dlq_sum {
    char type[DLQ_TEXT], message[DLQ_TEXT], reason[DLQ_TEXT];
    uint64_t letters, bytes, oldest_ns, newest_ns;
};
struct dlq_sums {
    struct dlq_sum *list;
    size_t n, room;
};

/* NULL: no memory. */
static struct dlq_sum *dlq_list_find_sum(struct dlq_sums *sums,
                                         const struct odeon_dead_letter_info *l)
{
    struct dlq_sum *sum;

    for (size_t i = 0; i < sums->n; i++)
        if (strcmp(sums->list[i].type, l->type) == 0 &&
            strcmp(sums->list[i].message, l->message) == 0 &&
            strcmp(sums->list[i].reason, l->reason) == 0)
            return &sums->list[i];
    if (sums->n == sums->room) {
        size_t room = sums->room ? 2 * sums->room : 16;
        struct dlq_sum *list = realloc(sums->list, room * sizeof(*list));

        if (!list)
            return NULL;
        sums->list = list;
        sums->room = room;
    }
    sum = &sums->list[sums->n++];
    *sum = (struct dlq_sum){ .oldest_ns = l->time_ns };
    snprintf(sum->type, sizeof(sum->type), "%s", l->type);
    snprintf(sum->message, sizeof(sum->message), "%s", l->message);
    snprintf(sum->reason, sizeof(sum->reason), "%s", l->reason);
    return sum;
}

static int dlq_list_sum_page(struct ctl *ctl, void *userdata, const struct odeon_list *list)
{
    struct dlq_sums *sums = userdata;

    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_dead_letter_info *l =
            (const struct odeon_dead_letter_info *)list->rows + i;
        struct dlq_sum *sum = dlq_list_wants(ctl, l) ? dlq_list_find_sum(sums, l) : NULL;

        if (!sum && dlq_list_wants(ctl, l))
            return ctl_fail(ctl, CTL_REFUSED, "no memory to sum up the dead letters");
        if (!sum)
            continue;
        sum->letters++;
        sum->bytes += l->size;
        sum->newest_ns = l->time_ns;
    }
    return 0;
}

static int dlq_list_compare_sums(const void *a, const void *b)
{
    const struct dlq_sum *one = a, *other = b;

    return (one->letters < other->letters) - (one->letters > other->letters);
}

static int dlq_list_print_sums(struct ctl *ctl, struct dlq_sums *sums)
{
    static const struct column columns[] = {
        { "LETTERS", "letters", true }, { "BYTES", "bytes", true },
        { "TYPE", "type", false },      { "MESSAGE", "message", false },
        { "REASON", "reason", false },  { "OLDEST", "oldest", false },
        { "NEWEST", "newest", false },
    };
    struct listing listing;

    if (sums->n)
        qsort(sums->list, sums->n, sizeof(*sums->list), dlq_list_compare_sums);
    listing_begin(&listing, ctl, "dead_letter_sums", columns, 7);
    for (size_t i = 0; i < sums->n && i < ctl->limit; i++) {
        const struct dlq_sum *sum = &sums->list[i];
        char oldest[OUTPUT_TIME_TEXT], newest[OUTPUT_TIME_TEXT];

        listing_add(&listing,
                    (struct cell[]){ CELL_NUMBER(sum->letters), CELL_NUMBER(sum->bytes),
                                     CELL_TEXT(sum->type), CELL_TEXT(sum->message),
                                     CELL_TEXT(sum->reason),
                                     CELL_TEXT(output_format_time(sum->oldest_ns, oldest)),
                                     CELL_TEXT(output_format_time(sum->newest_ns, newest)) });
    }
    return listing_end_sorted(&listing, sums->n > ctl->limit);
}

static int dlq_list_sum(struct ctl *ctl, const struct listing_source *source)
{
    struct dlq_sums sums = { 0 };
    int code = ctl_connect(ctl);

    if (!code)
        code = listing_walk(ctl, source, ctl->after, dlq_list_sum_page, &sums);
    if (!code)
        code = dlq_list_print_sums(ctl, &sums);
    free(sums.list);
    return code;
}

/* A word that no reason has would find nothing, and look like good news. */
static int dlq_list_check_reason(struct ctl *ctl)
{
    const char *word = ctl->option[OPTION_REASON], *name;
    struct suggestion near;
    char names[512] = "";
    size_t used = 0;

    if (!word)
        return 0;
    suggestion_init(&near, word);
    for (unsigned i = ODEON_REASON_NONE + 1; strcmp(name = odeon_reason_name(i), "unknown") != 0;
         i++) {
        if (strcmp(name, word) == 0)
            return 0;
        suggestion_offer(&near, name);
        if (used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                                     name);
    }
    return ctl_fail(ctl, CTL_USAGE, "--reason: there is no reason '%s'.%s%s%s Write one of %s",
                    word, near.best ? " Did you mean " : "", near.best ? near.best : "",
                    near.best ? "?" : "", names);
}

int ctl_dlq_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "ID", "id", true },
        { "TIME", "time", false },
        { "TO", "to", true },
        { "TYPE", "type", false },
        { "MESSAGE", "message", false },
        { "VERSION", "version", true },
        { "BYTES", "bytes", true },
        { "REASON", "reason", false },
        { "ATTEMPTS", "attempts", true },
        { "FROM", "from", true },
    };
    struct listing_source source = { .what = "cannot list the dead letters",
                                     .fetch = dlq_list_fetch,
                                     .row_size = sizeof(struct odeon_dead_letter_info),
                                     .add = dlq_list_add };
    int code = dlq_list_check_reason(ctl);

    if (code)
        return code;
    if (ctl->option[OPTION_SUMMARY])
        return dlq_list_sum(ctl, &source);
    if (ctl->option[OPTION_TYPE] || ctl->option[OPTION_REASON]) {
        source.wants = dlq_list_wants;
        source.after = dlq_list_after;
    }
    return listing_fetch(ctl, "dead_letters", columns, 10, &source);
}
