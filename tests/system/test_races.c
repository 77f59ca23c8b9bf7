/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that is built with ThreadSanitizer, in an executor that is, too: what two of its actors
 * do to a variable that they share is told, with the behaviour's name. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/racy.h"

enum { ACTORS = 2, ROUND = 64 };

static struct service service;
static char reports[128];

/* Does a report say this? */
static bool is_reported(const char *what)
{
    DIR *folder = opendir(reports);
    bool found = false;

    assert_non_null(folder);
    for (const struct dirent *entry; !found && (entry = readdir(folder)) != NULL;) {
        char path[400], line[1024];
        FILE *f;

        if (strncmp(entry->d_name, "report", 6) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", reports, entry->d_name);
        f = fopen(path, "re");
        while (f && !found && fgets(line, sizeof(line), f))
            found = strstr(line, what) != NULL;
        if (f)
            fclose(f);
    }
    closedir(folder);
    return found;
}

static void one_round(struct odeon_client *client, struct odeon_port *port, const odeon_ref *actors)
{
    const struct racy_count count = { .by = 1 };
    uint32_t type = message_id(client, odeon_message_of(racy_count));
    struct odeon_delivery answer;

    for (unsigned i = 0; i < ROUND; i++)
        assert_int_equal(odeon_port_post_wait(port, actors[i % ACTORS], type, &count, sizeof(count),
                                              SECONDS(PATIENCE_S)),
                         0);
    for (unsigned i = 0; i < ROUND; i++) {
        assert_int_equal(odeon_port_receive_wait(port, &answer, SECONDS(PATIENCE_S)), 1);
        odeon_port_release(port);
    }
}

static void test_a_shared_variable_is_told(void **state)
{
    struct odeon_client *client = service_connect(&service, "races");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    odeon_ref actors[ACTORS];

    (void)state;
    for (unsigned i = 0; i < ACTORS; i++)
        actors[i] = spawn(client, "racy", NULL, NULL, 0);
    assert_true(wait_until((one_round(client, port, actors), is_reported("data race"))));
    assert_true(wait_until(is_reported("racy_receive_racy_count")));
    assert_true(is_reported("racy.c"));
    odeon_port_close(port);
    odeon_client_disconnect(client);
}

static int setup(void **state)
{
    char options[256];

    (void)state;
    service_make_dir(&service);
    snprintf(reports, sizeof(reports), "%s", service.dir);
    /* the report is wanted, and is nobody's failure */
    snprintf(options, sizeof(options), "log_path=%s/report:exitcode=0", reports);
    setenv("TSAN_OPTIONS", options, 1);
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--developer", "--plugin",
                                                   TEST_RACY, NULL });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    service_end(&service);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_shared_variable_is_told) };

    return cmocka_run_group_tests_name("races", tests, setup, teardown);
}
