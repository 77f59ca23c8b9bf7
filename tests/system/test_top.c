/* SPDX-License-Identifier: Apache-2.0 */
/* `odeonctl top` as somebody sees it: in a terminal of tmux, with a service that works, keys that
 * are pressed, sizes that change, a service that goes away and comes back, and every way out. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <odeon/codec.h>

#include "tests/system/harness.h"
#include "tests/system/manager.h"
#include "tests/system/pane.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum {
    LEDGERS = 12,
    WORK_NS = 2000000, /* one of the hot actor's; the others' take none */
    FIRST_ROW = 6,     /* of 24 lines: below the totals and the titles */
};

static struct service service;
static struct manager *manager;
static const struct service *served;
static struct pane pane;
static struct odeon_client *root;
static odeon_ref ledgers[LEDGERS];
static char hot[ODEON_REF_TEXT];

/* ---- a load that goes on */

static pthread_t load;
static atomic_bool load_ends;
static uint32_t work_type;

static void *load_main(void *argument)
{
    struct odeon_port *port = argument;

    for (unsigned i = 0; !atomic_load(&load_ends); i++) {
        bool is_hot = i % 2 == 0;
        const struct probe_work work = { .ns = is_hot ? WORK_NS : 0 };

        /* while the service is away there is no room, later: it is tried again */
        (void)odeon_port_post_wait(port, is_hot ? ledgers[LEDGERS / 2] : ledgers[i % LEDGERS],
                                   work_type, &work, sizeof(work), MILLISECONDS(100));
        usleep(WORK_NS / 1000);
    }
    odeon_port_close(port);
    return NULL;
}

static void load_begin(void)
{
    struct odeon_port *port;

    root = service_connect(served, "load");
    for (unsigned i = 0; i < LEDGERS; i++)
        ledgers[i] = spawn(root, "probe_ledger", NULL, NULL, 0);
    odeon_ref_format(ledgers[LEDGERS / 2], hot);
    work_type = message_id(root, odeon_message_of(probe_work));
    port = port_open_or_fail(root, 1 << 16, 1 << 16, false);
    atomic_store(&load_ends, false);
    assert_int_equal(pthread_create(&load, NULL, load_main, port), 0);
}

static void load_end(void)
{
    if (!root)
        return;
    atomic_store(&load_ends, true);
    pthread_join(load, NULL);
    root = odeon_client_disconnect(root);
}

/* ---- begin and end */

static int end(void **state)
{
    (void)state;
    pane_end(&pane);
    load_end();
    if (manager)
        manager = manager_end(manager);
    if (service.pid > 0)
        (void)service_stop(&service, SIGKILL);
    if (service.own_dir)
        service_end(&service);
    return 0;
}

static void begin_managed(void)
{
    static const char *const arguments[] = { SMALL_SERVICE, "--plugin", TEST_PROBE, NULL };

    manager = manager_start(&(struct manager_options){ .arguments = arguments, .activate = true });
    served = manager_service(manager);
    manager_wait_ready(manager);
    load_begin();
}

static void begin_alone(void)
{
    static const char *const arguments[] = { NULL };

    service_start_for_users(&service, arguments);
    served = &service;
    load_begin();
}

/* What the shell is told, `%s` in it being odeonctl with its socket. */
static void run(const char *before, const char *words, const char *behind)
{
    char line[512];

    snprintf(line, sizeof(line), "%s '%s' --socket '%s' %s%s", before, TEST_ODEONCTL,
             served->socket, words, behind);
    pane_type(&pane, line);
    pane_press(&pane, "Enter");
}

/* The program stands on the screen that programs have for themselves, and has taken a look. */
static void top_begin(const char *words)
{
    run("clear;", words, "");
    assert_true(wait_until(pane_is(&pane, "#{alternate_on}", "1")));
    pane_expect(&pane, "BUSY");
}

