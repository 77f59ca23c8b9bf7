/* SPDX-License-Identifier: Apache-2.0 */
/* A run from end to end, and what all commands share: connecting, failing, references (ctl.h). */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *ctl_socket_path(const struct ctl *ctl)
{
    const char *path = ctl->option[OPTION_SOCKET];

    if (!path)
        path = getenv("ODEON_SOCKET");
    return path && *path ? path : ODEON_SOCKET_DEFAULT;
}

/* ctl.C2: texts may repeat what a client or a plugin has called itself. */
static void ctl_print_error(struct ctl *ctl, const char *text)
{
    fputs("odeonctl: ", ctl->err);
    printable_put(ctl->err, text, true);
    if (!*text || text[strlen(text) - 1] != '\n')
        fputc('\n', ctl->err);
}

int ctl_fail(struct ctl *ctl, enum ctl_exit code, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    ctl_print_error(ctl, text ? text : "no memory for an error text");
    free(text);
    return (int)code;
}

enum ctl_exit ctl_exit_of(int error)
{
    switch (-error) {
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case ENOTCONN:
    case EPIPE:
    case ESHUTDOWN: /* the service is stopping */
        return CTL_UNREACHABLE;
    case EPROTO:
    case ENOSYS: /* a request that the service does not know */
        return CTL_VERSION;
    default:
        return CTL_REFUSED;
    }
}

/* What a person can do when the service's own text does not say. */
static const char *ctl_hint(int error)
{
    switch (-error) {
    case EACCES:
    case EPERM:
        return "Run it as the user of the service, or as root";
    case EPROTO:
    case ENOSYS:
        return "Use the odeonctl that belongs to the running service";
    case ENOMEM:
        return "Free memory and try again";
    case ECONNRESET: /* the answer is lost: of a replay, a spawn, the second one is one too many */
    case ECONNABORTED:
        return "It may have been done: see what there is, and the journal of odeond, before you "
               "try again";
    case ENOTCONN:
    case EPIPE:
    case ESHUTDOWN:
        return "See the journal of odeond, then try again";
    default:
        return NULL;
    }
}

int ctl_refuse(struct ctl *ctl, int error, const char *format, ...)
{
    const char *why = odeon_error_text(), *hint;
    char *what = NULL;
    va_list args;
    size_t n;

    va_start(args, format);
    if (vasprintf(&what, format, args) < 0)
        what = NULL;
    va_end(args);
    if (!why || !*why)
        why = odeon_strerror(error);
    hint = strstr(why, ". ") ? NULL : ctl_hint(error); /* a second sentence says what to do */
    n = strlen(why);
    while (n && (why[n - 1] == '.' || why[n - 1] == '\n'))
        n--;
    ctl_fail(ctl, ctl_exit_of(error), "%s: %.*s%s%s", what ? what : "the request", (int)n, why,
             hint ? ". " : "", hint ? hint : "");
    free(what);
    return (int)ctl_exit_of(error);
}

int ctl_refuse_unknown(struct ctl *ctl, int error, const char *what, const char *kind,
                       const char *name, ctl_nearest_fn nearest)
{
    char *why, *near;
    int code;

    if (error != -ENOENT)
        return ctl_refuse(ctl, error, "%s", what);
    why = strdup(odeon_error_text()); /* the next call replaces the text */
    near = nearest(ctl, name);
    if (near)
        code = ctl_fail(ctl, CTL_REFUSED, "%s: there is no %s '%s'. Did you mean %s?", what, kind,
                        name, near);
    else
        code = ctl_fail(ctl, CTL_REFUSED, "%s: %s", what,
                        why && *why ? why : "nobody knows what has this name");
    free(near);
    free(why);
    return code;
}

