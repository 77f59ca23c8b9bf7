/* SPDX-License-Identifier: Apache-2.0 */
/* The web page's files, which are part of the program (embed.cmake). Pure functions, any thread. */
#pragma once

#include <stddef.h>

struct page_file {
    const char *path, *type;
    const unsigned char *bytes;
    size_t n;
};

/* NULL: there is none at this path. */
const struct page_file *page_find(const char *path);

/* Nothing of another host, nothing that is written into the page: whatever a name says, it runs
 * nowhere. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "                \
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
