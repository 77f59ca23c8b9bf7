/* SPDX-License-Identifier: Apache-2.0 */
/* Completion in bash, as it is installed: words of the table, and names of what a service has. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

static struct service service;
static struct odeon_client *client;
static char output[1 << 16];
static const char *program = TEST_ODEONCTL;
static const char *breaks = ""; /* sets COMP_WORDBREAKS, which has "=" otherwise */

static int begin(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "completion");
    return 0;
}

static int end(void **state)
{
    (void)state;
    client = odeon_client_disconnect(client);
    if (service.pid > 0)
        (void)service_stop(&service, SIGKILL);
    service_end(&service);
    return 0;
}

/* What is offered for the last of the words, one a line; those before it are written as a shell
 * reads them. */
static const char *offered(const char *words, const char *last)
{
    char command[2048];
    FILE *out;

    snprintf(command, sizeof(command),
             "exec bash -c 'odeonctl() { set -- \"$@\"; %s \"$@\"; }; timeout() { shift; \"$@\"; };"
             "source <(odeonctl completion bash) || exit 1; %s"
             "COMP_WORDS=(odeonctl --socket %s %s \"$0\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1));"
             "_odeonctl; printf \"%%s\\n\" \"${COMPREPLY[@]}\"' '%s'",
             program, breaks, service.socket, words, last);
    out = popen(command, "r");
    assert_non_null(out);
    output[fread(output, 1, sizeof(output) - 1, out)] = '\0';
    assert_int_equal(pclose(out), 0);
    return output;
}

static void test_words_of_the_table(void **state)
{
    (void)state;
    assert_string_equal(offered("", "doc"), "doctor\n");
    assert_string_equal(offered("actor", "sp"), "spawn\n");
    assert_string_equal(offered("trace", "--slow"), "--slower-than\n");
    assert_string_equal(offered("queue list --kind", "pin"), "pinned\n");
}

/* Bash takes a word apart at its "=", and puts what is offered behind the last one. */
static void test_behind_an_equals_sign(void **state)
{
    (void)state;
    assert_string_equal(offered("queue list --kind =", "pin"), "pinned\n");
    assert_string_equal(offered("dlq list --reason", "="),
                        "attempts-exhausted\nbad-size\nno-such-actor\nnot-accepted\n"
                        "quarantined\nqueue-full\ntype-not-loaded\n");
    assert_string_equal(offered("queue list --kind = pinned", "--bus"), "--busy\n");
    assert_string_equal(offered("actor spawn probe_echo --pinned =", ""), "\n");
    assert_string_equal(offered("--stats = file executor", "sh"), "show\n");
    assert_string_equal(offered("executor set", "steali"),
                        "stealing=none\nstealing=random\nstealing=round-robin\n"
                        "stealing=longest-victim\nstealing=fullest\nstealing=locality\n"
                        "stealing=share\n");
    assert_string_equal(offered("executor set stealing =", "ra"), "random\n");
    assert_string_equal(offered("executor set stealing = random packing", "="), "yes\nno\n");
    /* a new word, and a shell that leaves words whole */
    assert_non_null(strstr(offered("executor set stealing =", ""), "packing=yes\n"));
    assert_string_equal(offered("executor set", "stealing=ra"), "random\n");
    breaks = "COMP_WORDBREAKS=;";
    assert_string_equal(offered("executor set", "stealing=ra"), "stealing=random\n");
    assert_string_equal(offered("queue list", "--kind=pin"), "--kind=pinned\n");
    breaks = "";
}

static void test_names_of_a_service(void **state)
{
    char words[256];

    (void)state;
    (void)spawn(client, "probe_echo", "echo.first", NULL, 0);
    (void)spawn(client, "probe_echo", "echo.second", NULL, 0);
    (void)spawn(client, "probe_echo", "other", NULL, 0);
    assert_string_equal(offered("actor send", "echo.f"), "echo.first\n");
    assert_string_equal(offered("actor send echo.first", "probe_w"), "probe_work\n");
    snprintf(words, sizeof(words), "--socket /nowhere --socket = %s actor list --type",
             service.socket);
    assert_string_equal(offered(words, "probe_led"), "probe_ledger\n");
    assert_string_equal(offered("--socket = /nowhere actor send", "echo.f"), "\n");
    assert_string_equal(offered("actor send echo.first probe_work", ""), "\n");
    assert_string_equal(offered("actor list --type", "probe_led"), "probe_ledger\n");
    assert_string_equal(offered("plugin unload", ""), "probe\n");
    assert_non_null(strstr(offered("trace", ""), "echo.second\n"));
    assert_non_null(strstr(offered("client show", ""), "\n"));
}

/* A name is text, whatever a shell would make of it. The service has no such names: another program
 * stands in for odeonctl where it is asked for them. */
static void test_names_are_never_run(void **state)
{
    char file[160], stand_in[512];

    (void)state;
    snprintf(file, sizeof(file), "%s/ran", service.dir);
    snprintf(stand_in, sizeof(stand_in),
             "case \"$*\" in *names*) echo \"\\$(touch %s)\"; echo \"a;b\\`touch %s\\`\" ;; "
             "*) %s \"$@\" ;; esac; true",
             file, file, TEST_ODEONCTL);
    program = stand_in;
    (void)offered("actor show", "");
    program = TEST_ODEONCTL;
    assert_non_null(strstr(output, "\\$\\(touch"));
    assert_non_null(strstr(output, "a\\;b\\`touch"));
    assert_int_equal(access(file, F_OK), -1);
}

static void test_a_service_that_is_away_offers_nothing(void **state)
{
    (void)state;
    client = odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_string_equal(offered("actor show", ""), "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_words_of_the_table, begin, end),
        cmocka_unit_test_setup_teardown(test_behind_an_equals_sign, begin, end),
        cmocka_unit_test_setup_teardown(test_names_of_a_service, begin, end),
        cmocka_unit_test_setup_teardown(test_names_are_never_run, begin, end),
        cmocka_unit_test_setup_teardown(test_a_service_that_is_away_offers_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
