/* SPDX-License-Identifier: Apache-2.0 */
/* What handlers do to the executor: they do not return, crash it, end it. Each is told with its
 * plugin, actor and message, blamed on that message alone, and nothing else is lost or blamed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/faulty.h"
#include "tests/system/harness.h"

struct bench {
    struct service service;
    struct odeon_client *client;
    struct odeon_port *port;
    struct faulty_page *page;
    char path[96];
    uint32_t do_type, count_type, pass_type;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* ---- the service and its actors */

static void page_make(struct bench *b)
{
    int fd;

    snprintf(b->path, sizeof(b->path), "%s/page", b->service.dir);
    fd = open(b->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(*b->page)), 0);
    b->page = mmap(NULL, sizeof(*b->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(b->page != MAP_FAILED);
    close(fd);
}

static void begin(struct bench *b, const char *attempts, const char *warn, const char *kill_after)
{
    memset(b, 0, sizeof(*b));
    service_start(&b->service, (const char *const[]){
                                   SMALL_SERVICE, "--set", "restart-delay-max-ms=10", "--set",
                                   "quarantine-crashes=0", "--set", "quarantine-window-s=3600",
                                   "--set", attempts, "--set", warn, "--set", kill_after,
                                   "--plugin", TEST_FAULTY, NULL });
    b->client = service_connect(&b->service, "faults");
    b->port = port_open_or_fail(b->client, 0, 0, false);
    b->do_type = message_id(b->client, odeon_message_of(faulty_do));
    b->count_type = message_id(b->client, odeon_message_of(faulty_count));
    b->pass_type = message_id(b->client, odeon_message_of(faulty_pass));
    page_make(b);
}

static void end(struct bench *b)
{
    odeon_client_disconnect(b->client);
    assert_int_equal(service_stop(&b->service, SIGTERM), 0);
    munmap(b->page, sizeof(*b->page));
    service_end(&b->service);
}

static odeon_ref actor_spawn(struct bench *b, uint32_t index)
{
    struct faulty_args args = { .index = index };

    memcpy(args.page, b->path, sizeof(args.page));
    return spawn(b->client, "faulty_actor", NULL, &args, sizeof(args));
}

static uint32_t queue_of(struct bench *b, odeon_ref ref)
{
    struct odeon_actor_detail *detail;
    uint32_t queue;

    assert_int_equal(odeon_actor_show(b->client, ref, NULL, &detail), 0);
    queue = detail->actor.queue;
    odeon_result_free(detail);
    return queue;
}

static void post_do(struct bench *b, odeon_ref to, enum faulty_how how, uint32_t times)
{
    struct faulty_do message = { .how = how, .times = times };

    assert_int_equal(odeon_port_post_wait(b->port, to, b->do_type, &message, sizeof(message),
                                          SECONDS(PATIENCE_S)),
                     0);
}

static void post_counts(struct bench *b, odeon_ref to, uint64_t *posted, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct faulty_count count = { .n = ++*posted };

        assert_int_equal(odeon_port_post_wait(b->port, to, b->count_type, &count, sizeof(count),
                                              SECONDS(PATIENCE_S)),
                         0);
    }
}

