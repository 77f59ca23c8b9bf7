/* SPDX-License-Identifier: Apache-2.0 */
/* See plugin_check.h. */
#include "daemon/executor/plugin_check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE ((unsigned)EM_X86_64)
#elif defined(__aarch64__)
#define OUR_MACHINE ((unsigned)EM_AARCH64)
#else
#error "the machine's ELF number is missing here"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_BYTE_ORDER ((unsigned)ELFDATA2LSB)
#else
#define OUR_BYTE_ORDER ((unsigned)ELFDATA2MSB)
#endif

enum { PROGRAM_HEADERS_MAX = 128 };

static const char *plugin_check_machine_name(unsigned machine)
{
    switch (machine) {
    case EM_386:
        return "x86 (32 bit)";
    case EM_X86_64:
        return "x86-64";
    case EM_ARM:
        return "ARM (32 bit)";
    case EM_AARCH64:
        return "AArch64";
    case EM_RISCV:
        return "RISC-V";
    case EM_PPC64:
        return "PowerPC 64";
    case EM_S390:
        return "S/390";
    default:
        return "another machine";
    }
}

static const char *plugin_check_file_type_name(unsigned type)
{
    switch (type) {
    case ET_NONE:
        return "none";
    case ET_REL:
        return "an object file";
    case ET_EXEC:
        return "an executable";
    case ET_DYN:
        return "a shared object";
    case ET_CORE:
        return "a core dump";
    default:
        return "unknown";
    }
}

/* 0; -EINVAL: the file ends before that; negative errno. */
static int plugin_check_read_exactly(int fd, void *data, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(fd, (char *)data + done, size - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -EINVAL;
        done += (size_t)n;
    }
    return 0;
}

static int check_file(int fd, uint64_t *ret_size, struct explain *explain)
{
    /* Anything that can still be written, or cut short, makes what follows worthless: it is mapped,
     * not copied. */
    const int needed = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
    struct stat st;
    int seals;

    if (fstat(fd, &st) < 0)
        return explain_set(explain, -errno, "the plugin's file cannot be examined: %s",
                           strerror(errno));
    if (!S_ISREG(st.st_mode))
        return explain_set(
            explain, -EINVAL,
            "the plugin is not a regular file but %s: give the path of a shared object",
            S_ISDIR(st.st_mode) ? "a directory" : "something else");
    seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & needed) != needed)
        return explain_set(explain, -EINVAL,
                           "the plugin's file is not a memory file sealed against writing: the "
                           "executor takes no other");
    *ret_size = (uint64_t)st.st_size;
    return 0;
}

static int check_identification(const unsigned char *ident, struct explain *explain)
{
    if (memcmp(ident, ELFMAG, SELFMAG) != 0)
        return explain_set(explain, -EINVAL,
                           "the plugin is not an ELF file: it begins with %02x %02x %02x %02x, a "
                           "shared object with 7f 45 4c 46",
                           ident[0], ident[1], ident[2], ident[3]);
    if (ident[EI_CLASS] != ELFCLASS64)
        return explain_set(
            explain, -EINVAL,
            "the plugin's ELF class is %u (%s), ours is %u (64 bit): compile it for 64 bit",
            ident[EI_CLASS], ident[EI_CLASS] == ELFCLASS32 ? "32 bit" : "unknown",
            (unsigned)ELFCLASS64);
    if (ident[EI_DATA] != OUR_BYTE_ORDER)
        return explain_set(explain, -EINVAL,
                           "the plugin's byte order is %u, ours is %u: compile it for this machine",
                           ident[EI_DATA], OUR_BYTE_ORDER);
    if (ident[EI_VERSION] != EV_CURRENT)
        return explain_set(explain, -EINVAL, "the plugin's ELF version is %u, ours is %u",
                           ident[EI_VERSION], (unsigned)EV_CURRENT);
    return 0;
}

