/* SPDX-License-Identifier: Apache-2.0 */
/* See command_later.h. */
#include "daemon/executor/command_later.h"

#include <stdlib.h>

#include "daemon/common/check.h"
#include "daemon/executor/reconfigure.h"
#include "daemon/executor/turns.h"

enum { LATER_LOOK_MS = 1 };

struct command_later {
    struct command_later *next;
    uint64_t command;
    struct executor_asker asker;
    command_later_fn answer;
    Odeon__Request *request;
};

static Odeon__Request *command_later_copy(const Odeon__Request *request)
{
    size_t size = odeon__request__get_packed_size(request);
    uint8_t *packed = malloc(size + 1);
    Odeon__Request *copy = NULL;

    if (packed) {
        odeon__request__pack(request, packed);
        copy = odeon__request__unpack(NULL, size, packed);
    }
    free(packed);
    return copy;
}

struct command_later *command_later_new(const struct executor *executor, uint64_t command,
                                        const Odeon__Request *request, command_later_fn answer)
{
    struct command_later *later = calloc(1, sizeof(*later));

    if (!later)
        return NULL;
    later->command = command;
    later->asker = executor->asker;
    later->answer = answer;
    later->request = request ? command_later_copy(request) : NULL;
    return request && !later->request ? command_later_free(later) : later;
}

struct command_later *command_later_free(struct command_later *later)
{
    if (later && later->request)
        odeon__request__free_unpacked(later->request, NULL);
    free(later);
    return NULL;
}

static void command_later_on_timer(uv_timer_t *timer)
{
    command_later_look(timer->data);
}

void command_later_add(struct executor *executor, struct command_later *later)
{
    struct command_later **end = &executor->later;

    while (*end)
        end = &(*end)->next;
    *end = later;
    uv_timer_start(&executor->later_timer, command_later_on_timer, LATER_LOOK_MS, LATER_LOOK_MS);
}

void command_later_look(struct executor *executor)
{
    struct executor_asker asker = executor->asker;

    if (!executor->later)
        return;
    turns_begin_piece(executor, "requests that wait for workers");
    while (executor->later) {
        struct command_later *first = executor->later;

        executor->asker = first->asker;
        if (!first->answer(executor, first->command, first->request))
            break;
        executor->later = first->next; /* command_later.L2 */
        command_later_free(first);
    }
    executor->asker = asker;
    if (!executor->later)
        uv_timer_stop(&executor->later_timer);
}

void command_later_end(struct executor *executor)
{
    check("command_later.L1", executor->later || !reconfigure_is_under_way(executor));
    reconfigure_give_up(executor);
    plugin_unload_cancel(executor->plugins);
    executor->later_ends = true;
    command_later_look(executor);
    check("command_later.L2", !executor->later);
}
