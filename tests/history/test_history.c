/* SPDX-License-Identifier: Apache-2.0 */
/* The history checker on histories that are right, and on such as have been doctored: each must be
 * found, by its name.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/history/judged.h"

enum { SENDERS = 5, RECEIVERS = 3, NUMBERS = 4000, RECORDS = SENDERS * RECEIVERS * NUMBERS * 2 };

static const char *command;

static struct history_record *put(enum history_kind kind, uint64_t sender, uint64_t receiver,
                                  uint64_t sequence)
{
    return judged_add((struct history_record){
        .sender = sender, .receiver = receiver, .sequence = sequence, .kind = (uint8_t)kind });
}

/* Everybody sends to everybody, receivers are some numbers behind; some are refused, some are run
 * twice with the mark.
 */
static void make_right(void)
{
    n_records = 0;
    for (uint64_t n = 1; n <= NUMBERS; n++)
        for (uint64_t s = 1; s <= SENDERS; s++)
            for (uint64_t r = 1; r <= RECEIVERS; r++) {
                put(HISTORY_SENT, s, r, n);
                put(n % 97 == 0 ? HISTORY_REFUSED : HISTORY_RUN, s, r, n);
            }
}

static struct history_record *record_of(enum history_kind kind, uint64_t sender, uint64_t receiver,
                                        uint64_t sequence)
{
    for (size_t i = 0; i < n_records; i++)
        if (records[i].kind == kind && records[i].sender == sender &&
            records[i].receiver == receiver && records[i].sequence == sequence)
            return &records[i];
    abort(); /* the test is wrong */
}

static int setup(void **state)
{
    (void)state;
    make_right();
    return 0;
}

static void test_right(void **state)
{
    struct history_verdict verdict = judge();

    (void)state;
    expect_right();
    assert_int_equal(verdict.pairs, SENDERS * RECEIVERS);
    assert_int_equal(verdict.sent, SENDERS * RECEIVERS * NUMBERS);
    assert_int_equal(verdict.refused, SENDERS * RECEIVERS * (NUMBERS / 97));
    assert_int_equal(verdict.run + verdict.refused, verdict.sent);
}

static void test_lost(void **state)
{
    (void)state;
    *record_of(HISTORY_RUN, 2, 3, 1000) = (struct history_record){ .kind = HISTORY_DROPS };
    expect_wrong(HISTORY_LOST, 1);
}

static void test_last_one_lost(void **state)
{
    (void)state;
    *record_of(HISTORY_RUN, SENDERS, RECEIVERS, NUMBERS) =
        (struct history_record){ .kind = HISTORY_DROPS };
    expect_wrong(HISTORY_LOST, 1);
}

static void test_refusal_not_told(void **state)
{
    (void)state;
    *record_of(HISTORY_REFUSED, 1, 1, 97) = (struct history_record){ .kind = HISTORY_DROPS };
    expect_wrong(HISTORY_LOST, 1);
}

