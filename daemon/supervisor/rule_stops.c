/* SPDX-License-Identifier: Apache-2.0 */
/* Executors that stop themselves; the interface is in rule_stops.h. */
#include "daemon/supervisor/rule_stops.h"

#include <stdio.h>
#include <sys/wait.h>

#include "daemon/common/check.h"

#define STOPS_COUNT_NS UINT64_C(3600000000000)

void rule_stops_note(struct rule_stops *stops, const Odeon__RuleBroken *broken)
{
    snprintf(stops->rule, sizeof(stops->rule), "%s", broken->rule);
    snprintf(stops->place, sizeof(stops->place), "%s", broken->place);
}

bool rule_stops_on_exit(struct rule_stops *stops, int wait_status, uint64_t now_ns, uint64_t max,
                        char text[RULE_STOPS_TEXT_MAX])
{
    bool stopped = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == CHECK_EXIT_STATUS;

    if (stopped) {
        if (stops->rule[0])
            snprintf(text, RULE_STOPS_TEXT_MAX, "rule %s is broken (%s)", stops->rule,
                     stops->place);
        else
            snprintf(text, RULE_STOPS_TEXT_MAX, "a rule is broken; its own last line says which");
        if (now_ns - stops->last_ns >= STOPS_COUNT_NS)
            stops->n = 0;
        stops->last_ns = now_ns;
        stops->n++;
        stops->held = max > 0 && stops->n >= max;
    }
    stops->rule[0] = stops->place[0] = '\0';
    return stopped;
}

bool rule_stops_release(struct rule_stops *stops)
{
    bool held = stops->held;

    *stops = (struct rule_stops){ 0 };
    return held;
}
