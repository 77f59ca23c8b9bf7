/* SPDX-License-Identifier: Apache-2.0 */
/* The short spelling of message types and interfaces, for C. Included by <odeon/message.h>; clients
 * and plugins use it alike, so the header that declares an actor's messages includes
 * <odeon/message.h> and nothing else of Odeon.
 *
 *     ODEON_MESSAGE(counter_add, 1, { int64_t amount, weight; });
 *         name, version, body of a plain struct
 *     ODEON_MESSAGE(text_chunk, 1, { uint32_t line; char text[]; });
 *         ends in a tail of bytes, called `text`
 *     ODEON_MESSAGE_TAIL(picture, 1, pixels, { uint32_t width; uint8_t pixels[]; });
 *         the same with a tail of another name, or of another kind of elements
 *     ODEON_SIGNAL(counter_get, 1);
 *         has no fields
 *     ODEON_INTERFACE(counter, counter_add, counter_get);
 *         what a counter accepts; gives the type counter_ref
 *     odeon_message_of(counter_add)
 *         its struct odeon_message_type *
 *
 * What holds:
 *  message_macros.M1  A message type is described once in each shared object or program, in a weak
 *      hidden variable, however many of its source files include the declaration.  Nothing is
 *      exported.
 *  message_macros.M2  A pointer to the description lies in the linker section `odeon_messages`,
 *      once for each source file that includes the declaration: the section may name a description
 *      more than once, and whoever reads it must not mind.  No linker drops it.
 *  message_macros.M3  A message with a tail has no padding before it: its struct is as large as the
 *      offset of the tail.  So the payload is the struct and the bytes behind it.  Its body's last
 *      word is `[];`: by that the service is told of the tail.  Sending one that breaks the rule
 *      does not compile, nor does declaring it by ODEON_MESSAGE_TAIL.
 *  message_macros.M4  The order in an interface is the order of the behaviours: the offset of a
 *      message in `struct counter_accepts` is its behaviour index, and a message that is not in
 *      there is not a member of it, which is what the compiler then says.
 */
#ifndef ODEON_MESSAGE_MACROS_H
#define ODEON_MESSAGE_MACROS_H

#ifndef ODEON_MESSAGE_H
#error "include <odeon/message.h>"
#endif

#define ODEON_PAYLOAD_LIMIT    32768 /* bytes that a message can have, its tail included */
#define ODEON_NAME_LIMIT       63    /* bytes of a name */
#define ODEON_FIELDS_LIMIT     447   /* bytes of a body's text */
#define ODEON_ARGS_LIMIT       232   /* bytes of spawn arguments */
#define ODEON_ALIGN_LIMIT      8     /* to so many bytes messages and arguments are aligned */
#define ODEON_BEHAVIOURS_LIMIT 255   /* messages in one interface: index 255 means "unknown" */

