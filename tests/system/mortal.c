/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/system/mortal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

pid_t mortal_begin(const struct service *service, odeon_ref *ret_ref)
{
    int pipe_fd[2];
    pid_t pid;

    assert_int_equal(pipe(pipe_fd), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct odeon_client *own = NULL;
        struct odeon_port *its = NULL;
        odeon_ref ref;

        close(pipe_fd[0]);
        if (odeon_client_connect(service->socket, "mortal", &own) < 0 ||
            odeon_port_open(own, NULL, &its) < 0)
            _exit(1);
        ref = odeon_port_ref(its);
        if (write(pipe_fd[1], &ref, sizeof(ref)) != sizeof(ref))
            _exit(1);
        for (;;)
            pause();
    }
    close(pipe_fd[1]);
    assert_int_equal(read(pipe_fd[0], ret_ref, sizeof(*ret_ref)), sizeof(*ret_ref));
    close(pipe_fd[0]);
    return pid;
}
