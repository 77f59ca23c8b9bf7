/* SPDX-License-Identifier: Apache-2.0 */
/* Names of others as a terminal may get them, and how wide they are there.
 *
 * Plain functions, any thread. What a character is says the locale (LC_CTYPE).
 *
 * clean.W1  What clean_text() gives holds characters alone that have a width of their own: no
 *     control character, nothing that joins, turns round or is invisible. Others are shown as
 *     \xNN, byte by byte.
 */
#pragma once

#include <stddef.h>

/* Copies, whole characters, as many as fit; `ret` ends with 0. Returns `ret`. */
char *clean_text(const char *text, char *ret, size_t size);
/* Bytes of the character at `text`, and its columns; 0 bytes: none that may be shown, or the end.
 */
size_t clean_character(const char *text, unsigned *ret_columns);
/* Columns that a cleaned text takes. */
unsigned clean_width(const char *text);
/* Cuts a cleaned text in place to so many columns. */
void clean_cut(char *text, unsigned columns);