/* The shell has it back as it was, and `status` of what it has run. */
static void top_has_ended(const char *status)
{
    static unsigned n; /* what is on the screen of an end before this one does not count */
    char line[64];

    n++;
    assert_true(wait_until(pane_is(&pane, "#{alternate_on}", "0")));
    pane_expect(&pane, "shell:");
    snprintf(line, sizeof(line), "echo \"%u ended with $?.\"", n);
    pane_type(&pane, line);
    pane_press(&pane, "Enter");
    snprintf(line, sizeof(line), "%u ended with %s.", n, status);
    pane_expect(&pane, line);
    assert_true(pane_is(&pane, "#{cursor_flag}", "1"));
    assert_true(pane_is(&pane, "#{keypad_flag}", "0"));
}

static bool first_row_is(const char *text)
{
    return pane_line_begins(&pane, FIRST_ROW, text);
}

/* Whether the first two rows are in the order of their text, or in the other one. */
static bool rows_rise(bool rising)
{
    char *text = pane_read(&pane, false), *at = text;
    int way = 0;

    for (unsigned i = 0; i < FIRST_ROW && at; i++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (at && strncmp(at, "1.", 2) == 0 && strchr(at, '\n'))
        way = strcmp(at, strchr(at, '\n') + 1);
    free(text);
    return rising ? way < 0 : way > 0;
}

/* ---- tests */

static void test_keys(void **state)
{
    char *text;

    (void)state;
    if (!pane_can_be())
        skip();
    begin_alone();
    pane_begin(&pane, "C.UTF-8", "", 80, 24);
    top_begin("top");
    assert_true(wait_until(first_row_is("probe_ledger")));
    pane_expect(&pane, "█");
    text = pane_read(&pane, true);
    assert_non_null(strstr(text, "\033[32m")); /* green */
    free(text);
    pane_type(&pane, "2");
    assert_true(wait_until(first_row_is(hot))); /* sorted by what they take */
    pane_type(&pane, "r");                      /* the least first */
    assert_true(wait_until(first_row_is("1.") && !first_row_is(hot)));
    pane_type(&pane, "<<"); /* by reference, as text */
    assert_true(wait_until(rows_rise(true)));
    pane_type(&pane, "r");
    assert_true(wait_until(rows_rise(false)));
    pane_type(&pane, ">>");
    assert_true(wait_until(first_row_is(hot)));
    pane_type(&pane, "/");
    pane_expect(&pane, "filter: ");
    pane_type(&pane, hot);
    pane_press(&pane, "Enter");
    pane_expect(&pane, "Esc shows all");
    assert_true(wait_until(first_row_is(hot) && pane_line_begins(&pane, FIRST_ROW + 1, "\n")));
    pane_press(&pane, "Escape");
    assert_true(wait_until(!pane_line_begins(&pane, FIRST_ROW + 1, "\n")));
    pane_type(&pane, "?");
    pane_expect(&pane, "another view");
    pane_type(&pane, "?");
    assert_true(wait_until(first_row_is(hot)));
    pane_type(&pane, "q");
    top_has_ended("0");
}

static void test_from_types_to_actors_to_flows(void **state)
{
    (void)state;
    if (!pane_can_be())
        skip();
    begin_alone();
    pane_begin(&pane, "C.UTF-8", "", 80, 24);
    top_begin("top types");
    assert_true(wait_until(first_row_is("probe_ledger")));
    pane_press(&pane, "Enter");
    pane_expect(&pane, "Actors of the type probe_ledger");
    assert_true(wait_until(first_row_is(hot)));
    pane_type(&pane, "d");
    pane_expect(&pane, "Flows from and to the type probe_ledger");
    assert_true(wait_until(first_row_is("port ")));
    pane_press(&pane, "BSpace");
    pane_expect(&pane, "Actors of the type probe_ledger");
    pane_press(&pane, "Escape");
    pane_expect(&pane, "1 Types");
    pane_type(&pane, "q");
    top_has_ended("0");
}

static void test_the_other_views(void **state)
{
    struct odeon_client *strange;
    char uid[16];

    (void)state;
    if (!pane_can_be())
        skip();
    begin_alone();
    strange = service_connect(served, "a\033[31mb\u202e");
    pane_begin(&pane, "C.UTF-8", "", 150, 24);
    top_begin("top workers");
    pane_expect(&pane, " WORKER STATE");
    assert_true(wait_until(first_row_is("      0 ") || first_row_is("      1 ")));
    pane_press(&pane, "Tab");
    pane_expect(&pane, "BROKEN");
    pane_expect(&pane, "a?[31mb???"); /* the service says no control characters either */
    pane_expect(&pane, "odeonctl");
    pane_type(&pane, "7");
    pane_expect(&pane, "BACKLOGS");
    snprintf(uid, sizeof(uid), "%7u ", (unsigned)getuid());
    assert_true(wait_until(first_row_is(uid)));
    pane_press(&pane, "Enter");
    pane_expect(&pane, "Clients of the user");
    pane_expect(&pane, "load");
    pane_press(&pane, "Escape");
    pane_type(&pane, "4");
    pane_expect(&pane, "RETIRING");
    pane_expect(&pane, "ordinary");
    pane_type(&pane, " "); /* nothing is asked for any more, whatever is to be shown */
    pane_expect(&pane, "PAUSED");
    pane_type(&pane, "6");
    pane_expect(&pane, "nothing is asked for while it stands still");
    pane_type(&pane, " ");
    pane_expect(&pane, "odeonctl");
    pane_type(&pane, "q");
    top_has_ended("0");
    odeon_client_disconnect(strange);
}

/* Of the lines that are on the screen, the longest, in bytes; all are ASCII. */
static bool fits(unsigned columns, unsigned lines)
{
    char *text = pane_read(&pane, false), *rest = text, *line;
    unsigned n = 0;
    bool does = true;

    while ((line = strsep(&rest, "\n")) && rest) {
        n++;
        does = does && strlen(line) <= columns;
    }
    free(text);
    return does && n <= lines;
}

static void test_small_terminals_and_ascii(void **state)
{
    char *text;

    (void)state;
    if (!pane_can_be())
        skip();
    begin_alone();
    pane_begin(&pane, "C", "NO_COLOR=1", 80, 24);
    top_begin("top actors");
    assert_true(wait_until(first_row_is(hot)));
    pane_expect(&pane, "#"); /* the highest of the last looks */
    text = pane_read(&pane, true);
    assert_null(strstr(text, "\033[32m")); /* no colour */
    for (const char *c = text; *c; c++)
        assert_true((unsigned char)*c < 0x80);
    free(text);
    pane_resize(&pane, 20, 5);
    assert_true(wait_until(pane_line_begins(&pane, 1, "REF") && pane_line_begins(&pane, 2, hot) &&
                           fits(20, 5)));
    pane_resize(&pane, 2, 1);
    assert_true(wait_until(pane_line_begins(&pane, 0, "1.") && fits(2, 1)));
    pane_resize(&pane, 132, 50);
    pane_expect(&pane, "RUNS AT LEAST");
    pane_resize(&pane, 80, 24);
    assert_true(wait_until(first_row_is(hot)));
    pane_type(&pane, "q");
    top_has_ended("0");
}

static void test_every_way_out(void **state)
{
    static const struct {
        int signal;
        const char *status;
    } ways[] = { { SIGINT, "130" }, { SIGTERM, "143" }, { SIGHUP, "129" } };

    (void)state;
    if (!pane_can_be())
        skip();
    begin_alone();
    pane_begin(&pane, "C.UTF-8", "", 80, 24);
    pane_type(&pane, "before=$(stty -g)");
    pane_press(&pane, "Enter");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        top_begin("top");
        if (ways[i].signal == SIGINT)
            pane_press(&pane, "C-c");
        else
            assert_int_equal(kill(pane_child(&pane), ways[i].signal), 0);
        top_has_ended(ways[i].status);
        pane_type(&pane, "clear; test \"$before\" = \"$(stty -g)\"; echo \"modes $?.\"");
        pane_press(&pane, "Enter");
        pane_expect(&pane, "modes 0.");
    }
}