static void release(struct bench *b)
{
    atomic_store(&b->page->release, 1);
    syscall(SYS_futex, &b->page->release, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- handlers that do not return */

/* Workers whose handler is known not to have returned. */
static unsigned overdue(struct bench *b)
{
    struct odeon_stats *stats = b->service.figures;
    unsigned n = 0;

    for (size_t i = 0; i < odeon_stats_n(stats); i++)
        if (strcmp(odeon_stats_name(stats, i), "handler_overdue") == 0)
            n +=
                (unsigned)odeon_stats_value(stats, 0, i) + (unsigned)odeon_stats_value(stats, 1, i);
    return n;
}

static void test_a_stall_is_named(void **state)
{
    static const struct {
        enum faulty_how how;
        const char *what;
    } stalls[] = { { FAULTY_HANG, ", blocked (" }, { FAULTY_LOOP, ", computing" } };
    unsigned later;
    struct bench b;

    (void)state;
    begin(&b, "attempts=3", "stall-warn-ms=50", "stall-kill-ms=0");
    for (unsigned i = 0; i < sizeof(stalls) / sizeof(stalls[0]); i++) {
        odeon_ref actor = actor_spawn(&b, 0);

        atomic_store(&b.page->release, 0);
        post_do(&b, actor, stalls[i].how, 1);
        assert_true(wait_until(service_figure(&b.service, "handler_stalls") == i + 1));
        assert_true(wait_until(service_log_has(&b.service, stalls[i].what)));
        assert_int_equal(overdue(&b), 1);
        release(&b);
        /* seen to have returned with the next look, which the next message brings */
        assert_true(wait_until((post_do(&b, actor, FAULTY_N, 0), overdue(&b) == 0)));
        assert_int_equal(odeon_actor_stop(b.client, actor, ODEON_DELETE), 0);
    }
    /* one that could not be set aside at once has a second line when it is */
    later = service_log_count(&b.service, ": it has been set aside, ");
    assert_int_equal(
        service_log_count(&b.service, "a handler of plugin faulty has not returned for"),
        2 + later);
    assert_int_equal(service_log_count(&b.service, "actor type faulty_actor"), 2 + later);
    assert_int_equal(service_log_count(&b.service, "ODEON_MESSAGE=faulty_do"), 2 + later);
    end(&b);
}

/* The others of its queue do not wait for it; what comes for the stuck actor is kept for it, in
 * order; nobody is restarted. */
static void test_a_stall_is_set_aside(void **state)
{
    enum { COUNTS = 50 };
    odeon_ref stuck, mate;
    uint64_t posted[2] = { 0 };
    struct bench b;

    (void)state;
    if (!SIGNALS_ARRIVE)
        skip();
    begin(&b, "attempts=2", "stall-warn-ms=50", "stall-kill-ms=0");
    stuck = actor_spawn(&b, 0);
    do
        mate = actor_spawn(&b, 1);
    while (queue_of(&b, mate) != queue_of(&b, stuck));
    for (unsigned round = 1; round <= 2; round++) {
        atomic_store(&b.page->release, 0);
        post_do(&b, stuck, round == 1 ? FAULTY_HANG : FAULTY_LOOP, 1);
        post_counts(&b, stuck, &posted[0], COUNTS);
        post_counts(&b, mate, &posted[1], COUNTS);
        assert_true(wait_until(atomic_load(&b.page->last[1]) == posted[1]));
        assert_true(wait_until(service_figure(&b.service, "set_aside") == round));
        post_counts(&b, stuck, &posted[0], COUNTS);
        post_counts(&b, mate, &posted[1], COUNTS);
        assert_true(wait_until(atomic_load(&b.page->last[1]) == posted[1]));
        assert_int_equal(atomic_load(&b.page->last[0]), posted[0] - 2 * COUNTS);
        release(&b);
        assert_true(wait_until(atomic_load(&b.page->last[0]) == posted[0]));
    }
    assert_int_equal(atomic_load(&b.page->out_of_order), 0);
    assert_true(service_log_has(&b.service, "set aside, the other actors of its queue go on"));
    assert_int_equal(service_state(&b.service).executor_restarts, 0);
    end(&b);
}

/* The message is blamed, and tried as often as any other that crashes; what waited behind it for
 * others is run at once, what waited for the same actor behind it, all in order; another worker's
 * actors do not wait at all. */
static void test_a_stall_is_ended(void **state)
{
    enum { COUNTS = 50 };
    char text[512];
    odeon_ref stuck, mate, other;
    uint64_t posted[3] = { 0 };
    struct bench b;

    (void)state;
    begin(&b, "attempts=2", "stall-warn-ms=0", "stall-kill-ms=0"); /* nobody is set aside */
    stuck = actor_spawn(&b, 0);
    do
        mate = actor_spawn(&b, 1);
    while (queue_of(&b, mate) != queue_of(&b, stuck));
    do
        other = actor_spawn(&b, 2);
    while (queue_of(&b, other) == queue_of(&b, stuck));
    post_do(&b, stuck, FAULTY_HANG, 2);
    post_counts(&b, stuck, &posted[0], COUNTS);
    post_counts(&b, mate, &posted[1], COUNTS);
    post_counts(&b, other, &posted[2], COUNTS);
    /* posted last: all have reached their queues */
    assert_true(wait_until(atomic_load(&b.page->last[2]) == COUNTS));
    assert_int_equal(atomic_load(&b.page->last[1]), 0);
    if (ctl(&b.service, text, sizeof(text), "executor set stall-kill-ms=300") != 0)
        fail_msg("%s", text);
    assert_true(wait_until(atomic_load(&b.page->last[1]) == COUNTS));
    assert_true(wait_until(atomic_load(&b.page->last[0]) == COUNTS));
    assert_int_equal(atomic_load(&b.page->out_of_order), 0);
    assert_int_equal(atomic_load(&b.page->entered), 2);
    assert_int_equal(atomic_load(&b.page->mate_at_retry), COUNTS);
    assert_int_equal(service_figure(&b.service, "refusals"), 1);
    assert_int_equal(
        service_log_count(&b.service, "plugin faulty did not return: actor type faulty_actor"), 2);
    assert_int_equal(
        service_log_count(&b.service, "attempt 2 of 2: the message is a dead letter now"), 1);
    assert_int_equal(service_state(&b.service).executor_restarts, 2);
    end(&b);
}

/* ---- faults */

static const struct {
    enum faulty_how how;
    const char *name, *did, *where; /* where: what the line must also hold */
} faults[] = {
    { FAULTY_NULL, "null", "crashed", "signal SIGSEGV, address 0x0, " },
    { FAULTY_WILD, "wild", "crashed", "signal SIGSEGV, address 0xdeadbeef00, " },
    { FAULTY_JUMP, "jump", "crashed", "signal SIGSEGV" },
    { FAULTY_STACK, "stack overflow", "crashed", "signal SIGSEGV" },
    { FAULTY_ABORT, "abort", "crashed", "signal SIGABRT" },
/* a sanitizer finds it first, and is itself between handlers and the C library
 * (executor/contain.c) */
#ifndef SANITIZED
    { FAULTY_DOUBLE_FREE, "double free", "crashed", "signal SIGABRT" },
    { FAULTY_EXIT, "exit", "ended the process", "" },
    { FAULTY_QUICK_EXIT, "quick_exit", "ended the process", "" },
    { FAULTY_UNDERSCORE_EXIT, "_exit", "ended the process", "" },
    { FAULTY_MASK, "signals blocked", "crashed", "signal SIGSEGV" },
    { FAULTY_HANDLER, "signal taken", "crashed", "signal SIGSEGV" },
#endif
    { FAULTY_DIVIDE, "division", "crashed", "signal SIGFPE" },
    { FAULTY_ILLEGAL, "illegal instruction", "crashed", "signal SIG" },
    { FAULTY_PTHREAD_EXIT, "pthread_exit", "ended its thread", "" },
    { FAULTY_SYS_EXIT, "exit of the thread", "ended its thread", "" },
};
enum { N_FAULTS = sizeof(faults) / sizeof(faults[0]) };

/* The log's line of the n-th blame, when it is whole; the caller frees it. */
static char *blame_line(const struct service *service, unsigned n)
{
    char *log = service_read_log(service), *at = log, *line = NULL;

    while (at && (at = strstr(at, ": plugin faulty ")) != NULL) {
        size_t length = strcspn(at, "\n");

        if (at[length] == '\n' && memmem(at, length, ": actor type faulty_actor", 25) && n-- == 0) {
            line = strndup(at, length);
            break;
        }
        at += length;
    }
    free(log);
    return line;
}

static void test_faults_are_attributed(void **state)
{
    odeon_ref victim, bystander;
    uint64_t posted = 0;
    struct bench b;

    (void)state;
    begin(&b, "attempts=1", "stall-warn-ms=200", "stall-kill-ms=0");
    victim = actor_spawn(&b, 0);
    bystander = actor_spawn(&b, 1);
    for (unsigned i = 0; i < N_FAULTS; i++) {
        char *line = NULL;

        post_counts(&b, bystander, &posted, 10);
        post_do(&b, victim, faults[i].how, 1);
        post_counts(&b, bystander, &posted, 10);
        if (!wait_until((line = blame_line(&b.service, i)) != NULL))
            fail_msg("%s: nobody is blamed", faults[i].name);
        if (!strstr(line, faults[i].did) || !strstr(line, faults[i].where) ||
            !strstr(line, "message faulty_do") || !strstr(line, "a dead letter now"))
            fail_msg("%s: %s", faults[i].name, line);
        if (faults[i].how != FAULTY_PTHREAD_EXIT && faults[i].how != FAULTY_SYS_EXIT &&
            faults[i].how != FAULTY_JUMP && !strstr(line, "faulty+0x"))
            fail_msg("%s: no backtrace: %s", faults[i].name, line);
        free(line);
        assert_true(wait_until(service_figure(&b.service, "refusals") == i + 1));
    }
    assert_true(wait_until(atomic_load(&b.page->last[1]) == posted));
    assert_int_equal(atomic_load(&b.page->out_of_order), 0);
    assert_int_equal(service_state(&b.service).executor_restarts, N_FAULTS);
    assert_int_equal(service_figure(&b.service, "faults"), N_FAULTS);
    end(&b);
}

/* One of its threads, by turns. */
static pid_t thread_of(pid_t process, unsigned turn)
{
    char path[64];
    pid_t found[64] = { 0 };
    unsigned n = 0;
    DIR *threads;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads)) != NULL && n < 64;)
        if (entry->d_name[0] != '.')
            found[n++] = (pid_t)atoi(entry->d_name);
    if (threads)
        closedir(threads);
    assert_true(n > 0);
    return found[turn % n];
}

