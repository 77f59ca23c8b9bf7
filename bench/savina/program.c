/* SPDX-License-Identifier: Apache-2.0 */
/* The behaviours of heads that are the same for all programs. */
#include "program.h"

#include <inttypes.h>
#include <math.h>

program_any_ref program_head;
struct program_line program_lines[PROGRAM_WORKERS];

int64_t program_counted(uint32_t which)
{
    uint64_t counted = 0;
    for (uint32_t i = 0; i < PROGRAM_WORKERS; i++)
        counted += atomic_load(&program_lines[i].counts[which]);
    return (int64_t)counted;
}

void program_refuse(struct program *program, const char *format, ...)
{
    va_list ap;
    if (program->what[0] != '\0')
        return;
    va_start(ap, format);
    vsnprintf(program->what, sizeof(program->what), format, ap);
    va_end(ap);
}

void program_range(struct program *program, const char *field, uint64_t value, uint64_t least,
                   uint64_t most)
{
    if (value < least || value > most)
        program_refuse(program, "%s: %" PRIu64 " is not from %" PRIu64 " to %" PRIu64, field, value,
                       least, most);
}

void program_expect(struct program *program, const char *what, int64_t is, int64_t should)
{
    if (is != should)
        program_refuse(program, "%s: %" PRId64 ", not %" PRId64, what, is, should);
}

void program_expect_near(struct program *program, const char *what, double is, double should,
                         double within)
{
    if (!(fabs(is - should) <= within * fabs(should)))
        program_refuse(program, "%s: %.17g, not %.17g", what, is, should);
}

void program_begin(struct program *program, struct odeon_context *ctx)
{
    program_head = odeon_self(ctx, program_any);
    for (uint32_t i = 0; i < PROGRAM_WORKERS * PROGRAM_COUNTS; i++)
        atomic_store(&program_lines[i / PROGRAM_COUNTS].counts[i % PROGRAM_COUNTS], 0);
    odeon_reply_later(ctx, &program->client);
}

/* Not done: the client is told why, and the head ends. */
int program_end(struct program *program, struct odeon_context *ctx, int error)
{
    struct savina_done done = { .error = error };
    if (program->what[0] == '\0')
        program_refuse(program, "cannot send or make all: %s", odeon_strerror(error));
    memcpy(done.what, program->what, sizeof(done.what));
    odeon_logf(ctx, ODEON_LOG_ERROR, "%s (error %d)", program->what, error);
    odeon_answer_(ctx, &program->client, odeon_message_of(savina_done)->id, &done, sizeof(done));
    return ODEON_DELETE;
}

/* The head goes on living: it is asked for a check. */
static void program_finish_if_done(struct program *program, struct odeon_context *ctx)
{
    if (program->stepped && program->outcomes == program->awaited)
        odeon_answer(ctx, &program->client, savina_done, .messages = program->messages);
}

int program_go_on(struct program *program, struct odeon_context *ctx, int step)
{
    if (step < 0)
        return program_end(program, ctx, step);
    program->stepped = step == PROGRAM_DONE;
    if (step == PROGRAM_AGAIN && odeon_signal(ctx, program_head, savina_step) < 0)
        step = odeon_signal_after(ctx, NULL, 1000000, program_head, savina_step);
    if (step < 0)
        return program_end(program, ctx, step);
    program_finish_if_done(program, ctx);
    return ODEON_NODELETE;
}

int program_take(struct program *program, struct odeon_context *ctx,
                 const struct savina_outcome *outcome)
{
    program->messages += outcome->messages;
    program->count += outcome->count;
    program->value += outcome->value;
    program->sum += outcome->sum;
    program->outcomes++;
    program_finish_if_done(program, ctx);
    return ODEON_NODELETE;
}

int program_tell(struct program *program, struct odeon_context *ctx)
{
    struct savina_verdict verdict = { .error = program->what[0] == '\0' ? 0 : -EBADMSG };
    memcpy(verdict.what, program->what, sizeof(verdict.what));
    odeon_reply_(ctx, odeon_message_of(savina_verdict)->id, &verdict, sizeof(verdict));
    return ODEON_DELETE;
}

/* By a timer, which no full queue refuses. */
void program_fail(struct odeon_context *ctx, int error)
{
    odeon_logf(ctx, ODEON_LOG_ERROR, "cannot send or make something: %s", odeon_strerror(error));
    odeon_send_after(ctx, NULL, 0, program_head, savina_failed, .error = error);
}
