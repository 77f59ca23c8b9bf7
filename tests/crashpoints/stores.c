/* SPDX-License-Identifier: Apache-2.0 */
/* From store to store, without stepping through what lies between: the world is mapped read-only,
 * so that each store into it faults; the handler lets that one instruction pass, records what it
 * has changed, and makes the page read-only again. What lies between two stores has stored nothing,
 * so a kill there leaves the same. Elsewhere than on x86-64 the driver steps.
 *
 * To pass one instruction takes the trap flag the first time; that tells how long the instruction
 * is. From then on a plain move to memory is done here, and behind any other a breakpoint is put: a
 * single step is what a hypervisor looks at, and takes ten times as long.
 *
 * The process itself does all of it; one thread. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "crash.h"
#include "daemon/common/page.h"
#include "daemon/engine/core/core.h"

#if defined(__x86_64__)

enum {
    OPEN_MAX_PAGES = 4,
    TRAP_FLAG = 0x100,
    BREAKPOINT = 0xcc,
    LENGTH_MAX = 15,
    TEXT_PAGES_MAX = 64
};

/* A mapping of (a part of) a region; of a ring's second mapping, what lies behind the region's end
 * is its ring once more. */
static struct closed {
    uint8_t *from;
    uint64_t bytes;
    uint32_t region;
} closed[1 + 2 * N_PORTS];
static unsigned n_closed;

static const struct region *regions;

static uint64_t region_byte(const struct closed *in, const uint8_t *at)
{
    uint64_t byte = (uint64_t)(at - in->from);
    return in->region >= REGION_PORT && byte >= port_ring_offset(page_bytes()) + PORT_RING
               ? byte - PORT_RING
               : byte;
}

/* By the present instruction: it may store across a boundary. */
static struct {
    uint8_t *page;
    uint64_t where;
    uint64_t before[PAGE / sizeof(uint64_t)];
} opened[OPEN_MAX_PAGES];
static unsigned n_opened;
static uint64_t instruction;
static struct recording *record;

/* ---- past one instruction ---- */

static uint8_t *text_page[TEXT_PAGES_MAX]; /* that may be written to: this process's own copies */
static unsigned n_text_pages;
static uint8_t *breakpoint, displaced;

/* One that stores several times comes to an end several times, for the trap flag. */
static bool is_repeated(const uint8_t *code)
{
    bool repeats = false;
    for (; *code == 0x66 || *code == 0xf2 || *code == 0xf3 || (*code & 0xf8) == 0x48; code++)
        repeats |= *code == 0xf2 || *code == 0xf3;
    return repeats && (*code == 0xa4 || *code == 0xa5 || *code == 0xaa || *code == 0xab);
}

static bool text_open(uint8_t *code)
{
    uint8_t *page = (uint8_t *)((uintptr_t)code & ~(uintptr_t)(PAGE - 1));
    for (unsigned i = 0; i < n_text_pages; i++)
        if (text_page[i] == page)
            return true;
    if (n_text_pages == TEXT_PAGES_MAX ||
        mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        return false;
    text_page[n_text_pages++] = page;
    return true;
}

/* What a plain move stores (opcodes 88, 89, c6, c7): its register's value, or what the instruction
 * ends with. 0: it is another instruction. */
static unsigned move_value(const ucontext_t *u, const uint8_t *code, uint64_t length,
                           uint64_t *ret_value)
{
    static const int registers[] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                     REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15 };
    const uint8_t *end = code + length;
    bool narrow = *code == 0x66;
    code += narrow;
    uint8_t rex = (*code & 0xf0) == 0x40 ? *code++ : 0;
    unsigned size = (*code & 1) == 0 ? 1
                    : rex & 8        ? 8
                    : narrow         ? 2
                                     : 4,
             index = (code[1] >> 3 & 7) | (rex & 4) << 1;
    if (*code == 0x89 || (*code == 0x88 && rex)) {
        *ret_value = (uint64_t)u->uc_mcontext.gregs[registers[index]];
    } else if (*code == 0xc6 || *code == 0xc7) {
        int32_t immediate = 0;
        unsigned bytes = size < 4 ? size : 4;
        memcpy(&immediate, end - bytes, bytes);
        *ret_value = (uint64_t)(int64_t)immediate;
    } else {
        return 0;
    }
    return size;
}

