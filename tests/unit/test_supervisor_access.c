/* SPDX-License-Identifier: Apache-2.0 */
/* Roles and accounts, without a service. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/frame.h"
#include "daemon/supervisor/access.h"
#include "daemon/supervisor/account.h"
#include "daemon/supervisor/told.h"
#include "proto/bounds.h"

static const uid_t user = 41001;

static unsigned roles_of(const struct access *access, uid_t uid, gid_t gid, gid_t group)
{
    struct peer peer = { .uid = uid, .gid = gid, .n_groups = 1, .groups = &group, .pidfd = -1 };

    return access_roles(access, &peer);
}

static void test_lists(void **state)
{
    struct access access = { 0 };
    char text[ACCESS_TEXT_MAX], names[ROLES_TEXT_MAX];

    (void)state;
    assert_int_equal(roles_of(&access, user, 1, 1), 0);
    assert_int_equal(roles_of(&access, 0, 1, 1), ROLES_ALL);
    assert_int_equal(roles_of(&access, geteuid(), 1, 1), ROLES_ALL);
    assert_int_equal(access_set(&access, ROLE_OBSERVE, "*", text), 0);
    assert_int_equal(access_set(&access, ROLE_POST, "root, 41001\t@41500,", text), 0);
    assert_int_equal(roles_of(&access, user, 1, 1), 1 << ROLE_OBSERVE | 1 << ROLE_POST);
    assert_int_equal(roles_of(&access, 41002, 1, 1), 1 << ROLE_OBSERVE);
    assert_int_equal(roles_of(&access, 41002, 41500, 1), 1 << ROLE_OBSERVE | 1 << ROLE_POST);
    assert_int_equal(roles_of(&access, 41002, 1, 41500), 1 << ROLE_OBSERVE | 1 << ROLE_POST);
    /* a list that is refused changes nothing; an empty one is nobody */
    assert_int_equal(access_set(&access, ROLE_POST, "41002 no.such.user", text), -EINVAL);
    assert_int_equal(roles_of(&access, user, 1, 1), 1 << ROLE_OBSERVE | 1 << ROLE_POST);
    /* no process has the last number: to the kernel it means that there is none */
    assert_int_equal(access_set(&access, ROLE_POST, "4294967294 @4294967294", text), 0);
    assert_int_equal(access_set(&access, ROLE_POST, "4294967295", text), -EINVAL);
    assert_non_null(strstr(text, "no user '4294967295'"));
    assert_int_equal(access_set(&access, ROLE_POST, "@4294967295", text), -EINVAL);
    assert_non_null(strstr(text, "no group '4294967295'"));
    assert_int_equal(access_set(&access, ROLE_POST, "", text), 0);
    assert_int_equal(roles_of(&access, user, 1, 1), 1 << ROLE_OBSERVE);
    assert_string_equal(roles_describe(0, names), "none");
    assert_string_equal(roles_describe(ROLES_ALL, names),
                        "observe, post, register, load, reconfigure");
}

