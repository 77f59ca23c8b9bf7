/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts: what is wrong, how often, and what came first, in words. */
#include "tests/history/verdict.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const names[HISTORY_WRONG_N] = {
    [HISTORY_LOST] = "lost",
    [HISTORY_DOUBLED] = "doubled",
    [HISTORY_REORDERED] = "reordered",
    [HISTORY_PHANTOM] = "phantom",
    [HISTORY_CONTRADICTED] = "contradicted",
    [HISTORY_MISMARKED] = "mismarked",
    [HISTORY_MISNUMBERED] = "misnumbered",
    [HISTORY_UNBALANCED] = "unbalanced",
    [HISTORY_DAMAGED] = "damaged",
    [HISTORY_REVOKED] = "revoked",
    [HISTORY_EARLY] = "early",
    [HISTORY_MISPHASED] = "misphased",
};

const char *history_wrong_name(enum history_wrong wrong)
{
    return names[wrong];
}

void *history_memory(void *old, size_t n, size_t size)
{
    void *new = reallocarray(old, n, size);
    if (!new)
        abort();
    return new;
}

void verdict_found_va(struct history_verdict *verdict, enum history_wrong wrong, const char *who,
                      const char *format, va_list args)
{
    verdict->wrong[wrong]++;
    if (verdict->first[0])
        return;
    int n = snprintf(verdict->first, sizeof(verdict->first), "%s: %s", names[wrong], who);
    vsnprintf(verdict->first + n, sizeof(verdict->first) - (size_t)n, format, args);
}

static void print_actors(const struct history_verdict *verdict, FILE *to)
{
    fprintf(to,
            " actors=%" PRIu64 " turns=%" PRIu64 " void=%" PRIu64 " armed=%" PRIu64
            " fired=%" PRIu64 " missed=%" PRIu64 " cancelled=%" PRIu64 " asked=%" PRIu64
            " answered=%" PRIu64 " unanswered=%" PRIu64 " withdrawn=%" PRIu64 " watched=%" PRIu64
            " downs=%" PRIu64 " linked=%" PRIu64 " ended=%" PRIu64,
            verdict->actors, verdict->turns, verdict->turns_void, verdict->armed, verdict->fired,
            verdict->missed, verdict->cancelled, verdict->asked, verdict->answered,
            verdict->unanswered, verdict->withdrawn, verdict->watched, verdict->downs,
            verdict->linked, verdict->ended);
    fprintf(to,
            " joined=%" PRIu64 " left=%" PRIu64 " published=%" PRIu64 " heard=%" PRIu64
            " becomes=%" PRIu64 " put_off=%" PRIu64 " came_back=%" PRIu64,
            verdict->joined, verdict->left, verdict->published, verdict->heard, verdict->becomes,
            verdict->put_off, verdict->came_back);
}

void history_print(const struct history_verdict *verdict, FILE *to)
{
    fprintf(to,
            "history=%s pairs=%" PRIu64 " sent=%" PRIu64 " run=%" PRIu64 " refused=%" PRIu64
            " dropped=%" PRIu64 " redelivered=%" PRIu64 " in_doubt=%" PRIu64,
            verdict->first[0] ? "WRONG" : "ok", verdict->pairs, verdict->sent, verdict->run,
            verdict->refused, verdict->dropped, verdict->redelivered, verdict->in_doubt);
    if (verdict->actors)
        print_actors(verdict, to);
    for (int i = 0; i < HISTORY_WRONG_N; i++)
        if (verdict->wrong[i])
            fprintf(to, " %s=%" PRIu64, names[i], verdict->wrong[i]);
    fprintf(to, "%s%s\n", verdict->first[0] ? " " : "", verdict->first);
}
