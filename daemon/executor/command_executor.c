/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about the executor itself: its settings. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/executor/command.h"
#include "daemon/executor/places.h"
#include "daemon/executor/reconfigure.h"
#include "daemon/executor/settings_sizes.h"

static Odeon__Setting *command_executor_setting_row(const struct executor *executor,
                                                    struct reply *reply, unsigned index,
                                                    int *ret_error)
{
    struct setting_view view, initial;
    Odeon__Setting *row;

    *ret_error = settings_show(&executor->settings, index, &view);
    if (*ret_error < 0)
        return NULL;
    (void)settings_show(&executor->defaults, index, &initial);
    row = reply_alloc(reply, sizeof(*row));
    *ret_error = row ? 0 : -ENOMEM;
    if (!row)
        return NULL;
    odeon__setting__init(row);
    row->key = reply_string(view.key);
    row->doc = reply_string(view.doc);
    row->live = view.live;
    row->value = reply_strdup(reply, view.value);
    row->initial = reply_strdup(reply, initial.value);
    if (!row->value || !row->initial)
        *ret_error = -ENOMEM;
    return row;
}

int command_executor_show(struct executor *executor, const Odeon__Request *request,
                          struct frame *frame, struct reply *reply)
{
    Odeon__ExecutorShowReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Setting **rows = reply_alloc(reply, ODEON_PAGE_ROWS_MAX * sizeof(*rows));
    int r = 0;

    (void)request;
    (void)frame;
    if (!body || !rows)
        return -ENOMEM;
    odeon__executor_show_reply__init(body);
    body->settings = rows;
    while (body->n_settings < ODEON_PAGE_ROWS_MAX) {
        Odeon__Setting *row =
            command_executor_setting_row(executor, reply, (unsigned)body->n_settings, &r);

        if (r < 0)
            break;
        rows[body->n_settings++] = row;
    }
    if (r < 0 && r != -ENOENT)
        return r;
    body->pid = (uint32_t)getpid();
    body->boots = (uint32_t)executor->recovery.boots;
    body->restarts = executor->recovery.boots > 0 ? executor->recovery.boots - 1 : 0;
    if (executor->stats) {
        body->reconfigurations =
            atomic_load_explicit(&executor->stats->reconfigurations, memory_order_relaxed);
        body->reconfigure_last_ns =
            atomic_load_explicit(&executor->stats->pause_last_ns, memory_order_relaxed);
        body->reconfigure_longest_ns =
            atomic_load_explicit(&executor->stats->pause_longest_ns, memory_order_relaxed);
    }
    reply->message.executor_show = body;
    reply->message.body_case = ODEON__REPLY__BODY_EXECUTOR_SHOW;
    return 0;
}

/* Of a client's change nobody would keep what waited for the next start, as odeond does of its
 * own. */
static int command_executor_check_client(const Odeon__ExecutorSet *set, struct explain *explain)
{
    if (set->later)
        return explain_set(explain, -EPERM,
                           "odeond alone changes settings for the next start: put them into the "
                           "configuration");
    for (size_t i = 0; i < set->n_settings; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(set->settings[i]->key, set->settings[k]->key) == 0)
                return explain_set(explain, -EINVAL, "setting %.64s is given twice: leave one out",
                                   set->settings[i]->key);
    return 0;
}

/* The pairs of a request, which own the strings.  0, or a refusal. */
static int command_executor_set_pairs(const struct executor *executor,
                                      const Odeon__ExecutorSet *set,
                                      struct setting_pair pairs[static ODEON_PAGE_ROWS_MAX],
                                      struct explain *explain)
{
    if (set->n_settings == 0)
        return explain_set(explain, -EINVAL, "no setting was named: give KEY=VALUE");
    if (set->n_settings > ODEON_PAGE_ROWS_MAX)
        return explain_set(explain, -EINVAL, "%zu settings at once: at most %d are allowed",
                           set->n_settings, ODEON_PAGE_ROWS_MAX);
    for (size_t i = 0; i < set->n_settings; i++)
        pairs[i] =
            (struct setting_pair){ .key = set->settings[i]->key, .value = set->settings[i]->value };
    return executor->asker.client ? command_executor_check_client(set, explain) : 0;
}

/* Memory for an answer of so many settings, before anything is changed: what is in force is not to
 * be answered with a failure. */
static Odeon__Reconfigured *command_executor_make_answer(struct reply *reply, size_t n_settings)
{
    Odeon__Reconfigured *body = reply_alloc(reply, sizeof(*body));
    char **later = reply_alloc(reply, (n_settings + 1) * sizeof(*later));
    char **sizes = reply_alloc(reply, (n_settings + 1) * sizeof(*sizes));

    if (!body || !later || !sizes || reply_ok(reply) < 0)
        return NULL;
    odeon__reconfigured__init(body);
    body->later = later;
    body->sizes = sizes;
    return body;
}

/* What the change took. */
static void command_executor_fill_answer(Odeon__Reconfigured *body,
                                         const struct settings_change *change,
                                         const struct engine_change *done)
{
    body->pause_ns = done->pause_ns;
    body->moved = done->moved;
    for (; body->n_later < change->n_later; body->n_later++) {
        const char *key = change->later[body->n_later];

        body->later[body->n_later] = reply_string(key);
        /* workers wait for nothing but room */
        if (settings_sizes_has(key) || strcmp(key, "workers") == 0)
            body->sizes[body->n_sizes++] = reply_string(key);
    }
}

static bool command_executor_is_later(const struct settings_change *change, const char *key)
{
    for (size_t i = 0; i < change->n_later; i++)
        if (strcmp(change->later[i], key) == 0)
            return true;
    return false;
}

int command_executor_set(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply)
{
    const Odeon__ExecutorSet *set = request->executor_set;
    struct setting_pair pairs[ODEON_PAGE_ROWS_MAX];
    struct settings_change change;
    struct engine_change done;
    Odeon__Reconfigured *answer = NULL;
    int r;

    (void)frame;
    r = command_executor_set_pairs(executor, set, pairs, &reply->explain);
    if (r == 0 && !(answer = command_executor_make_answer(reply, SETTINGS_LATER_MAX)))
        r = -ENOMEM;
    if (r == -ENOMEM && executor->is_first && executor->reconfiguring != RECONFIGURING_NONE)
        return EXECUTOR_LATER; /* with a change under way, which goes on */
    if (r == 0 && executor->is_first && executor->reconfiguring == RECONFIGURING_MADE)
        change = executor->change; /* by now it would be none */
    else if (r == 0)
        /* anew each time: others may have been made since that no worker is needed for */
        r = settings_change(&executor->settings, pairs, set->n_settings, set->later, &change,
                            &reply->explain);
    if (r < 0 && executor->is_first)
        reconfigure_give_up(executor);
    if (r == 0)
        r = reconfigure(executor, &change, &done, &reply->explain);
    if (r != 0) {
        if (r != EXECUTOR_LATER)
            places_ask(executor); /* what was looked at may have moved threads */
        return r;
    }
    for (size_t i = 0; i < set->n_settings; i++)
        if (!command_executor_is_later(&change, pairs[i].key))
            log_notice("setting %s is now %s", pairs[i].key, pairs[i].value);
    command_executor_fill_answer(answer, &change, &done);
    reply->message.reconfigured = answer;
    return 0;
}
