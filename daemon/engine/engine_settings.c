/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that change while messages flow: alone, or in one transaction. */
#include "daemon/engine/engine.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "daemon/engine/core/budget.h"
#include "daemon/engine/run/reconfigure.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/send/overflow.h"

enum { LOOK_AGAIN_NS = 1000 * 1000 };

void engine_set_stealing(struct engine *e, enum steal_policy_id id)
{
    e->config.stealing = id;
    steal_set(e, id, e->config.mode, e->config.steal_sources);
    store_relaxed(&e->stats->stealing, id);
    strncpy(e->stats->stealing_name, steal_policy_name(id), sizeof(e->stats->stealing_name) - 1);
}

void engine_set_throughput(struct engine *e, uint32_t messages)
{
    e->config.throughput = messages;
    store_relaxed(&e->throughput, messages);
    store_relaxed(&e->stats->throughput, messages);
}

void engine_set_waiting(struct engine *e, uint64_t bytes, uint64_t quota_bytes, uint64_t quota_ns)
{
    e->config.waiting_bytes = bytes;
    e->config.waiting_quota_bytes = quota_bytes;
    e->config.waiting_quota_ns = quota_ns;
    store_relaxed(&e->budget.most,
                  bytes ? (int64_t)(bytes / BUDGET_PAGE) : (int64_t)BUDGET_UNBOUND);
    store_relaxed(&e->budget.quota, quota_bytes);
    store_relaxed(&e->budget.quota_ns, quota_ns);
    overflow_go_on(e->control); /* there may be room for somebody now */
}

uint64_t engine_waiting_bytes(const struct engine *e)
{
    return (uint64_t)budget_pages(e) * BUDGET_PAGE;
}

/* The first account is nobody's: nothing is counted for it. */
static const struct budget_account *engine_account_find(const struct engine *e, uint32_t user)
{
    for (uint32_t i = 1; user && i < BUDGET_ACCOUNTS; i++)
        if (e->budget.accounts[i].user == user)
            return &e->budget.accounts[i];
    return &e->budget.accounts[0];
}

uint64_t engine_user_waiting_bytes(const struct engine *e, uint32_t user)
{
    return (uint64_t)load_relaxed(&engine_account_find(e, user)->waiting);
}

uint64_t engine_user_waiting_ns(const struct engine *e, uint32_t user)
{
    return (uint64_t)load_relaxed(&engine_account_find(e, user)->waiting_ns);
}

bool engine_user_at(const struct engine *e, uint32_t index, uint32_t *ret_user,
                    uint64_t *ret_waiting)
{
    if (index + 1 >= BUDGET_ACCOUNTS) /* the first one is nobody's */
        return false;
    const struct budget_account *account = &e->budget.accounts[index + 1];
    *ret_user = account->user;
    *ret_waiting = (uint64_t)load_relaxed(&account->waiting);
    return true;
}

uint32_t engine_port_user(const struct engine *e, uint32_t id)
{
    return id < ODEON_PORTS_MAX ? e->budget.accounts[e->ports.table[id].account].user : 0;
}

const struct engine_config *engine_get_config(const struct engine *e)
{
    return &e->config;
}

/* NULL: nothing but what can change is different. */
static const char *engine_settings_change_find_fixed(const struct engine_config *is,
                                                     const struct engine_config *to)
{
#define FIXED(member, name)                                                                        \
    if (is->member != to->member)                                                                  \
    return name " cannot change while the engine runs: it takes effect at the next start"
    if (to->workers_max != 0 && is->workers_max != to->workers_max)
        return "workers-max cannot change while the engine runs: the segment was made for it";
    FIXED(queues_per_worker, "queues-per-worker");
    FIXED(actors_max, "the size of the actor table");
    FIXED(limit_bytes, "the limit of a queue");
    FIXED(outbox_bytes, "the size of an outbox");
    FIXED(backlog_bytes, "the limit of a backlog");
    FIXED(dlq_bytes, "the room for dead letters");
    FIXED(durable_bytes, "the room for kept states");
    FIXED(attempts_max, "the number of attempts");
    FIXED(suspect_deaths, "the number of deaths that make a suspect");
    FIXED(detached_max, "the number of detached actors");
    if (is->bind != to->bind || is->bind_memory != to->bind_memory ||
        is->userdata != to->userdata || is->host != to->host || is->trace != to->trace)
        return "functions and their data cannot change while the engine runs";
#undef FIXED
    return NULL;
}

static const char *engine_settings_change_find_wrong(const struct engine *e,
                                                     const struct engine_config *to)
{
    if (to->n_workers == 0 || to->n_workers > e->config.workers_max)
        return "number of workers out of range: from 1 to workers-max";
    if ((unsigned)to->stealing >= STEAL_N)
        return "no such stealing policy";
    if ((unsigned)to->mode >= STEAL_MODE_N)
        return "no such stealing mode";
    if (to->throughput == 0)
        return "throughput out of range: at least one message";
    return engine_settings_change_find_fixed(&e->config, to);
}

int engine_reconfigure_ask(struct engine *e, const struct engine_config *config,
                           uint64_t timeout_ns, const char **reterr_text)
{
    *reterr_text = "";
    const char *wrong = engine_settings_change_find_wrong(e, config);
    if (wrong) {
        *reterr_text = wrong;
        return -EINVAL;
    }
    return reconfigure_ask(e, config->n_workers, timeout_ns);
}

int engine_reconfigure_look(struct engine *e, uint32_t *ret_stuck, const char **reterr_text)
{
    int r = reconfigure_look(e, ret_stuck);
    *reterr_text = r == -EBUSY                  ? "a worker's handler did not return in time"
                   : r < 0 && r != -EINPROGRESS ? "a worker's thread could not be made"
                                                : "";
    return r;
}

void engine_reconfigure_make(struct engine *e, const struct engine_config *config)
{
    reconfigure_make(e, config);
}

int engine_reconfigure_end(struct engine *e, struct engine_change *ret_change)
{
    return reconfigure_end(e, ret_change);
}

void engine_reconfigure_cancel(struct engine *e)
{
    reconfigure_cancel(e);
}

static void engine_settings_wait(struct engine *e)
{
    control_waits(e);
    nanosleep(&(struct timespec){ .tv_nsec = LOOK_AGAIN_NS }, NULL);
}

int engine_reconfigure(struct engine *e, const struct engine_config *config, uint64_t timeout_ns,
                       struct engine_change *ret_change, const char **reterr_text)
{
    *ret_change = (struct engine_change){ .stuck = UINT32_MAX };
    int r = engine_reconfigure_ask(e, config, timeout_ns, reterr_text);
    if (r < 0)
        return r;
    while ((r = engine_reconfigure_look(e, &ret_change->stuck, reterr_text)) == -EINPROGRESS)
        engine_settings_wait(e);
    if (r < 0)
        return r;
    engine_reconfigure_make(e, config);
    while ((r = engine_reconfigure_end(e, ret_change)) == -EINPROGRESS)
        engine_settings_wait(e);
    return r;
}
