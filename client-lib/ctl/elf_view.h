/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object as it lies in a file: what will be at its addresses once it is loaded.
 *
 * It is read, never mapped as code or loaded, and may be anything: whatever it says of itself is
 * compared with its bytes first. One thread.
 *
 * elf_view.E1  No read leaves the copy of the file, whatever offsets, sizes and counts are in it.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_VIEW_SEGMENTS_MAX = 128, ELF_VIEW_WHY = 256 };

struct elf_view {
    uint8_t *bytes; /* the whole file */
    size_t size;
    Elf64_Ehdr header;
    Elf64_Phdr segments[ELF_VIEW_SEGMENTS_MAX];
    Elf64_Shdr symbols, strings, versions; /* of the dynamic linker; sizes 0: there are none */
};

/* 0; -EINVAL: it is no shared object for this machine, and `why` says so; another negative errno:
 * it cannot be read. */
int elf_view_open(struct elf_view *view, const char *path, char why[static ELF_VIEW_WHY]);
void elf_view_close(struct elf_view *view);

/* False: there is nothing in the file for these addresses; behind a segment's bytes are zeros. */
bool elf_view_read(const struct elf_view *view, uint64_t address, void *to, size_t size);
/* NULL: no text that ends is there, or the address is 0, as that of a pointer that is NULL. */
const char *elf_view_text(const struct elf_view *view, uint64_t address);
/* The pointer that lies there when the file is loaded somewhere from address 0. 0 also for one that
 * leads out of the file. */
uint64_t elf_view_pointer(const struct elf_view *view, uint64_t address);

/* The first section of this type with this name, which may be NULL; its bytes are in the file. */
bool elf_view_section(const struct elf_view *view, uint32_t type, const char *name,
                      Elf64_Shdr *ret_section);
const Elf64_Phdr *elf_view_segment(const struct elf_view *view, uint32_t type);

struct elf_symbol {
    const char *name;
    uint64_t address;
    bool defined, weak, unique;
    bool versioned; /* a library that was there when it was linked has it */
};
size_t elf_view_symbols(const struct elf_view *view);
bool elf_view_symbol(const struct elf_view *view, size_t index, struct elf_symbol *ret_symbol);
/* The text that an entry of the dynamic section names, the `nth` with this tag; NULL: none. */
const char *elf_view_dynamic_text(const struct elf_view *view, int64_t tag, unsigned nth);
/* The value of the first such entry, 0: there is none. */
uint64_t elf_view_dynamic(const struct elf_view *view, int64_t tag);
