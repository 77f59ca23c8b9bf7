/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl plugin check: what the service would refuse of a file, and what should worry its author.
 * The service is not asked: what only it knows, as names that are taken, it says when it loads. */
#include "client-lib/ctl/ctl_plugin_check.h"
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <odeon/plugin.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES_MAX = 256, MESSAGES_MAX = 4096, LISTED_MAX = 1 << 18 };

void plugin_check_note(struct plugin_check *check, bool refused, const char *format, ...)
{
    va_list arguments;

    check->n_refused += refused;
    if (check->n == PLUGIN_FINDINGS_MAX)
        return;
    check->findings[check->n].refused = refused;
    va_start(arguments, format);
    vsnprintf(check->findings[check->n++].text, PLUGIN_FINDING_TEXT, format, arguments);
    va_end(arguments);
}

/* ---- the file */

static bool ctl_plugin_check_is_known(const char *library)
{
    static const char *const known[] = { "libc.so.",      "libm.so.",       "libgcc_s.so.",
                                         "libdl.so.",     "libpthread.so.", "librt.so.",
                                         "libstdc++.so.", "ld-linux" };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strncmp(library, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

/* Symbols of these libraries have versions: one that has none was in none of them. */
static bool ctl_plugin_check_needs_others(struct plugin_check *check)
{
    bool others = false;
    const char *library;

    for (unsigned i = 0; (library = elf_view_dynamic_text(check->view, DT_NEEDED, i)); i++) {
        if (strncmp(library, "libodeon.so", strlen("libodeon.so")) == 0)
            plugin_check_note(check, false,
                              "it is linked with %.64s, which a plugin needs nothing of: "
                              "clients of the service do",
                              library);
        others |= !ctl_plugin_check_is_known(library);
    }
    return others;
}

static void ctl_plugin_check_undefined(struct plugin_check *check, const struct elf_symbol *symbol,
                                       bool others)
{
    static const char *const ends[] = { "exit", "_exit", "_Exit", "quick_exit", "pthread_exit" };

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcmp(symbol->name, ends[i]) == 0)
            plugin_check_note(check, false,
                              "it calls %s(): in a handler that is a crash of the plugin",
                              symbol->name);
    if (symbol->versioned || symbol->weak)
        return;
    if (others)
        plugin_check_note(check, false,
                          "%.64s is in no library of the system: one of its own has to have it",
                          symbol->name);
    else
        plugin_check_note(check, true,
                          "%.64s is in none of the libraries that it is linked with: link the "
                          "one that has it, or write it",
                          symbol->name);
}

static void ctl_plugin_check_symbols(struct plugin_check *check)
{
    bool others = ctl_plugin_check_needs_others(check), unique = false;
    struct elf_symbol symbol;

    for (size_t i = 0; i < elf_view_symbols(check->view); i++) {
        if (!elf_view_symbol(check->view, i, &symbol))
            continue;
        if (!symbol.defined)
            ctl_plugin_check_undefined(check, &symbol, others);
        unique |= symbol.defined && symbol.unique;
    }
    if (unique || (elf_view_dynamic(check->view, DT_FLAGS_1) & DF_1_NODELETE))
        plugin_check_note(check, false,
                          "it was built in a way that forbids unloading (%s): another version "
                          "of it can come with the next start only",
                          unique ? "unique symbols: -fno-gnu-unique" : "-z nodelete");
}

static void ctl_plugin_check_file(struct plugin_check *check)
{
    const Elf64_Phdr *locals = elf_view_segment(check->view, PT_TLS);
    /* the compiler's own is always the first */
    uint64_t n = elf_view_dynamic(check->view, DT_INIT_ARRAYSZ) / sizeof(uint64_t);

    if (locals && locals->p_memsz > 0)
        plugin_check_note(check, false,
                          "it has %" PRIu64 " bytes of thread-local variables: an actor runs "
                          "on one thread after the other, and finds another one's",
                          locals->p_memsz);
    if (n > 1)
        plugin_check_note(check, false,
                          "it has %" PRIu64 " constructor%s, which run%s while the service "
                          "waits, before anything of it is checked: ODEON_PLUGIN_INIT is "
                          "asked, and may refuse",
                          n - 1, n > 2 ? "s" : "", n > 2 ? "" : "s");
    ctl_plugin_check_symbols(check);
}

/* ---- what it says of itself */

const char *plugin_check_name(struct plugin_check *check, uint64_t address, const char *what)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const char *name = elf_view_text(check->view, elf_view_pointer(check->view, address));
    size_t n = name ? strlen(name) : 0;

    if (n > 0 && n <= ODEON_NAME_LIMIT && strspn(name, letters) == n)
        return name;
    plugin_check_note(check, true,
                      "%s: the name '%.64s' is not allowed: 1 to %d letters, digits, '_', '.' "
                      "or '-' make a name",
                      what, name ? name : "(none)", ODEON_NAME_LIMIT);
    return name ? name : "?";
}

