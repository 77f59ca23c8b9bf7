/* SPDX-License-Identifier: Apache-2.0 */
/* The short spelling of tests, for C. Included by <odeon/test.h>.
 *
 * Messages are written as behaviours write them: the struct's name, then the fields that are not 0.
 * `to_` is a typed reference (counter_ref): what its actor does not accept does not compile. The
 * macros with a number take the number of the port; the others mean port 0.
 *
 * What holds:
 *  test_macros.T1  Every argument of a macro is evaluated once.
 */
#ifndef ODEON_TEST_MACROS_H
#define ODEON_TEST_MACROS_H

#ifndef ODEON_TEST_H
#error "include <odeon/test.h>"
#endif

/* odeon_test_check(adds, NULL, .plugin = &odeon_plugin_descriptor, .workers = 4) */
#define odeon_test_check(function_, userdata_, ...)                                                \
    odeon_test_check_at(ODEON_TEST_OPTIONS_(__VA_ARGS__), #function_, (function_), (userdata_),    \
                        __FILE__, __LINE__)
#define odeon_test_explore(n_, function_, userdata_, ...)                                          \
    odeon_test_explore_at((n_), ODEON_TEST_OPTIONS_(__VA_ARGS__), #function_, (function_),         \
                          (userdata_), __FILE__, __LINE__)
#define odeon_test_open(...)                                                                       \
    odeon_test_open_at(ODEON_TEST_OPTIONS_(__VA_ARGS__), __FILE__, __LINE__)
#define ODEON_TEST_OPTIONS_(...)                                                                   \
    (&(const struct odeon_test_options){ .struct_size = sizeof(struct odeon_test_options),         \
                                         __VA_ARGS__ })

#define odeon_test_fail(...) odeon_test_fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define odeon_test_assert(condition_)                                                              \
    ((condition_) ? (void)0 : odeon_test_fail("this is not so: %s", #condition_))

/* counter_ref c = odeon_test_spawn(world, counter);
 * counter_ref c = odeon_test_spawn(world, counter, .name = "total",
 *                                  ODEON_ARGS(struct counter_args, .start = 7)); */
#define odeon_test_spawn(world_, ...)                                                              \
    ODEON_TEST_SPAWN_(world_, __VA_ARGS__, .struct_size = sizeof(struct odeon_spawn_options))
#define ODEON_TEST_SPAWN_(world_, actor_, ...)                                                     \
    __extension__({                                                                                \
        odeon_as(actor_, odeon_test_spawn_at((world_), #actor_,                                    \
                                             &(const struct odeon_spawn_options){ __VA_ARGS__ },   \
                                             __FILE__, __LINE__));                                 \
    })
/* const struct counter_state *state = odeon_test_state(world, counter, ref): where the test sees
 * ODEON_STATE(counter, ...). */
#define odeon_test_state(world_, actor_, to_)                                                      \
    ((const struct actor_##_state *)odeon_test_state_at(                                           \
        (world_), ((actor_##_ref){ (to_).ref }).ref, sizeof(struct actor_##_state), __FILE__,      \
        __LINE__))

/* odeon_test_send(world, ref, counter_add, .amount = 3); */
#define odeon_test_send(world_, to_, message_, ...)                                                \
    odeon_test_send_from(world_, 0, to_, message_, __VA_ARGS__)
#define odeon_test_send_from(world_, port_, to_, message_, ...)                                    \
    odeon_test_post_at((world_), (port_), ((void)ODEON_INDEX_(to_, message_), (to_).ref),          \
                       odeon_message_of(message_), &(const struct message_){ __VA_ARGS__ },        \
                       sizeof(struct message_), 0, __FILE__, __LINE__)
#define odeon_test_signal(world_, to_, message_) odeon_test_signal_from(world_, 0, to_, message_)
#define odeon_test_signal_from(world_, port_, to_, message_)                                       \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_test_post_at((world_), (port_), ((void)ODEON_INDEX_(to_, message_), (to_).ref),         \
                        odeon_message_of(message_), NULL, 0, 0, __FILE__, __LINE__))

/* odeon_test_expect(world, counter_value, .total = 6): the next message, with these fields, and 0
 * in the others. */
#define odeon_test_expect(world_, message_, ...)                                                   \
    odeon_test_expect_from(world_, 0, message_, __VA_ARGS__)
#define odeon_test_expect_from(world_, port_, message_, ...)                                       \
    ((const struct message_ *)odeon_test_expect_at((world_), (port_), odeon_message_of(message_),  \
                                                   &(const struct message_){ __VA_ARGS__ },        \
                                                   sizeof(struct message_), __FILE__, __LINE__))
/* const struct counter_value *value = odeon_test_expect_type(world, counter_value): with any
 * fields; and a signal, which has none. */
#define odeon_test_expect_type(world_, message_)                                                   \
    ((const struct message_ *)odeon_test_expect_at((world_), 0, odeon_message_of(message_), NULL,  \
                                                   0, __FILE__, __LINE__))
#define odeon_test_expect_signal(world_, message_)                                                 \
    (ODEON_ASSERT_SIGNAL_(message_), (void)odeon_test_expect_type(world_, message_))
#define odeon_test_expect_among(world_, message_, ...)                                             \
    ((const struct message_ *)odeon_test_expect_among_at(                                          \
        (world_), 0, odeon_message_of(message_), &(const struct message_){ __VA_ARGS__ },          \
        sizeof(struct message_), __FILE__, __LINE__))
#define odeon_test_expect_none(world_) odeon_test_expect_none_at((world_), __FILE__, __LINE__)

/* odeon_test_crash(world, counter_add, 2, ODEON_TEST_BEHIND): at the second one. */
#define odeon_test_crash(world_, message_, n_, where_)                                             \
    odeon_test_crash_at_message((world_), odeon_message_of(message_), (n_), (where_))

#endif
