/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/scribe_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/stress/scribe.h"

enum { SCRIBE_LOG_RECORDS = 16 << 20 };

/* Of this process, by the lowest byte of an actor's number: a scribe's own, and of the mayflies in
 * its queue; an ear's; a lamp's. */
static struct history_log *logs[256];

void scribe_log_init(struct scribe_log *log, uint64_t actor, const char *path)
{
    log->actor = actor;
    memcpy(log->path, path, sizeof(log->path));
}

void scribe_log_beside(const struct scribe_log *log, char path[96], const char *who,
                       uint64_t number)
{
    const char *name = strrchr(log->path, '/');
    snprintf(path, 96, "%.*s/%s-%u", name ? (int)(name - log->path) : 0, log->path, who,
             (unsigned)number);
}

static void put(const struct scribe_log *log, const struct history_record *record)
{
    struct history_log **file = &logs[log->actor & 0xff];
    if (!*file)
        *file = history_log_open(log->path, SCRIBE_LOG_RECORDS);
    if (!*file)
        abort(); /* nothing can be judged */
    history_log_note(*file, record);
}

void scribe_note(const struct scribe_log *log, const struct odeon_context *ctx,
                 enum history_kind kind, uint64_t number, uint32_t span_us)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    put(log, &(struct history_record){ .sender = log->actor,
                                       .at_ns = (uint64_t)now.tv_sec * 1000000000 +
                                                (uint64_t)now.tv_nsec,
                                       .sequence = number,
                                       .kind = (uint8_t)kind,
                                       .redelivered = ctx->redelivered != 0,
                                       .span_us = span_us });
}

void scribe_note_turn(struct scribe_log *log, const struct odeon_context *ctx)
{
    scribe_note(log, ctx, HISTORY_TURN, ++log->turn, 0);
}

uint64_t scribe_note_armed(struct scribe_log *log, const struct odeon_context *ctx,
                           enum history_kind kind, uint32_t span_us)
{
    scribe_note(log, ctx, kind, ++log->timers, span_us);
    return log->timers;
}

uint64_t scribe_note_asked(struct scribe_log *log, const struct odeon_context *ctx,
                           uint32_t span_us)
{
    scribe_note(log, ctx, HISTORY_ASKED, ++log->questions, span_us);
    return log->questions;
}

uint64_t scribe_note_watched(struct scribe_log *log, const struct odeon_context *ctx,
                             uint64_t parent)
{
    scribe_note(log, ctx, parent ? HISTORY_LINKED : HISTORY_WATCHED, ++log->ends, (uint32_t)parent);
    return log->ends;
}

void scribe_note_run(const struct scribe_log *log, const struct odeon_context *ctx, uint64_t client,
                     uint64_t number)
{
    put(log, &(struct history_record){ .sender = client,
                                       .receiver = log->actor,
                                       .sequence = number,
                                       .kind = HISTORY_RUN,
                                       .redelivered = ctx->redelivered != 0,
                                       .attempt = ctx->attempts });
}

void scribe_note_wrong(const struct scribe_log *log, const struct odeon_context *ctx, int line)
{
    (void)ctx;
    put(log, &(struct history_record){
                 .sender = log->actor, .receiver = log->actor, .sequence = (uint64_t)line });
}
