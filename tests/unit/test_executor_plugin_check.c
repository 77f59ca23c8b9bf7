/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor says about files that are no plugins, before the loader sees them, and about
 * descriptors that are wrong. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/name.h"
#include "daemon/executor/plugin_check.h"
#include "daemon/executor/plugin_descriptor.h"
#include "proto/bounds.h"

/* What a sandbox says that forbids the call, or an emulator that has none; 0: the kernel's word. */
static int reading_fails_with;

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
                                const struct iovec *from, unsigned long n_from,
                                unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
                                const struct iovec *from, unsigned long n_from,
                                unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
                                const struct iovec *from, unsigned long n_from, unsigned long flags)
{
    if (reading_fails_with == 0)
        return __real_process_vm_readv(pid, to, n_to, from, n_from, flags);
    errno = reading_fails_with;
    return -1;
}

/* The least file that is let through, to be spoilt by one field a test. */
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    unsigned char rest[64];
};

static struct image make_image(void)
{
    struct image image = { .header = { .e_type = ET_DYN,
#if defined(__aarch64__)
                                       .e_machine = EM_AARCH64,
#else
                                       .e_machine = EM_X86_64,
#endif
                                       .e_version = EV_CURRENT,
                                       .e_phoff = offsetof(struct image, segments),
                                       .e_ehsize = sizeof(Elf64_Ehdr),
                                       .e_phentsize = sizeof(Elf64_Phdr),
                                       .e_phnum = 2 } };

    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
#else
    image.header.e_ident[EI_DATA] = ELFDATA2MSB;
#endif
    image.header.e_ident[EI_VERSION] = EV_CURRENT;
    image.segments[0] =
        (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = sizeof(image), .p_memsz = sizeof(image) };
    image.segments[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
                                      .p_offset = offsetof(struct image, rest),
                                      .p_filesz = 64,
                                      .p_memsz = 64 };
    return image;
}

static int check_bytes(const void *data, size_t size, int seals, struct explain *explain)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    explain_init(explain);
    r = plugin_check_file(fd, explain);
    close(fd);
    return r;
}

static const int all_seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;

static void refuse_image(const struct image *image, size_t size, const char *part)
{
    struct explain explain;

    assert_int_equal(check_bytes(image, size, all_seals, &explain), -EINVAL);
    if (!strstr(explain.text, part))
        fail_msg("'%s' is missing in: %s", part, explain.text);
}

static void test_good_image(void **state)
{
    struct image image = make_image();
    struct explain explain;

    (void)state;
    assert_int_equal(check_bytes(&image, sizeof(image), all_seals, &explain), 0);
}

static void test_files(void **state)
{
    struct image image = make_image();
    struct explain explain;
    int fd;

    (void)state;
    assert_int_equal(check_bytes(&image, sizeof(image), F_SEAL_SHRINK | F_SEAL_GROW, &explain),
                     -EINVAL);
    assert_non_null(strstr(explain.text, "sealed"));
    fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(plugin_check_file(fd, &explain), -EINVAL);
    assert_non_null(strstr(explain.text, "a directory"));
    close(fd);
    assert_int_equal(plugin_check_file(-1, &explain), -EBADF);
    assert_int_equal(check_bytes("", 0, all_seals, &explain), -EINVAL);
    assert_int_equal(
        check_bytes("#!/bin/sh\necho this is no plugin at all, whatever its name may say\n", 64,
                    all_seals, &explain),
        -EINVAL);
    assert_non_null(strstr(explain.text, "23 21 2f 62"));
}

