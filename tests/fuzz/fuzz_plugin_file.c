/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's file before the loader sees it: the input is the file, copied as odeond copies one.
 *
 * What is accepted has its segments inside the file: the loader maps those without looking.
 */
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/common/memfd.h"
#include "daemon/executor/plugin_check.h"
#include "tests/fuzz/fuzz.h"

enum { FILE_MAX = 1 << 20 };

static void check_segments(const uint8_t *data, size_t size)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;

    FUZZ_EXPECT(size >= sizeof(header));
    memcpy(&header, data, sizeof(header));
    for (unsigned i = 0; i < header.e_phnum; i++) {
        FUZZ_EXPECT(header.e_phoff + (i + UINT64_C(1)) * sizeof(segment) <= size);
        memcpy(&segment, data + header.e_phoff + i * sizeof(segment), sizeof(segment));
        if (segment.p_type == PT_LOAD || segment.p_type == PT_DYNAMIC)
            FUZZ_EXPECT(segment.p_offset <= size && segment.p_filesz <= size - segment.p_offset);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int file = memfd_create("plugin", MFD_CLOEXEC), copy;
    struct explain explain;
    int r;

    FUZZ_EXPECT(file >= 0 && write(file, data, size) == (ssize_t)size);
    copy = memfd_copy_file(file, FILE_MAX);
    FUZZ_EXPECT(copy >= 0);
    explain_init(&explain);
    r = plugin_check_file(copy, &explain);
    FUZZ_EXPECT(r <= 0 && (r == 0 || explain.length > 0));
    if (r == 0)
        check_segments(data, size);
    close(copy);
    close(file);
    return 0;
}
