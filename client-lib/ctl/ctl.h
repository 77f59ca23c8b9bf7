/* SPDX-License-Identifier: Apache-2.0 */
/* One run of odeonctl: its command, its options, where it writes, its connection.
 *
 * Owned by ctl_main() (or a test) on the stack; one thread. Commands get it as their only argument
 * and return an exit code.
 *
 * ctl.C1  Results go to `out`, everything else (errors, notes) to `err`.
 * ctl.C2  Whatever comes from outside (names, texts of the service) reaches a terminal without
 *     control characters.
 * ctl.C3  With `json`, what is on `out` is one JSON document a run (a line an interval for `stats
 * --watch`, a message for `listen`, a look for `top`) with "version": 1.
 */
#pragma once

#include <odeon/admin.h>
#include <odeon/codec.h>

#include "client-lib/ctl/command.h"
#include "client-lib/ctl/number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ctl_exit {
    CTL_DONE = 0,
    CTL_REFUSED = 1,
    CTL_USAGE = 2,
    CTL_UNREACHABLE = 3,
    CTL_VERSION = 4,
    CTL_NO_ANSWER = 5, /* in time; whether it was processed is not known */
    CTL_ILL = 6,       /* doctor: something is broken or bad */
};

struct ctl {
    const struct command *command;
    const char *option[OPTION_N]; /* NULL: not given; a flag that is set has "" */
    char **words;                 /* arguments after noun and verb */
    size_t n_words;
    FILE *out, *err;
    bool json, legend, terminal;
    uint64_t limit; /* rows at most; UINT64_MAX: all */
    uint64_t after; /* first page begins after this key */
    int lost; /* why output could not be written, as errno says it; 0: it was, or nobody asked */
    struct odeon_client *client;
};

/* A whole run of the program.  Returns the exit code. */
int ctl_main(int argc, char **argv);
/* The same, writing to other streams; `terminal`: `out` is one. */
int ctl_run(int argc, char **argv, FILE *out, FILE *err, bool terminal);

/* Writes what is on `out` so far. False: it cannot be written, and the run's end says why. */
bool ctl_flush(struct ctl *ctl);

/* Of the control socket, as options and environment name it. */
const char *ctl_socket_path(const struct ctl *ctl);
/* Connects on first use.  0, or the exit code, after a message. */
int ctl_connect(struct ctl *ctl);

/* Prints "odeonctl: ..." and returns `code`.  The text is "WHAT: WHY. WHAT TO DO". */
int ctl_fail(struct ctl *ctl, enum ctl_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a call of libodeon that has returned `error`: WHAT is the format, the rest comes
 * from the library. */
int ctl_refuse(struct ctl *ctl, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The name of one that is near, to be freed; NULL: there is none, or the very one is known. */
typedef char *(*ctl_nearest_fn)(struct ctl *ctl, const char *name);
/* ctl_refuse() of `what` could not be done with a `kind` of that name, which may be one that nobody
 * knows: then with the nearest. */
int ctl_refuse_unknown(struct ctl *ctl, int error, const char *what, const char *kind,
                       const char *name, ctl_nearest_fn nearest);
/* Which exit code an error of libodeon (after the connection stood) stands for. */
enum ctl_exit ctl_exit_of(int error);

/* A reference, or a name that the service knows.  0, or the exit code, after a message. */
int ctl_ref_find(struct ctl *ctl, const char *text, odeon_ref *ret_ref);
/* Nobody is called that. Returns the exit code, after a message. */
int ctl_ref_refuse(struct ctl *ctl, const char *text);
/* What --of names, written as a reference, for a listing's filter; NULL: it was not said. 0, or the
 * exit code, after a message. */
int ctl_of_find(struct ctl *ctl, char text[ODEON_REF_TEXT], const char **ret_filter);

/* ctl_nearest_fn, of actor types; and ctl_refuse_unknown() with it. */
char *ctl_type_nearest(struct ctl *ctl, const char *name);
int ctl_type_refuse(struct ctl *ctl, int error, const char *what, const char *type);

/* What words of the command are to fill (struct.c). */
struct ctl_struct {
    const char *what;   /* for people: "the message 'counter_add'" */
    const char *fields; /* and what the service says of it */
    uint32_t size;
    int has_tail;
    size_t first_word;
};
/* Fields that no word names are zero. Free the bytes with odeon_payload_free(). 0, or the exit
 * code, after a message. */
int ctl_struct_fill(struct ctl *ctl, const struct ctl_struct *what, void **ret_bytes,
                    size_t *ret_size);

/* The other way: a payload's fields by name, to be freed with odeon_payload_free(); NULL: they are
 * not known, or nobody can name them. */
char *ctl_struct_describe(const struct odeon_message_info *info, const void *data, size_t size,
                          enum odeon_payload_form form);
/* A line's end: the message's name, and `fields` of the form WORDS, or how many bytes they are. */
void ctl_struct_print(struct ctl *ctl, const char *name, const char *fields, size_t size);

/* The message that a command is to send: to words[0], of the type words[1], with the fields behind
 * them (ctl_actor.c). */
struct ctl_message {
    odeon_ref to;
    struct odeon_message_info *info;
    void *payload;
    size_t size;
};
/* Connects. 0, or the exit code, after a message; then there is nothing to free. */
int ctl_message_prepare(struct ctl *ctl, struct ctl_message *ret_message);
void ctl_message_free(struct ctl_message *message);
/* The message in the version that its receiver is to be sent (ctl_version.c): 0, or what
 * odeon_message_find() returns. */
int ctl_version_find(struct ctl *ctl, odeon_ref to, const char *message,
                     struct odeon_message_info **ret);
/* What --trace names (ctl_call.c); 0: it was not said. 0, or the exit code, after a message. */
int ctl_trace_option_parse(struct ctl *ctl, uint64_t *ret_id);
/* A port of this program's own, to "send" or to "call" from. 0, or the exit code, after a
 * message. */
int ctl_message_open_port(struct ctl *ctl, const char *to_do, struct odeon_port **ret_port);
/* `why` the actor cannot be sent it, before the message's name; says what it accepts, with the
 * nearest first. `by_service`: its text says more, to who may not look. Returns the exit code. */
int ctl_message_refuse(struct ctl *ctl, odeon_ref ref, const char *why, bool by_service);
