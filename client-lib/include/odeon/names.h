/* SPDX-License-Identifier: Apache-2.0 */
/* Words for what the service says in numbers: why a message was refused, what an error means here.
 *
 * Included by <odeon/client.h> and <odeon/plugin.h>. In C and C++ the functions are compiled into
 * whoever calls them, so that a plugin, which links nothing of Odeon's, has them, too; libodeon
 * exports them for others. Their texts are constant, and for people; no state, any thread.
 *
 * There is one table of each: what libodeon exports, what the service says of a dead letter, and so
 * what odeonctl shows, come from here. odeon_outcome_name() of <odeon/client.h> is the same for how
 * a call ended.
 */
#ifndef ODEON_NAMES_H
#define ODEON_NAMES_H

#include <errno.h>
#include <string.h>

#include <odeon/message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Always where it is called, never a symbol: the one that libodeon defines is not asked for. */
#define ODEON_INLINED_ extern __inline__ __attribute__((__gnu_inline__, __always_inline__))

/* "queue-full"; `reason`: an enum odeon_reason, of a struct odeon_refusal, for one. One that is
 * newer than this: "unknown". */
ODEON_API const char *odeon_reason_name(unsigned reason);

/* What a negative errno (or errno itself) means when it comes from Odeon: "the receiver's queue, a
 * ring or a table is full: try again later", where the system's word is "Resource temporarily
 * unavailable"; the system's word for those that mean nothing else here. In a client
 * odeon_error_text() says more: which argument, how many, whose. */
ODEON_API const char *odeon_strerror(int error);

ODEON_INLINED_ const char *odeon_reason_name_(unsigned reason)
{
    switch (reason) {
    case ODEON_REASON_NONE:
        return "none";
    case ODEON_REASON_NO_SUCH_ACTOR:
        return "no-such-actor";
    case ODEON_REASON_NOT_ACCEPTED:
        return "not-accepted";
    case ODEON_REASON_BAD_SIZE:
        return "bad-size";
    case ODEON_REASON_QUEUE_FULL:
        return "queue-full";
    case ODEON_REASON_ATTEMPTS:
        return "attempts-exhausted";
    case ODEON_REASON_TYPE_NOT_LOADED:
        return "type-not-loaded";
    case ODEON_REASON_INIT_FAILED:
        return "init-failed";
    case ODEON_REASON_CLIENT_GONE:
        return "client-gone";
    case ODEON_REASON_BACKLOG_FULL:
        return "backlog-full";
    case ODEON_REASON_QUARANTINED:
        return "quarantined";
    case ODEON_REASON_USER_FULL:
        return "user-full";
    case ODEON_REASON_MEMORY_FULL:
        return "memory-full";
    case ODEON_REASON_SUSPECTED:
        return "suspected";
    case ODEON_REASON_USER_SLOW:
        return "user-slow";
    case ODEON_REASON_DEADLINE:
        return "deadline";
    case ODEON_REASON_FINISHED:
        return "finished";
    case ODEON_REASON_STOPPED:
        return "stopped";
    case ODEON_REASON_BEGUN_ANEW:
        return "begun-anew";
    case ODEON_REASON_NOT_RESUMED:
        return "not-resumed";
    case ODEON_REASON_TIMERS_FULL:
        return "timers-full";
    case ODEON_REASON_STASHED:
        return "stashed";
    case ODEON_REASON_NO_SUCH_MONITOR:
        return "no-such-monitor";
    default:
        return "unknown";
    }
}

/* Of errors that name something which a call was given; NULL: `error` is no such one. */
ODEON_INLINED_ const char *odeon_error_of_argument_(int error)
{
    switch (error) {
    case -EINVAL:
        return "an argument that cannot be";
    case -E2BIG:
        return "the arguments are too large";
    case -EMSGSIZE:
        return "the message, or the answer, is too large";
    case -ENAMETOOLONG:
        return "a name or a text is too long";
    case -ERANGE:
        return "a value is out of its bounds";
    case -ENOENT:
        return "there is no such thing";
    case -ESRCH:
        return "no actor has this reference";
    case -ENODEV:
        return "there is no such worker or memory node";
    case -EEXIST:
        return "the name is taken: it is there already";
    case -EALREADY:
        return "it is done already";
    case -EBADMSG:
        return "a type is known with another size or other fields";
    case -EACCES:
        return "not allowed: by the socket, a role, or the file";
    case -EPERM:
        return "not allowed here, or not to this actor";
    case -ENOTCONN:
        return "the message has no sender";
    case -ESTALE:
        return "the question has been answered, or is over";
    case -ELOOP:
        return "the message has been passed on too often";
    case -ENOTSUP: /* EOPNOTSUPP is the same number */
        return "not with this kind of port or actor";
    default:
        return NULL;
    }
}

/* Of errors that name a limit. */
ODEON_INLINED_ const char *odeon_error_of_limit_(int error)
{
    switch (error) {
    case -EAGAIN:
        return "the receiver's queue, a ring or a table is full: try again later";
    case -ENOBUFS:
        return "room that is set aside is full: the worker's outbox, or what a caller keeps";
    case -ENOSPC:
        return "a table is full: of actors, threads, types or settings";
    case -EDQUOT:
        return "a quota of the user is used up";
    case -EMFILE:
        return "too many descriptors here or there, or ports of this client";
    case -ENFILE:
        return "the service has as many ports or descriptors as it can";
    case -EUSERS:
        return "the service has as many clients as it can";
    case -EBUSY:
        return "it is in use, or as many requests wait as can";
    case -ETIMEDOUT:
        return "the time that was given is over";
    default:
        return NULL;
    }
}

/* Of errors that name the service, or the way to it. */
ODEON_INLINED_ const char *odeon_error_of_service_(int error)
{
    switch (error) {
    case -EIO:
        return "the service manager has lost what was to be kept: try again";
    case -EHOSTDOWN:
        return "the executor is down, or the actor's plugin is not loaded";
    case -ESHUTDOWN:
        return "the service is stopping";
    case -ECONNREFUSED:
        return "no service listens there";
    case -ECONNRESET:
        return "the connection was lost: whether the request was carried out is not known";
    case -EPIPE:
        return "the port, or the connection, is closed";
    case -ECONNABORTED:
        return "an administrator has turned this client out";
    case -ECANCELED:
        return "the helper was freed before it came to this";
    case -ECHILD:
        return "the client, or the port, is that of the parent of this process";
    case -EPROTO:
        return "the service speaks another protocol, or wrongly";
    case -ENOSYS:
        return "the service does not know this: it is of another version";
    default:
        return NULL;
    }
}

ODEON_INLINED_ const char *odeon_strerror_(int error)
{
    int negative = error > 0 ? -error : error;
    const char *text = odeon_error_of_argument_(negative);

    if (!text)
        text = odeon_error_of_limit_(negative);
    if (!text)
        text = odeon_error_of_service_(negative);
    if (text)
        return text;
    return negative < -4095 ? "unknown error" : strerror(-negative);
}

ODEON_INLINED_ const char *odeon_reason_name(unsigned reason)
{
    return odeon_reason_name_(reason);
}

ODEON_INLINED_ const char *odeon_strerror(int error)
{
    return odeon_strerror_(error);
}

#ifdef __cplusplus
}
#endif

#endif
