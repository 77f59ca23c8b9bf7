/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the configuration file; the interface is in config.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/common/config.h"

struct reader {
    const char *label;
    unsigned line;
    const char *const *sections;
    char section[64];
    config_set_fn set;
    void *userdata;
    char *text;
};

/* U+FEFF, which some editors put before a text. */
static const char config_mark[] = "\xef\xbb\xbf";

static int __attribute__((format(printf, 3, 4)))
config_fail(struct reader *reader, int error, const char *format, ...)
{
    char what[CONFIG_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    /* the reason matters more than a long path: the path gives way */
    snprintf(reader->text, CONFIG_TEXT_MAX, "%.200s:%u: %.280s", reader->label, reader->line, what);
    return error;
}

static char *config_trim(char *text)
{
    size_t n;

    while (isspace((unsigned char)*text))
        text++;
    n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    return text;
}

static bool config_key_is_valid(const char *key, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)key[i]) && !strchr("-_.", key[i]))
            return false;
    return n > 0;
}

static int config_read_section(struct reader *reader, char *line)
{
    char *end = strchr(line, ']');

    if (!end || end[1] != '\0')
        return config_fail(reader, -EINVAL, "a section is written [name]");
    *end = '\0';
    line = config_trim(line + 1);
    for (const char *const *known = reader->sections; *known; known++)
        if (strcmp(*known, line) == 0) {
            snprintf(reader->section, sizeof(reader->section), "%s", line);
            return 0;
        }
    return config_fail(reader, -EINVAL, "unknown section [%.60s]", line);
}

static int config_read_line(struct reader *reader, char *line)
{
    char reason[CONFIG_TEXT_MAX] = "", *equals, *key, *value;
    int r;

    line = config_trim(line);
    if (*line == '\0' || *line == '#' || *line == ';')
        return 0;
    if (*line == '[')
        return config_read_section(reader, line);
    equals = strchr(line, '=');
    if (!equals)
        return config_fail(reader, -EINVAL,
                           "expected key = value, a [section] or a comment: '%.60s'", line);
    *equals = '\0';
    key = config_trim(line);
    value = config_trim(equals + 1);
    if (!config_key_is_valid(key, strlen(key)))
        return config_fail(reader, -EINVAL,
                           "'%.60s' is not a key: letters, digits, '-', '_' and '.'", key);
    r = reader->set(reader->userdata, reader->line, reader->section, key, value, reason);
    if (r == -ENOENT && reason[0] == '\0')
        return config_fail(reader, r, "unknown key '%.60s'", key);
    if (r < 0)
        return config_fail(reader, r, "%.280s", reason[0] ? reason : strerror(-r));
    return 0;
}

int config_read_text(const char *label, const char *content, size_t size,
                     const char *const *sections, config_set_fn set, void *userdata, char *text)
{
    struct reader reader = {
        .label = label, .sections = sections, .set = set, .userdata = userdata, .text = text
    };
    char line[CONFIG_LINE_MAX];

    if (size >= sizeof(config_mark) - 1 && !memcmp(content, config_mark, sizeof(config_mark) - 1)) {
        content += sizeof(config_mark) - 1;
        size -= sizeof(config_mark) - 1;
    }
    while (size > 0) {
        const char *newline = memchr(content, '\n', size);
        size_t length = newline ? (size_t)(newline - content) : size,
               step = length + (newline ? 1 : 0);
        int r;

        reader.line++;
        if (length >= sizeof(line))
            return config_fail(&reader, -E2BIG, "the line is longer than %d bytes",
                               CONFIG_LINE_MAX - 1);
        if (memchr(content, '\0', length))
            return config_fail(&reader, -EINVAL,
                               "the line has a zero byte: this is not a text file");
        memcpy(line, content, length);
        line[length] = '\0';
        r = config_read_line(&reader, line);
        if (r < 0)
            return r;
        content += step;
        size -= step;
    }
    return 0;
}

