/* SPDX-License-Identifier: Apache-2.0 */
/* `odeonctl top` for long beside load: it does not grow. One prints a document a look, which is
 * what is counted; another one stands in a terminal, where every view has its turn. Between looks
 * clients, actors and types come and go.
 *
 *   test_system_top_growth [--minutes N]   some twelve seconds without
 *
 * What a process has is the least of a third of the looks: what is opened and given back in one
 * look is no growth. The first third, before which every view has been shown, is held against the
 * last one. Pages of files are told and not judged: they are there from when somebody looks at
 * them, and may be taken away at any time; that files do not pile up is for the mappings to say.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/pane.h"
#include "tests/system/probe.h"

enum {
    VIEWS = 7,
    LOOKS_A_VIEW = 2,
    WARM_LOOKS = 3 * VIEWS * LOOKS_A_VIEW, /* of the memory that is kept for the next time, too */
    LOOKS = 90,                            /* behind them, at least */
    LEDGERS = 12,
    GUESTS = 3,      /* actors of each client that comes and goes */
    SLACK_KIB = 512, /* an allocator's, whose holes are elsewhere each time */
    KIB_A_TYPE = 4,  /* that is new: its row, its names, and figures of two looks */
};
#define EVERY "0.1" /* the shortest that there is */

/* ---- what a process has */

struct taken {
    uint64_t own_kib, resident_kib, descriptors, mappings;
};

static void taken_keep_least(struct taken *least, const struct taken *now)
{
#define LEAST(member_)                                                                             \
    if (now->member_ < least->member_)                                                             \
    least->member_ = now->member_
    LEAST(own_kib);
    LEAST(resident_kib);
    LEAST(descriptors);
    LEAST(mappings);
#undef LEAST
}

static struct taken taken_by(pid_t pid)
{
    struct taken taken = { .descriptors = process_descriptors(pid) };
    char path[64], line[512];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        taken.mappings += strchr(line, '\n') != NULL;
    fclose(file);
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        (void)sscanf(line, "Anonymous: %" SCNu64, &taken.own_kib);
        (void)sscanf(line, "Rss: %" SCNu64, &taken.resident_kib);
    }
    fclose(file);
    assert_true(taken.own_kib && taken.resident_kib && taken.mappings);
    return taken;
}

/* ---- the service, and a load that goes on */

static struct service service;
static struct odeon_client *root;
static odeon_ref ledgers[LEDGERS];
static uint32_t work_type, number_type;
static pthread_t load;
static atomic_bool load_ends;
static int64_t most_ns; /* how long it goes on beyond LOOKS */

static void *load_main(void *argument)
{
    const struct probe_work work = { .ns = 200000 };
    struct odeon_port *port = argument;

    for (unsigned i = 0; !atomic_load(&load_ends); i++) {
        (void)odeon_port_post_wait(port, ledgers[i % LEDGERS], work_type, &work, sizeof(work),
                                   MILLISECONDS(100));
        usleep(500);
    }
    odeon_port_close(port);
    return NULL;
}

static void load_begin(void)
{
    static const char *const arguments[] = { SMALL_SERVICE, "--plugin", TEST_PROBE, NULL };
    struct odeon_port *port;

    service_start(&service, arguments);
    root = service_connect(&service, "load");
    for (unsigned i = 0; i < LEDGERS; i++)
        ledgers[i] = spawn(root, "probe_ledger", NULL, NULL, 0);
    work_type = message_id(root, odeon_message_of(probe_work));
    number_type = message_id(root, odeon_message_of(probe_number));
    port = port_open_or_fail(root, 1 << 16, 1 << 16, false);
    assert_int_equal(pthread_create(&load, NULL, load_main, port), 0);
}

/* ---- who comes and goes */

static unsigned n_types(void)
{
    struct odeon_list *list = NULL;
    unsigned n;

    assert_int_equal(odeon_type_list(root, 0, 0, &list), 0);
    assert_false(list->more);
    n = (unsigned)list->n;
    odeon_list_free(list);
    return n;
}

/* A client with actors, which each run something before they are stopped. */
static void come_and_go(unsigned look)
{
    const struct probe_number number = { .n = look };
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref guests[GUESTS];
    char name[32];

    snprintf(name, sizeof(name), "guest-%u", look);
    client = service_connect(&service, name);
    port = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    for (unsigned i = 0; i < GUESTS; i++) {
        guests[i] =
            spawn(client, look % 2 ? "probe_echo" : "probe_ledger", i ? NULL : name, NULL, 0);
        (void)odeon_port_post_wait(port, guests[i], number_type, &number, sizeof(number),
                                   PATIENCE_NS);
    }
    for (unsigned i = 0; i < GUESTS; i++)
        assert_int_equal(odeon_actor_stop(client, guests[i], ODEON_DELETE), 0);
    odeon_port_close(port);
    odeon_client_disconnect(client);
}

/* Of one plugin that is there for some looks, and then of the next. */
static void types_come_and_go(unsigned look)
{
    static const struct {
        const char *path, *plugin, *type;
    } guests[] = { { TEST_CROWD, "crowd", "crowd_echo" },
                   { TEST_PASSER, "passer", "passer_actor" },
                   { TEST_TELLER, "teller", "teller" } };
    unsigned at = look / 6 % 3, step = look % 6;
    odeon_ref guest;

    if (step == 0)
        load_plugin(root, guests[at].path);
    if (step < 4) {
        guest = spawn(root, guests[at].type, NULL, NULL, 0);
        assert_int_equal(odeon_actor_stop(root, guest, ODEON_DELETE), 0);
    }
    if (step == 5) /* as soon as none of its actors is left */
        assert_true(wait_until(odeon_plugin_unload(root, guests[at].plugin) == 0));
}