static void test_header_fields(void **state)
{
    struct image image;

    (void)state;
    image = make_image();
    image.header.e_ident[EI_CLASS] = ELFCLASS32;
    refuse_image(&image, sizeof(image), "class is 1 (32 bit)");
    image = make_image();
    image.header.e_ident[EI_DATA] ^= 3;
    refuse_image(&image, sizeof(image), "byte order");
    image = make_image();
    image.header.e_ident[EI_VERSION] = 9;
    refuse_image(&image, sizeof(image), "ELF version is 9");
    image = make_image();
    image.header.e_machine = EM_RISCV;
    refuse_image(&image, sizeof(image), "machine is 243 (RISC-V)");
    image = make_image();
    image.header.e_type = ET_EXEC;
    refuse_image(&image, sizeof(image), "an executable");
    image = make_image();
    image.header.e_type = ET_REL;
    refuse_image(&image, sizeof(image), "an object file");
    image = make_image();
    image.header.e_phentsize = 32;
    refuse_image(&image, sizeof(image), "32 bytes each");
    image = make_image();
    image.header.e_phnum = 0;
    refuse_image(&image, sizeof(image), "0 program headers");
    image = make_image();
    image.header.e_phnum = 60000;
    refuse_image(&image, sizeof(image), "60000 program headers");
    image = make_image();
    image.header.e_phoff = UINT64_MAX - 8;
    refuse_image(&image, sizeof(image), "cut short");
}

static void test_segments(void **state)
{
    struct image image;

    (void)state;
    for (size_t size = 0; size < sizeof(image); size++) {
        struct explain explain;

        image = make_image();
        assert_int_equal(check_bytes(&image, size, all_seals, &explain), -EINVAL);
        assert_true(explain.length > 0);
    }
    image = make_image();
    image.segments[0].p_offset = UINT64_MAX;
    refuse_image(&image, sizeof(image), "cut short");
    image = make_image();
    image.segments[0].p_memsz = 1;
    refuse_image(&image, sizeof(image), "damaged");
    image = make_image();
    image.segments[1].p_type = PT_NOTE;
    refuse_image(&image, sizeof(image), "no dynamic segment");
    image = make_image();
    image.segments[0].p_type = PT_NOTE;
    refuse_image(&image, sizeof(image), "no loadable segment");
    image = make_image();
    image.segments[0].p_type = PT_INTERP;
    refuse_image(&image, sizeof(image), "a program");
}

/* ---- descriptors */

static int nothing(void *self, const void *message, struct odeon_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    return ODEON_NODELETE;
}

static struct odeon_message_type message;
static struct odeon_behaviour behaviours[2];
static struct odeon_actor_type type, second;
static struct odeon_actor_type *types[2];
static struct odeon_message_type *messages[2];
static struct odeon_plugin plugin;

static int reset(void **state)
{
    (void)state;
    message = (struct odeon_message_type){
        .struct_size = sizeof(message), .version = 1, .name = "m", .fields = ""
    };
    behaviours[0] = (struct odeon_behaviour){ .message = &message, .run = nothing };
    behaviours[1] = (struct odeon_behaviour){ 0 };
    type = (struct odeon_actor_type){ .struct_size = sizeof(type),
                                      .version = 1,
                                      .name = "t",
                                      .n_behaviours = 1,
                                      .behaviour_size = sizeof(behaviours[0]),
                                      .behaviours = behaviours };
    second = type;
    second.name = "u";
    types[0] = &type;
    types[1] = &second;
    messages[0] = &message;
    messages[1] = NULL;
    plugin = (struct odeon_plugin){ .struct_size = sizeof(plugin),
                                    .abi_major = ODEON_PLUGIN_ABI_MAJOR,
                                    .abi_minor = ODEON_PLUGIN_ABI_MINOR,
                                    .context_size = sizeof(struct odeon_context),
                                    .message_type_size = sizeof(message),
                                    .name = "p",
                                    .version = "1.0.0",
                                    .n_types = 2,
                                    .n_messages = 1,
                                    .types = types,
                                    .messages = messages };
    return 0;
}

static void refuse_descriptor(const char *part)
{
    struct explain explain;

    explain_init(&explain);
    assert_int_equal(plugin_descriptor_check(&plugin, &explain), -EINVAL);
    if (!strstr(explain.text, part))
        fail_msg("'%s' is missing in: %s", part, explain.text);
    reset(NULL);
}