/* To the shell, and on from there, by the terminal's key and by a stop that asks nobody. */
static void test_it_stands_still_and_goes_on(void **state)
{
    pid_t top;

    (void)state;
    if (!pane_can_be())
        skip();
    begin_alone();
    pane_begin(&pane, "C.UTF-8", "", 80, 24);
    run("clear;", "top", "");
    assert_true(wait_until(first_row_is("probe_ledger")));
    top = pane_child(&pane);
    pane_press(&pane, "C-z");
    pane_expect(&pane, "shell:");
    assert_true(wait_until(pane_is(&pane, "#{alternate_on}", "0")));
    pane_type(&pane, "fg");
    pane_press(&pane, "Enter");
    assert_true(wait_until(pane_is(&pane, "#{alternate_on}", "1") && first_row_is("probe_ledger")));
    assert_int_equal(kill(top, SIGSTOP), 0);
    pane_expect(&pane, "Stopped");
    pane_type(&pane, "fg");
    pane_press(&pane, "C-j"); /* the shell has the modes that it left */
    assert_true(wait_until(first_row_is("probe_ledger") && !pane_has(&pane, "Stopped")));
    pane_type(&pane, "q");
    assert_true(wait_until(pane_is(&pane, "#{alternate_on}", "0")));
}

static void test_the_service_goes_away_and_comes_back(void **state)
{
    (void)state;
    if (!pane_can_be())
        skip();
    begin_managed();
    pane_begin(&pane, "C.UTF-8", "", 80, 24);
    top_begin("top actors --watch 0.2");
    assert_true(wait_until(first_row_is(hot)));
    manager_hold(manager, true);
    manager_kill(manager);
    pane_expect(&pane, "the service is away since");
    assert_true(first_row_is("1.")); /* what was last seen stays */
    pane_type(&pane, "13");          /* keys are answered all the while */
    pane_expect(&pane, "FROM");
    pane_type(&pane, "2");
    manager_hold(manager, false);
    manager_wait_ready(manager);
    assert_true(wait_until(!pane_has(&pane, "away")));
    assert_true(wait_until(first_row_is(hot)));
    manager_kill_both(manager);
    assert_true(wait_until(first_row_is("1.") && !pane_has(&pane, "away")));
    pane_type(&pane, "q");
    top_has_ended("0");
}

