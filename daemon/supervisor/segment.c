/* SPDX-License-Identifier: Apache-2.0 */
/* The engine segment; the interface is in segment.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/config.h"
#include "daemon/common/memfd.h"
#include "daemon/supervisor/program_ask.h"
#include "daemon/supervisor/segment.h"

enum { ANSWER_MAX = 64 };

static void segment_free_arguments(char **argv)
{
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

static char **segment_make_arguments(const char *program, const struct setting_list *settings)
{
    char **argv = calloc(settings->n * 4 + 3, sizeof(*argv));
    size_t n = 0;

    if (!argv)
        return NULL;
    if (!(argv[n++] = strdup(program)) || !(argv[n++] = strdup("--print-segment-size")))
        goto fail;
    for (size_t i = 0; i < settings->n; i++) {
        const struct setting *setting = &settings->list[i];

        if (setting->origin &&
            (!(argv[n++] = strdup("--from")) || !(argv[n++] = strdup(setting->origin))))
            goto fail;
        if (!(argv[n++] = strdup("--set")))
            goto fail;
        if (asprintf(&argv[n], "%s=%s", setting->key, setting->value) < 0) {
            argv[n] = NULL;
            goto fail;
        }
        n++;
    }
    return argv;
fail:
    segment_free_arguments(argv);
    return NULL;
}

int segment_ask_size(const char *program, const struct setting_list *settings, uint64_t *ret_size,
                     char *text)
{
    char **argv = segment_make_arguments(program, settings), answer[ANSWER_MAX] = "";
    int r;

    if (!argv) {
        snprintf(text, SEGMENT_TEXT_MAX, "cannot run %.200s: %s", program, strerror(ENOMEM));
        return -ENOMEM;
    }
    r = program_ask((const char *const *)argv, -1, "the settings", answer, sizeof(answer), text);
    segment_free_arguments(argv);
    if (r < 0)
        return r;
    r = config_parse_u64(answer, 4096, UINT64_C(1) << 46, ret_size);
    if (r < 0)
        snprintf(text, SEGMENT_TEXT_MAX,
                 "%.200s --print-segment-size: '%.60s' is no possible size; is it the executor?",
                 program, answer);
    return r;
}

int segment_make(uint64_t size, char *text)
{
    int fd = memfd_make_sealed("odeon-segment", size);

    if (fd < 0)
        snprintf(text, SEGMENT_TEXT_MAX, "engine segment of %llu bytes: %s",
                 (unsigned long long)size, strerror(-fd));
    return fd;
}
