/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that makes calls which block, for a program whose own must not; <odeon/helper.h>.
 *
 * Threads: the helper's own, and any. `mutex` is held for a look at the lists alone, never while
 * something is done.
 *
 * helper.H1  An errand is in one of the lists, or under way in the helper's thread; it goes from
 *     `waiting` to `ended` in order, so `done` is called once for each, and in the order of asking.
 * helper.H2  The descriptor is readable while `ended` has an errand: it is written to under the
 *     mutex when one comes, and emptied under it when all are taken.
 * helper.H3  Once `ending` is set no errand comes any more: nobody would do it, and who is told of
 *     the last one may always ask for another.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <odeon/helper.h>

#include "client-lib/src/connect.h"
#include "client-lib/src/error.h"
#include "client-lib/src/wire.h"

enum { HELPER_ERRANDS_MAX = 1024, HELPER_TEXT_BYTES = 2048 };

struct helper_errand {
    STAILQ_ENTRY(helper_errand) link;
    odeon_helper_work *work;
    odeon_helper_done *done;
    void *userdata;
    int result;
    char *text; /* NULL: none, or no memory for it */
};
STAILQ_HEAD(helper_list, helper_errand);

struct odeon_helper {
    pid_t pid;
    int event;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t asked;
    struct helper_list waiting, ended;
    unsigned n_errands; /* asked for, and not told of */
    bool ending;
};

static int helper_check(const struct odeon_helper *helper)
{
    if (!helper)
        return error_set_literal(-EINVAL, "no helper was given");
    if (helper->pid != getpid())
        return error_set_literal(-ECHILD, "the helper's thread is in the process of which this one "
                                          "is a fork: make a helper here");
    return 0;
}

/* helper.H2 */
static void helper_tell(const struct odeon_helper *helper)
{
    const uint64_t one = 1;

    (void)!write(helper->event, &one, sizeof(one));
}

static void helper_do(struct helper_errand *errand)
{
    errand->result = errand->work(errand->userdata);
    if (errand->result < 0)
        errand->text = strdup(odeon_error_text());
}

static void *helper_main(void *argument)
{
    struct odeon_helper *helper = argument;

    pthread_mutex_lock(&helper->mutex);
    while (!helper->ending) {
        struct helper_errand *errand = STAILQ_FIRST(&helper->waiting);

        if (!errand) {
            pthread_cond_wait(&helper->asked, &helper->mutex);
            continue;
        }
        STAILQ_REMOVE_HEAD(&helper->waiting, link);
        pthread_mutex_unlock(&helper->mutex);
        helper_do(errand);
        pthread_mutex_lock(&helper->mutex);
        STAILQ_INSERT_TAIL(&helper->ended, errand, link);
        helper_tell(helper);
    }
    pthread_mutex_unlock(&helper->mutex);
    return NULL;
}

/* With all signals blocked: they are the program's. */
static int helper_begin(struct odeon_helper *helper)
{
    sigset_t all, former;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    error = pthread_create(&helper->thread, NULL, helper_main, helper);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (error == 0)
        pthread_setname_np(helper->thread, "odeon-helper");
    return -error;
}

int odeon_helper_new(struct odeon_helper **ret_helper)
{
    struct odeon_helper *helper;
    int error;

    if (!ret_helper)
        return error_set_literal(-EINVAL, "odeon_helper_new: no place for the helper");
    *ret_helper = NULL;
    helper = calloc(1, sizeof(*helper));
    if (!helper)
        return error_set_literal(-ENOMEM, "odeon_helper_new: no memory");
    helper->pid = getpid();
    STAILQ_INIT(&helper->waiting);
    STAILQ_INIT(&helper->ended);
    pthread_mutex_init(&helper->mutex, NULL);
    pthread_cond_init(&helper->asked, NULL);
    helper->event = wire_lift_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    error = helper->event < 0 ? -errno : helper_begin(helper);
    if (error == 0) {
        *ret_helper = helper;
        return 0;
    }
    if (helper->event >= 0)
        close(helper->event);
    free(helper);
    return error_set(error, "odeon_helper_new: no descriptor or no thread: %s",
                     error_describe(error));
}