/* A linker that is told to drop what nobody refers to (--gc-sections) drops these lists, too,
 * without a word: some take a reference to a section's first and last byte for none. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define ODEON_RETAIN_ , retain
#endif
#endif
#ifndef ODEON_RETAIN_
#define ODEON_RETAIN_
#endif

/* The body is taken as variable arguments, so that the commas in it survive. */
#define ODEON_MESSAGE(message_, version_, ...)                                                     \
    struct message_ __VA_ARGS__;                                                                   \
    typedef struct message_ odeon_tail_of_##message_; /* its tail, if any, is `text` */            \
    ODEON_MESSAGE_(message_, #message_, version_, #__VA_ARGS__)

/* What ODEON_ASSERT_TAIL_ looks at has its tail where the message has it, and calls it `text`. */
#define ODEON_MESSAGE_TAIL(message_, version_, tail_, ...)                                         \
    struct message_ __VA_ARGS__;                                                                   \
    typedef struct {                                                                               \
        char before[__builtin_offsetof(struct message_, tail_)];                                   \
        char text[];                                                                               \
    } odeon_tail_of_##message_;                                                                    \
    _Static_assert(__builtin_offsetof(struct message_, tail_) == sizeof(struct message_),          \
                   "message " #message_ " has padding before its tail, or does not end in " #tail_ \
                   ": put larger fields first, or fill the gap");                                  \
    _Static_assert(__extension__(ODEON_ENDS_IN_TAIL_(#__VA_ARGS__)), ODEON_NO_TAIL_(#message_));   \
    ODEON_MESSAGE_(message_, #message_, version_, #__VA_ARGS__)

#define ODEON_MESSAGE_(message_, name_, version_, fields_)                                         \
    _Static_assert(sizeof(struct message_) <= ODEON_PAYLOAD_LIMIT,                                 \
                   "message " name_ " exceeds 32,768 bytes");                                      \
    _Static_assert(__alignof__(struct message_) <= ODEON_ALIGN_LIMIT,                              \
                   "message " name_ " is to be aligned to more than 8 bytes");                     \
    _Static_assert(sizeof(fields_) <= ODEON_FIELDS_LIMIT + 1,                                      \
                   "body of " name_ " exceeds 447 characters");                                    \
    enum {                                                                                         \
        odeon_size_of_##message_ = sizeof(struct message_),                                        \
        odeon_has_tail_of_##message_ = __extension__(ODEON_ENDS_IN_TAIL_(fields_)),                \
    };                                                                                             \
    ODEON_DESCRIBE_(message_, name_, version_, fields_)

#define ODEON_SIGNAL(message_, version_)                                                           \
    struct message_;                                                                               \
    enum { odeon_size_of_##message_ = 0, odeon_has_tail_of_##message_ = 0 };                       \
    ODEON_DESCRIBE_(message_, #message_, version_, "")

/* The service's id is written into the description of a plugin when it is loaded, so it must not be
 * const. */
#define ODEON_DESCRIBE_(message_, name_, version_, fields_)                                        \
    _Static_assert(sizeof(name_) <= ODEON_NAME_LIMIT + 1,                                          \
                   "the name " name_ " exceeds 63 characters");                                    \
    _Static_assert((version_) > 0, "message " name_ ": versions begin at 1");                      \
    extern struct odeon_message_type odeon_message_type_of_##message_;                             \
    __attribute__((                                                                                \
        weak,                                                                                      \
        visibility("hidden"))) struct odeon_message_type odeon_message_type_of_##message_ = {      \
        .struct_size = sizeof(struct odeon_message_type),                                          \
        .version = (version_),                                                                     \
        .name = (name_),                                                                           \
        .fields = (fields_),                                                                       \
        .size = odeon_size_of_##message_,                                                          \
        .has_tail = odeon_has_tail_of_##message_,                                                  \
        .tail_offset = odeon_has_tail_of_##message_ ? odeon_size_of_##message_ : 0,                \
    };                                                                                             \
    static struct odeon_message_type *odeon_listed_##message_                                      \
        __attribute__((section("odeon_messages"), used ODEON_RETAIN_)) =                           \
            &odeon_message_type_of_##message_

/* Whether the text of a body ends in an array without a length. Spaces are where the author put
 * some. */
#define ODEON_ENDS_IN_TAIL_(text_)                                                                 \
    (ODEON_ENDS_IN_(text_, "[];}") || ODEON_ENDS_IN_(text_, "[]; }") ||                            \
     ODEON_ENDS_IN_(text_, "[] ;}") || ODEON_ENDS_IN_(text_, "[] ; }") ||                          \
     ODEON_ENDS_IN_(text_, "[ ];}") || ODEON_ENDS_IN_(text_, "[ ]; }") ||                          \
     ODEON_ENDS_IN_(text_, "[ ] ;}") || ODEON_ENDS_IN_(text_, "[ ] ; }"))
#define ODEON_ENDS_IN_(text_, end_)                                                                \
    (sizeof(text_) > sizeof(end_) &&                                                               \
     __builtin_memcmp(&(text_)[sizeof(text_) > sizeof(end_) ? sizeof(text_) - sizeof(end_) : 0],   \
                      end_, sizeof(end_)) == 0)

#define ODEON_NO_TAIL_(name_)                                                                      \
    "message " name_ " does not end in an array without a length: nothing stands between its "     \
    "brackets, and nothing but a semicolon behind them"

#define odeon_message_of(message_) (&odeon_message_type_of_##message_)

/* A typed reference holds an odeon_ref; the pointer beside it exists only to carry the receiver's
 * type. */
/* <odeon/plugin.h>; each interface declares its actor's, for odeon_spawn() within the plugin */
struct odeon_actor_type;

#define ODEON_INTERFACE(actor_, ...)                                                               \
    struct actor_##_accepts {                                                                      \
        char __VA_ARGS__;                                                                          \
    };                                                                                             \
    _Static_assert(sizeof(struct actor_##_accepts) <= ODEON_BEHAVIOURS_LIMIT,                      \
                   "interface " #actor_ ": a behaviour index beyond 254");                         \
    _Static_assert(sizeof(#actor_) <= ODEON_NAME_LIMIT + 1,                                        \
                   "the name " #actor_ " exceeds 63 characters");                                  \
    extern __attribute__((visibility("hidden"))) struct odeon_actor_type odeon_type_of_##actor_;   \
    typedef union {                                                                                \
        odeon_ref ref;                                                                             \
        const struct actor_##_accepts *accepts;                                                    \
    } actor_##_ref

/* Says that `ref_` is a reference to such an actor. The service checks: a wrong one is refused when
 * a message is sent. */
#define odeon_as(actor_, ref_) ((actor_##_ref){ .ref = (ref_) })

/* `to_` as it is; where it is an odeon_ref, one sentence of the compiler's and not several about
 * members that there are not: in its place stands something that accepts this message. */
#define ODEON_TYPED_(to_, message_)                                                                \
    _Generic((to_), odeon_ref : ODEON_UNTYPED_(message_), default : (to_))
#define ODEON_UNTYPED_(message_)                                                                   \
    (*(union {                                                                                     \
        odeon_ref ref;                                                                             \
        const struct {                                                                             \
            char message_;                                                                         \
        } * accepts;                                                                               \
    } *)odeon_nothing_())
static inline void *odeon_nothing_(void)
{
    return NULL;
}

/* The reference of a typed one. Its assertion is not in a struct, as others are: clang takes a
 * literal in there for one outside functions. */
#define ODEON_REF_(to_)                                                                            \
    __extension__({                                                                                \
        _Static_assert(_Generic((to_), odeon_ref : 0, default : 1),                                \
                       "this reference, an odeon_ref, does not say what its actor accepts: use "   \
                       "the form that ends in _any, or odeon_as()");                               \
        ODEON_TYPED_(to_, odeon_unused_).ref;                                                      \
    })

/* The behaviour index of a message at the receiver, or the compiler's error that it has none. */
#define ODEON_INDEX_(to_, message_)                                                                \
    ((void)sizeof(ODEON_TYPED_(to_, message_).accepts->message_),                                  \
     (uint32_t) __builtin_offsetof(__typeof__(*ODEON_TYPED_(to_, message_).accepts), message_))

/* Of a message with a tail, from within its receiver (`message_`: the pointer): how many bytes the
 * tail has. */
#define odeon_tail_size(ctx_, message_) ((size_t)((ctx_)->message_size - sizeof(*(message_))))

/* message_macros.M3. */
#define ODEON_ASSERT_TAIL_(message_)                                                               \
    ((void)sizeof(struct {                                                                         \
        _Static_assert(__builtin_offsetof(odeon_tail_of_##message_, text) ==                       \
                           sizeof(struct message_),                                                \
                       "message " #message_                                                        \
                       " has padding before its tail: put larger fields first, or fill the gap");  \
        _Static_assert(odeon_has_tail_of_##message_, ODEON_NO_TAIL_(#message_));                   \
        char unused;                                                                               \
    }))

#endif
