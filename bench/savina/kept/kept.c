/* SPDX-License-Identifier: Apache-2.0 */
#include "kept.h"

#include <inttypes.h>
#include <odeon/names.h>
#include <stdarg.h>
#include <stdio.h>

void kept_must(struct odeon_context *ctx, int r)
{
    if (r < 0)
        odeon_logf(ctx, ODEON_LOG_ERROR, "cannot send or make something: %s", odeon_strerror(r));
}

void kept_head_begin(struct kept_head *head, struct odeon_context *ctx)
{
    kept_must(ctx, odeon_reply_later(ctx, &head->client));
}

bool kept_in_range(struct kept_head *head, struct odeon_context *ctx, const char *field,
                   uint64_t value, uint64_t least, uint64_t most)
{
    struct savina_done done = { .error = -EINVAL };
    if (value >= least && value <= most)
        return true;
    snprintf(done.what, sizeof(done.what), "%s: %" PRIu64 " is not from %" PRIu64 " to %" PRIu64,
             field, value, least, most);
    kept_must(ctx, odeon_answer_(ctx, &head->client, odeon_message_of(savina_done)->id, &done,
                                 sizeof(done)));
    return false;
}

void kept_head_done(struct kept_head *head, struct odeon_context *ctx, uint64_t messages)
{
    kept_must(ctx, odeon_answer(ctx, &head->client, savina_done, .messages = messages));
}

void kept_tell(struct odeon_context *ctx, bool right, const char *format, ...)
{
    struct savina_verdict verdict = { .error = right ? 0 : -EBADMSG };
    va_list ap;
    va_start(ap, format);
    if (!right)
        vsnprintf(verdict.what, sizeof(verdict.what), format, ap);
    va_end(ap);
    kept_must(ctx,
              odeon_reply_(ctx, odeon_message_of(savina_verdict)->id, &verdict, sizeof(verdict)));
}
