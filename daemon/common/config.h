/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: lines "key = value", sections "[name]", comments from '#' or ';' at the
 * start of a line.
 *
 * What a key means is the callback's; this reads lines, says where a mistake is, and turns words
 * into numbers. Values reach to the end of the line; blanks around key and value are dropped,
 * quotes mean nothing. Stateless.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CONFIG_LINE_MAX = 4096, CONFIG_TEXT_MAX = 512, CONFIG_FILE_MAX = 1 << 20 };

/* Called for each key, in the file's order. `section` is "" before the first one; lines count from
 * 1. 0 goes on; negative errno ends the reading, with a reason in `text` (CONFIG_TEXT_MAX bytes)
 * that names the key; -ENOENT with an empty text: the key is unknown. */
typedef int (*config_set_fn)(void *userdata, unsigned line, const char *section, const char *key,
                             const char *value, char *text);

/* Both return 0 or a negative errno with "file:line: what is wrong" in `text` (CONFIG_TEXT_MAX
 * bytes). `sections`: the names that are known, NULL-terminated; another one is an error. */
int config_read_file(const char *path, const char *const *sections, config_set_fn set,
                     void *userdata, char *text);
int config_read_text(const char *label, const char *content, size_t size,
                     const char *const *sections, config_set_fn set, void *userdata, char *text);

/* "KEY=VALUE", as on a command line: copies the key, points to the value. -EINVAL: no '=', or a key
 * that is empty, too long or has other characters than letters, digits, '-', '_' and '.'. */
int config_split(const char *assignment, char *key, size_t key_size, const char **ret_value);

/* 0, -EINVAL: not a number; -ERANGE: outside the bounds. */
int config_parse_u64(const char *value, uint64_t min, uint64_t max, uint64_t *ret_number);
/* with K, M, G: powers of 1024 */
int config_parse_bytes(const char *value, uint64_t min, uint64_t max, uint64_t *ret_bytes);