/* ---- the two programs */

static struct pane pane;
static pid_t printer;
static FILE *printed;
static char *line;
static size_t room;
static unsigned ledger_looks; /* in which something of the load was told */

static void printer_begin(void)
{
    pid_t parent = getpid();
    int pipes[2];

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    printer = fork();
    assert_true(printer >= 0);
    if (printer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
        dup2(pipes[1], STDOUT_FILENO);
        execl(TEST_ODEONCTL, TEST_ODEONCTL, "--socket", service.socket, "--json", "top", "types",
              "--batch", "--watch", EVERY, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    printed = fdopen(pipes[0], "r");
    assert_non_null(printed);
}

static pid_t program_begin(void)
{
    char words[512];

    pane_begin(&pane, "C.UTF-8", "", 150, 30);
    snprintf(words, sizeof(words), "clear; '%s' --socket '%s' top --watch " EVERY, TEST_ODEONCTL,
             service.socket);
    pane_type(&pane, words);
    pane_press(&pane, "Enter");
    pane_expect(&pane, "BUSY");
    return pane_child(&pane);
}

/* A title that a view has alone. */
static const char *const titles[VIEWS] = { "SENDS/S", "RUNS AT LEAST", "FROM",    "RETIRING",
                                           "PARKS/S", "BROKEN",        "BACKLOGS" };

/* One look of the first, and what happens until the next one. The second is waited for where it
 * must have shown a view, however little of a processor it gets. */
static void look_on(unsigned look, bool waits)
{
    unsigned view = look / LOOKS_A_VIEW % VIEWS;
    char key[2] = { (char)('1' + view), '\0' };

    assert_true(getline(&line, &room, printed) > 0);
    ledger_looks += strstr(line, "probe_ledger") != NULL;
    if (look % LOOKS_A_VIEW == 0)
        pane_type(&pane, key);
    come_and_go(look);
    types_come_and_go(look);
    if (waits && look % LOOKS_A_VIEW == LOOKS_A_VIEW - 1)
        pane_expect(&pane, titles[view]);
}

/* ---- growth */

struct third {
    struct taken printer, program;
    unsigned types;
};

static void third_begin(struct third *third)
{
    const struct taken most = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };

    *third = (struct third){ .printer = most, .program = most };
}

static bool is_as_before(const char *who, const struct taken *first, const struct taken *last,
                         unsigned new_types)
{
    uint64_t more = SLACK_KIB + (uint64_t)KIB_A_TYPE * new_types;

    printf("# %s: own memory %" PRIu64 " -> %" PRIu64 " KiB, resident %" PRIu64 " -> %" PRIu64
           " KiB, descriptors %" PRIu64 " -> %" PRIu64 ", mappings %" PRIu64 " -> %" PRIu64 "\n",
           who, first->own_kib, last->own_kib, first->resident_kib, last->resident_kib,
           first->descriptors, last->descriptors, first->mappings, last->mappings);
    return last->own_kib <= first->own_kib + more && last->descriptors <= first->descriptors &&
           last->mappings <= first->mappings;
}

/* So many looks, or as many as there are in the time; a look's number is for all of a test. */
static void third_run(struct third *third, pid_t program, unsigned *look)
{
    int64_t end = time_ns() + most_ns / 3;

    third_begin(third);
    for (unsigned n = 0; n < LOOKS / 3 || time_ns() < end; n++) {
        struct taken now;

        look_on((*look)++, false);
        now = taken_by(printer);
        taken_keep_least(&third->printer, &now);
        now = taken_by(program);
        taken_keep_least(&third->program, &now);
    }
    third->types = n_types();
}

static void test_it_does_not_grow(void **state)
{
    struct third first, middle, last;
    unsigned look = 0;
    bool printer_is, program_is;
    pid_t program;

    (void)state;
    if (!pane_can_be())
        skip();
    load_begin();
    printer_begin();
    program = program_begin();
    while (look < WARM_LOOKS)
        look_on(look++, true);
    third_run(&first, program, &look);
    third_run(&middle, program, &look);
    third_run(&last, program, &look);
    printf("# %u looks, types %u -> %u\n", look, first.types, last.types);
    printer_is =
        is_as_before("top --batch", &first.printer, &last.printer, last.types - first.types);
    program_is =
        is_as_before("top in a terminal", &first.program, &last.program, last.types - first.types);
    assert_true(printer_is && program_is);
    assert_true(ledger_looks > 0);
    pane_type(&pane, "1"); /* and it still shows what there is */
    pane_expect(&pane, "probe_ledger");
}

static int end(void **state)
{
    (void)state;
    pane_end(&pane);
    if (printer > 0) {
        kill(printer, SIGKILL);
        waitpid(printer, NULL, 0);
    }
    if (printed)
        fclose(printed);
    free(line);
    if (root) {
        atomic_store(&load_ends, true);
        pthread_join(load, NULL);
        root = odeon_client_disconnect(root);
    }
    service_end(&service);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_it_does_not_grow, end) };

    if (argc == 3 && strcmp(argv[1], "--minutes") == 0)
        most_ns = SECONDS(60) * (int64_t)strtoul(argv[2], NULL, 10);
    else if (argc > 1)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