int ctl_connect(struct ctl *ctl)
{
    const char *path = ctl_socket_path(ctl);
    int r;

    if (ctl->client)
        return 0;
    r = odeon_client_connect(path, "odeonctl", &ctl->client);
    switch (-r) {
    case 0:
        return odeon_client_set_patience(ctl->client,
                                         0); /* a person at a terminal is told at once */
    case ENOENT:
        return ctl_fail(ctl, CTL_UNREACHABLE,
                        "cannot reach the service: there is no socket %s. Start odeond, or name "
                        "its socket with --socket",
                        path);
    case ECONNREFUSED:
        return ctl_fail(ctl, CTL_UNREACHABLE,
                        "cannot reach the service: nobody listens at %s. Start odeond, or name its "
                        "socket with --socket",
                        path);
    case EACCES:
    case EPERM:
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot reach the service: you may not use %s. Run odeonctl as the user of "
                        "the service, or as root",
                        path);
    case EPROTO:
        return ctl_refuse(ctl, r, "cannot talk to the service at %s", path);
    case ENOTDIR:
    case ENOTSOCK:
    case EPROTOTYPE:
    case ENAMETOOLONG:
        (void)ctl_refuse(ctl, r, "cannot reach the service: %s is not a control socket", path);
        return CTL_UNREACHABLE;
    default:
        (void)ctl_refuse(ctl, r, "cannot reach the service at %s", path);
        return CTL_UNREACHABLE;
    }
}

int ctl_ref_refuse(struct ctl *ctl, const char *text)
{
    const char *what = strcmp(ctl->command->noun, "group") == 0 ? "group" : "actor";

    if (!*text)
        return ctl_fail(ctl, CTL_USAGE,
                        "'' names nobody. Write a reference, or a name that odeonctl %s list shows",
                        what);
    return ctl_fail(ctl, CTL_REFUSED,
                    "%s: no %s has this name. See odeonctl %s list; a reference is written "
                    "EXECUTOR.SLOT.GENERATION",
                    text, what, what);
}

int ctl_ref_find(struct ctl *ctl, const char *text, odeon_ref *ret_ref)
{
    int r;

    if (!*text)
        return ctl_ref_refuse(ctl, text);
    if (odeon_ref_parse(text, ret_ref) == 0) {
        if (odeon_ref_generation(*ret_ref))
            return 0;
        return ctl_fail(ctl, CTL_USAGE,
                        "%s: generations begin at 1, so nobody can have this reference. See "
                        "odeonctl actor list",
                        text);
    }
    r = odeon_actor_find(ctl->client, text, ret_ref);
    if (r == -ENOENT)
        return ctl_ref_refuse(ctl, text);
    return r < 0 ? ctl_refuse(ctl, r, "cannot look up '%s'", text) : 0;
}

int ctl_of_find(struct ctl *ctl, char text[ODEON_REF_TEXT], const char **ret_filter)
{
    odeon_ref ref;
    int code = 0;

    *ret_filter = NULL;
    if (!ctl->option[OPTION_OF])
        return 0;
    code = ctl_connect(ctl);
    if (!code)
        code = ctl_ref_find(ctl, ctl->option[OPTION_OF], &ref);
    if (code)
        return code;
    odeon_ref_format(ref, text);
    *ret_filter = text;
    return 0;
}

bool ctl_flush(struct ctl *ctl)
{
    if (fflush(ctl->out) != EOF)
        return true;
    if (!ctl->lost)
        ctl->lost = errno;
    return false;
}

int ctl_run(int argc, char **argv, FILE *out, FILE *err, bool terminal)
{
    struct ctl ctl = { .out = out, .err = err, .terminal = terminal, .limit = UINT64_MAX };
    bool finished;
    char **words;
    int code;

    words = calloc((size_t)(argc > 0 ? argc : 1), sizeof(*words));
    if (!words)
        return ctl_fail(&ctl, CTL_REFUSED, "cannot begin: no memory. Free memory and try again");
    ctl.words = words;
    code = command_parse(&ctl, argc, argv, &finished);
    if (!code && !finished)
        code = ctl.command->run(&ctl);
    ctl.client = odeon_client_disconnect(ctl.client);
    free(words);
    if (!ctl_flush(&ctl) || ferror(out)) {
        int lost = ctl_fail(&ctl, CTL_REFUSED,
                            "cannot write the output: %s. See that its end is open and has room",
                            ctl.lost ? strerror(ctl.lost) : "a part of it is lost");

        code = code ? code : lost;
    }
    return code;
}

int ctl_main(int argc, char **argv)
{
    return ctl_run(argc, argv, stdout, stderr, isatty(STDOUT_FILENO) == 1);
}
