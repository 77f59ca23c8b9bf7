/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/turns.h"

#include "daemon/common/turn_count.h"

/* There is one loop in the process. */
static struct turn_count turns;
static uv_prepare_t prepare;
static uint64_t number = 1;

static void turns_on_prepare(uv_prepare_t *handle)
{
    (void)handle;
    (void)turn_count_end(&turns);
    number++;
}

void turns_start(uv_loop_t *loop)
{
    uv_prepare_init(loop, &prepare);
    uv_prepare_start(&prepare, turns_on_prepare);
    uv_unref((uv_handle_t *)&prepare);
}

void turns_stop(void)
{
    uv_close((uv_handle_t *)&prepare, NULL);
}

void turns_count_from_now(void)
{
    if (turns.counts)
        return;
    (void)turn_count_end(&turns);
    turns.counts = true;
}

uint64_t turns_number(void)
{
    return number;
}

void turns_begin_piece(const char *what)
{
    turn_count_piece(&turns, what);
}

uint64_t turns_get_longest_ns(const char **ret_work)
{
    *ret_work = turns.longest_work ? turns.longest_work : "";
    return turns.longest_ns;
}
