/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: odeond's reader with its own keys, then what it passes on to the
 * executor's table.
 *
 * The input is the file. A refusal has a reason that can be printed; what is accepted is within the
 * bounds of the table.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/supervisor/options.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("configuration", MFD_CLOEXEC);
    char path[48], text[OPTIONS_TEXT_MAX] = "", program[] = "odeond", *argv[] = { program, NULL };
    struct options options = {
        .config_path = path, .config_path_given = true, .argc = 1, .argv = argv
    };
    struct config config;
    int r;

    FUZZ_EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    r = config_load(&config, &options, text);
    FUZZ_EXPECT(r <= 0 && (r == 0 || text[0] != '\0') &&
                strnlen(text, sizeof(text)) < sizeof(text));
    for (size_t i = 0; i < config.executor.n; i++)
        fuzz_config_set(config.executor.list[i].key, config.executor.list[i].value);
    fuzz_config_end();
    config_fini(&config);
    close(fd);
    return 0;
}
