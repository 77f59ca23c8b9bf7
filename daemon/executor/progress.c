/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. */
#include "daemon/executor/progress.h"

/* A worker that has not moved is held by what it runs. Whether it gets a processor is not asked: it
 * has the same share as the thread that asks, and that one has just run. */
static void progress_count_held(struct executor *executor, Odeon__Pong *pong)
{
    struct engine_worker_progress progress;

    for (uint32_t id = 0;
         id < ODEON_WORKERS_MAX && engine_worker_get_progress(executor->engine, id, &progress) == 0;
         id++) {
        bool moved = progress.moves != executor->moves[id];

        executor->moves[id] = progress.moves;
        pong->workers++;
        if (moved || progress.rests)
            continue;
        if (progress.in_handler)
            pong->held_in_handlers++;
        else
            pong->held_elsewhere++;
    }
}

void progress_answer(struct executor *executor, uint64_t command)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__Pong pong = ODEON__PONG__INIT;

    if (executor->state == EXECUTOR_RUNNING)
        progress_count_held(executor, &pong);
    report.id = command;
    report.body_case = ODEON__REPORT__BODY_PONG;
    report.pong = &pong;
    control_send(executor->control, &report);
}
