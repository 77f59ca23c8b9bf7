/* SPDX-License-Identifier: Apache-2.0 */
/* See broken_rule.h. */
#include "daemon/executor/broken_rule.h"

#include <stdio.h>

#include "daemon/common/check.h"
#include "daemon/common/frame.h"
#include "proto/control.pb-c.h"

static int broken_rule_socket;

static void broken_rule_tell(const struct check_site *site)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__RuleBroken broken = ODEON__RULE_BROKEN__INIT;
    char place[160];

    snprintf(place, sizeof(place), "%s:%u", site->file, site->line);
    broken.rule = (char *)site->rule;
    broken.place = place;
    report.body_case = ODEON__REPORT__BODY_RULE_BROKEN;
    report.rule_broken = &broken;
    (void)frame_send(broken_rule_socket, &report.base, NULL, 0);
}

void broken_rule_tell_to(int socket)
{
    broken_rule_socket = socket;
    check_set_teller(broken_rule_tell);
}