/* Is the move done?  Through the driver's own mapping, which is not closed. */
static bool move_do(ucontext_t *u, const struct closed *in, const uint8_t *to)
{
    const uint8_t *code = (const uint8_t *)u->uc_mcontext.gregs[REG_RIP];
    const struct length *known = &record->length[(uintptr_t)code % LENGTHS];
    uint64_t byte = region_byte(in, to), aligned = byte & ~UINT64_C(7), value, before, after;
    unsigned size = known->at == (uintptr_t)code ? move_value(u, code, known->bytes, &value) : 0;
    if (size == 0 || byte % 8 + size > 8 || n_opened > 0)
        return false;
    uint8_t *word = regions[in->region].map + aligned;
    memcpy(&before, word, sizeof(before));
    memcpy(word + byte % 8, &value, size);
    memcpy(&after, word, sizeof(after));
    if (before != after)
        recording_change(record, where_of(in->region, aligned), before, after);
    record->points++;
    recording_mark(record, known->at);
    u->uc_mcontext.gregs[REG_RIP] += (greg_t)known->bytes;
    return true;
}

static void pass_one(ucontext_t *u)
{
    uint8_t *code = (uint8_t *)u->uc_mcontext.gregs[REG_RIP];
    const struct length *known = &record->length[(uintptr_t)code % LENGTHS];
    instruction = (uint64_t)(uintptr_t)code;
    if (breakpoint)
        return; /* its second page */
    if (known->at == instruction && text_open(code + known->bytes)) {
        breakpoint = code + known->bytes;
        displaced = *breakpoint;
        *breakpoint = BREAKPOINT;
    } else {
        u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    }
}

static void has_passed(ucontext_t *u)
{
    uint64_t behind = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    if (breakpoint) {
        *breakpoint = displaced;
        u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)breakpoint;
        breakpoint = NULL;
        return;
    }
    u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    if (behind > instruction && behind - instruction <= LENGTH_MAX &&
        !is_repeated((const uint8_t *)instruction))
        record->length[instruction % LENGTHS] =
            (struct length){ .at = instruction, .bytes = behind - instruction };
}

/* ---- stores ---- */

static void protection(uint8_t *page, int prot)
{
    if (mprotect(page, PAGE, prot) < 0)
        _exit(3);
}

static void page_open(const struct closed *in, uint8_t *page)
{
    opened[n_opened].page = page;
    opened[n_opened].where = where_of(in->region, region_byte(in, page));
    memcpy(opened[n_opened++].before, page, PAGE);
    protection(page, PROT_READ | PROT_WRITE);
}

static void on_store(int signal_number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    uint8_t *page = (uint8_t *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    (void)signal_number;
    for (unsigned i = 0; i < n_closed; i++)
        if (page >= closed[i].from && page < closed[i].from + closed[i].bytes &&
            n_opened < OPEN_MAX_PAGES) {
            if (move_do(u, &closed[i], info->si_addr))
                return;
            page_open(&closed[i], page);
            pass_one(u);
            return;
        }
    signal(SIGSEGV, SIG_DFL); /* a fault of its own: it happens again */
}

static void on_stored(int signal_number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)signal_number;
    (void)info;
    while (n_opened > 0) {
        n_opened--;
        page_changes(opened[n_opened].where, opened[n_opened].before, opened[n_opened].page,
                     record);
        protection(opened[n_opened].page, PROT_READ);
    }
    record->points++;
    recording_mark(record, instruction);
    has_passed(u);
}

static void range_close(void *from, uint64_t bytes, uint32_t region)
{
    closed[n_closed++] = (struct closed){ .from = from, .bytes = bytes, .region = region };
    if (mprotect(from, bytes, PROT_READ) < 0)
        fail("a mapping cannot be made read-only");
}

void stores_begin(struct life *life, struct recording *recording)
{
    static const int signals[] = { SIGSEGV, SIGTRAP };
    struct engine *e = life->engine;
    record = recording;
    regions = life->world->region;
    for (unsigned i = 0; i < 2; i++) {
        struct sigaction action = { .sa_sigaction = i == 0 ? on_store : on_stored,
                                    .sa_flags = SA_SIGINFO };
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], &action, NULL);
    }
    range_close(e->segment.base, e->segment.size, REGION_SEGMENT);
    for (uint32_t id = 0; id < N_PORTS; id++)
        if (e->ports.table[id].client_words) {
            range_close(e->ports.table[id].client_words,
                        port_ring_offset(page_bytes()) + 2 * PORT_RING, REGION_PORT + 2 * id);
            range_close(e->ports.table[id].executor_words,
                        port_ring_offset(page_bytes()) + 2 * PORT_RING, REGION_PORT + 2 * id + 1);
        }
}

void stores_end(void)
{
    for (unsigned i = 0; i < n_closed; i++)
        if (mprotect(closed[i].from, closed[i].bytes, PROT_READ | PROT_WRITE) < 0)
            _exit(3);
    n_closed = 0;
}

#else

void stores_begin(struct life *life, struct recording *recording)
{
    (void)life;
    (void)recording;
}

void stores_end(void)
{
}

#endif