static void test_too_many_names(void **state)
{
    struct access access = { 0 };
    char text[ACCESS_TEXT_MAX], list[1024] = "";

    (void)state;
    for (int i = 0; i <= ACCESS_NAMES_MAX; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%d ", 1000 + i);
    assert_int_equal(access_set(&access, ROLE_POST, list, text), -EINVAL);
    assert_non_null(strstr(text, "more than 32 users"));
}

static void test_user_without_number(void **state)
{
    struct access access = { 0 };
    char text[ACCESS_TEXT_MAX];

    (void)state;
    assert_true(access_is_overflow_user(65534));
    assert_int_equal(access_set(&access, ROLE_POST, "* 65534", text), 0);
    assert_int_equal(roles_of(&access, 65534, 1, 1), 0);
    access.overflow_user = true;
    assert_int_equal(roles_of(&access, 65534, 1, 1), 1 << ROLE_POST);
}

/* What nobody has thought of needs the highest role. */
static void test_unknown_requests(void **state)
{
    (void)state;
    assert_int_equal(roles_needed(ODEON__REQUEST__BODY_HELLO), 0);
    assert_int_equal(roles_needed(ODEON__REQUEST__BODY_PLUGIN_LOAD), 1 << ROLE_LOAD);
    assert_int_equal(roles_needed((Odeon__Request__BodyCase)9999), 1 << ROLE_RECONFIGURE);
}

static void test_peer_of_a_socket(void **state)
{
    struct peer peer;
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(peer_read(&peer, ends[0]), 0);
    assert_int_equal(peer.pid, getpid());
    assert_int_equal(peer.uid, geteuid());
    assert_int_equal(peer.gid, getegid());
    assert_int_equal(peer.n_groups, getgroups(0, NULL));
    if (peer.pidfd >= 0)
        assert_string_equal(peer.command, "test_supervisor");
    peer_fini(&peer);
    close(ends[0]);
    close(ends[1]);
}

/* However they are sent, descriptors do not enter a process that takes none. */
static void test_descriptors_do_not_come_in(void **state)
{
    static struct frame frame;
    int ends[2], probe, r;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
                     0);
    probe = dup(0);
    close(probe); /* the number that the next descriptor gets */
    assert_int_equal(frame_send_packed(ends[1], "x", 1, (int[]){ ends[0], ends[1] }, 2), 0);
    assert_int_equal(frame_receive_data(ends[0], &frame), -EPROTO);
    assert_int_equal(frame.n_fds, 0);
    r = dup(0);
    assert_int_equal(r, probe);
    close(r);
    assert_int_equal(frame_receive_data(ends[0], &frame), -EPROTO); /* the record stays, too */
    assert_int_equal(frame_receive(ends[0], &frame), 1);
    assert_int_equal(frame.n_fds, 2);
    frame_fini(&frame);
    assert_int_equal(frame_send_packed(ends[1], "y", 1, NULL, 0), 0);
    assert_int_equal(frame_receive_data(ends[0], &frame), 1);
    /* where the kernel can be told, not even the sending succeeds */
    peer_allow_descriptors(ends[0], false);
    r = frame_send_packed(ends[1], "x", 1, (int[]){ ends[0] }, 1);
    assert_true(r == -EPERM || r == 0);
    close(ends[0]);
    close(ends[1]);
}

/* ---- accounts ---- */

static const struct quotas quotas = { .limits = { [QUOTA_CLIENTS] = 8,
                                                  [QUOTA_PORTS] = 64,
                                                  [QUOTA_RING_BYTES] = 64 << 20,
                                                  [QUOTA_BACKLOG_BYTES] = 64 << 20 } };

static struct account *with_clients(struct accounts *accounts, uint64_t n)
{
    struct account *account = account_open(accounts, user);

    assert_non_null(account);
    account_charge(account, &(struct holding){ .amounts[QUOTA_CLIENTS] = n });
    return account;
}

/* Each takes all that it can get, one after the other: every one gets between 1/n and 1/n^2. */
static void test_fair_share(void **state)
{
    struct accounts accounts = { 0 };
    enum { N = 5 };
    struct account *account = with_clients(&accounts, N);
    struct holding own[N] = { 0 };

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        struct holding all = { .amounts[QUOTA_RING_BYTES] =
                                   account_room(account, &quotas, &own[i], QUOTA_RING_BYTES) };

        account_charge(account, &all);
        holding_add(&own[i], &all);
        assert_true(own[i].amounts[QUOTA_RING_BYTES] <= quotas.limits[QUOTA_RING_BYTES] / N);
        assert_true(own[i].amounts[QUOTA_RING_BYTES] >= quotas.limits[QUOTA_RING_BYTES] / (N * N));
        assert_true(account_room(account, &quotas, &own[i], QUOTA_RING_BYTES) == 0);
    }
    for (unsigned i = 0; i < N; i++)
        account_discharge(account, &own[i]);
    assert_true(account->used.amounts[QUOTA_RING_BYTES] == 0);
    account_settle(&accounts, user);
    assert_non_null(account_find(&accounts, user)); /* its clients are still there */
    accounts_fini(&accounts);
}

