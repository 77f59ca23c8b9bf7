/* SPDX-License-Identifier: Apache-2.0 */
/* See backtrace.h. */
#include "daemon/executor/backtrace.h"

#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "daemon/common/check.h"

enum { MODULES_MAX = 128, FRAMES_MAX = 64, FRAMES_TOLD = 24, NAME_MAX_BYTES = ODEON_NAME_MAX + 1 };

struct module {
    uint64_t from, to, base;
    bool is_plugin;
    char name[NAME_MAX_BYTES], build_id[ENGINE_BUILD_ID_MAX];
};
struct module_table {
    unsigned n;
    struct module list[MODULES_MAX];
};

static struct module_table tables[2];
/* backtrace.TR1: store release, read (acquire) by backtrace_write */
static struct module_table *_Atomic published;

/* ---- learning */

struct learning {
    struct module_table *table;
    const struct plugin_registry *registry;
};

static void backtrace_build_id_write(char *text, const uint8_t *id, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n && 2 * i + 2 < ENGINE_BUILD_ID_MAX; i++) {
        *text++ = digits[id[i] >> 4];
        *text++ = digits[id[i] & 0xf];
    }
    *text = '\0';
}

static void backtrace_note_read(struct module *module, const uint8_t *note, size_t size)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *header = (const void *)note;
        size_t name = (header->n_namesz + 3u) & ~(size_t)3,
               all = sizeof(*header) + name + ((header->n_descsz + 3u) & ~(size_t)3);

        if (all > size)
            return;
        if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
            memcmp(header + 1, "GNU", 4) == 0) {
            backtrace_build_id_write(module->build_id, note + sizeof(*header) + name,
                                     header->n_descsz);
            return;
        }
        note += all;
        size -= all;
    }
}

static void backtrace_name_set(struct module *module, const char *path,
                               const struct plugin_registry *registry)
{
    const char *plugin = registry ? plugin_registry_name_of(registry, path) : NULL,
               *slash = strrchr(path, '/');
    const char *name = plugin            ? plugin
                       : path[0] == '\0' ? "odeon-executor"
                       : slash           ? slash + 1
                                         : path;

    module->is_plugin = plugin != NULL;
    snprintf(module->name, sizeof(module->name), "%s", name);
}

static int backtrace_on_module(struct dl_phdr_info *info, size_t size, void *userdata)
{
    struct learning *learning = userdata;
    struct module *module = &learning->table->list[learning->table->n];

    (void)size;
    if (learning->table->n == MODULES_MAX)
        return 1;
    *module = (struct module){ .base = info->dlpi_addr, .from = UINT64_MAX };
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_NOTE)
            backtrace_note_read(module, (const uint8_t *)(uintptr_t)from, part->p_memsz);
        if (part->p_type != PT_LOAD)
            continue;
        module->from = from < module->from ? from : module->from;
        module->to = from + part->p_memsz > module->to ? from + part->p_memsz : module->to;
    }
    backtrace_name_set(module, info->dlpi_name, learning->registry);
    learning->table->n++;
    return 0;
}

void backtrace_learn(const struct plugin_registry *registry)
{
    struct module_table *now = atomic_load_explicit(&published, memory_order_relaxed);
    struct module_table *next = now == &tables[0] ? &tables[1] : &tables[0];
    struct learning learning = { .table = next, .registry = registry };
    void *frame[1];

    check("backtrace.TR1", next != now);
    next->n = 0;
    (void)dl_iterate_phdr(backtrace_on_module, &learning);
    (void)backtrace(frame, 1); /* loads what it needs now, not in a signal handler */
    atomic_store_explicit(&published, next, memory_order_release);
}

/* ---- telling */

static const struct module *backtrace_module_find(const struct module_table *table,
                                                  uint64_t address)
{
    for (unsigned i = 0; i < table->n; i++)
        if (address >= table->list[i].from && address < table->list[i].to)
            return &table->list[i];
    return NULL;
}

bool backtrace_is_plugin(void *userdata, const void *pc)
{
    const struct module_table *table = atomic_load_explicit(&published, memory_order_acquire);
    const struct module *module =
        table ? backtrace_module_find(table, (uint64_t)(uintptr_t)pc) : NULL;

    (void)userdata;
    return module && module->is_plugin;
}

static char *backtrace_write_hex(char *at, const char *end, uint64_t number)
{
    char digits[16];
    unsigned n = 0;

    do
        digits[n++] = "0123456789abcdef"[number & 0xf];
    while ((number >>= 4) != 0);
    while (n > 0 && at < end)
        *at++ = digits[--n];
    return at;
}

static char *backtrace_write_text(char *at, const char *end, const char *text)
{
    while (*text && at < end)
        *at++ = *text++;
    return at;
}

/* Is there room for one more? */
static char *backtrace_write_frame(char *at, const char *end, const struct module *module,
                                   uint64_t address)
{
    if (end - at < NAME_MAX_BYTES + 24)
        return at;
    if (module)
        at = backtrace_write_text(at, end, module->name);
    at = backtrace_write_text(at, end, module ? "+0x" : "0x");
    at = backtrace_write_hex(at, end, module ? address - module->base : address);
    return backtrace_write_text(at, end, " ");
}

/* Where the frames that matter begin: at the instruction, behind those of the signal handler; else
 * with the plugin's. */
static int backtrace_frames_begin(const struct module_table *table, void *const *frames, int n,
                                  uint64_t instruction)
{
    for (int i = 0; i < n; i++) {
        uint64_t address = (uint64_t)(uintptr_t)frames[i];
        const struct module *module = instruction ? NULL : backtrace_module_find(table, address);

        if (instruction ? address == instruction : module && module->is_plugin)
            return i;
    }
    return n;
}

void backtrace_write(uint64_t instruction, char build_id[ENGINE_BUILD_ID_MAX],
                     char trace[ENGINE_TRACE_MAX])
{
    const struct module_table *table = atomic_load_explicit(&published, memory_order_acquire);
    const struct module *blamed = NULL;
    char *at = trace, *end = trace + ENGINE_TRACE_MAX - 1;
    void *frames[FRAMES_MAX];
    int n, i;

    if (!table)
        return;
    if (instruction) { /* before the stack is walked, which may fail */
        blamed = backtrace_module_find(table, instruction);
        at = backtrace_write_frame(at, end, blamed, instruction);
        *at = '\0';
        if (blamed)
            memcpy(build_id, blamed->build_id, ENGINE_BUILD_ID_MAX);
    }
    n = backtrace(frames, FRAMES_MAX);
    i = backtrace_frames_begin(table, frames, n, instruction);
    n = n - i > FRAMES_TOLD ? i + FRAMES_TOLD : n;
    for (i += instruction != 0; i < n; i++) {
        uint64_t address = (uint64_t)(uintptr_t)frames[i];
        const struct module *module = backtrace_module_find(table, address);

        at = backtrace_write_frame(at, end, module, address);
        if (module && module->is_plugin && !(blamed && blamed->is_plugin)) {
            blamed = module;
            memcpy(build_id, blamed->build_id, ENGINE_BUILD_ID_MAX);
        }
    }
    if (at > trace)
        at[-1] = '\0';
}
