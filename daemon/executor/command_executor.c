/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about the executor itself: its settings. */
#include <errno.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/executor/command.h"

static Odeon__Setting *setting_row(const struct executor *executor, struct reply *reply, unsigned index, int *ret_error)
{
    struct setting_view view;
    Odeon__Setting *row;

    *ret_error = settings_show(&executor->settings, index, &view);
    if (*ret_error < 0)
        return NULL;
    row = reply_alloc(reply, sizeof(*row));
    *ret_error = row ? 0 : -ENOMEM;
    if (!row)
        return NULL;
    odeon__setting__init(row);
    row->key = reply_string(view.key);
    row->doc = reply_string(view.doc);
    row->live = view.live;
    row->value = reply_strdup(reply, view.value);
    if (!row->value)
        *ret_error = -ENOMEM;
    return row;
}

int command_executor_show(struct executor *executor, const Odeon__Request *request, struct frame *frame,
                          struct reply *reply)
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
        Odeon__Setting *row = setting_row(executor, reply, (unsigned)body->n_settings, &r);

        if (r < 0)
            break;
        rows[body->n_settings++] = row;
    }
    if (r < 0 && r != -ENOENT)
        return r;
    body->pid = (uint32_t)getpid();
    body->boots = (uint32_t)executor->recovery.boots;
    body->restarts = executor->recovery.boots > 0 ? executor->recovery.boots - 1 : 0;
    reply->message.executor_show = body;
    reply->message.body_case = ODEON__REPLY__BODY_EXECUTOR_SHOW;
    return 0;
}

int command_executor_set(struct executor *executor, const Odeon__Request *request, struct frame *frame,
                         struct reply *reply)
{
    const Odeon__ExecutorSet *set = request->executor_set;
    struct setting_pair pairs[ODEON_PAGE_ROWS_MAX];
    int r;

    (void)frame;
    if (set->n_settings == 0)
        return explain_set(&reply->explain, -EINVAL, "no setting was named: give KEY=VALUE");
    if (set->n_settings > ODEON_PAGE_ROWS_MAX)
        return explain_set(&reply->explain, -EINVAL, "%zu settings at once: at most %d are allowed", set->n_settings,
                           ODEON_PAGE_ROWS_MAX);
    for (size_t i = 0; i < set->n_settings; i++)
        pairs[i] = (struct setting_pair){ .key = set->settings[i]->key, .value = set->settings[i]->value };
    r = settings_set_live(&executor->settings, pairs, set->n_settings, &reply->explain);
    if (r < 0)
        return r;
    engine_set_stealing(executor->engine, executor->settings.stealing);
    engine_set_throughput(executor->engine, (uint32_t)executor->settings.throughput);
    for (size_t i = 0; i < set->n_settings; i++)
        log_notice("setting %s is now %s", pairs[i].key, pairs[i].value);
    return reply_ok(reply);
}