/* Reads the whole of a regular file of at most CONFIG_FILE_MAX bytes. */
static int config_load(const char *path, char **ret_content, size_t *ret_size, char *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r = 0;
    struct stat st;
    char *content = NULL;
    size_t size = 0;

    if (fd < 0 || fstat(fd, &st) < 0) {
        r = -errno;
        snprintf(text, CONFIG_TEXT_MAX, "%.300s: %s", path, strerror(-r));
        goto end;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > CONFIG_FILE_MAX) {
        r = S_ISREG(st.st_mode) ? -EFBIG : -EINVAL;
        snprintf(text, CONFIG_TEXT_MAX, "%.300s: %s", path,
                 r == -EFBIG ? "larger than a configuration file can be (1 MiB)"
                             : "not a regular file");
        goto end;
    }
    content = malloc(CONFIG_FILE_MAX);
    if (!content) {
        r = -ENOMEM;
        snprintf(text, CONFIG_TEXT_MAX, "%.300s: %s", path, strerror(ENOMEM));
        goto end;
    }
    while (size < CONFIG_FILE_MAX) {
        ssize_t n = read(fd, content + size, CONFIG_FILE_MAX - size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            r = -errno;
            snprintf(text, CONFIG_TEXT_MAX, "%.300s: %s", path, strerror(-r));
            goto end;
        }
        if (n == 0)
            break;
        size += (size_t)n;
    }
    *ret_content = content;
    *ret_size = size;
    content = NULL;
end:
    free(content);
    if (fd >= 0)
        close(fd);
    return r;
}

int config_read_file(const char *path, const char *const *sections, config_set_fn set,
                     void *userdata, char *text)
{
    char *content = NULL;
    size_t size = 0;
    int r = config_load(path, &content, &size, text);

    if (r < 0)
        return r;
    r = config_read_text(path, content, size, sections, set, userdata, text);
    free(content);
    return r;
}

int config_split(const char *assignment, char *key, size_t key_size, const char **ret_value)
{
    const char *equals = strchr(assignment, '=');
    size_t length;

    if (!equals)
        return -EINVAL;
    length = (size_t)(equals - assignment);
    if (length >= key_size || !config_key_is_valid(assignment, length))
        return -EINVAL;
    memcpy(key, assignment, length);
    key[length] = '\0';
    *ret_value = equals + 1;
    return 0;
}

static int config_parse_number(const char *value, const char **ret_end, uint64_t *ret_number)
{
    unsigned long long number;
    char *end;

    if (!isdigit((unsigned char)*value)) /* strtoull() would take blanks and signs */
        return -EINVAL;
    errno = 0;
    number = strtoull(value, &end, 10);
    if (errno == ERANGE)
        return -ERANGE;
    *ret_end = end;
    *ret_number = number;
    return 0;
}

int config_parse_u64(const char *value, uint64_t min, uint64_t max, uint64_t *ret_number)
{
    const char *end;
    uint64_t number;
    int r = config_parse_number(value, &end, &number);

    if (r < 0)
        return r;
    if (*end != '\0')
        return -EINVAL;
    if (number < min || number > max)
        return -ERANGE;
    *ret_number = number;
    return 0;
}

int config_parse_bytes(const char *value, uint64_t min, uint64_t max, uint64_t *ret_bytes)
{
    static const struct {
        char letter;
        unsigned shift;
    } units[] = { { 'K', 10 }, { 'M', 20 }, { 'G', 30 } };
    const char *end;
    uint64_t number;
    unsigned shift = 0;
    int r = config_parse_number(value, &end, &number);

    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (toupper((unsigned char)*end) == units[i].letter) {
            shift = units[i].shift;
            end++;
            break;
        }
    if (*end != '\0')
        return -EINVAL;
    if (number > UINT64_MAX >> shift || number << shift < min || number << shift > max)
        return -ERANGE;
    *ret_bytes = number << shift;
    return 0;
}