/* What a client has is a part of its share: two with the same shares, one of whom takes its own in
 * small pieces, end with as much. */
static void test_share_in_pieces(void **state)
{
    const uint64_t half = quotas.limits[QUOTA_RING_BYTES] / 2, piece = half / 16;
    struct accounts accounts = { 0 };
    struct account *account = with_clients(&accounts, 2);
    struct holding own = { 0 };

    (void)state;
    for (uint64_t has = 0; has < half; has += piece) {
        struct holding more = { .amounts[QUOTA_RING_BYTES] = piece };

        assert_int_equal(account_room(account, &quotas, &own, QUOTA_RING_BYTES), half - has);
        account_charge(account, &more);
        holding_add(&own, &more);
    }
    assert_int_equal(account_room(account, &quotas, &own, QUOTA_RING_BYTES), 0);
    accounts_fini(&accounts);
}

static void test_first_port_and_limits(void **state)
{
    struct accounts accounts = { 0 };
    struct account *account = with_clients(&accounts, 8);
    struct holding nothing = { 0 }, most = { .amounts[QUOTA_PORTS] = 63 };

    (void)state;
    assert_true(account_room(account, &quotas, &nothing, QUOTA_CLIENTS) == 0);
    assert_true(account_room(account, &quotas, &nothing, QUOTA_PORTS) == 8);
    account_charge(account, &most);
    /* although an eighth of one is none */
    assert_true(account_room(account, &quotas, &nothing, QUOTA_PORTS) == 1);
    assert_true(account_room(account, &quotas, &most, QUOTA_PORTS) == 0);
    account_charge(account, &(struct holding){ .amounts[QUOTA_PORTS] = 1 });
    assert_true(account_room(account, &quotas, &nothing, QUOTA_PORTS) == 0);
    /* its backlog comes with it, where an eighth is less than one can be */
    account_charge(account, &(struct holding){ .amounts[QUOTA_BACKLOG_BYTES] =
                                                   quotas.limits[QUOTA_BACKLOG_BYTES] -
                                                   ODEON_BACKLOG_BYTES_MIN });
    assert_int_equal(account_room(account, &quotas, &nothing, QUOTA_BACKLOG_BYTES),
                     ODEON_BACKLOG_BYTES_MIN);
    accounts_fini(&accounts);
}

static void test_who_is_bound(void **state)
{
    struct quotas all = quotas;
    struct account root = { .uid = 0, .used.amounts[QUOTA_PORTS] = 1000 };
    struct holding nothing = { 0 };

    (void)state;
    assert_true(account_room(&root, &quotas, &nothing, QUOTA_PORTS) == UINT64_MAX);
    all.everybody = true;
    assert_true(account_room(&root, &all, &nothing, QUOTA_PORTS) == 0);
}

/* Users who take all that they can, one after the other, bound or not: each is left something. */
static void test_descriptors_of_all(void **state)
{
    enum { N = 9, MAX = 4096 };
    struct accounts accounts = { .descriptors_max = MAX };
    struct holding held[N] = { 0 };

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        struct account *account = account_open(&accounts, i);

        held[i].amounts[QUOTA_DESCRIPTORS] = accounts_descriptors_room(&accounts, account);
        assert_int_equal(held[i].amounts[QUOTA_DESCRIPTORS], MAX >> (i + 1));
        account_charge(account, &held[i]);
        assert_int_equal(accounts_descriptors_room(&accounts, account), 0);
    }
    assert_int_equal(accounts_count_descriptors(&accounts), MAX - 8);
    for (unsigned i = 0; i < 3; i++) { /* 8 are left: 4 each for two more, whatever the half is */
        struct account *account = account_open(&accounts, 100 + i);
        struct holding more = { .amounts[QUOTA_DESCRIPTORS] =
                                    accounts_descriptors_room(&accounts, account) };

        assert_int_equal(more.amounts[QUOTA_DESCRIPTORS], i < 2 ? 4 : 0);
        account_charge(account, &more);
    }
    accounts_fini(&accounts);
}