/* What is contained: the handler has done it, and nothing has come of it. */
static void test_contained(void **state)
{
#ifdef SANITIZED
    static const enum faulty_how hows[] = { FAULTY_FORK, FAULTY_CHDIR };
#else
    static const enum faulty_how hows[] = { FAULTY_FORK, FAULTY_CLOSE_ALL, FAULTY_CHDIR };
#endif
    odeon_ref actor;
    uint64_t posted = 0;
    struct bench b;

    (void)state;
    begin(&b, "attempts=1", "stall-warn-ms=0", "stall-kill-ms=0");
    actor = actor_spawn(&b, 0);
    for (unsigned i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
        post_do(&b, actor, hows[i], 1);
        post_counts(&b, actor, &posted, 100);
        assert_true(wait_until(atomic_load(&b.page->last[0]) == posted));
    }
    /* the child comes out of its handler, and no further */
    assert_true(wait_until(atomic_load(&b.page->done) == sizeof(hows) / sizeof(hows[0]) + 1));
    assert_int_equal(ctl_set(&b.service, (char[512]){ "" }, 512, "workers=1"), 0);
    post_counts(&b, actor, &posted, 100);
    assert_true(wait_until(atomic_load(&b.page->last[0]) == posted));
    assert_int_equal(atomic_load(&b.page->counted[0]), posted);
    assert_int_equal(service_state(&b.service).executor_restarts, 0);
    end(&b);
}

