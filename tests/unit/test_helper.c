/* SPDX-License-Identifier: Apache-2.0 */
/* A helper: what it is asked for is done in its thread, in order, and told of once. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <odeon/client.h>
#include <odeon/helper.h>

#include "tests/run/patience.h"
#include "tests/unit/clientlib_cmocka.h"

enum { ERRANDS = 3000, ERRANDS_MAX = 1024 };

struct scene {
    struct odeon_helper *helper;
    sem_t go, begun;
    _Atomic unsigned worked;
    unsigned told;
    int result;
    char text[128];
    pthread_t worker;
};

static int setup(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));

    sem_init(&s->go, 0, 0);
    sem_init(&s->begun, 0, 0);
    assert_int_equal(odeon_helper_new(&s->helper), 0);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct scene *s = *state;

    odeon_helper_free(s->helper);
    sem_destroy(&s->go);
    sem_destroy(&s->begun);
    free(s);
    return 0;
}

static bool is_readable(const struct scene *s, int timeout_ms)
{
    struct pollfd look = { .fd = odeon_helper_fd(s->helper), .events = POLLIN };

    return poll(&look, 1, timeout_ms) == 1;
}

static void dispatch_until(struct scene *s, unsigned told)
{
    while (s->told < told) {
        assert_true(is_readable(s, PATIENCE_MS));
        assert_true(odeon_helper_dispatch(s->helper) >= 0);
    }
}

static int work(void *userdata)
{
    struct scene *s = userdata;

    s->worker = pthread_self();
    return (int)atomic_fetch_add(&s->worked, 1);
}

static void tell(void *userdata, int result, const char *text)
{
    struct scene *s = userdata;

    assert_string_equal(text, "");
    assert_int_equal(result, s->told++);
}

static int wait_for_go(void *userdata)
{
    struct scene *s = userdata;

    sem_post(&s->begun);
    while (sem_wait(&s->go) < 0) {
    }
    return 7;
}

static int fail_here(void *userdata)
{
    (void)userdata;
    return odeon_port_commit(NULL);
}

static void note(void *userdata, int result, const char *text)
{
    struct scene *s = userdata;

    s->told++;
    s->result = result;
    strncpy(s->text, text, sizeof(s->text) - 1);
}

static void test_in_order(void **state)
{
    struct scene *s = *state;

    for (unsigned i = 0; i < ERRANDS; i++) {
        int result;

        while ((result = odeon_helper_call(s->helper, work, tell, s)) == -EBUSY)
            assert_true(odeon_helper_dispatch(s->helper) >= 0);
        assert_int_equal(result, 0);
    }
    dispatch_until(s, ERRANDS);
    assert_int_equal(atomic_load(&s->worked), ERRANDS);
    assert_false(pthread_equal(s->worker, pthread_self()));
    assert_int_equal(odeon_helper_dispatch(s->helper), 0);
}

static void test_the_descriptor_tells(void **state)
{
    struct scene *s = *state;

    assert_false(is_readable(s, 0));
    assert_int_equal(odeon_helper_call(s->helper, wait_for_go, note, s), 0);
    sem_wait(&s->begun);
    assert_false(is_readable(s, 0)); /* and nobody here has waited */
    assert_int_equal(odeon_helper_dispatch(s->helper), 0);
    sem_post(&s->go);
    assert_true(is_readable(s, PATIENCE_MS));
    assert_int_equal(s->told, 0);
    assert_int_equal(odeon_helper_dispatch(s->helper), 1);
    assert_int_equal(s->result, 7);
    assert_false(is_readable(s, 0));
}

static void test_what_fails_has_its_text(void **state)
{
    struct scene *s = *state;

    assert_int_equal(odeon_helper_call(s->helper, fail_here, note, s), 0);
    dispatch_until(s, 1);
    assert_int_equal(s->result, -EINVAL);
    assert_non_null(strstr(s->text, "odeon_port_commit"));
    assert_null(strstr(odeon_error_text(), "odeon_port_commit")); /* not this thread's */
}

static void ask_again(void *userdata, int result, const char *text)
{
    struct scene *s = userdata;

    (void)text;
    assert_int_equal(result, 0);
    assert_int_equal(odeon_helper_call(s->helper, fail_here, note, s), 0);
}

static void test_asking_from_what_is_told(void **state)
{
    struct scene *s = *state;

    assert_int_equal(odeon_helper_call(s->helper, work, ask_again, s), 0);
    dispatch_until(s, 1);
    assert_int_equal(s->result, -EINVAL);
    assert_int_equal(odeon_helper_call(s->helper, work, NULL, s), 0); /* nobody is told */
    while (atomic_load(&s->worked) < 2)
        (void)is_readable(s, 1);
}