/* odeond stands still, as one that hangs: its answers are missing, and nothing else. */
static void test_a_service_that_does_not_answer(void **state)
{
    (void)state;
    if (!pane_can_be())
        skip();
    begin_alone();
    pane_begin(&pane, "C.UTF-8", "", 80, 24);
    top_begin("top clients");
    pane_expect(&pane, "load");
    process_stop(service.pid);
    pane_type(&pane, "7");
    pane_expect(&pane, "BACKLOGS");
    pane_type(&pane, "?"); /* while it waits for an answer */
    pane_expect(&pane, "another view");
    pane_type(&pane, "?");
    pane_expect(&pane, "within 2000 ms");
    pane_type(&pane, "1");
    assert_true(wait_until(first_row_is("probe_ledger")));
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    pane_type(&pane, "6");
    pane_expect(&pane, "load");
    process_stop(service.pid);
    pane_type(&pane, "7q"); /* nor does the end wait for it */
    top_has_ended("0");
    assert_int_equal(kill(service.pid, SIGCONT), 0);
}

/* What has been run until now, by all. */
static bool much_was_run_since(uint64_t before)
{
    return service_figure(&service, "messages_processed") > before + 50;
}

/* What came before it has been drawn when it is answered. */
static void draw_anew(void)
{
    pane_type(&pane, "?");
    pane_expect(&pane, "another view");
    pane_type(&pane, "?");
    assert_true(wait_until(first_row_is("probe_ledger") && pane_has(&pane, "q quit")));
}

