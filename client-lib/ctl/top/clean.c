/* SPDX-License-Identifier: Apache-2.0 */
/* Names of others, cleaned (clean.h). */
#include "client-lib/ctl/top/clean.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

size_t clean_character(const char *text, unsigned *ret_columns)
{
    unsigned char first = (unsigned char)text[0];
    mbstate_t state = { 0 };
    wchar_t wide;
    size_t n;
    int width;

    *ret_columns = 1;
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    n = mbrtowc(&wide, text, strlen(text), &state);
    if (n == 0 || n > 4) /* also the two that say that it is none */
        return 0;
    width = wcwidth(wide);
    if (width <= 0)
        return 0;
    *ret_columns = (unsigned)width;
    return n;
}

char *clean_text(const char *text, char *ret, size_t size)
{
    size_t used = 0;

    while (*text) {
        unsigned columns;
        size_t n = clean_character(text, &columns), room = n ? n : 4;

        if (used + room + 1 > size)
            break;
        if (n)
            memcpy(ret + used, text, n);
        else
            snprintf(ret + used, size - used, "\\x%02x", (unsigned char)*text);
        used += room;
        text += n ? n : 1;
    }
    ret[used] = '\0';
    return ret;
}

unsigned clean_width(const char *text)
{
    unsigned sum = 0;

    while (*text) {
        unsigned columns;
        size_t n = clean_character(text, &columns);

        sum += columns;
        text += n ? n : 1;
    }
    return sum;
}

void clean_cut(char *text, unsigned columns)
{
    while (*text) {
        unsigned width;
        size_t n = clean_character(text, &width);

        if (width > columns) {
            *text = '\0';
            return;
        }
        columns -= width;
        text += n ? n : 1;
    }
}