static void test_what_had_not_begun_is_not_done(void **state)
{
    struct scene *s = *state;

    assert_int_equal(odeon_helper_call(s->helper, work, note, s), 0);
    assert_int_equal(odeon_helper_call(s->helper, wait_for_go, note, s), 0);
    sem_wait(&s->begun);
    for (unsigned i = 2; i < ERRANDS_MAX; i++)
        assert_int_equal(odeon_helper_call(s->helper, work, note, s), 0);
    assert_int_equal(odeon_helper_call(s->helper, work, note, s), -EBUSY);
    assert_non_null(strstr(odeon_error_text(), "1024"));
    sem_post(&s->go);
    s->helper = odeon_helper_free(s->helper);
    assert_int_equal(s->told, ERRANDS_MAX);
    /* the thread may have come to some of them between the two */
    assert_in_range(atomic_load(&s->worked), 1, ERRANDS_MAX - 1);
    if (atomic_load(&s->worked) < ERRANDS_MAX - 1) {
        assert_int_equal(s->result, -ECANCELED);
        assert_non_null(strstr(s->text, "freed"));
    }
}

static void ask_for_ever(void *userdata, int result, const char *text)
{
    struct scene *s = userdata;

    (void)text;
    s->told++;
    assert_int_equal(result, 0);
    s->result = odeon_helper_call(s->helper, work, ask_for_ever, s);
}

/* Until it is refused. */
static int ask_while_it_is_freed(void *userdata)
{
    struct scene *s = userdata;
    int64_t end = time(NULL) + PATIENCE_S;
    int result;

    sem_post(&s->begun);
    do
        result = odeon_helper_call(s->helper, work, NULL, s);
    while (result != -ECANCELED && time(NULL) < end);
    return result;
}

static void test_nothing_is_asked_of_one_that_is_freed(void **state)
{
    struct scene *s = *state;

    assert_int_equal(odeon_helper_call(s->helper, work, ask_for_ever, s), 0);
    assert_true(is_readable(s, PATIENCE_MS)); /* it has ended, and nobody was told */
    odeon_helper_free(s->helper);
    s->helper = NULL;
    assert_int_equal(s->told, 1);
    assert_int_equal(atomic_load(&s->worked), 1);
    assert_int_equal(s->result, -ECANCELED);
    assert_non_null(strstr(odeon_error_text(), "freed"));

    assert_int_equal(odeon_helper_new(&s->helper), 0);
    assert_int_equal(odeon_helper_call(s->helper, ask_while_it_is_freed, note, s), 0);
    sem_wait(&s->begun);
    s->helper = odeon_helper_free(s->helper);
    assert_int_equal(s->told, 2);
    assert_int_equal(s->result, -ECANCELED);
    assert_non_null(strstr(s->text, "being freed"));
    assert_int_equal(atomic_load(&s->worked), 1);
}

static void test_what_cannot_be(void **state)
{
    struct scene *s = *state;

    assert_int_equal(odeon_helper_new(NULL), -EINVAL);
    assert_int_equal(odeon_helper_fd(NULL), -EINVAL);
    assert_int_equal(odeon_helper_dispatch(NULL), -EINVAL);
    assert_int_equal(odeon_helper_call(NULL, work, note, s), -EINVAL);
    assert_int_equal(odeon_helper_call(s->helper, NULL, note, s), -EINVAL);
    assert_null(odeon_helper_free(NULL));
}

static int look_at_signals(void *userdata)
{
    sigset_t blocked;

    (void)userdata;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    return sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGCHLD);
}

static void test_signals_are_the_programs(void **state)
{
    struct scene *s = *state;

    assert_int_equal(odeon_helper_call(s->helper, look_at_signals, note, s), 0);
    dispatch_until(s, 1);
    assert_int_equal(s->result, 1);
}

static void test_fork(void **state)
{
    struct scene *s = *state;
    int status;
    pid_t child;

    assert_int_equal(odeon_helper_call(s->helper, wait_for_go, note, s), 0);
    sem_wait(&s->begun);
    child = fork();
    if (child == 0) {
        bool right = odeon_helper_call(s->helper, work, note, s) == -ECHILD &&
                     odeon_helper_dispatch(s->helper) == -ECHILD &&
                     odeon_helper_fd(s->helper) == -ECHILD;

        odeon_helper_free(s->helper);
        _exit(right && s->told == 0 ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    sem_post(&s->go);
    dispatch_until(s, 1);
}

/* While its thread waits to be asked. */
static void test_fork_of_an_idle_one(void **state)
{
    struct scene *s = *state;
    int status;
    pid_t child;

    assert_int_equal(odeon_helper_call(s->helper, fail_here, note, s), 0);
    dispatch_until(s, 1);
    (void)poll(NULL, 0, 10); /* so that it does */
    child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        odeon_helper_free(s->helper);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_descriptor_tells, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_fails_has_its_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_asking_from_what_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_had_not_begun_is_not_done, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_asked_of_one_that_is_freed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signals_are_the_programs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fork_of_an_idle_one, setup, teardown),
    };

    return cmocka_run_group_tests_name("helper", tests, NULL, NULL);
}
