/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines; the interface is in log.h.
 *
 * State is set once by log_open(), before any thread is started, and only read afterwards, but for
 * the level and the count of lines that were dropped. A line is put together on the caller's stack
 * and leaves with one system call, so that lines of several threads do not mix.
 *
 * log.L1  No control character of a message reaches the terminal: names that clients chose are
 *     printed, too.
 * log.L2  Nobody who logs waits for who reads the log (log_sink.S1). A line that is not taken is
 *     dropped and counted, and the next one that is taken stands behind one that says how many.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/common/log_sink.h"

#define LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"

enum { LOG_LINE_MAX = 2048, LOG_FIELDS_MAX = 16 };

static struct {
    char identifier[48];
    _Atomic uint32_t max; /* enum log_level; whoever logs looks: relaxed */
    bool to_journal;
    _Atomic uint64_t n_dropped; /* log.L2; a count alone: relaxed */
} state = { .identifier = "odeon", .max = LOG_LEVEL_INFO };

/* systemd sets JOURNAL_STREAM to device and inode of the stream that it connected; a redirected
 * stderr has others. */
static bool log_stderr_is_journal(void)
{
    const char *value = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;

    if (!value || sscanf(value, "%llu:%llu", &device, &inode) != 2)
        return false;
    return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_set_level(enum log_level max)
{
    atomic_store_explicit(&state.max, (uint32_t)max, memory_order_relaxed);
}

void log_open(const char *identifier, enum log_level max)
{
    snprintf(state.identifier, sizeof(state.identifier), "%s", identifier);
    log_set_level(max);
    state.to_journal = log_stderr_is_journal();
    log_sink_open(state.to_journal ? LOG_JOURNAL_SOCKET : NULL);
}

static void log_replace_control_characters(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = *c == '\n' || *c == '\t' ? ' ' : '?';
}

static const char *log_level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return "error: ";
    case LOG_LEVEL_WARNING:
        return "warning: ";
    case LOG_LEVEL_DEBUG:
        return "debug: ";
    case LOG_LEVEL_NOTICE:
    case LOG_LEVEL_INFO:
        break;
    }
    return "";
}

static int log_send_to_journal(enum log_level level, const char *const *fields, const char *text)
{
    char message[LOG_LINE_MAX + sizeof("MESSAGE=")], priority[sizeof("PRIORITY=0")], identifier[80];
    struct iovec parts[LOG_FIELDS_MAX + 3];
    int n = 0;

    snprintf(message, sizeof(message), "MESSAGE=%s", text);
    snprintf(priority, sizeof(priority), "PRIORITY=%d", (int)level & 7);
    snprintf(identifier, sizeof(identifier), "SYSLOG_IDENTIFIER=%s", state.identifier);
    parts[n++] = (struct iovec){ message, strlen(message) };
    parts[n++] = (struct iovec){ priority, strlen(priority) };
    parts[n++] = (struct iovec){ identifier, strlen(identifier) };
    for (int i = 0; fields && fields[i] && i < LOG_FIELDS_MAX; i++)
        parts[n++] = (struct iovec){ (char *)fields[i], strlen(fields[i]) };
    return log_sink_journal(parts, (size_t)n);
}

static int log_write_to_stderr(enum log_level level, const char *const *fields, const char *text)
{
    char line[LOG_LINE_MAX * 2], stamp[32] = "";
    struct timespec now;
    struct tm local;
    size_t used, room = sizeof(line) - 1; /* the last byte is the newline's */
    int n;

    clock_gettime(CLOCK_REALTIME, &now);
    if (localtime_r(&now.tv_sec, &local))
        strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &local);
    n = snprintf(line, room, "%s.%03ld %s[%d]: %s%s", stamp, now.tv_nsec / 1000000,
                 state.identifier, (int)getpid(), log_level_name(level), text);
    used = n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
    for (int i = 0; fields && fields[i]; i++) {
        if (strncmp(fields[i], "MESSAGE_ID=", strlen("MESSAGE_ID=")) == 0)
            continue;
        n = snprintf(line + used, room - used, " %s", fields[i]);
        if (n < 0)
            break;
        used = (size_t)n < room - used ? used + (size_t)n : room - 1;
    }
    log_replace_control_characters(line);
    line[used] = '\n';
    return log_sink_text(line, used + 1);
}

/* False: it is not taken now. */
static bool log_put(enum log_level level, const char *const *fields, const char *text)
{
    return (state.to_journal && log_send_to_journal(level, fields, text) == 0) ||
           log_write_to_stderr(level, fields, text) == 0;
}

static void log_say_dropped(void)
{
    uint64_t n = atomic_exchange_explicit(&state.n_dropped, 0, memory_order_relaxed);
    char text[128];

    snprintf(text, sizeof(text),
             "%" PRIu64 " lines of this log are missing here: whoever reads it did not take them",
             n);
    if (n > 0 && !log_put(LOG_LEVEL_WARNING, NULL, text))
        atomic_fetch_add_explicit(&state.n_dropped, n, memory_order_relaxed);
}

uint64_t log_count_dropped(void)
{
    return atomic_load_explicit(&state.n_dropped, memory_order_relaxed);
}

static void __attribute__((format(printf, 3, 0)))
log_vfields(enum log_level level, const char *const *fields, const char *format, va_list args)
{
    char text[LOG_LINE_MAX];
    int saved = errno;

    if (level > atomic_load_explicit(&state.max, memory_order_relaxed))
        return;
    if (vsnprintf(text, sizeof(text), format, args) < 0)
        snprintf(text, sizeof(text), "(a log line could not be formatted)");
    log_replace_control_characters(text);
    if (log_count_dropped() > 0)
        log_say_dropped();
    /* Behind lines that are missing and not told of, this one would say that there are none. */
    if (log_count_dropped() > 0 || !log_put(level, fields, text))
        atomic_fetch_add_explicit(&state.n_dropped, 1, memory_order_relaxed);
    errno = saved;
}

void log_write(enum log_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    log_vfields(level, NULL, format, args);
    va_end(args);
}

void log_fields(enum log_level level, const char *const *fields, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    log_vfields(level, fields, format, args);
    va_end(args);
}
