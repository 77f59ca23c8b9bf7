/* SPDX-License-Identifier: Apache-2.0 */
/* See post_rate.h. */
#include "daemon/executor/post_rate.h"

#include <string.h>

#include "daemon/executor/executor.h"
#include "daemon/executor/turns.h"

#define WAIT_MIN_MS   1
#define WAIT_MAX_MS   1000
#define TELL_AGAIN_NS UINT64_C(1000000000)

/* The supervisor knows who it is, and how often to say so. */
static void post_rate_tell(struct executor *executor, uint64_t client)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__QuotaHit hit = ODEON__QUOTA_HIT__INIT;
    uint64_t now = uv_hrtime();

    if (now - executor->post_rate.told_ns < TELL_AGAIN_NS)
        return;
    executor->post_rate.told_ns = now;
    hit.client_id = client;
    hit.quota = (char *)"posts";
    report.quota_hit = &hit;
    report.body_case = ODEON__REPORT__BODY_QUOTA_HIT;
    control_send(executor->control, &report);
}

static void post_rate_on_timer(uv_timer_t *timer);

static void post_rate_wait_for(struct post_rate *rate, uint64_t wait_ns)
{
    uint64_t ms = wait_ns / 1000000 + 1;

    ms = ms < WAIT_MIN_MS ? WAIT_MIN_MS : ms > WAIT_MAX_MS ? WAIT_MAX_MS : ms;
    if (!uv_is_active((uv_handle_t *)&rate->timer) || uv_timer_get_due_in(&rate->timer) > ms)
        uv_timer_start(&rate->timer, post_rate_on_timer, ms, 0);
}

static void post_rate_serve(struct executor *executor, uint32_t index)
{
    struct post_rate *rate = &executor->post_rate;
    struct post_rate_port *port = &rate->ports[index];
    uint64_t wait_ns, n = rates_take(&rate->rates, index, uv_hrtime(), &wait_ns);

    port->waits = n == 0;
    if (port->waits)
        post_rate_wait_for(rate, wait_ns);
    else
        /* gone: its removal follows */
        (void)engine_port_grant(executor->engine, index, port->generation, n);
}

static void post_rate_on_timer(uv_timer_t *timer)
{
    struct executor *executor = timer->data;
    struct post_rate *rate = &executor->post_rate;

    turns_begin_piece(executor, "post rates");
    rate->next = (rate->next + 1) % ODEON_PORTS_MAX;
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        uint32_t index = (rate->next + i) % ODEON_PORTS_MAX;

        if (rate->ports[index].waits)
            post_rate_serve(executor, index);
    }
}

void post_rate_start(struct executor *executor)
{
    uv_timer_init(&executor->loop, &executor->post_rate.timer);
    executor->post_rate.timer.data = executor;
    executor->post_rate.open = true;
}

void post_rate_stop(struct executor *executor)
{
    if (executor->post_rate.open)
        uv_close((uv_handle_t *)&executor->post_rate.timer, NULL);
    executor->post_rate.open = false;
}

bool post_rate_is_set(const struct executor *executor)
{
    return executor->settings.quota_posts > 0 && !executor->post_rate.lifted;
}

void post_rate_add(struct executor *executor, const struct engine_port_info *info, uid_t uid)
{
    struct post_rate *rate = &executor->post_rate;

    if (rate->rates.per_second != executor->settings.quota_posts)
        rates_set(&rate->rates, executor->settings.quota_posts, uv_hrtime());
    rates_add(&rate->rates, info->id, info->client, uid, uv_hrtime());
    rate->ports[info->id] = (struct post_rate_port){ .bound = rate->rates.of_port[info->id] != NULL,
                                                     .generation = info->generation };
}

void post_rate_remove(struct executor *executor, uint32_t index, uint32_t generation)
{
    struct post_rate *rate = &executor->post_rate;

    if (!rate->ports[index].bound || rate->ports[index].generation != generation)
        return;
    rates_remove(&rate->rates, index, uv_hrtime());
    rate->ports[index] = (struct post_rate_port){ 0 };
}

void post_rate_on_spent(struct executor *executor, const struct engine_event *event)
{
    struct post_rate_port *port = &executor->post_rate.ports[event->id];

    if (!port->bound || port->generation != event->generation || !post_rate_is_set(executor))
        return;
    post_rate_serve(executor, event->id);
    if (port->waits)
        post_rate_tell(executor, executor->post_rate.rates.of_port[event->id]->id);
}

static void post_rate_set_rated(struct executor *executor, bool rated)
{
    for (uint32_t index = 0; index < ODEON_PORTS_MAX; index++) {
        struct post_rate_port *port = &executor->post_rate.ports[index];

        if (!port->bound)
            continue;
        port->waits = port->waits && rated;
        (void)engine_port_set_rated(executor->engine, index, port->generation, rated);
    }
}

void post_rate_update(struct executor *executor)
{
    struct post_rate *rate = &executor->post_rate;
    uint64_t was = rate->rates.per_second, is = executor->settings.quota_posts;

    if (was == is)
        return;
    rates_set(&rate->rates, is, uv_hrtime());
    if ((was == 0) != (is == 0))
        post_rate_set_rated(executor, is > 0);
}

void post_rate_lift(struct executor *executor)
{
    executor->post_rate.lifted = true;
    post_rate_set_rated(executor, false);
}