static void test_good_descriptor(void **state)
{
    static struct odeon_message_type *listed[ODEON_PLUGIN_LISTED_MAX];
    struct explain explain;

    (void)state;
    explain_init(&explain);
    assert_int_equal(plugin_descriptor_check(&plugin, &explain), 0);
    /* The linker's list: an end instead of a number, gaps allowed. */
    plugin.n_messages = 0;
    plugin.messages_end = messages + 2;
    assert_int_equal(plugin_descriptor_check(&plugin, &explain), 0);
    assert_int_equal(plugin_descriptor_count_messages(&plugin), 2);
    /* ... each as often as there are source files that declare it. */
    for (size_t i = 0; i < ODEON_PLUGIN_LISTED_MAX; i++)
        listed[i] = &message;
    plugin.messages = listed;
    plugin.messages_end = listed + ODEON_PLUGIN_LISTED_MAX;
    assert_int_equal(plugin_descriptor_check(&plugin, &explain), 0);
    plugin.messages = NULL;
    plugin.messages_end = NULL;
    assert_int_equal(plugin_descriptor_check(&plugin, &explain), 0);
    assert_int_equal(plugin_descriptor_count_messages(&plugin), 0);
}

static void test_abi(void **state)
{
    (void)state;
    plugin.struct_size = 0;
    refuse_descriptor("struct_size is 0");
    plugin.struct_size = offsetof(struct odeon_plugin, reserved) - 1;
    refuse_descriptor("struct_size is 87, ours is 136");
    plugin.struct_size = 5000;
    refuse_descriptor("struct_size is 5000");
    plugin.context_size = sizeof(struct odeon_context) + 8;
    refuse_descriptor("context_size is 136, ours is 128");
    plugin.abi_major = 7;
    refuse_descriptor("abi_major is 7, ours is 2");
    plugin.abi_major = 1;
    refuse_descriptor(
        "abi_major is 1 (a build before ABI 2), ours is 2: compile the plugin again with this "
        "version's headers");
    plugin.abi_minor = ODEON_PLUGIN_ABI_MINOR + 1;
    refuse_descriptor("abi_minor is 7, ours is 6");
    plugin.context_size = 1;
    refuse_descriptor("context_size is 1");
    plugin.message_type_size = 2;
    refuse_descriptor("message_type_size is 2");
}

static void accept_descriptor(void)
{
    struct explain explain;

    explain_init(&explain);
    if (plugin_descriptor_check(&plugin, &explain) != 0)
        fail_msg("refused: %s", explain.text);
    reset(NULL);
}

/* Structs of other versions: shorter down to the reserved words ... */
static void test_shorter_structs(void **state)
{
    (void)state;
    type.struct_size = offsetof(struct odeon_actor_type, reserved);
    type.reserved[0] = 1; /* is not there, by what it says */
    message.struct_size = offsetof(struct odeon_message_type, reserved);
    message.reserved[3] = 1;
    plugin.struct_size = offsetof(struct odeon_plugin, reserved);
    plugin.reserved[0] = 1;
    plugin.context_size = offsetof(struct odeon_context, reserved_words);
    accept_descriptor();
    type.reserved[0] = 1;
    refuse_descriptor("an actor type's struct_size is 136, ours is 136, and byte 104");
    message.reserved[3] = 1;
    refuse_descriptor("a message type's struct_size is 72, ours is 72, and byte 64");
    plugin.reserved[5] = 1;
    refuse_descriptor("the plugin's struct_size is 136, ours is 136, and byte 128");
    behaviours[0].reserved[1] = 1;
    refuse_descriptor("a behaviour's behaviour_size is 32, ours is 32, and byte 24");
}