static void test_doubled(void **state)
{
    (void)state;
    put(HISTORY_RUN, 1, 2, NUMBERS);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_run_again_with_the_mark(void **state)
{
    (void)state;
    put(HISTORY_RUN, 1, 2, NUMBERS)->redelivered = 1;
    expect_right();
    assert_int_equal(judge().redelivered, 1);
}

static void test_run_again_too_late(void **state)
{
    (void)state;
    put(HISTORY_RUN, 1, 2, NUMBERS - 1)->redelivered = 1; /* marked, but a later one has been run */
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_reordered(void **state)
{
    (void)state;
    record_of(HISTORY_RUN, 3, 1, 500)->sequence = 0;
    record_of(HISTORY_RUN, 3, 1, 501)->sequence = 500;
    record_of(HISTORY_RUN, 3, 1, 0)->sequence = 501;
    expect_wrong(HISTORY_REORDERED, 1);
}

static void test_phantom(void **state)
{
    (void)state;
    put(HISTORY_RUN, 4, 1, NUMBERS + 1);
    expect_wrong(HISTORY_PHANTOM, 1);
}

static void test_wrong_receiver(void **state)
{
    (void)state;
    /* of the pair with that one, nothing was sent */
    record_of(HISTORY_RUN, 4, 1, NUMBERS)->receiver = RECEIVERS + 1;
    struct history_verdict verdict = judge();
    assert_int_equal(verdict.wrong[HISTORY_LOST], 1);
    assert_int_equal(verdict.wrong[HISTORY_PHANTOM], 1);
}

static void test_run_and_refused(void **state)
{
    (void)state;
    put(HISTORY_REFUSED, 4, 2, 50);
    expect_wrong(HISTORY_CONTRADICTED, 1);
}

static void test_refused_and_run(void **state)
{
    (void)state;
    put(HISTORY_RUN, 4, 2, 97);
    expect_wrong(HISTORY_CONTRADICTED, 1);
}

static void test_attempt_without_mark(void **state)
{
    (void)state;
    record_of(HISTORY_RUN, 1, 1, 10)->attempt = 1;
    expect_wrong(HISTORY_MISMARKED, 1);
}

static void test_attempts_fall(void **state)
{
    struct history_record *again;

    (void)state;
    again = put(HISTORY_RUN, 1, 2, NUMBERS);
    again->redelivered = 1;
    again->attempt = 2;
    again = put(HISTORY_RUN, 1, 2, NUMBERS);
    again->redelivered = 1;
    again->attempt = 1;
    expect_wrong(HISTORY_MISMARKED, 1);
}

static void test_sent_twice(void **state)
{
    (void)state;
    put(HISTORY_SENT, 1, 2, NUMBERS);
    expect_wrong(HISTORY_MISNUMBERED, 1);
}

/* What its sender had begun when it was killed: nothing of it, a part, all of it; but no part
 * without the part before it. */
static void test_in_doubt(void **state)
{
    (void)state;
    put(HISTORY_BEGUN, 1, 2, NUMBERS + 3);
    expect_right();
    put(HISTORY_RUN, 1, 2, NUMBERS + 1);
    expect_right();
    put(HISTORY_RUN, 1, 2, NUMBERS + 3);
    expect_wrong(HISTORY_PHANTOM, 1);
}

static void test_in_doubt_sent_again(void **state)
{
    (void)state;
    put(HISTORY_BEGUN, 1, 2, NUMBERS + 1);
    put(HISTORY_RUN, 1, 2, NUMBERS + 1);
    put(HISTORY_BEGUN, 1, 2, NUMBERS + 1); /* it was there, its sender took it for lost */
    put(HISTORY_SENT, 1, 2, NUMBERS + 1);
    put(HISTORY_RUN, 1, 2, NUMBERS + 1);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_drops_that_are_counted(void **state)
{
    (void)state;
    record_of(HISTORY_RUN, 2, 3, 1000)->kind = HISTORY_DROPPED;
    expect_right();
    *record_of(HISTORY_RUN, 2, 3, 1001) =
        (struct history_record){ .kind = HISTORY_DROPS, .sequence = 1 };
    expect_right();
    assert_int_equal(judge().dropped, 2);
    put(HISTORY_DROPS, 0, 0, 1);
    expect_wrong(HISTORY_UNBALANCED, 1);
}

static void test_lanes_are_pairs_of_their_own(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 2; n++)
        put(HISTORY_SENT, 1, 1, n)->lane = 1;
    for (uint64_t n = 1; n <= 2; n++)
        put(HISTORY_RUN, 1, 1, n)->lane = 1;
    expect_right();
}

static void test_no_records(void **state)
{
    (void)state;
    put((enum history_kind)77, 1, 1, 1);
    expect_wrong(HISTORY_DAMAGED, 1);
    n_records--;
    put(HISTORY_RUN, 1, 1, UINT64_MAX);
    expect_wrong(HISTORY_DAMAGED, 1);
}

/* A log that is written by a process that is killed in the middle, and continued; the command that
 * judges it. */
static void test_log(void **state)
{
    char path[] = "/tmp/odeon-history.XXXXXX", line[1024];
    int fd = mkstemp(path), status;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (unsigned part = 0; part < 2; part++) {
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            struct history_log *log = history_log_open(path, RECORDS);
            for (size_t i = part ? n_records / 2 : 0; log && i < (part ? n_records : n_records / 2);
                 i++)
                history_log_note(log, &records[i]);
            kill(getpid(), SIGKILL);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        snprintf(line, sizeof(line), "'%s' %s >/dev/null", command, path);
        status = system(line);
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    struct history *history = history_new();
    struct history_verdict verdict;
    assert_int_equal(history_add_log(history, path), 0);
    assert_true(history_judge(history, &verdict));
    assert_int_equal(verdict.records, n_records);
    history_free(history);
    /* full: counted as damage */
    struct history_log *log = history_log_open(path, 0);
    assert_non_null(log);
    history_log_note(log, &records[0]);
    history_log_close(log);
    snprintf(line, sizeof(line), "'%s' %s | grep -q 'damaged=1'", command, path);
    status = system(line);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(truncate(path, 100), 0);
    snprintf(line, sizeof(line), "'%s' %s 2>/dev/null", command, path);
    status = system(line);
    assert_int_equal(WEXITSTATUS(status), 2);
    unlink(path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_right, setup),
        cmocka_unit_test_setup(test_lost, setup),
        cmocka_unit_test_setup(test_last_one_lost, setup),
        cmocka_unit_test_setup(test_refusal_not_told, setup),
        cmocka_unit_test_setup(test_doubled, setup),
        cmocka_unit_test_setup(test_run_again_with_the_mark, setup),
        cmocka_unit_test_setup(test_run_again_too_late, setup),
        cmocka_unit_test_setup(test_reordered, setup),
        cmocka_unit_test_setup(test_phantom, setup),
        cmocka_unit_test_setup(test_wrong_receiver, setup),
        cmocka_unit_test_setup(test_run_and_refused, setup),
        cmocka_unit_test_setup(test_refused_and_run, setup),
        cmocka_unit_test_setup(test_attempt_without_mark, setup),
        cmocka_unit_test_setup(test_attempts_fall, setup),
        cmocka_unit_test_setup(test_sent_twice, setup),
        cmocka_unit_test_setup(test_in_doubt, setup),
        cmocka_unit_test_setup(test_in_doubt_sent_again, setup),
        cmocka_unit_test_setup(test_drops_that_are_counted, setup),
        cmocka_unit_test_setup(test_lanes_are_pairs_of_their_own, setup),
        cmocka_unit_test_setup(test_no_records, setup),
        cmocka_unit_test_setup(test_log, setup),
    };

    if (argc != 2)
        return 2;
    command = argv[1];
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
