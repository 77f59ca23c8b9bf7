/* SPDX-License-Identifier: Apache-2.0 */
/* The witness: `witness_relay` hands numbers on to the actor of its arguments, `witness_log` notes
 * them in the file of its arguments. What it notes outlives the executor, so that a second run of a
 * message is seen. */
#include "witness.h"

#include <errno.h>
#include <odeon/plugin.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/history/history.h"

ODEON_STATE(witness_relay, { odeon_ref next; });

ODEON_INIT(witness_relay, odeon_ref)
{
    self->next = *args;
    return 0;
}

ODEON_RECEIVE(witness_relay, witness_number)
{
    odeon_send_any(ctx, self->next, witness_number, .stream = msg->stream, .n = msg->n,
                   .dwells = msg->dwells);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(witness_relay, ODEON_ON(witness_relay, witness_number));
ODEON_ACTOR_TYPE(witness_relay);

struct witness_path {
    char path[128];
};

ODEON_STATE(witness_log, {
    struct history_log *log;
    char go[128 + sizeof(WITNESS_GO)];
});

ODEON_INIT(witness_log, struct witness_path)
{
    snprintf(self->go, sizeof(self->go), "%s" WITNESS_GO, args->path);
    self->log = history_log_open(args->path, WITNESS_LOG_RECORDS);
    return self->log ? 0 : -errno;
}

ODEON_FINI(witness_log)
{
    (void)ctx;
    self->log = history_log_close(self->log);
}

ODEON_RECEIVE(witness_log, witness_number)
{
    struct history_record record = { .sender = msg->stream,
                                     .receiver = msg->stream,
                                     .sequence = msg->n,
                                     .kind = HISTORY_RUN,
                                     .redelivered = ctx->redelivered != 0,
                                     .attempt = ctx->attempts };

    history_log_note(self->log, &record);
    while (msg->dwells && access(self->go, F_OK) < 0)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(witness_log, ODEON_ON(witness_log, witness_number));
ODEON_ACTOR_TYPE(witness_log);
ODEON_PLUGIN("witness", "1.0.0", ODEON_TYPE(witness_relay), ODEON_TYPE(witness_log));
