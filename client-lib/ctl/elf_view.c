/* SPDX-License-Identifier: Apache-2.0 */
/* See elf_view.h. */
#include "client-lib/ctl/elf_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64, RELOCATION_RELATIVE = R_X86_64_RELATIVE };
enum { RELOCATION_ABSOLUTE = R_X86_64_64, RELOCATION_GLOBAL = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64, RELOCATION_RELATIVE = R_AARCH64_RELATIVE };
enum { RELOCATION_ABSOLUTE = R_AARCH64_ABS64, RELOCATION_GLOBAL = R_AARCH64_GLOB_DAT };
#else
#error "the machine's ELF numbers are missing here"
#endif

/* As large as a plugin's file may be for the service. */
#define FILE_MAX_BYTES (UINT64_C(256) << 20)

static bool elf_view_has(const struct elf_view *view, uint64_t offset, uint64_t size)
{
    return offset <= view->size && size <= view->size - offset;
}

static bool elf_view_copy(const struct elf_view *view, uint64_t offset, void *to, size_t size)
{
    if (!elf_view_has(view, offset, size))
        return false;
    memcpy(to, view->bytes + offset, size);
    return true;
}

static int elf_view_read_file(struct elf_view *view, const char *path,
                              char why[static ELF_VIEW_WHY])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r = 0;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        r = -errno;
    } else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX_BYTES) {
        snprintf(why, ELF_VIEW_WHY, "it is %s: give the path of a shared object",
                 S_ISREG(st.st_mode) ? "larger than 256 MiB" : "not a regular file");
        r = -EINVAL;
    } else {
        view->bytes = malloc((size_t)st.st_size + 1);
        r = view->bytes ? 0 : -ENOMEM;
    }
    while (r == 0 && view->size < (size_t)st.st_size) {
        ssize_t n = read(fd, view->bytes + view->size, (size_t)st.st_size - view->size);

        if (n < 0 && errno != EINTR)
            r = -errno;
        if (n == 0)
            break;
        view->size += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    return r;
}

/* NULL: it is one for this machine. */
static const char *elf_view_refuse_header(const struct elf_view *view)
{
    const Elf64_Ehdr *h = &view->header;

    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return "it is not an ELF file: link it with -shared";
    if (h->e_ident[EI_CLASS] != ELFCLASS64)
        return "it is not of 64 bit: compile it for 64 bit";
    if (h->e_ident[EI_DATA] !=
            (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB) ||
        h->e_machine != OUR_MACHINE)
        return "it is for another machine: compile it for this one";
    if (h->e_type != ET_DYN)
        return "it is no shared object: link it with -shared";
    if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum == 0 ||
        h->e_phnum > ELF_VIEW_SEGMENTS_MAX ||
        !elf_view_has(view, h->e_phoff, h->e_phnum * sizeof(Elf64_Phdr)))
        return "its program headers are not in the file: it is cut short or damaged";
    return NULL;
}

static const char *elf_view_refuse_segments(const struct elf_view *view)
{
    bool loads = false, dynamic = false;

    for (unsigned i = 0; i < view->header.e_phnum; i++) {
        const Elf64_Phdr *s = &view->segments[i];

        if (s->p_type == PT_INTERP)
            return "it is a program, not a shared object: link it with -shared, without -pie";
        if (s->p_type != PT_LOAD && s->p_type != PT_DYNAMIC)
            continue;
        if (!elf_view_has(view, s->p_offset, s->p_filesz))
            return "a segment is not in the file: it is cut short";
        if (s->p_type == PT_LOAD &&
            (s->p_filesz > s->p_memsz || s->p_vaddr > UINT64_MAX - s->p_memsz))
            return "a segment does not fit its own memory: the file is damaged";
        loads |= s->p_type == PT_LOAD;
        dynamic |= s->p_type == PT_DYNAMIC;
    }
    return loads && dynamic ? NULL : "it has no segment to load, or no dynamic one";
}

/* Where the tables of the dynamic linker are is told by sections here: without them nothing is
 * found. */
static void elf_view_find_tables(struct elf_view *view)
{
    Elf64_Shdr section;

    if (!elf_view_section(view, SHT_DYNSYM, NULL, &view->symbols))
        return;
    if (view->symbols.sh_link < view->header.e_shnum &&
        elf_view_copy(view,
                      view->header.e_shoff + (uint64_t)view->symbols.sh_link * sizeof(section),
                      &section, sizeof(section)) &&
        elf_view_has(view, section.sh_offset, section.sh_size))
        view->strings = section;
    (void)elf_view_section(view, SHT_GNU_versym, NULL, &view->versions);
}

