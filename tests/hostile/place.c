/* SPDX-License-Identifier: Apache-2.0 */
/* See place.h. */
#include "tests/hostile/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

unsigned long place_unit_descriptors(void)
{
    FILE *unit = fopen(TEST_UNIT, "r");
    char line[512];
    unsigned long n = 0;

    assert_non_null(unit);
    while (n == 0 && fgets(line, sizeof(line), unit))
        if (strncmp(line, "LimitNOFILE=", 12) == 0)
            n = strtoul(line + 12, NULL, 10);
    fclose(unit);
    assert_true(n > 0);
    return n;
}

void place_under_unit(struct service *service, struct user owner)
{
    char path[96];

    service->uid = owner.uid;
    service->descriptors = place_unit_descriptors();
    assert_int_equal(chmod(service->dir, 0755), 0);
    assert_int_equal(chown(service->dir, owner.uid, owner.gid), 0);
    snprintf(path, sizeof(path), "%s/conf", service->dir);
    assert_int_equal(chown(path, owner.uid, owner.gid), 0);
}
