/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/page.h"

#include <string.h>

/* Made by embed.cmake. */
extern const unsigned char page_html[], page_css[], page_js[];
extern const size_t page_html_size, page_css_size, page_js_size;

const struct page_file *page_find(const char *path)
{
    static struct page_file files[] = {
        { "/", "text/html; charset=utf-8", page_html, 0 },
        { "/page.css", "text/css; charset=utf-8", page_css, 0 },
        { "/page.js", "text/javascript; charset=utf-8", page_js, 0 },
    };

    files[0].n = page_html_size;
    files[1].n = page_css_size;
    files[2].n = page_js_size;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}
