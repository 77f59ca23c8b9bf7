/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: to the journal with fields when stderr is connected to it, else to stderr as text.
 *
 * Thread-safe.  Only mains, commands and worker loops log; lower layers return errors. Nobody waits
 * for who reads: lines that are not taken are dropped, counted, and told of.
 */
#pragma once

#include <stdarg.h>
#include <stdint.h>

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
};

/* `identifier` appears before each line; lines above `max` (less important) are dropped. */
void log_open(const char *identifier, enum log_level max);
/* From now on, in any thread. */
void log_set_level(enum log_level max);
/* Lines that were dropped and not told of yet. */
uint64_t log_count_dropped(void);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* With journal fields: NULL-terminated list of "KEY=value" strings (keys in capitals). On stderr
 * the fields are appended, but for the message id, which is for programs. */
void log_fields(enum log_level level, const char *const *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An event that the message catalogue explains (events.h) and that has no other fields. */
#define log_event(level, event, ...)                                                               \
    log_fields(level, (const char *const[]){ event, NULL }, __VA_ARGS__)

#define log_error(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_write(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