/* What a user has itself is none of what the others leave: piece by piece it gets the same half. */
static void test_half_in_pieces(void **state)
{
    enum { MAX = 4096, PIECE = 16 };
    struct accounts accounts = { .descriptors_max = MAX };
    struct account *account = account_open(&accounts, user);

    (void)state;
    for (unsigned has = 0; has < MAX / 2; has += PIECE) {
        assert_int_equal(accounts_descriptors_room(&accounts, account), MAX / 2 - has);
        account_charge(account, &(struct holding){ .amounts[QUOTA_DESCRIPTORS] = PIECE });
    }
    assert_int_equal(accounts_descriptors_room(&accounts, account), 0);
    accounts_fini(&accounts);
}

static void test_rings_of_all(void **state)
{
    const uint64_t max = 64 << 20, first = 2 * ODEON_RING_DEFAULT;
    struct accounts accounts = { .ring_bytes_max = max };
    struct quotas everybody = quotas;
    struct account *root = account_open(&accounts, 0), *account;
    uint64_t left = max;

    (void)state;
    assert_true(accounts_rings_room(&accounts, &quotas, root) == UINT64_MAX);
    everybody.everybody = true;
    assert_int_equal(accounts_rings_room(&accounts, &everybody, root), max / 2);
    /* who is not bound takes nothing of what the others share */
    account_charge(root, &(struct holding){ .amounts[QUOTA_RING_BYTES] = max });
    for (unsigned i = 1; left > 0; i++) {
        uint64_t room;

        account = account_open(&accounts, i);
        room = accounts_rings_room(&accounts, &quotas, account);
        assert_int_equal(room, left / 2 > first ? left / 2 : left < first ? left : first);
        account_charge(account, &(struct holding){ .amounts[QUOTA_RING_BYTES] = room });
        left -= room;
    }
    accounts.ring_bytes_max = 0; /* nobody knows how much memory there is */
    assert_true(accounts_rings_room(&accounts, &quotas, account) == UINT64_MAX);
    accounts_fini(&accounts);
}

/* Users who fill their quotas of ports, one after the other, leave each who comes next some, and
 * root what is put by; what root has is not there for others. */
static void test_ports_of_all(void **state)
{
    enum { USERS = 12, SHARED = ODEON_PORTS_MAX - ODEON_PORTS_RESERVED };
    struct accounts accounts = { 0 };
    struct quotas everybody = quotas;
    struct account *root = account_open(&accounts, 0), *account;
    uint64_t left = SHARED - 4;

    (void)state;
    account_charge(root, &(struct holding){ .amounts[QUOTA_PORTS] = 4 });
    for (unsigned i = 1; i <= USERS; i++) {
        uint64_t room, takes;

        account = account_open(&accounts, i);
        room = accounts_ports_room(&accounts, &quotas, account, ODEON_PORTS_MAX);
        assert_int_equal(room, left > 1 ? left / 2 : left);
        takes = room < quotas.limits[QUOTA_PORTS] ? room : quotas.limits[QUOTA_PORTS];
        account_charge(account, &(struct holding){ .amounts[QUOTA_PORTS] = takes });
        assert_true(i > 6 || takes > 0);
        left -= takes;
    }
    assert_int_equal(left, 0);
    assert_int_equal(accounts_ports_room(&accounts, &quotas, account, ODEON_PORTS_MAX), 0);
    assert_true(accounts_ports_room(&accounts, &quotas, root, ODEON_PORTS_MAX) == UINT64_MAX);
    everybody.everybody = true;
    assert_int_equal(accounts_ports_room(&accounts, &everybody, root, ODEON_PORTS_MAX), 0);
    /* a table whose places are nearly all spent has nothing but what is put by */
    assert_int_equal(accounts_ports_room(&accounts, &everybody, root, 8), 0);
    accounts_fini(&accounts);
}

