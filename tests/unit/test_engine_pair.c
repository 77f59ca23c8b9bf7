/* SPDX-License-Identifier: Apache-2.0 */
/* Two words that are stored at once: by a process that is killed anywhere, and (where reservations
 * can be lost) beside a thread that makes them be lost. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/engine/commit/pair.h"

enum { KILLS = 300, STORES = 20000 };

struct shared {
    _Alignas(64) struct {
        _Alignas(16) uint64_t first;
        uint64_t second;
    } pair;
    _Alignas(64) _Atomic uint64_t begun;
};

static struct shared *share(void)
{
    struct shared *s =
        mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(s, MAP_FAILED);
    return s;
}

static void __attribute__((noreturn)) store_for_ever(struct shared *s)
{
    for (uint64_t n = 1;; n++) {
        pair_store(&s->pair, n, ~n);
        if (n == 1)
            atomic_store(&s->begun, 1);
    }
}

/* Not all at the same point of the child's time slice. */
static void sleep_a_little(unsigned i)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20000 + i * 977 % 400000 }, NULL);
}

/* pair.P1 */
static void test_kills(void **state)
{
    (void)state;
    struct shared *s = share();

    for (unsigned i = 0; i < KILLS; i++) {
        atomic_store(&s->begun, 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            store_for_ever(s);
        while (!atomic_load(&s->begun))
            sleep_a_little(i);
        sleep_a_little(i);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(s->pair.second, ~s->pair.first);
    }
    munmap(s, sizeof(*s));
}

struct disturbed {
    struct shared *shared;
    atomic_bool over;
};

static void *disturb(void *data)
{
    struct disturbed *d = data;

    for (uint64_t n = 0; !atomic_load(&d->over); n++)
        atomic_exchange((_Atomic uint64_t *)&d->shared->pair.second, n << 32);
    return NULL;
}

/* pair.P2: the disturber is over before the last pair, so that must be there. */
static void test_lost_reservations(void **state)
{
    (void)state;
    struct disturbed d = { .shared = share() };
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, disturb, &d), 0);
    for (uint64_t n = 1; n <= STORES; n++) {
        pair_store(&d.shared->pair, n, ~n);
        assert_int_equal(*(volatile uint64_t *)&d.shared->pair.first, n);
    }
    atomic_store(&d.over, true);
    pthread_join(thread, NULL);
    pair_store(&d.shared->pair, 1, 2);
    assert_int_equal(d.shared->pair.first, 1);
    assert_int_equal(d.shared->pair.second, 2);
    munmap(d.shared, sizeof(*d.shared));
}

/* The way that each processor has, before; then what this one has. */
static void test_kills_whatever_the_processor_has(void **state)
{
    pair_probe();
#if defined(__aarch64__)
    print_message("# a pair is stored by %s\n", pair_is_one_access ? "STP" : "LDXP and STLXP");
#endif
    test_kills(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_lost_reservations),
        cmocka_unit_test(test_kills_whatever_the_processor_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
