/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: once, odeond finds no room for another descriptor of a plugin's file. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_plugin(int fd)
{
    char link[64], name[128];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, name, sizeof(name) - 1);
    name[n > 0 ? n : 0] = '\0';
    return strstr(name, "memfd:odeon-file") != NULL;
}

int fcntl(int fd, int command, ...)
{
    static int (*real)(int, int, ...);
    static bool failed;
    va_list arguments;
    void *argument;

    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    if (!real)
        real = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
    if (command == F_DUPFD_CLOEXEC && !failed &&
        strcmp(program_invocation_short_name, "odeond") == 0 && is_plugin(fd)) {
        failed = true;
        errno = ENFILE;
        return -1;
    }
    return real(fd, command, argument);
}