/* Users who let their answers lie: each is left something, and root is not bound. */
static void test_answers_of_all(void **state)
{
    const uint64_t max = 16 << 20, first = 2 * ODEON_CONTROL_FRAME_MAX;
    struct accounts accounts = { .answer_bytes_max = max };
    struct account *root = account_open(&accounts, 0), *account;
    uint64_t left = max;

    (void)state;
    assert_true(accounts_answers_room(&accounts, &quotas, root) == UINT64_MAX);
    account_charge(root, &(struct holding){ .amounts[QUOTA_ANSWER_BYTES] = max });
    for (unsigned i = 1; left > 0; i++) {
        uint64_t room;

        account = account_open(&accounts, i);
        room = accounts_answers_room(&accounts, &quotas, account);
        assert_int_equal(room, left / 2 > first ? left / 2 : left < first ? left : first);
        account_charge(account, &(struct holding){ .amounts[QUOTA_ANSWER_BYTES] = room });
        left -= room;
    }
    accounts.answer_bytes_max = 0; /* nobody knows how much memory there is */
    assert_true(accounts_answers_room(&accounts, &quotas, account) == UINT64_MAX);
    accounts_fini(&accounts);
}

static void note_kept(void *userdata)
{
    ++*(unsigned *)userdata;
}

/* A user's bucket is one, however it asks, and is there when it comes back (account.Q8). */
static void test_requests_of_a_user(void **state)
{
    enum { RATE = 10, SECOND = 1000000000 };
    static const struct quotas slow = { .requests = RATE }, any = { .requests = 0 };
    unsigned n_kept = 0;
    struct accounts accounts = { .on_kept = note_kept, .userdata = &n_kept };
    struct account *account = account_open(&accounts, user);
    uint64_t now = 5 * (uint64_t)SECOND;

    (void)state;
    for (unsigned i = 0; i < RATE; i++) {
        assert_true(account_may_ask(account, &slow, now));
        account_ask(account);
    }
    assert_false(account_may_ask(account, &slow, now));
    assert_true(account_may_ask(account, &any, now - 1)); /* looks at nothing */
    account_settle(&accounts, user);
    assert_int_equal(n_kept, 1);
    assert_ptr_equal(account_open(&accounts, user), account);
    now += SECOND / RATE;
    assert_true(accounts_sweep(&accounts, &slow, now));
    assert_ptr_equal(account_find(&accounts, user), account);
    assert_true(account_may_ask(account, &slow, now));
    account_ask(account);
    assert_false(account_may_ask(account, &slow, now));
    assert_false(accounts_sweep(&accounts, &slow, now + SECOND));
    assert_null(account_find(&accounts, user));
    /* a setting that binds nobody any more forgets them, too */
    account = account_open(&accounts, user);
    account_ask(account);
    assert_false(accounts_sweep(&accounts, &any, now));
    assert_null(accounts.first);
}

/* One that keeps the loop for longer than its part of a second counts for as many as it has kept it
 * from: a fifth of the time, however many requests a second may have. */