/* ... longer with zeros behind. */
static void test_sizes(void **state)
{
    struct {
        struct odeon_plugin plugin;
        uint64_t more[2];
    } long_plugin = { .plugin = plugin };
    struct {
        struct odeon_actor_type type;
        uint64_t more[2];
    } long_type = { .type = type };
    struct {
        struct odeon_message_type message;
        uint64_t more[2];
    } long_message = { .message = message };
    struct {
        struct odeon_behaviour behaviour;
        uint64_t more;
    } long_behaviours[2] = { { .behaviour = behaviours[0] } };
    struct explain explain;

    (void)state;
    long_type.type.struct_size = sizeof(long_type);
    types[0] = &long_type.type;
    accept_descriptor();
    types[0] = &long_type.type;
    long_type.more[1] = 7;
    refuse_descriptor("an actor type's struct_size is 152, ours is 136, and byte 144, which this "
                      "service does not know, is 7: update the service");
    long_message.message.struct_size = sizeof(long_message);
    messages[0] = &long_message.message;
    accept_descriptor();
    messages[0] = &long_message.message;
    long_message.more[0] = 1;
    refuse_descriptor("a message type's struct_size is 88, ours is 72, and byte 72");
    long_behaviours[1].behaviour =
        (struct odeon_behaviour){ .message = &long_message.message, .run = nothing };
    long_message.message.name = "n";
    long_message.more[0] = 0;
    type.behaviours = &long_behaviours[0].behaviour;
    type.behaviour_size = sizeof(long_behaviours[0]);
    type.n_behaviours = 2;
    assert_ptr_equal(plugin_descriptor_get_behaviour(&type, 1), &long_behaviours[1]);
    accept_descriptor();
    type.behaviours = &long_behaviours[0].behaviour;
    type.behaviour_size = sizeof(long_behaviours[0]);
    long_behaviours[0].more = 3;
    refuse_descriptor("a behaviour's behaviour_size is 40, ours is 32, and byte 32");
    explain_init(&explain);
    long_plugin.plugin.struct_size = sizeof(long_plugin);
    assert_int_equal(plugin_descriptor_check(&long_plugin.plugin, &explain), 0);
    long_plugin.more[0] = 1;
    assert_int_equal(plugin_descriptor_check(&long_plugin.plugin, &explain), -EINVAL);
    assert_non_null(
        strstr(explain.text, "the plugin's struct_size is 152, ours is 136, and byte 136"));
}

/* A size that reaches to where no memory is: refused, and nobody dies of it. */
static void test_sizes_beyond_memory(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    plugin.struct_size = sizeof(plugin) + 8;
    struct odeon_plugin *last = (struct odeon_plugin *)(void *)(memory + page - sizeof(plugin));
    *last = plugin;
    struct explain explain;
    explain_init(&explain);
    assert_int_equal(plugin_descriptor_check(last, &explain), -EINVAL);
    assert_non_null(strstr(explain.text, "the plugin's struct_size is 144, ours is 136: compile"));
    munmap(memory, 2 * page);
}

static void test_where_reading_is_forbidden(void **state)
{
    const int errors[] = { ENOSYS, EPERM };

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        assert_int_equal(reset(state), 0);
        reading_fails_with = errors[i];
        test_good_descriptor(state);
        assert_int_equal(reset(state), 0);
        test_sizes(state);
        assert_int_equal(reset(state), 0);
        test_sizes_beyond_memory(state);
    }
    reading_fails_with = 0;
}

static void test_spawn_arguments(void **state)
{
    static char longest[ODEON_FIELDS_MAX + 2];

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    type.args_fields = "{ int64_t start; }";
    type.args_size = 8;
    accept_descriptor();
    type.args_fields = "";
    accept_descriptor();
    type.args_size = 8;
    refuse_descriptor("args_size is 8, and args_fields is ''");
    type.args_fields = "{ int64_t start; }";
    refuse_descriptor("args_size is 0, and args_fields is '{ int64_t start; }'");
    type.args_fields = "{ int64_t start; }";
    type.args_size = ODEON_SPAWN_ARGS_MAX + 1;
    refuse_descriptor("args_size is 233: at most 232");
    type.args_fields = longest;
    type.args_size = 8;
    refuse_descriptor("args_fields is too long");
    type.args_fields = "int64_t start";
    type.args_size = 8;
    refuse_descriptor("args_fields is 'int64_t start': the body of a struct");
    type.args_fields = "{ int64_t start; char text[]; }";
    type.args_size = 8;
    refuse_descriptor("without a tail");
    type.behaviours_name = "open";
    accept_descriptor();
    type.behaviours_name = "a b";
    refuse_descriptor("a set of behaviours: the name 'a b'");
}

