/* SPDX-License-Identifier: Apache-2.0 */
/* Each load and store of the engine's. Plain ones: the compiler's calls for ThreadSanitizer
 * (-fsanitize=thread), whose library is not linked. Atomic ones, barriers and locks: the
 * simulator's calls, through the linker (--wrap). A step is counted when it has been done: the
 * simulator may have let others run first. */
#include "tests/counting/hooks.h"

#undef memcpy
#undef memmove
#undef memset

#include "tests/counting/scope.h"
#include "tests/sim/shim.h"

void count_read(const volatile void *at, size_t bytes)
{
    scope_access(at, bytes, false, false);
}

void count_written(const volatile void *at, size_t bytes)
{
    scope_access(at, bytes, true, false);
}

/* ---- the compiler's ---- */

#define HOOK_PLAIN(name, bytes, writes)                                                            \
    void __tsan_##name(void *at);                                                                  \
    void __tsan_##name(void *at)                                                                   \
    {                                                                                              \
        scope_access(at, (bytes), (writes), false);                                                \
    }
#define HOOK_SIZE(bytes)                                                                           \
    HOOK_PLAIN(read##bytes, bytes, false)                                                          \
    HOOK_PLAIN(write##bytes, bytes, true)                                                          \
    HOOK_PLAIN(unaligned_read##bytes, bytes, false)                                                \
    HOOK_PLAIN(unaligned_write##bytes, bytes, true)                                                \
    HOOK_PLAIN(volatile_read##bytes, bytes, false)                                                 \
    HOOK_PLAIN(volatile_write##bytes, bytes, true)

HOOK_SIZE(1)
HOOK_SIZE(2)
HOOK_SIZE(4)
HOOK_SIZE(8)
HOOK_SIZE(16)

void __tsan_init(void);
void __tsan_read_range(void *at, unsigned long bytes);
void __tsan_write_range(void *at, unsigned long bytes);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);

void __tsan_init(void)
{
}

void __tsan_read_range(void *at, unsigned long bytes)
{
    scope_access(at, bytes, false, false);
}

void __tsan_write_range(void *at, unsigned long bytes)
{
    scope_access(at, bytes, true, false);
}

void __tsan_func_entry(void *caller)
{
    (void)caller;
    scope_function_begins((uintptr_t)__builtin_return_address(0));
}

void __tsan_func_exit(void)
{
    scope_function_ends();
}

/* An atomic word that is named without a call is read by the compiler's own. */
uint8_t __tsan_atomic8_load(const volatile uint8_t *at, int order);
uint8_t __tsan_atomic8_load(const volatile uint8_t *at, int order)
{
    (void)order;
    scope_access(at, 1, false, false);
    return *at;
}

uint64_t __tsan_atomic64_load(const volatile uint64_t *at, int order);
uint64_t __tsan_atomic64_load(const volatile uint64_t *at, int order)
{
    (void)order;
    scope_access(at, 8, false, false);
    return *at;
}

void __tsan_atomic64_store(volatile uint64_t *at, uint64_t value, int order);
void __tsan_atomic64_store(volatile uint64_t *at, uint64_t value, int order)
{
    (void)order;
    scope_access(at, 8, true, false);
    *at = value;
}

/* ---- the simulator's ---- */

uint64_t __real_sim_load(const volatile void *at, unsigned size);
void __real_sim_store(volatile void *at, unsigned size, uint64_t value, memory_order order);
void __real_sim_store_pair(volatile void *at, uint64_t first, uint64_t second);
uint64_t __real_sim_read_modify_write(enum sim_rmw how, volatile void *at, unsigned size,
                                      uint64_t value);
_Bool __real_sim_compare_exchange(volatile void *at, unsigned size, void *expected,
                                  uint64_t desired);
void __real_sim_fence(memory_order order);
int __real_sim_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*main)(void *), void *argument);
int __real_sim_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_sim_pthread_mutex_unlock(pthread_mutex_t *mutex);

uint64_t __wrap_sim_load(const volatile void *at, unsigned size);
void __wrap_sim_store(volatile void *at, unsigned size, uint64_t value, memory_order order);
void __wrap_sim_store_pair(volatile void *at, uint64_t first, uint64_t second);
uint64_t __wrap_sim_read_modify_write(enum sim_rmw how, volatile void *at, unsigned size,
                                      uint64_t value);
_Bool __wrap_sim_compare_exchange(volatile void *at, unsigned size, void *expected,
                                  uint64_t desired);
void __wrap_sim_fence(memory_order order);
int __wrap_sim_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*main)(void *), void *argument);
int __wrap_sim_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_sim_pthread_mutex_unlock(pthread_mutex_t *mutex);

uint64_t __wrap_sim_load(const volatile void *at, unsigned size)
{
    uint64_t value = __real_sim_load(at, size);
    scope_access(at, size, false, false);
    return value;
}

void __wrap_sim_store(volatile void *at, unsigned size, uint64_t value, memory_order order)
{
    __real_sim_store(at, size, value, order);
    scope_access(at, size, true, order == memory_order_seq_cst);
}

void __wrap_sim_store_pair(volatile void *at, uint64_t first, uint64_t second)
{
    __real_sim_store_pair(at, first, second);
    scope_access(at, 16, true, false);
}

uint64_t __wrap_sim_read_modify_write(enum sim_rmw how, volatile void *at, unsigned size,
                                      uint64_t value)
{
    uint64_t old = __real_sim_read_modify_write(how, at, size, value);
    scope_access(at, size, true, true);
    return old;
}

_Bool __wrap_sim_compare_exchange(volatile void *at, unsigned size, void *expected,
                                  uint64_t desired)
{
    _Bool done = __real_sim_compare_exchange(at, size, expected, desired);
    scope_access(at, size, true, true);
    if (done)
        scope_lock_taken(at);
    return done;
}

void __wrap_sim_fence(memory_order order)
{
    __real_sim_fence(order);
    if (order == memory_order_seq_cst)
        scope_barrier();
}

int __wrap_sim_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*main)(void *), void *argument)
{
    int r = __real_sim_pthread_create(thread, attributes, main, argument);
    if (r == 0)
        scope_thread_is((uint32_t)*thread, argument);
    return r;
}

int __wrap_sim_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int r = __real_sim_pthread_mutex_lock(mutex);
    scope_access(mutex, sizeof(uint64_t), true, true);
    return r;
}

int __wrap_sim_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int r = __real_sim_pthread_mutex_unlock(mutex);
    scope_access(mutex, sizeof(uint64_t), true, true);
    return r;
}