static void test_requests_that_take_long(void **state)
{
    enum { SECOND = 1000000000 };
    static const struct quotas few = { .requests = 10 }, many = { .requests = 2000 },
                               any = { .requests = 0 };
    struct accounts accounts = { 0 };
    struct account *account = account_open(&accounts, user);
    uint64_t now = 5 * (uint64_t)SECOND;

    (void)state;
    assert_true(account_may_ask(account, &many, now));
    for (unsigned i = 0; i < 1999; i++) {
        account_ask(account);
        assert_false(account_ask_longer(account, &many, REQUESTS_NS / 2000));
    }
    assert_true(account_may_ask(account, &many, now));
    account_ask(account);
    assert_true(account_ask_longer(account, &many, SECOND)); /* 10,000 of them, less the one */
    now += SECOND;
    assert_false(account_may_ask(account, &many, now + (uint64_t)4 * SECOND - SECOND / 1000));
    assert_true(account_may_ask(account, &many, now + (uint64_t)4 * SECOND + SECOND / 1000));
    account->asked = 0;
    assert_true(account_may_ask(account, &few, account->asked_ns));
    account_ask(account);
    assert_false(account_ask_longer(account, &few, REQUESTS_NS / 10));
    assert_false(account_ask_longer(account, &any, SECOND));
    assert_true(account_ask_longer(account, &few, SECOND)); /* 50, the one that was counted too */
    assert_true(account->asked == 50);
    assert_false(account_may_ask(account, &few, account->asked_ns + (uint64_t)4 * SECOND));
    assert_true(account_may_ask(account, &few, account->asked_ns + (uint64_t)2 * SECOND));
    accounts_fini(&accounts);
}

static void test_account_goes_when_empty(void **state)
{
    struct accounts accounts = { 0 };
    struct holding port = { .amounts[QUOTA_PORTS] = 1 };
    struct account *account = account_open(&accounts, user);

    (void)state;
    account_charge(account, &port);
    account_settle(&accounts, user);
    assert_ptr_equal(account_find(&accounts, user), account);
    account_discharge(account, &port);
    assert_true(port.amounts[QUOTA_PORTS] == 0);
    account_settle(&accounts, user);
    assert_null(account_find(&accounts, user));
}

static void test_named_once_a_minute(void **state)
{
    struct account account = { .uid = user };
    uint64_t more = 99, minute = UINT64_C(60000000000);

    (void)state;
    assert_true(account_blame(&account, 5, &more));
    assert_true(more == 0);
    for (int i = 0; i < 10; i++)
        assert_false(account_blame(&account, minute, &more));
    assert_true(account_blame(&account, 5 + minute, &more));
    assert_true(more == 10);
}

/* A user's account has gone in between. More users than are known have one line together. */
static void test_told_of_who_comes_back(void **state)
{
    const uint64_t minute = UINT64_C(60000000000);
    struct told told = { 0 };
    uint64_t more = 99;

    (void)state;
    for (uid_t uid = 0; uid < TOLD_USERS_MAX; uid++) {
        assert_true(told_note(&told, uid, 5, &more));
        assert_int_equal(more, 0);
        assert_false(told_note(&told, uid, minute, &more));
    }
    assert_true(told_note(&told, TOLD_USERS_MAX, 5, &more));
    assert_int_equal(more, 0);
    assert_false(told_note(&told, TOLD_USERS_MAX + 1, 6, &more));
    assert_true(told_note(&told, 7, 5 + minute, &more));
    assert_int_equal(more, 1);
    told_fini(&told);
    assert_true(told_note(&told, 7, 6 + minute, &more));
    assert_int_equal(more, 0);
    told_fini(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_too_many_names),
        cmocka_unit_test(test_user_without_number),
        cmocka_unit_test(test_unknown_requests),
        cmocka_unit_test(test_peer_of_a_socket),
        cmocka_unit_test(test_descriptors_do_not_come_in),
        cmocka_unit_test(test_fair_share),
        cmocka_unit_test(test_share_in_pieces),
        cmocka_unit_test(test_first_port_and_limits),
        cmocka_unit_test(test_who_is_bound),
        cmocka_unit_test(test_descriptors_of_all),
        cmocka_unit_test(test_half_in_pieces),
        cmocka_unit_test(test_rings_of_all),
        cmocka_unit_test(test_answers_of_all),
        cmocka_unit_test(test_ports_of_all),
        cmocka_unit_test(test_requests_of_a_user),
        cmocka_unit_test(test_requests_that_take_long),
        cmocka_unit_test(test_account_goes_when_empty),
        cmocka_unit_test(test_named_once_a_minute),
        cmocka_unit_test(test_told_of_who_comes_back),
    };

    return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