static bool pane_reads(const char *text)
{
    char *found = pane_read(&pane, false);
    bool is = strcmp(found, text) == 0;

    free(found);
    return is;
}

static void test_pausing(void **state)
{
    uint64_t before;
    char *paused;

    (void)state;
    if (!pane_can_be())
        skip();
    begin_alone();
    pane_begin(&pane, "C.UTF-8", "", 80, 24);
    top_begin("top --watch 0.1");
    assert_true(wait_until(first_row_is("probe_ledger")));
    pane_type(&pane, " ");
    pane_expect(&pane, "PAUSED");
    draw_anew();
    paused = pane_read(&pane, false);
    while (!pane_reads(paused)) { /* it was read while it was drawn */
        free(paused);
        paused = pane_read(&pane, false);
    }
    before = service_figure(&service, "messages_processed");
    assert_true(wait_until(much_was_run_since(before)));
    draw_anew();
    assert_true(wait_until(pane_reads(paused)));
    pane_type(&pane, " ");
    assert_true(wait_until(!pane_has(&pane, "PAUSED")));
    assert_true(wait_until(!pane_has(&pane, paused)));
    free(paused);
    pane_type(&pane, "q");
    top_has_ended("0");
}

static void test_tables_where_there_is_no_screen(void **state)
{
    (void)state;
    if (!pane_can_be())
        skip();
    begin_alone();
    pane_begin(&pane, "C.UTF-8", "", 132, 24);
    run("clear;", "top actors --batch -n 2", "");
    top_has_ended("0");
    assert_true(pane_has(&pane, "AT LEAST"));
    run("clear; TERM=dumb", "top actors", "");
    top_has_ended("0");
    assert_true(pane_has(&pane, "AT LEAST"));
    run("clear;", "top flows | cat", "");
    top_has_ended("0");
    assert_true(pane_has(&pane, "AT LEAST"));
    run("clear;", "top clients --batch", "");
    top_has_ended("2");
    assert_true(pane_has(&pane, "odeonctl client list prints it as a table"));
    run("clear; TERM=none-such", "top", "");
    top_has_ended("2");
    assert_true(pane_has(&pane, "the terminal 'none-such' is not known here"));
}

static void test_who_may_not_observe_sees_totals(void **state)
{
    (void)state;
    if (!pane_can_be() || !user_can_change())
        skip();
    if (system("setpriv --reuid=41022 --regid=41022 --clear-groups test -x '" TEST_ODEONCTL "'"))
        skip(); /* the build lies where others may not go */
    begin_alone();
    pane_begin(&pane, "C.UTF-8", "", 80, 24);
    run("clear; setpriv --reuid=41022 --regid=41022 --clear-groups", "top", "");
    pane_expect(&pane, "role observe");
    pane_expect(&pane, "user 41022 has here: post");
    pane_expect(&pane, "12 actors  2 workers");
    assert_true(wait_until(!pane_line_begins(&pane, 1, "MSGS/S           -")));
    pane_type(&pane, "q");
    top_has_ended("0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_keys, end),
        cmocka_unit_test_teardown(test_from_types_to_actors_to_flows, end),
        cmocka_unit_test_teardown(test_the_other_views, end),
        cmocka_unit_test_teardown(test_small_terminals_and_ascii, end),
        cmocka_unit_test_teardown(test_every_way_out, end),
        cmocka_unit_test_teardown(test_it_stands_still_and_goes_on, end),
        cmocka_unit_test_teardown(test_the_service_goes_away_and_comes_back, end),
        cmocka_unit_test_teardown(test_a_service_that_does_not_answer, end),
        cmocka_unit_test_teardown(test_pausing, end),
        cmocka_unit_test_teardown(test_tables_where_there_is_no_screen, end),
        cmocka_unit_test_teardown(test_who_may_not_observe_sees_totals, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