static void ctl_plugin_check_message(struct plugin_check *check, uint64_t address)
{
    const size_t least = offsetof(struct odeon_message_type, reserved);
    struct odeon_message_type message;
    const char *name, *fields;

    if (!elf_view_read(check->view, address, &message, least) || message.struct_size < least) {
        plugin_check_note(check, true,
                          "a message type is not there, or shorter than %zu bytes: compile it "
                          "with this version's headers",
                          least);
        return;
    }
    name = plugin_check_name(check, address + offsetof(struct odeon_message_type, name),
                             "a message type");
    fields = elf_view_text(
        check->view,
        elf_view_pointer(check->view, address + offsetof(struct odeon_message_type, fields)));
    if (message.version == 0 || message.size > ODEON_PAYLOAD_LIMIT || !fields)
        plugin_check_note(check, true,
                          "message %.64s has version %u, %u bytes and %s fields: versions "
                          "begin with 1, and %d bytes are the most",
                          name, message.version, message.size, fields ? "described" : "undescribed",
                          ODEON_PAYLOAD_LIMIT);
    else if (strchr(fields, '*'))
        plugin_check_note(check, false,
                          "message %.64s has a pointer, which leads nowhere in its receiver "
                          "after a crash: %.100s",
                          name, fields);
}

static int ctl_plugin_check_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The list of `n` at `at`: each source file that declares a message has it there. */
static void ctl_plugin_check_messages(struct plugin_check *check, uint64_t at, uint64_t n)
{
    uint64_t *messages = n > 0 ? calloc(n, sizeof(*messages)) : NULL, distinct = 0;

    for (uint64_t i = 0; messages && i < n; i++)
        messages[i] = elf_view_pointer(check->view, at + i * sizeof(uint64_t));
    if (messages)
        qsort(messages, n, sizeof(*messages), ctl_plugin_check_compare);
    for (uint64_t i = 0; messages && i < n && check->n < PLUGIN_FINDINGS_MAX; i++) {
        if (messages[i] == 0 || (i > 0 && messages[i] == messages[i - 1]))
            continue;
        distinct++;
        ctl_plugin_check_message(check, messages[i]);
    }
    if (distinct > MESSAGES_MAX)
        plugin_check_note(check, true, "it has %" PRIu64 " message types: at most %d are allowed",
                          distinct, MESSAGES_MAX);
    if (n > 0 && !messages)
        plugin_check_note(check, false, "its messages were not looked at: out of memory");
    free(messages);
}

static void ctl_plugin_check_lists(struct plugin_check *check, uint64_t address,
                                   const struct odeon_plugin *plugin)
{
    uint64_t types = elf_view_pointer(check->view, address + offsetof(struct odeon_plugin, types));
    uint64_t at = elf_view_pointer(check->view, address + offsetof(struct odeon_plugin, messages));
    uint64_t end =
        elf_view_pointer(check->view, address + offsetof(struct odeon_plugin, messages_end));
    uint64_t n = plugin->n_messages > 0 ? plugin->n_messages
                 : end > at             ? (end - at) / sizeof(uint64_t)
                                        : 0;

    if (plugin->n_types > TYPES_MAX || n > LISTED_MAX) {
        plugin_check_note(check, true,
                          "it has %u actor types and lists %" PRIu64 " message types: at most %d "
                          "and %d are allowed",
                          plugin->n_types, n, TYPES_MAX, LISTED_MAX);
        return;
    }
    ctl_plugin_check_messages(check, at, n);
    for (uint32_t i = 0; i < plugin->n_types && check->n < PLUGIN_FINDINGS_MAX; i++)
        plugin_check_type(check, elf_view_pointer(check->view, types + i * sizeof(uint64_t)));
}

