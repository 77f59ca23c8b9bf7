/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/side_thread.h"

#include <pthread.h>
#include <signal.h>

enum { STACK_BYTES = 256 * 1024 };

int side_thread_make(void *(*run)(void *argument), void *argument)
{
    sigset_t all, before;
    pthread_attr_t how;
    pthread_t thread;
    int r = pthread_attr_init(&how);

    if (r != 0)
        return -r;
    sigfillset(&all);
    (void)pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&how, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&thread, &how, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&how);
    return -r;
}