/* What has ended, all of it. */
static void helper_take_ended(struct odeon_helper *helper, struct helper_list *ret)
{
    struct helper_errand *errand;
    uint64_t count;

    STAILQ_INIT(ret);
    pthread_mutex_lock(&helper->mutex);
    STAILQ_CONCAT(ret, &helper->ended);
    STAILQ_FOREACH(errand, ret, link)
    helper->n_errands--;
    (void)!syscall(SYS_read, helper->event, &count, sizeof(count)); /* connect.C6 */
    pthread_mutex_unlock(&helper->mutex);
}

static int helper_tell_all(struct helper_list *list, bool call)
{
    struct helper_errand *errand;
    int n = 0;

    while ((errand = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        if (call && errand->done)
            errand->done(errand->userdata, errand->result, errand->text ? errand->text : "");
        free(errand->text);
        free(errand);
        n++;
    }
    return n;
}

int odeon_helper_dispatch(struct odeon_helper *helper)
{
    struct helper_list list;
    int result = helper_check(helper);

    if (result < 0)
        return result;
    helper_take_ended(helper, &list);
    return helper_tell_all(&list, true);
}

int odeon_helper_call(struct odeon_helper *helper, odeon_helper_work *work, odeon_helper_done *done,
                      void *userdata)
{
    struct helper_errand *errand;
    int result = helper_check(helper);

    if (result < 0)
        return result;
    if (!work)
        return error_set_literal(-EINVAL, "odeon_helper_call: there is nothing to do");
    errand = calloc(1, sizeof(*errand));
    if (!errand)
        return error_set_literal(-ENOMEM, "odeon_helper_call: no memory");
    *errand = (struct helper_errand){ .work = work, .done = done, .userdata = userdata };
    pthread_mutex_lock(&helper->mutex);
    if (helper->ending) {
        result = -ECANCELED;
    } else if (helper->n_errands < HELPER_ERRANDS_MAX) {
        STAILQ_INSERT_TAIL(&helper->waiting, errand, link);
        helper->n_errands++;
        pthread_cond_signal(&helper->asked);
    } else {
        result = -EBUSY;
    }
    pthread_mutex_unlock(&helper->mutex);
    if (result == 0)
        return 0;
    free(errand);
    if (result == -ECANCELED)
        return error_set_literal(result, "odeon_helper_call: the helper is being freed");
    return error_set(result, "odeon_helper_call: %d calls wait already, the most",
                     HELPER_ERRANDS_MAX);
}

int odeon_helper_fd(const struct odeon_helper *helper)
{
    int result = helper_check(helper);

    return result < 0 ? result : helper->event;
}

static void helper_end(struct odeon_helper *helper)
{
    struct helper_errand *errand;

    pthread_mutex_lock(&helper->mutex);
    helper->ending = true;
    pthread_cond_signal(&helper->asked);
    pthread_mutex_unlock(&helper->mutex);
    pthread_join(helper->thread, NULL);
    STAILQ_FOREACH(errand, &helper->waiting, link)
    {
        errand->result = -ECANCELED;
        errand->text = strdup("the helper was freed before this was begun");
    }
}

struct odeon_helper *odeon_helper_free(struct odeon_helper *helper)
{
    WITHOUT_CANCELLATION;
    bool here;

    if (!helper)
        return NULL;
    here = helper->pid == getpid(); /* in a forked child there is no thread, and no lock is asked */
    if (here)
        helper_end(helper);
    (void)helper_tell_all(&helper->ended, here);
    (void)helper_tell_all(&helper->waiting, here);
    close(helper->event);
    if (here) { /* the child's copies count a thread that waits, which is not there to leave */
        pthread_cond_destroy(&helper->asked);
        pthread_mutex_destroy(&helper->mutex);
    }
    free(helper);
    return NULL;
}
