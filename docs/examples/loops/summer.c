/* SPDX-License-Identifier: Apache-2.0 */
#include "summer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <odeon/admin.h>

#include "../counter/counter.h"

enum {
    ASK = 1,            /* the question's id */
    PAUSE_NS = 1000000, /* between two tries to stop the counter */
};
static const int64_t patience_ns = INT64_C(60000000000);

/* What went wrong first is told; the rest comes of it. */
static void fail(struct summer *s, int result, const char *text)
{
    if (s->result < 0)
        return;
    fprintf(stderr, "summer: %s\n", text);
    s->result = result;
    s->over = true;
}

/* ---- what blocks, in the helper's thread: nobody else looks at `s->client` and what comes of it
 * until it has been told that it is done */

static int begin_there(void *of)
{
    struct summer *s = of;
    const struct odeon_port_options options = { .struct_size = sizeof(options), .pipe = 1 };
    int r = odeon_client_connect_wait(s->socket, "summer", patience_ns, &s->client);

    if (r == 0)
        r = odeon_actor_spawn(s->client, "counter", NULL, NULL, 0, &s->counter);
    if (r == -ENOENT) {
        r = odeon_plugin_load(s->client, s->plugin);
        if (r == 0 || r == -EEXIST || r == -EALREADY)
            r = odeon_actor_spawn(s->client, "counter", NULL, NULL, 0, &s->counter);
    }
    if (r == 0)
        r = odeon_message_id(s->client, odeon_message_of(counter_add), &s->add);
    if (r == 0)
        r = odeon_message_id(s->client, odeon_message_of(counter_get), &s->get);
    return r < 0 ? r : odeon_port_open(s->client, &options, &s->port);
}

static void begun(void *of, int result, const char *text)
{
    struct summer *s = of;

    s->open = result == 0;
    if (result < 0)
        fail(s, result, text);
}

int summer_begin(struct summer *s)
{
    int r = odeon_helper_new(&s->helper);

    return r < 0 ? r : odeon_helper_call(s->helper, begin_there, begun, s);
}

/* ---- what does not */

/* 0: all has gone out; -EAGAIN: there is no room at the moment. */
static int post(struct summer *s)
{
    const struct counter_add one = { .amount = 1, .weight = 1 };
    int r = 0;

    while (r == 0 && s->posted < s->numbers) {
        r = odeon_port_post(s->port, s->counter, s->add, &one, sizeof(one));
        s->posted += r == 0;
    }
    if (r == 0 && !s->asked) {
        r = odeon_port_post_with(s->port, s->counter, s->get, NULL, 0,
                                 ODEON_POST_OPTIONS(.correlation = ASK, .within_ns = patience_ns));
        s->asked = r == 0;
    }
    return r;
}

static void receive(struct summer *s)
{
    struct odeon_delivery d;
    int r = 0;

    while (!s->over && (r = odeon_port_receive(s->port, &d)) == 1) {
        if (d.type == ODEON_MSG_REFUSAL)
            fail(s, -EIO, odeon_reason_name(((const struct odeon_refusal *)d.data)->reason));
        else if (d.correlation == ASK && d.size == sizeof(struct counter_value)) {
            s->total = ((const struct counter_value *)d.data)->total;
            s->over = true;
        }
    }
    odeon_port_release(s->port);
    if (r < 0)
        fail(s, r, odeon_error_text());
}

bool summer_turn(struct summer *s)
{
    int armed = 1;

    (void)odeon_helper_dispatch(s->helper);
    if (!s->open)
        return s->over;
    while (armed > 0 && !s->over) { /* as long as there is something to do */
        int posted = post(s);

        receive(s);
        if (posted < 0 && posted != -EAGAIN)
            fail(s, posted, odeon_error_text());
        if (s->over)
            break;
        armed = posted == -EAGAIN ? odeon_port_arm_room(s->port, sizeof(struct counter_add))
                                  : odeon_port_arm(s->port);
        if (armed < 0)
            fail(s, armed, odeon_error_text());
    }
    return s->over;
}

int summer_helper_fd(const struct summer *s)
{
    return odeon_helper_fd(s->helper);
}

int summer_port_fd(const struct summer *s)
{
    return s->open ? odeon_port_fd(s->port) : -1;
}

int summer_timeout(struct summer *s)
{
    int64_t left_ns = s->open ? odeon_port_timeout(s->port) : -1;

    return left_ns < 0 ? -1 : (int)((left_ns + 999999) / 1000000);
}

/* It would outlive its client. While its queue is full nothing is sent to it, a stop neither. */
static int stop_counter(struct summer *s)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    int r = odeon_actor_stop(s->client, s->counter, ODEON_DELETE);

    for (int64_t left_ns = patience_ns; r == -EAGAIN && left_ns > 0; left_ns -= PAUSE_NS) {
        nanosleep(&pause, NULL);
        r = odeon_actor_stop(s->client, s->counter, ODEON_DELETE);
    }
    return r;
}

int summer_end(struct summer *s)
{
    int r;

    odeon_helper_free(s->helper);
    if (s->counter != ODEON_NOBODY && (r = stop_counter(s)) < 0)
        fail(s, r, odeon_error_text());
    odeon_client_disconnect(s->client); /* closes the port, too */
    if (s->result == 0)
        printf("%" PRId64 "\n", s->total);
    return s->result == 0 ? 0 : 1;
}