int elf_view_open(struct elf_view *view, const char *path, char why[static ELF_VIEW_WHY])
{
    const char *refusal = NULL;
    int r;

    *view = (struct elf_view){ 0 };
    r = elf_view_read_file(view, path, why);
    if (r < 0)
        return r;
    if (!elf_view_copy(view, 0, &view->header, sizeof(view->header)))
        refusal = "it is too short for an ELF file";
    if (!refusal)
        refusal = elf_view_refuse_header(view);
    if (!refusal) {
        elf_view_copy(view, view->header.e_phoff, view->segments,
                      view->header.e_phnum * sizeof(Elf64_Phdr));
        refusal = elf_view_refuse_segments(view);
    }
    if (refusal) {
        snprintf(why, ELF_VIEW_WHY, "%s", refusal);
        return -EINVAL;
    }
    if (view->header.e_shentsize != sizeof(Elf64_Shdr) ||
        !elf_view_has(view, view->header.e_shoff, view->header.e_shnum * sizeof(Elf64_Shdr)))
        view->header.e_shnum = 0;
    elf_view_find_tables(view);
    return 0;
}

void elf_view_close(struct elf_view *view)
{
    free(view->bytes);
    view->bytes = NULL;
}

const Elf64_Phdr *elf_view_segment(const struct elf_view *view, uint32_t type)
{
    for (unsigned i = 0; i < view->header.e_phnum; i++)
        if (view->segments[i].p_type == type)
            return &view->segments[i];
    return NULL;
}

static const Elf64_Phdr *elf_view_segment_of(const struct elf_view *view, uint64_t address,
                                             uint64_t size)
{
    for (unsigned i = 0; i < view->header.e_phnum; i++) {
        const Elf64_Phdr *s = &view->segments[i];

        if (s->p_type == PT_LOAD && address >= s->p_vaddr && address - s->p_vaddr <= s->p_memsz &&
            size <= s->p_memsz - (address - s->p_vaddr))
            return s;
    }
    return NULL;
}

bool elf_view_read(const struct elf_view *view, uint64_t address, void *to, size_t size)
{
    const Elf64_Phdr *s = elf_view_segment_of(view, address, size);
    uint64_t at, there;

    if (!s)
        return false;
    at = address - s->p_vaddr;
    there = at < s->p_filesz ? s->p_filesz - at : 0;
    memset(to, 0, size);
    return elf_view_copy(view, s->p_offset + (there > 0 ? at : 0), to,
                         there < size ? (size_t)there : size);
}

const char *elf_view_text(const struct elf_view *view, uint64_t address)
{
    const Elf64_Phdr *s = elf_view_segment_of(view, address, 1);
    uint64_t at = s ? address - s->p_vaddr : 0;
    const char *text;

    /* a file's own head lies at address 0: a pointer that is NULL leads to no text */
    if (address == 0 || !s || at >= s->p_filesz)
        return NULL;
    text = (const char *)view->bytes + s->p_offset + at;
    return memchr(text, '\0', (size_t)(s->p_filesz - at)) ? text : NULL;
}

bool elf_view_section(const struct elf_view *view, uint32_t type, const char *name,
                      Elf64_Shdr *ret_section)
{
    Elf64_Shdr names = { 0 }, section;

    if (view->header.e_shstrndx < view->header.e_shnum)
        elf_view_copy(view, view->header.e_shoff + view->header.e_shstrndx * sizeof(section),
                      &names, sizeof(names));
    if (!elf_view_has(view, names.sh_offset, names.sh_size))
        names.sh_size = 0;
    for (unsigned i = 0; i < view->header.e_shnum; i++) {
        elf_view_copy(view, view->header.e_shoff + i * sizeof(section), &section, sizeof(section));
        if (section.sh_type != type || !elf_view_has(view, section.sh_offset, section.sh_size))
            continue;
        if (name &&
            (section.sh_name >= names.sh_size ||
             names.sh_size - section.sh_name < strlen(name) + 1 ||
             memcmp(view->bytes + names.sh_offset + section.sh_name, name, strlen(name) + 1) != 0))
            continue;
        *ret_section = section;
        return true;
    }
    return false;
}

