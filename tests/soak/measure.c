/* SPDX-License-Identifier: Apache-2.0 */
/* See measure.h. */
#include "tests/soak/measure.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/soak/processes.h"

enum { MEMORY_SLACK_KIB = 2048, LOOKS = 200 };

static uint64_t count_entries(const char *path)
{
    uint64_t n = 0;
    DIR *directory = opendir(path);
    if (!directory)
        return 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        n += isdigit((unsigned char)entry->d_name[0]) != 0;
    closedir(directory);
    return n;
}

static uint64_t count_lines(const char *path)
{
    uint64_t n = 0;
    FILE *file = fopen(path, "re");
    for (int c; file && (c = fgetc(file)) != EOF;)
        n += c == '\n';
    if (file)
        fclose(file);
    return n;
}

static struct soak_process process_measure(pid_t pid)
{
    struct soak_process measured = { .memory_kib = 0 };
    char path[64], line[256];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    measured.descriptors = count_entries(path);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    measured.mappings = count_lines(path);
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "RssAnon:", 8) == 0)
            measured.memory_kib = strtoull(line + 8, NULL, 10);
    if (file)
        fclose(file);
    return measured;
}

static void keep_least(uint64_t *least, uint64_t found)
{
    *least = found < *least ? found : *least;
}

/* What has been given up may be closed and unmapped a moment later: the least of many looks is what
 * it has. */
static struct soak_process process_measure_settled(pid_t pid)
{
    struct soak_process least = process_measure(pid);
    for (int i = 0; i < LOOKS; i++) {
        pause_briefly();
        struct soak_process now = process_measure(pid);
        keep_least(&least.descriptors, now.descriptors);
        keep_least(&least.mappings, now.mappings);
        keep_least(&least.memory_kib, now.memory_kib);
    }
    return least;
}

/* Bytes that wait in all queues; UINT64_MAX: could not be asked. */
static uint64_t waiting_bytes(struct odeon_client *client)
{
    struct odeon_list *list = NULL;
    uint64_t bytes = 0, after = 0;
    bool more = true;
    while (more) {
        if (odeon_queue_list(client, NULL, after, 0, &list) < 0)
            return UINT64_MAX;
        const struct odeon_queue_info *rows = list->rows;
        for (size_t i = 0; i < list->n; i++)
            bytes += rows[i].bytes;
        after = list->next;
        more = list->more;
        odeon_list_free(list);
    }
    return bytes;
}

/* What counts against the user's quotas, as its only client is told; UINT64_MAX: could not be
 * asked. */
static uint64_t accounts(struct odeon_client *client)
{
    struct odeon_client_detail *detail = NULL;
    struct odeon_list *list = NULL;
    uint64_t sum = 0;
    uint32_t id = 0;
    if (odeon_client_list(client, 0, 0, &list) < 0)
        return UINT64_MAX;
    if (list->n == 1)
        id = ((const struct odeon_client_info *)list->rows)->id;
    odeon_list_free(list);
    if (odeon_client_show(client, id, &detail) < 0)
        return UINT64_MAX;
    for (size_t i = 0; i < detail->n_usage; i++)
        if (detail->usage[i].user_known && !detail->usage[i].per_second)
            sum += detail->usage[i].user;
    odeon_result_free(detail);
    return sum;
}

bool soak_measure_quiet(struct service *service, struct odeon_client *client, pid_t supervisor,
                        uint64_t accounts_at_first, struct soak_measure *ret)
{
    struct odeon_stats_service state;
    int64_t end = time_ns() + SECONDS(PATIENCE_S);
    bool quiet;
    do {
        ret->waiting_bytes = waiting_bytes(client);
        quiet = soak_state(service, &state) && strcmp(state.state_name, "running") == 0 &&
                state.clients == 1 && state.ports == 0 && ret->waiting_bytes == 0;
        ret->accounts = accounts(client);
        quiet &= ret->accounts <= accounts_at_first;
        if (!quiet)
            pause_briefly();
    } while (!quiet && time_ns() < end);
    ret->clients = state.clients;
    ret->ports = state.ports;
    ret->actors = state.actors;
    ret->supervisor = process_measure_settled(supervisor);
    ret->executor = process_measure_settled((pid_t)state.executor_pid);
    return quiet;
}

static unsigned compare(const char *name, uint64_t base, uint64_t end, uint64_t slack)
{
    bool grown = end > base + slack;
    printf(" %s=%" PRIu64 "->%" PRIu64 "%s", name, base, end, grown ? "(GROWN)" : "");
    return grown;
}

static unsigned compare_process(const char *name, const struct soak_process *base,
                                const struct soak_process *end, bool judge_memory)
{
    uint64_t any = judge_memory ? 0 : UINT64_MAX / 2;
    unsigned n = 0;
    printf("# base line of the %s:", name);
    n += compare("memory_kib", base->memory_kib, end->memory_kib,
                 base->memory_kib / 4 + MEMORY_SLACK_KIB + any);
    n += compare("descriptors", base->descriptors, end->descriptors, 0);
    /* the allocator's own come and go */
    n += compare("mappings", base->mappings, end->mappings, 4 + any);
    printf("\n");
    return n;
}

unsigned soak_measure_compare(const struct soak_measure *base, const struct soak_measure *end,
                              bool judge_memory)
{
    unsigned n = compare_process("supervisor", &base->supervisor, &end->supervisor, judge_memory);
    n += compare_process("executor", &base->executor, &end->executor, judge_memory);
    printf("# base line of the service:");
    n += compare("clients", base->clients, end->clients, 0);
    n += compare("ports", base->ports, end->ports, 0);
    n += compare("actors", base->actors, end->actors, 0);
    n += compare("accounts", base->accounts, end->accounts, 0);
    n += compare("waiting_bytes", base->waiting_bytes, end->waiting_bytes, 0);
    printf("\n");
    return n;
}