/* Each set has a function for each message of the type, in the type's order, and another name. */
static void test_phases(void **state)
{
    static struct odeon_behaviour its[2];
    static struct odeon_behaviour_set set, other;
    static const struct odeon_behaviour_set *const sets[] = { &set, &other, NULL };
    const struct odeon_behaviour_set good = {
        .struct_size = sizeof(good), .n_behaviours = 1, .name = "open", .behaviours = its
    };

    (void)state;
#define PHASES(n_)                                                                                 \
    (set = other = good, other.name = "broken", its[0] = type.behaviours[0], type.phases = sets,   \
     type.n_phases = (n_))
    PHASES(2);
    accept_descriptor();
    PHASES(2);
    type.phases = NULL;
    refuse_descriptor("has 2 phases at no address");
    PHASES(ODEON_TYPE_PHASES_MAX + 1);
    refuse_descriptor("has 33 phases: at most 32");
    PHASES(3);
    refuse_descriptor("phase 2 is missing");
    PHASES(2);
    set.struct_size = 8;
    refuse_descriptor("a phase's struct_size is 8");
    PHASES(2);
    set.name = "o p";
    refuse_descriptor("a phase: the name 'o p'");
    PHASES(2);
    set.n_behaviours = 2;
    refuse_descriptor("phase open has 2 behaviours, the type has 1");
    PHASES(2);
    set.behaviours = NULL;
    refuse_descriptor("phase open has 0 behaviours, the type has 1");
    PHASES(2);
    its[0].run = NULL;
    refuse_descriptor("phase open has no function for message");
    PHASES(2);
    its[0].message = NULL;
    refuse_descriptor("phase open has no function for message");
    PHASES(2);
    other.name = "open";
    refuse_descriptor("has two phases named open");
    PHASES(2);
    type.behaviours_name = "broken";
    refuse_descriptor("its first behaviours are named broken, and so is a phase");
    PHASES(2);
    other.name = "initial";
    refuse_descriptor("its first behaviours are named initial, and so is a phase");
    PHASES(2);
    type.reserved_phases = 1;
    refuse_descriptor("which this service does not know, is 1");
    /* ABI 2.3 ended before them, and may have had its struct so short */
    PHASES(9);
    type.struct_size = offsetof(struct odeon_actor_type, phases);
    accept_descriptor();
#undef PHASES
}