size_t elf_view_symbols(const struct elf_view *view)
{
    return view->symbols.sh_size / sizeof(Elf64_Sym);
}

/* NULL: there is none that ends. */
static const char *elf_view_string(const struct elf_view *view, uint64_t at)
{
    const char *text = (const char *)view->bytes + view->strings.sh_offset + at;

    if (at >= view->strings.sh_size || !memchr(text, '\0', (size_t)(view->strings.sh_size - at)))
        return NULL;
    return text;
}

bool elf_view_symbol(const struct elf_view *view, size_t index, struct elf_symbol *ret_symbol)
{
    Elf64_Sym symbol;
    uint16_t version = VER_NDX_GLOBAL;
    unsigned binding;

    if (index >= elf_view_symbols(view) ||
        !elf_view_copy(view, view->symbols.sh_offset + index * sizeof(symbol), &symbol,
                       sizeof(symbol)))
        return false;
    if (index < view->versions.sh_size / sizeof(version))
        elf_view_copy(view, view->versions.sh_offset + index * sizeof(version), &version,
                      sizeof(version));
    binding = ELF64_ST_BIND(symbol.st_info);
    *ret_symbol = (struct elf_symbol){ .name = elf_view_string(view, symbol.st_name),
                                       .address = symbol.st_value,
                                       .defined = symbol.st_shndx != SHN_UNDEF,
                                       .weak = binding == STB_WEAK,
                                       .unique = binding == STB_GNU_UNIQUE,
                                       .versioned = (version & 0x7fff) > VER_NDX_GLOBAL };
    return ret_symbol->name && ret_symbol->name[0];
}

static uint64_t elf_view_relocated(const struct elf_view *view, const Elf64_Rela *rela)
{
    struct elf_symbol symbol;

    switch (ELF64_R_TYPE(rela->r_info)) {
    case RELOCATION_RELATIVE:
        return (uint64_t)rela->r_addend;
    case RELOCATION_ABSOLUTE:
    case RELOCATION_GLOBAL:
        if (elf_view_symbol(view, ELF64_R_SYM(rela->r_info), &symbol) && symbol.defined)
            return symbol.address + (uint64_t)rela->r_addend;
        return 0;
    default:
        return 0;
    }
}

/* Where nothing relocates it, as in a packed table of relative ones, it is as it lies there. */
uint64_t elf_view_pointer(const struct elf_view *view, uint64_t address)
{
    uint64_t value = 0;
    Elf64_Shdr section;

    for (unsigned i = 0; i < view->header.e_shnum; i++) {
        elf_view_copy(view, view->header.e_shoff + i * sizeof(section), &section, sizeof(section));
        if (section.sh_type != SHT_RELA || !elf_view_has(view, section.sh_offset, section.sh_size))
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.sh_size;
             at += sizeof(Elf64_Rela)) {
            Elf64_Rela rela;

            elf_view_copy(view, section.sh_offset + at, &rela, sizeof(rela));
            if (rela.r_offset == address)
                return elf_view_relocated(view, &rela);
        }
    }
    return elf_view_read(view, address, &value, sizeof(value)) ? value : 0;
}

/* The `nth` entry with this tag. */
static bool elf_view_dynamic_find(const struct elf_view *view, int64_t tag, unsigned nth,
                                  Elf64_Dyn *ret_entry)
{
    const Elf64_Phdr *dynamic = elf_view_segment(view, PT_DYNAMIC);
    uint64_t at = 0;

    for (; dynamic && at + sizeof(*ret_entry) <= dynamic->p_filesz; at += sizeof(*ret_entry)) {
        elf_view_copy(view, dynamic->p_offset + at, ret_entry, sizeof(*ret_entry));
        if (ret_entry->d_tag == DT_NULL)
            break;
        if (ret_entry->d_tag == tag && nth-- == 0)
            return true;
    }
    return false;
}

const char *elf_view_dynamic_text(const struct elf_view *view, int64_t tag, unsigned nth)
{
    Elf64_Dyn entry;

    return elf_view_dynamic_find(view, tag, nth, &entry) ? elf_view_string(view, entry.d_un.d_val)
                                                         : NULL;
}

uint64_t elf_view_dynamic(const struct elf_view *view, int64_t tag)
{
    Elf64_Dyn entry;

    return elf_view_dynamic_find(view, tag, 0, &entry) ? entry.d_un.d_val : 0;
}