/* A plugin that ends the executor at each start is left out in the end. */
static void test_safe_mode(void **state)
{
    struct service service;
    struct odeon_client *client;
    pid_t executor;

    (void)state;
    service_start(&service, (const char *const[]){
                                SMALL_SERVICE, "--set", "restart-delay-max-ms=10", "--plugin",
                                TEST_PASSER, "--plugin", TEST_PLUGINS "/crash_in_load.so",
                                "--plugin", TEST_FAULTY, NULL });
    assert_true(service_log_has(
        &service,
        "crash_in_load.so has ended the executor 3 times while it was loaded: it is left out"));
    client = service_connect(&service, "safe-mode");
    (void)spawn(client, "passer_actor", NULL, NULL, 0);
    executor = service_executor(&service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&service, executor);
    (void)spawn(client, "passer_actor", NULL, NULL, 0);
    assert_int_equal(service_state(&service).executor_restarts, 4);
    assert_int_equal(service_log_count(&service, "it is left out"), 1);
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

/* Killed from outside, by whatever signal in whatever thread, again and again while a handler runs:
 * nobody is blamed, nothing is lost. */
static void test_outside_kills_blame_nobody(void **state)
{
    static const int signals[] = { SIGKILL, SIGSEGV, SIGABRT, SIGBUS, SIGSEGV, SIGABRT };
    unsigned kills = getenv("ODEON_TEST_QUICK") ? 12 : 60, hung = 0;
    odeon_ref actors[8], hanger;
    uint64_t posted[8] = { 0 };
    struct bench b;

    (void)state;
    if (!SIGNALS_ARRIVE)
        skip();
    /* it hangs at each kill, but one in six at most is by SIGKILL: the others explain themselves */
    begin(&b, "attempts=1", "stall-warn-ms=0", "suspect-deaths=11");
    hanger = actor_spawn(&b, 0);
    for (uint32_t i = 0; i < 8; i++)
        do
            actors[i] = actor_spawn(&b, i);
        while (queue_of(&b, actors[i]) == queue_of(&b, hanger));
    post_do(&b, hanger, FAULTY_HANG, 1);
    for (unsigned i = 0; i < kills; i++) {
        pid_t executor = service_executor(&b.service);

        for (unsigned k = 0; k < 8; k++)
            post_counts(&b, actors[k], &posted[k], 200);
        assert_true(wait_until(atomic_load(&b.page->entered) > hung));
        hung = atomic_load(&b.page->entered);
        assert_int_equal(syscall(SYS_tgkill, executor, thread_of(executor, i), signals[i % 6]), 0);
        service_wait_executor(&b.service, executor);
    }
    release(&b);
    assert_true(wait_until(atomic_load(&b.page->done) == 1));
    for (unsigned k = 0; k < 8; k++)
        assert_true(wait_until(atomic_load(&b.page->last[k]) == posted[k]));
    assert_int_equal(atomic_load(&b.page->out_of_order), 0);
    assert_int_equal(
        service_figure(&b.service, "dead_letters") + service_figure(&b.service, "refusals"), 0);
    assert_int_equal(service_figure(&b.service, "faults"), 0);
    assert_false(service_log_has(&b.service, "a dead letter now"));
    end(&b);
}

/* ---- what becomes of it */

static void post_pass(struct bench *b, odeon_ref by, odeon_ref to, uint64_t n, uint64_t how)
{
    struct faulty_pass message = { .to = to, .n = n, .how = how };

    assert_int_equal(odeon_port_post_wait(b->port, by, b->pass_type, &message, sizeof(message),
                                          SECONDS(PATIENCE_S)),
                     0);
}

/* What a test asks of the last letter: the list's texts go with the list. */
struct letter {
    uint64_t id;
    uint32_t size;
    char type[64], message[64], reason[64];
};

/* How many there are, page by page. */
static size_t letters(struct bench *b, struct letter *ret_last)
{
    uint64_t after = 0;
    size_t n = 0;
    int more;

    do {
        struct odeon_list *list = NULL;

        assert_int_equal(odeon_dead_letter_list(b->client, after, 7, &list), 0);
        if (list->n > 0) {
            const struct odeon_dead_letter_info *last =
                (const struct odeon_dead_letter_info *)list->rows + (list->n - 1);

            *ret_last = (struct letter){ .id = last->id, .size = last->size };
            snprintf(ret_last->type, sizeof(ret_last->type), "%s", last->type);
            snprintf(ret_last->message, sizeof(ret_last->message), "%s", last->message);
            snprintf(ret_last->reason, sizeof(ret_last->reason), "%s", last->reason);
        }
        n += list->n;
        after = list->next;
        more = list->more;
        odeon_list_free(list);
    } while (more);
    return n;
}

static bool actor_is_gone(struct bench *b, odeon_ref actor)
{
    struct odeon_actor_detail *detail = NULL;
    int r = odeon_actor_show(b->client, actor, NULL, &detail);

    odeon_result_free(detail);
    return r == -ENOENT;
}

/* What cannot be replayed stays, and can be given to another actor. */
static void replay_of_nobodys(struct bench *b, odeon_ref passer, odeon_ref gone, odeon_ref other,
                              uint64_t n)
{
    struct odeon_dead_letters_done done = { .struct_size = sizeof(done) };
    struct letter last = { 0 };

    assert_int_equal(odeon_actor_stop(b->client, gone, ODEON_DELETE), 0);
    /* or what is sent to it waits behind that order */
    assert_true(wait_until(actor_is_gone(b, gone)));
    post_pass(b, passer, gone, n, 0);
    assert_true(wait_until(letters(b, &last) == 1));
    assert_string_equal(last.reason, "no-such-actor");
    assert_string_equal(last.type, "");
    pid_t executor = service_executor(&b->service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&b->service, executor);
    assert_int_equal(odeon_dead_letter_replay(b->client, NULL, 0, ODEON_NOBODY, &done), 0);
    assert_int_equal(done.done, 0);
    assert_int_equal(done.gone, 1);
    assert_int_equal(odeon_dead_letter_replay(b->client, &last.id, 1, other, &done), 0);
    assert_int_equal(done.done, 1);
    assert_true(wait_until(atomic_load(&b->page->last[0]) == n));
    assert_int_equal(letters(b, &last), 0);
}

/* A letter is shown as what it was sent as, whatever has become known since. */
static void show_beside_a_newer_version(struct bench *b, uint64_t id, uint64_t n)
{
    static const struct odeon_message_type newer = { .struct_size = sizeof(newer),
                                                     .name = "faulty_count",
                                                     .version = 2,
                                                     .size = sizeof(struct faulty_count),
                                                     .fields = "{ int64_t newer; }" };
    char text[4096], fields[64];

    (void)message_id(b->client, &newer);
    snprintf(fields, sizeof(fields), "\"fields\":{\"n\":%llu}", (unsigned long long)n);
    assert_int_equal(
        ctl(&b->service, text, sizeof(text), "dlq show %llu --json", (unsigned long long)id), 0);
    if (!strstr(text, fields) || !strstr(text, "\"message\":\"faulty_count\",\"version\":1,"))
        fail_msg("%s is not in:\n%s", fields, text);
    assert_int_equal(ctl(&b->service, text, sizeof(text), "dlq list --json --after %llu",
                         (unsigned long long)id),
                     0);
    assert_non_null(strstr(text, "\"message\":\"faulty_count\",\"version\":1,"));
}

/* A type that crashes the executor again and again is not run any more; its messages wait as dead
 * letters, and lose nothing by it. */
static void test_quarantine_and_dead_letters(void **state)
{
    enum { CRASHES = 3, COUNTS = 20 };
    struct letter last = { 0 };
    struct odeon_dead_letter_detail *detail;
    odeon_ref passer, victim, gone;
    char text[4096];
    struct bench b;

    (void)state;
    begin(&b, "attempts=1", "stall-warn-ms=0", "quarantine-crashes=3");
    load_plugin(b.client, TEST_PASSER);
    passer = spawn(b.client, "passer_actor", NULL, NULL, 0);
    victim = actor_spawn(&b, 0);
    gone = actor_spawn(&b, 1);
    for (uint64_t i = 0; i < CRASHES; i++) {
        post_pass(&b, passer, victim, 0, FAULTY_ABORT);
        assert_true(wait_until(service_state(&b.service).executor_restarts == i + 1));
    }
    assert_true(
        wait_until(service_log_has(&b.service, "actor type faulty_actor of plugin faulty has "
                                               "crashed the executor 3 times within 3600 s")));
    assert_true(wait_until(letters(&b, &last) == CRASHES));
    for (uint64_t i = 0; i < COUNTS; i++)
        post_pass(&b, passer, victim, i + 1, 0);
    assert_true(wait_until(letters(&b, &last) == CRASHES + COUNTS));
    assert_string_equal(last.reason, "quarantined");
    assert_string_equal(last.message, "faulty_count");
    assert_string_equal(last.type, "faulty_actor");
    assert_int_equal(last.size, sizeof(struct faulty_count));
    assert_int_equal(odeon_dead_letter_show(b.client, last.id, &detail), 0);
    assert_int_equal(((const struct faulty_count *)detail->payload)->n, COUNTS);
    odeon_result_free(detail);
    show_beside_a_newer_version(&b, last.id, COUNTS);
    /* they outlive the executor */
    pid_t executor = service_executor(&b.service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&b.service, executor);
    assert_int_equal(letters(&b, &last), CRASHES + COUNTS);
    assert_int_equal(ctl(&b.service, text, sizeof(text), "type list"), 0);
    assert_int_equal(ctl(&b.service, text, sizeof(text), "dlq purge 3 1 2 3"), 0);
    assert_int_equal(ctl(&b.service, text, sizeof(text), "dlq show 3"), 1);
    assert_int_equal(ctl(&b.service, text, sizeof(text), "dlq purge 3"), 1);
    assert_int_equal(ctl(&b.service, text, sizeof(text), "type release faulty_actor"), 0);
    assert_int_equal(ctl(&b.service, text, sizeof(text), "type release faulty_actor"), 1);
    assert_int_equal(ctl(&b.service, text, sizeof(text), "dlq replay all"), 0);
    assert_non_null(strstr(text, "20 replayed"));
    assert_true(wait_until(atomic_load(&b.page->last[0]) == COUNTS));
    assert_int_equal(atomic_load(&b.page->out_of_order), 0);
    assert_int_equal(letters(&b, &last), 0);
    replay_of_nobodys(&b, passer, gone, victim, COUNTS + 1);
    end(&b);
}

/* Nothing of the type is run, and yet its actors can be stopped: else a plugin that has been
 * repaired could not be loaded in the place of the one that crashes. */
static void test_quarantine_ends_with_the_repaired_plugin(void **state)
{
    struct letter last = { 0 };
    odeon_ref actors[2];
    uint64_t posted = 0;
    struct bench b;

    (void)state;
    begin(&b, "attempts=1", "stall-warn-ms=0", "quarantine-crashes=1");
    for (uint32_t i = 0; i < 2; i++)
        actors[i] = actor_spawn(&b, i);
    post_do(&b, actors[0], FAULTY_ABORT, 1);
    assert_true(wait_until(service_log_has(&b.service, "has crashed the executor 1 times")));
    assert_true(wait_until(service_state(&b.service).executor_restarts == 1));
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(odeon_actor_stop(b.client, actors[i], ODEON_DELETE), 0);
        assert_true(wait_until(actor_is_gone(&b, actors[i])));
    }
    assert_int_equal(letters(&b, &last), 0);
    if (unload_plugin(b.client, "faulty") < 0)
        fail_msg("%s", odeon_error_text());
    load_plugin(b.client, TEST_FAULTY);
    actors[0] = actor_spawn(&b, 0);
    post_counts(&b, actors[0], &posted, 10);
    assert_true(wait_until(atomic_load(&b.page->last[0]) == posted));
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stall_is_named),
        cmocka_unit_test(test_a_stall_is_set_aside),
        cmocka_unit_test(test_a_stall_is_ended),
        cmocka_unit_test(test_faults_are_attributed),
        cmocka_unit_test(test_contained),
        cmocka_unit_test(test_safe_mode),
        cmocka_unit_test(test_outside_kills_blame_nobody),
        cmocka_unit_test(test_quarantine_and_dead_letters),
        cmocka_unit_test(test_quarantine_ends_with_the_repaired_plugin),
    };

    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