static bool ctl_plugin_check_find(const struct plugin_check *check, uint64_t *ret_address)
{
    struct elf_symbol symbol;

    for (size_t i = 0; i < elf_view_symbols(check->view); i++)
        if (elf_view_symbol(check->view, i, &symbol) && symbol.defined &&
            strcmp(symbol.name, ODEON_PLUGIN_SYMBOL) == 0) {
            *ret_address = symbol.address;
            return true;
        }
    return false;
}

static void ctl_plugin_check_descriptor(struct plugin_check *check)
{
    const size_t least = offsetof(struct odeon_plugin, reserved);
    struct odeon_plugin plugin = { 0 };
    uint64_t address = 0;

    if (elf_view_symbols(check->view) == 0) {
        plugin_check_note(check, false,
                          "it has no table of sections, or none of symbols: what it says of "
                          "itself is found by those here, and is not known");
        return;
    }
    if (!ctl_plugin_check_find(check, &address)) {
        plugin_check_note(check, true,
                          "it exports no symbol %s: ODEON_PLUGIN(...) makes it; is it hidden?",
                          ODEON_PLUGIN_SYMBOL);
        return;
    }
    if (!elf_view_read(check->view, address, &plugin, least) ||
        plugin.abi_major != ODEON_PLUGIN_ABI_MAJOR || plugin.abi_minor > ODEON_PLUGIN_ABI_MINOR) {
        plugin_check_note(check, true,
                          "its ABI is %u.%u, that of this odeonctl is %d.%d: compile it with "
                          "headers of the service's version",
                          plugin.abi_major, plugin.abi_minor, ODEON_PLUGIN_ABI_MAJOR,
                          ODEON_PLUGIN_ABI_MINOR);
        return;
    }
    if (plugin.struct_size < least || plugin.context_size < offsetof(struct odeon_context, kind) ||
        plugin.context_size > sizeof(struct odeon_context)) {
        plugin_check_note(check, true,
                          "its struct_size is %u, ours %zu, its context_size %u, ours %zu: "
                          "compile it with headers of the service's version",
                          plugin.struct_size, sizeof(plugin), plugin.context_size,
                          sizeof(struct odeon_context));
        return;
    }
    (void)plugin_check_name(check, address + offsetof(struct odeon_plugin, name), "the plugin");
    (void)plugin_check_name(check, address + offsetof(struct odeon_plugin, version),
                            "the plugin's version");
    ctl_plugin_check_lists(check, address, &plugin);
}

/* ---- the command */

static int ctl_plugin_check_print(struct ctl *ctl, const char *path,
                                  const struct plugin_check *check)
{
    static const struct column columns[] = { { "VERDICT", "verdict", false },
                                             { "FINDING", "finding", false } };
    struct listing listing;
    int code;

    if (check->n == 0 && !ctl->json) {
        fprintf(ctl->out, "%s: nothing would be refused, and nothing worries\n", path);
        return 0;
    }
    listing_begin(&listing, ctl, "findings", columns, 2);
    for (size_t i = 0; i < check->n; i++)
        listing_add(&listing,
                    (struct cell[]){ CELL_TEXT(check->findings[i].refused ? "refused" : "worry"),
                                     CELL_TEXT(check->findings[i].text) });
    code = listing_end(&listing, false, 0);
    return code == 0 && check->n_refused > 0 ? CTL_REFUSED : code;
}

int ctl_plugin_check(struct ctl *ctl)
{
    const char *path = ctl->words[0];
    char why[ELF_VIEW_WHY] = "";
    struct elf_view view;
    struct plugin_check *check = calloc(1, sizeof(*check));
    int r = check ? elf_view_open(&view, path, why) : -ENOMEM, code;

    if (r < 0 && r != -EINVAL) {
        code =
            ctl_fail(ctl, CTL_REFUSED, "cannot check '%s': %s. Write the path of a shared object",
                     path, strerror(-r));
    } else {
        check->view = &view;
        if (r < 0) {
            plugin_check_note(check, true, "%s", why);
        } else {
            ctl_plugin_check_file(check);
            ctl_plugin_check_descriptor(check);
        }
        code = ctl_plugin_check_print(ctl, path, check);
    }
    if (check)
        elf_view_close(&view);
    free(check);
    return code;
}
