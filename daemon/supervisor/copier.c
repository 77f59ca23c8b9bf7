/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/copier.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"
#include "daemon/common/share.h"
#include "daemon/supervisor/closer.h"
#include "daemon/supervisor/plugin_store.h"
#include "daemon/supervisor/side_thread.h"

enum { LOOK_MS = 1000 };

struct copy_job {
    struct copy_job *next;      /* the loop's */
    struct copier_asker *asker; /* the loop's; NULL: it has been told */
    uint64_t deadline_ns;       /* the loop's */
    uid_t uid;
    int fd, write_end;          /* `fd` -1: by the path */
    int result;                 /* the thread's, until it hands the job over */
    char text[PLUGIN_TEXT_MAX]; /* likewise */
    char path[];
};

static struct {
    uv_loop_t *loop; /* NULL: nothing is copied */
    uv_poll_t poll;
    uv_timer_t look;         /* runs while somebody waits */
    int read_end, write_end; /* the latter stays open: threads write to it whenever they end */
    struct copy_job *jobs;
    unsigned n;
} copier = { .read_end = -1, .write_end = -1 };

/* ---- the thread */

static void *copier_main(void *argument)
{
    struct copy_job *job = argument;
    int write_end = job->write_end;
    ssize_t n;

    (void)pthread_setname_np(pthread_self(), "plugin-copy");
    job->result = plugin_copy(job->path, job->fd, job->text);
    do /* copier.F1; it has room for all */
        n = write(write_end, &job, sizeof(job));
    while (n < 0 && errno == EINTR);
    return NULL;
}

/* ---- the loop */

/* copier.F2 */
static void copier_tell(struct copy_job *job, int copy, const char *text)
{
    struct copier_asker *asker = job->asker;

    check("copier.F2", asker != NULL);
    job->asker = NULL;
    asker->done(asker, copy, text);
}

static void copier_take_out(struct copy_job *job)
{
    struct copy_job **at = &copier.jobs;

    while (*at && *at != job)
        at = &(*at)->next;
    check("copier.F1", *at == job && copier.n > 0);
    *at = job->next;
    copier.n--;
}

static void copier_end(struct copy_job *job)
{
    copier_take_out(job);
    if (job->asker)
        copier_tell(job, job->result, job->text);
    else if (job->result >= 0)
        close(job->result);
    if (job->fd >= 0)
        closer_close(job->fd);
    free(job);
}

static void copier_on_end(uv_poll_t *poll, int status, int events)
{
    struct copy_job *job;

    (void)poll;
    (void)status;
    (void)events;
    while (copier.read_end >= 0 && read(copier.read_end, &job, sizeof(job)) == (ssize_t)sizeof(job))
        copier_end(job);
}

static void copier_watch(void);

static void copier_on_look(uv_timer_t *timer)
{
    uint64_t now = uv_hrtime();
    struct copy_job *next;

    (void)timer;
    for (struct copy_job *job = copier.jobs; job; job = next) {
        char text[PLUGIN_TEXT_MAX];

        next = job->next;
        if (!job->asker || now < job->deadline_ns)
            continue;
        snprintf(text, sizeof(text),
                 "plugin %.300s could not be read within %d s: its file system does not answer",
                 job->path[0] ? job->path : "(descriptor)", COPY_LIMIT_S);
        log_warning("%s; its place among %d is taken until it does", text, COPIES_MAX);
        copier_tell(job, -ETIMEDOUT, text);
    }
    copier_watch();
}

static void copier_watch(void)
{
    const struct copy_job *job = copier.jobs;

    while (job && !job->asker)
        job = job->next;
    if (job && copier.loop)
        uv_timer_start(&copier.look, copier_on_look, LOOK_MS, 0);
}

/* copier.F3 */
static int copier_find_place(uid_t uid, bool bound, char *text)
{
    unsigned own = 0;

    for (const struct copy_job *job = copier.jobs; job; job = job->next)
        own += job->uid == uid;
    if (copier.n < COPIES_MAX && (!bound || share_room(COPIES_MAX, copier.n - own, own, 1) > 0))
        return 0;
    snprintf(
        text, PLUGIN_TEXT_MAX,
        "%u files of plugins are being read, %u of them for user %u; the service reads %d at a "
        "time, and for one user half of what others leave; try again later",
        copier.n, own, uid, COPIES_MAX);
    return -EBUSY;
}

static struct copy_job *copier_make_job(const char *path, uid_t uid)
{
    size_t size = strlen(path) + 1;
    struct copy_job *job = malloc(sizeof(*job) + size);

    if (!job)
        return NULL;
    *job = (struct copy_job){ .uid = uid,
                              .fd = -1,
                              .write_end = copier.write_end,
                              .deadline_ns = uv_hrtime() + COPY_LIMIT_S * UINT64_C(1000000000) };
    memcpy(job->path, path, size);
    return job;
}

int copier_ask(const char *path, int fd, uid_t uid, bool bound, struct copier_asker *asker,
               char *text)
{
    struct copy_job *job;
    int r;

    if (!copier.loop) {
        snprintf(text, PLUGIN_TEXT_MAX, "the service is stopping");
        return -ESHUTDOWN;
    }
    r = copier_find_place(uid, bound, text);
    if (r < 0)
        return r;
    snprintf(text, PLUGIN_TEXT_MAX, "the service has no memory, descriptor or thread to read it");
    job = copier_make_job(path, uid);
    if (!job)
        return -ENOMEM;
    job->fd = fd;
    job->asker = asker;
    job->next = copier.jobs;
    copier.jobs = job;
    copier.n++;
    r = side_thread_make(copier_main, job);
    if (r < 0) {
        copier_take_out(job);
        free(job);
        return r;
    }
    copier_watch();
    return 0;
}

/* ---- life */

int copier_start(uv_loop_t *loop)
{
    int ends[2], r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    r = fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno
                                                : uv_poll_init(loop, &copier.poll, ends[0]);
    if (r < 0) {
        close(ends[0]);
        close(ends[1]);
        return r;
    }
    copier.read_end = ends[0];
    copier.write_end = ends[1];
    copier.loop = loop;
    uv_timer_init(loop, &copier.look);
    return uv_poll_start(&copier.poll, UV_READABLE, copier_on_end);
}

void copier_stop(void)
{
    if (!copier.loop)
        return;
    copier.loop = NULL;
    copier_on_end(&copier.poll, 0, 0);
    for (struct copy_job *job = copier.jobs; job; job = job->next)
        if (job->asker)
            copier_tell(job, -ESHUTDOWN, "the service is stopping");
    uv_close((uv_handle_t *)&copier.poll, NULL);
    uv_close((uv_handle_t *)&copier.look, NULL);
    close(copier.read_end);
    copier.read_end = -1;
    if (copier.n == 0)
        close(copier.write_end);
}
