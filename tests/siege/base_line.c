/* SPDX-License-Identifier: Apache-2.0 */
/* See root.h: what the service has, and what of it must be given back.
 *
 * Descriptors, clients, ports, actors and accounts are those of before, exactly. Memory is not, and
 * what it may have more is what the service keeps on purpose: the dead letters (dead-letter-bytes,
 * 16 MiB), each worker's outbox (outbox-bytes), which floods touch to its end and which is not
 * given back, the first 16 KiB of each window, and the slots of the most actors that have lived at
 * a time. What waits, rings and answers would be some hundred MiB more, if they were not given
 * back.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/run/sanitized.h"
#include "tests/siege/root.h"
#include "tests/system/memory_group.h"

enum {
    MIB_KIB = 1024,
    OUTBOX_KIB = 64 * MIB_KIB, /* outbox-bytes, of each worker */
    SHARED_SLACK_KIB = 32 * MIB_KIB,
    /* an allocator has pages that it does not use: at most what answers had, quota-answer-bytes */
    ANONYMOUS_SLACK_KIB = 16 * MIB_KIB,
};

static void read_memory(pid_t pid, unsigned long *ret_anonymous, unsigned long *ret_shared)
{
    char path[64], line[256];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        (void)sscanf(line, "RssAnon: %lu kB", ret_anonymous);
        (void)sscanf(line, "RssShmem: %lu kB", ret_shared);
    }
    fclose(f);
    assert_true(*ret_anonymous > 0);
}

struct base_line base_line_take(struct service *service)
{
    pid_t pids[2] = { service->pid, service_executor(service) };
    struct odeon_client *client = service_connect(service, "base line");
    struct odeon_status *status = NULL;
    struct base_line line = { 0 };

    assert_int_equal(odeon_service_status(client, &status), 0);
    line.clients = status->clients;
    line.ports = status->ports;
    line.actors = status->actors;
    line.workers = status->workers;
    odeon_result_free(status);
    for (int i = 0; i < 2; i++) {
        line.descriptors[i] = process_descriptors(pids[i]);
        line.shared_kib = 0; /* of the executor, which comes last */
        read_memory(pids[i], &line.anonymous_kib[i], &line.shared_kib);
    }
    assert_true(line.shared_kib > 0);
    line.group_bytes = memory_group_touched();
    odeon_client_disconnect(client);
    return line;
}

void base_line_print(const char *when, const struct base_line *line)
{
    printf("# bench=siege_base when=%s odeond_descriptors=%u executor_descriptors=%u clients=%u "
           "ports=%u actors=%llu odeond_kib=%lu executor_kib=%lu shared_kib=%lu group_mib=%llu\n",
           when, line->descriptors[0], line->descriptors[1], line->clients, line->ports,
           (unsigned long long)line->actors, line->anonymous_kib[0], line->anonymous_kib[1],
           line->shared_kib, line->group_bytes >> 20);
    fflush(stdout);
}

static bool is_back(const struct base_line *now, const struct base_line *before)
{
    for (int i = 0; i < 2; i++)
        if (now->descriptors[i] > before->descriptors[i] ||
            (!SANITIZED && now->anonymous_kib[i] > before->anonymous_kib[i] + ANONYMOUS_SLACK_KIB))
            return false;
    return now->clients <= before->clients && now->ports <= before->ports &&
           now->actors <= before->actors &&
           now->shared_kib <= before->shared_kib + SHARED_SLACK_KIB + before->workers * OUTBOX_KIB;
}

void base_line_expect(struct service *service, const struct base_line *before)
{
    struct base_line now = { 0 };
    bool back;

    base_line_print("before", before);
    now = base_line_take(service);
    base_line_print("at_once", &now);
    back = wait_until((now = base_line_take(service), is_back(&now, before)));
    base_line_print("after", &now);
    if (!back)
        fail_msg("the service is not back at its base line");
}

/* ---- accounts */

static int stay(struct odeon_client *client)
{
    while (client)
        pause();
    return 0;
}

/* What the user has of everything, but for this one connection; the first that it has. */
static void read_account(struct odeon_client *root, uint32_t uid, char *ret_has, size_t size,
                         uint64_t *ret_refusals)
{
    struct odeon_list *list = NULL;

    snprintf(ret_has, size, "no connection");
    assert_int_equal(odeon_client_list(root, 0, 0, &list), 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_client_info *row = &((const struct odeon_client_info *)list->rows)[i];
        struct odeon_client_detail *detail = NULL;

        if (row->uid != uid || odeon_client_show(root, row->id, &detail) < 0)
            continue;
        ret_has[0] = '\0';
        *ret_refusals = detail->refusals;
        for (size_t k = 0; k < detail->n_usage; k++) {
            const struct odeon_usage *usage = &detail->usage[k];
            uint64_t own = strcmp(usage->name, "clients") == 0;

            if (strcmp(usage->name, "message types") == 0)
                continue; /* known for ever, and its for as long */
            if (usage->user_known && !usage->per_second && usage->user > own)
                snprintf(ret_has, size, "%llu %s", (unsigned long long)usage->user, usage->name);
        }
        odeon_result_free(detail);
    }
    odeon_list_free(list);
}

static bool account_is_empty(struct odeon_client *root, uint32_t uid, char *ret_has, size_t size)
{
    uint64_t refusals = 0;

    read_account(root, uid, ret_has, size, &refusals);
    return ret_has[0] == '\0';
}

void base_line_expect_accounts(struct service *service)
{
    struct odeon_client *root = service_connect(service, "root");
    uint64_t refusals = 1;
    char has[80];

    for (int i = 0; i < ATTACKERS; i++) {
        pid_t child = user_begin(service, attackers[i], stay);

        if (!wait_until(account_is_empty(root, attackers[i].uid, has, sizeof(has))))
            fail_msg("user %u still has: %s", attackers[i].uid, has);
        user_kill(child);
    }
    read_account(root, innocent.uid, has, sizeof(has), &refusals);
    if (refusals > 0)
        fail_msg("the innocent user has been refused %llu times", (unsigned long long)refusals);
    odeon_client_disconnect(root);
}
