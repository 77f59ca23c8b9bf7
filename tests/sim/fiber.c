/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers: stacks, and the change from one to another. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/sim/sim.h"

#define STACKS_AT UINT64_C(0x400000000000) /* sim.M1: there are atomic words in copies on stacks */

enum { GUARD_BYTES = 4096 };
static uint8_t *stacks[FIBERS_MAX];

#if !defined(__x86_64__)
#error "the simulator has the store order of x86-64, and its fibers use its instructions"
#endif

void fiber_switch(void **save, void *restore);

/* Saves what a function must keep, and goes on where the other one saved it. */
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".type fiber_switch, @function\n"
        "fiber_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq "
        "%r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size fiber_switch, .-fiber_switch\n");

static uint8_t *stack_of(uint32_t id)
{
    if (!stacks[id]) {
        uint8_t *at = SIM_AT(STACKS_AT + id * UINT64_C(2) * FIBER_STACK_BYTES);
        uint8_t *stack = mmap(at, FIBER_STACK_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | SIM_FIXED, -1, 0);
        if (stack == MAP_FAILED || (SIM_FIXED && stack != at) ||
            mprotect(stack, GUARD_BYTES, PROT_NONE) < 0) {
            perror("simulate: a fiber's stack");
            exit(2);
        }
        stacks[id] = stack;
    }
    return stacks[id];
}

/* Of the process, if it has AddressSanitizer: it guards frames, of which those that a crash has
 * left are for nobody to take down, and wants to know on which stack it is. */
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void *at, size_t bytes);
__attribute__((weak)) void __sanitizer_start_switch_fiber(void **fake, const void *bottom,
                                                          size_t bytes);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void *fake, const void **left,
                                                           size_t *left_bytes);
/* What it calls the main stack: the first one that is left. */
static const void *main_bottom;
static size_t main_bytes;

void fiber_arrived(void *fake)
{
    const void *left = NULL;
    size_t left_bytes = 0;
    if (!__sanitizer_finish_switch_fiber)
        return;
    __sanitizer_finish_switch_fiber(fake, &left, &left_bytes);
    if (!main_bottom) {
        main_bottom = left;
        main_bytes = left_bytes;
    }
}

void fiber_change(void **save, void *restore, const struct fiber *to, bool for_good)
{
    void *fake = NULL;
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(for_good ? NULL : &fake, to ? to->stack : main_bottom,
                                       to ? FIBER_STACK_BYTES : main_bytes);
    fiber_switch(save, restore);
    fiber_arrived(fake);
}

void fiber_prepare(struct fiber *fiber, void (*entry)(void))
{
    fiber->stack = stack_of(fiber->id);
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(fiber->stack + GUARD_BYTES, FIBER_STACK_BYTES - GUARD_BYTES);
    uint64_t *top = (uint64_t *)(fiber->stack + FIBER_STACK_BYTES);
    *--top = 0; /* where it would return to: it does not; the stack is aligned as behind a call */
    *--top = (uint64_t)(uintptr_t)entry;
    for (int i = 0; i < 6; i++)
        *--top = 0;
    fiber->stack_pointer = top;
}

/* What would be in thread-local storage (shim.h); the linker knows where it begins and ends. */
extern uint8_t __start_sim_fiber_local[], __stop_sim_fiber_local[];

void fiber_locals_change(struct fiber *from, struct fiber *to)
{
    size_t size = (size_t)(__stop_sim_fiber_local - __start_sim_fiber_local);
    assert(size <= FIBER_LOCALS_MAX);
    if (from)
        memcpy(from->locals, __start_sim_fiber_local, size);
    memcpy(__start_sim_fiber_local, to->locals, size);
}

void fibers_free(void)
{
    for (uint32_t i = 0; i < FIBERS_MAX; i++)
        if (stacks[i])
            munmap(stacks[i], FIBER_STACK_BYTES);
}
