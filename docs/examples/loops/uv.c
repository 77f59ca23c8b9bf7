/* SPDX-License-Identifier: Apache-2.0 */
/* The client in a loop of libuv's: odeon-loop-uv SOCKET PLUGIN NUMBERS */
#include <stdio.h>
#include <stdlib.h>

#include <uv.h>

#include "summer.h"

static struct summer summer;
static uv_poll_t helper, port;
static uv_timer_t deadline;
static uv_prepare_t before_sleep; /* each turn of the loop ends here */
static bool port_is_watched;

static void on_deadline(uv_timer_t *timer)
{
    (void)timer; /* it has woken the loop: that is all */
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)poll, (void)status, (void)events; /* likewise */
}

static void on_prepare(uv_prepare_t *prepare)
{
    int timeout;

    if (summer_turn(&summer)) {
        uv_stop(prepare->loop);
        return;
    }
    if (!port_is_watched && summer_port_fd(&summer) >= 0) {
        uv_poll_init(prepare->loop, &port, summer_port_fd(&summer));
        uv_poll_start(&port, UV_READABLE, on_readable);
        port_is_watched = true;
    }
    timeout = summer_timeout(&summer);
    uv_update_time(prepare->loop);
    if (timeout >= 0)
        uv_timer_start(&deadline, on_deadline, (uint64_t)timeout, 0);
    else
        uv_timer_stop(&deadline);
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    uv_close(handle, NULL);
}

int main(int argc, char **argv)
{
    uv_loop_t loop;

    if (argc != 4) {
        fputs("usage: odeon-loop-uv SOCKET PLUGIN NUMBERS\n", stderr);
        return 2;
    }
    summer.socket = argv[1];
    summer.plugin = argv[2];
    summer.numbers = strtoull(argv[3], NULL, 10);
    if (uv_loop_init(&loop) < 0 || summer_begin(&summer) < 0)
        return 1;
    uv_poll_init(&loop, &helper, summer_helper_fd(&summer));
    uv_poll_start(&helper, UV_READABLE, on_readable);
    uv_timer_init(&loop, &deadline);
    uv_prepare_init(&loop, &before_sleep);
    uv_prepare_start(&before_sleep, on_prepare);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_walk(&loop, close_handle, NULL); /* before the descriptors go */
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return summer_end(&summer);
}