/* Each description against the size beside it: what odeonctl writes by name is what init reads. */
static void test_spawn_arguments_are_laid_out(void **state)
{
    static const struct {
        const char *fields;
        uint32_t size;
        const char *refusal; /* NULL: none */
    } cases[] = {
        { "{ int64_t start; uint8_t step; char name[16]; }", 32, NULL },
        { "{ odeon_ref port, room; }", 16, NULL },
        { "{ char text[232]; }", 232, NULL },
        { "{ struct point p; }", 8, "but the type 'struct' cannot be laid out here" },
        { "{ char *name; }", 8, "but there is a pointer field" },
        { "{ int64_t start }", 8, "but what follows 'start' at '}'" },
        { "{ int64_t start, stop; }", 8,
          "stop ends at byte 16 as laid out here, but args_size is 8" },
        { "{ char text[233]; }", 232,
          "text ends at byte 233 as laid out here, but args_size is 232 "
          "(at most 232)" },
        { "{ uint8_t step; int64_t start; }", 9, "start ends at byte 16 as laid out here" },
        { "{ int64_t start; uint8_t step; }", 9,
          "args_size is 9, but args_fields '{ int64_t start; uint8_t step; }' has 16 bytes" },
        { "{ int32_t start; }", 8, "args_size is 8, but args_fields '{ int32_t start; }' has 4" },
        { "{ int64_t start; char text[ ]; }", 8, "text is a tail" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        type.args_fields = cases[i].fields;
        type.args_size = cases[i].size;
        if (cases[i].refusal)
            refuse_descriptor(cases[i].refusal);
        else
            accept_descriptor();
    }
}

static void test_names(void **state)
{
    static char longest[ODEON_NAME_MAX + 2];

    (void)state;
    memset(longest, 'x', ODEON_NAME_MAX + 1);
    plugin.name = NULL;
    refuse_descriptor("(none)");
    plugin.name = "";
    refuse_descriptor("(empty)");
    plugin.name = "a b";
    refuse_descriptor("'a b'");
    plugin.name = "\xc3\xa4";
    refuse_descriptor("is not allowed");
    plugin.name = longest;
    refuse_descriptor("1 to 63");
    plugin.version = NULL;
    refuse_descriptor("version");
    type.name = "../x";
    refuse_descriptor("an actor type: the name '../x'");
    message.name = "";
    refuse_descriptor("a message type");
    second.name = "t";
    refuse_descriptor("two actor types named t");
    longest[ODEON_NAME_MAX] = '\0';
    assert_true(name_is_good(longest));
}

static void test_types_and_messages(void **state)
{
    static char fields[ODEON_FIELDS_MAX + 2];

    (void)state;
    memset(fields, ' ', ODEON_FIELDS_MAX + 1);
    type.struct_size = 8;
    refuse_descriptor("actor type's struct_size is 8");
    type.behaviour_size = 12;
    refuse_descriptor("behaviour_size is 12");
    type.state_size = ODEON_STATE_MAX + 1;
    refuse_descriptor("state_size");
    type.n_behaviours = 256;
    refuse_descriptor("256 behaviours");
    type.behaviours = NULL;
    refuse_descriptor("no address");
    type.restart = 3;
    refuse_descriptor("restart policy 3");
    type.overflow = 4;
    refuse_descriptor("overflow policy 4");
    type.n_behaviours = 2;
    refuse_descriptor("behaviour 1 has no message type");
    type.n_behaviours = 2;
    behaviours[1].message = &message;
    refuse_descriptor("behaviour 1 has no function");
    type.n_behaviours = 2;
    behaviours[1] = behaviours[0];
    refuse_descriptor("two behaviours for message m");
    types[1] = NULL;
    refuse_descriptor("actor type 1 is missing");
    plugin.types = NULL;
    refuse_descriptor("no address");
    plugin.n_types = 100000;
    refuse_descriptor("100000 actor types");
    plugin.n_messages = 2;
    refuse_descriptor("message type 1 is missing");
    plugin.n_messages = UINT32_MAX;
    refuse_descriptor("message types: at most 262144");
    message.struct_size = 0;
    refuse_descriptor("message type's struct_size is 0");
    message.version = 0;
    refuse_descriptor("version 0");
    message.size = ODEON_PAYLOAD_MAX + 1;
    refuse_descriptor("32769 bytes");
    message.has_tail = 2;
    refuse_descriptor("tail");
    message.has_tail = 1;
    message.tail_offset = 1;
    refuse_descriptor("tail at byte 1 of 0");
    message.fields = NULL;
    refuse_descriptor("missing");
    message.fields = fields;
    refuse_descriptor("too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_image),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_header_fields),
        cmocka_unit_test(test_segments),
        cmocka_unit_test_setup(test_good_descriptor, reset),
        cmocka_unit_test_setup(test_abi, reset),
        cmocka_unit_test_setup(test_shorter_structs, reset),
        cmocka_unit_test_setup(test_sizes, reset),
        cmocka_unit_test_setup(test_sizes_beyond_memory, reset),
        cmocka_unit_test(test_where_reading_is_forbidden),
        cmocka_unit_test_setup(test_spawn_arguments, reset),
        cmocka_unit_test_setup(test_phases, reset),
        cmocka_unit_test_setup(test_spawn_arguments_are_laid_out, reset),
        cmocka_unit_test_setup(test_names, reset),
        cmocka_unit_test_setup(test_types_and_messages, reset),
    };

    return cmocka_run_group_tests_name("executor plugin check", tests, NULL, NULL);
}