static int check_header(const Elf64_Ehdr *header, uint64_t size, struct explain *explain)
{
    if (header->e_machine != OUR_MACHINE)
        return explain_set(
            explain, -EINVAL,
            "the plugin's machine is %u (%s), ours is %u (%s): compile it for this machine",
            header->e_machine, plugin_check_machine_name(header->e_machine), OUR_MACHINE,
            plugin_check_machine_name(OUR_MACHINE));
    if (header->e_type != ET_DYN)
        return explain_set(
            explain, -EINVAL,
            "the plugin's file type is %u (%s), ours is %u (%s): link it with -shared",
            header->e_type, plugin_check_file_type_name(header->e_type), (unsigned)ET_DYN,
            plugin_check_file_type_name(ET_DYN));
    if (header->e_phentsize != sizeof(Elf64_Phdr))
        return explain_set(
            explain, -EINVAL,
            "the plugin's program headers have %u bytes each, ours %zu: the file is damaged",
            header->e_phentsize, sizeof(Elf64_Phdr));
    if (header->e_phnum == 0 || header->e_phnum > PROGRAM_HEADERS_MAX)
        return explain_set(
            explain, -EINVAL,
            "the plugin has %u program headers, from 1 to %d are allowed: the file is damaged",
            header->e_phnum, PROGRAM_HEADERS_MAX);
    if (header->e_phoff > size ||
        size - header->e_phoff < (uint64_t)header->e_phnum * sizeof(Elf64_Phdr))
        return explain_set(explain, -EINVAL,
                           "the plugin's program headers begin at byte %" PRIu64
                           " and end beyond the file's %" PRIu64 " bytes: the file is cut short",
                           header->e_phoff, size);
    return 0;
}

static int check_segments(const Elf64_Phdr *segments, unsigned n, uint64_t size,
                          struct explain *explain)
{
    bool has_load = false, has_dynamic = false;

    for (unsigned i = 0; i < n; i++) {
        const Elf64_Phdr *s = &segments[i];

        if (s->p_type == PT_INTERP)
            return explain_set(
                explain, -EINVAL,
                "the plugin is a program, not a shared object: link it with -shared, without -pie");
        if (s->p_type != PT_LOAD && s->p_type != PT_DYNAMIC)
            continue;
        if (s->p_offset > size || s->p_filesz > size - s->p_offset)
            return explain_set(explain, -EINVAL,
                               "the plugin's segment %u takes %" PRIu64 " bytes from byte %" PRIu64
                               ", the file has %" PRIu64 ": it is cut short",
                               i, s->p_filesz, s->p_offset, size);
        if (s->p_type == PT_LOAD &&
            (s->p_filesz > s->p_memsz || s->p_vaddr > UINT64_MAX - s->p_memsz))
            return explain_set(
                explain, -EINVAL,
                "the plugin's segment %u does not fit its own memory: the file is damaged", i);
        has_load |= s->p_type == PT_LOAD;
        has_dynamic |= s->p_type == PT_DYNAMIC;
    }
    if (!has_load || !has_dynamic)
        return explain_set(
            explain, -EINVAL,
            "the plugin has no %s segment: it is no shared object that can be loaded",
            has_load ? "dynamic" : "loadable");
    return 0;
}

int plugin_check_file(int fd, struct explain *explain)
{
    Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
    Elf64_Ehdr header;
    uint64_t size = 0;
    int r;

    r = check_file(fd, &size, explain);
    if (r < 0)
        return r;
    if (size < sizeof(header))
        return explain_set(explain, -EINVAL,
                           "the plugin is not an ELF file: it has %" PRIu64
                           " bytes, an ELF header alone has %zu",
                           size, sizeof(header));
    r = plugin_check_read_exactly(fd, &header, sizeof(header), 0);
    if (r < 0)
        return explain_set(explain, r, "the plugin's file cannot be read: %s", strerror(-r));
    r = check_identification(header.e_ident, explain);
    if (r < 0)
        return r;
    r = check_header(&header, size, explain);
    if (r < 0)
        return r;
    r = plugin_check_read_exactly(fd, segments, header.e_phnum * sizeof(segments[0]),
                                  header.e_phoff);
    if (r < 0)
        return explain_set(explain, r, "the plugin's program headers cannot be read: %s",
                           strerror(-r));
    return check_segments(segments, header.e_phnum, size, explain);
}
