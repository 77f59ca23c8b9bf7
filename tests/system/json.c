/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/system/json.h"

#include <stddef.h>
#include <string.h>

static const char *json_skip_value(const char *at, unsigned depth);

static const char *json_skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Behind the closing quote; NULL: it is none. */
static const char *json_skip_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at == '\\' && *++at == 'u') {
            if (strspn(at + 1, "0123456789abcdefABCDEF") < 4)
                return NULL;
            at += 4;
        } else if (at[-1] == '\\' && !strchr("\"\\/bfnrtu", *at)) {
            return NULL;
        }
    }
    return at + 1;
}

static const char *json_skip_number(const char *at)
{
    const char *begin = at;

    at += *at == '-';
    if (strspn(at, "0123456789") == 0)
        return NULL;
    at += strspn(at, "0123456789");
    if (*at == '.') {
        at++;
        if (strspn(at, "0123456789") == 0)
            return NULL;
        at += strspn(at, "0123456789");
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '-' || *at == '+';
        if (strspn(at, "0123456789") == 0)
            return NULL;
        at += strspn(at, "0123456789");
    }
    return at > begin ? at : NULL;
}

static const char *json_skip_word(const char *at)
{
    static const char *const words[] = { "true", "false", "null" };

    for (size_t i = 0; i < 3; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    return NULL;
}

/* Of an object (`close` is a brace) or an array, from behind its beginning. */
static const char *json_skip_members(const char *at, char close, unsigned depth)
{
    at = json_skip_space(at);
    if (*at == close)
        return at + 1;
    for (;;) {
        if (close == '}') {
            at = json_skip_string(json_skip_space(at));
            at = at ? json_skip_space(at) : NULL;
            if (!at || *at++ != ':')
                return NULL;
        }
        at = json_skip_value(at, depth + 1);
        if (!at)
            return NULL;
        at = json_skip_space(at);
        if (*at == close)
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
}

static const char *json_skip_value(const char *at, unsigned depth)
{
    at = json_skip_space(at);
    if (depth > 64)
        return NULL;
    if (*at == '{')
        return json_skip_members(at + 1, '}', depth);
    if (*at == '[')
        return json_skip_members(at + 1, ']', depth);
    if (*at == '"')
        return json_skip_string(at);
    return strchr("tfn", *at) ? json_skip_word(at) : json_skip_number(at);
}

bool json_is_valid(const char *text)
{
    const char *end = json_skip_value(text, 0);

    return end && *json_skip_space(end) == '\0';
}
