/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/config_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/supervisor/options.h"
#include "daemon/supervisor/side_thread.h"

struct config_reading {
    struct options options; /* its own: the process's may go before the thread */
    int write_end;
    struct config config;        /* the thread's, until it hands it over */
    int result;                  /* likewise */
    char text[OPTIONS_TEXT_MAX]; /* likewise */
};

static struct {
    uv_loop_t *loop; /* NULL: nothing is read */
    uv_poll_t poll;
    uv_timer_t limit;
    int read_end, write_end;
    struct config_reading *reading; /* under way */
    config_reader_done done;        /* NULL: who asked for it has been told */
    void *userdata;
} config_reader = { .read_end = -1, .write_end = -1 };

/* ---- the thread */

static void *config_reader_main(void *argument)
{
    struct config_reading *reading = argument;
    ssize_t n;

    (void)pthread_setname_np(pthread_self(), "config-read");
    reading->result = config_load(&reading->config, &reading->options, reading->text);
    do /* config_reader.CR1; it has room for one */
        n = write(reading->write_end, &reading, sizeof(reading));
    while (n < 0 && errno == EINTR);
    return NULL;
}

/* ---- the loop */

static void config_reader_tell(struct config *config, int result, const char *text)
{
    config_reader_done done = config_reader.done;

    check("config_reader.CR2", done != NULL);
    config_reader.done = NULL;
    uv_timer_stop(&config_reader.limit);
    done(config_reader.userdata, config, result, text);
}

/* NULL: no memory. The strings are not copied. */
static struct config *config_reader_take(struct config_reading *reading)
{
    struct config *config = malloc(sizeof(*config));

    if (!config)
        return NULL;
    *config = reading->config;
    reading->config = (struct config){ 0 };
    return config;
}

static void config_reader_free(struct config_reading *reading)
{
    free(reading->options.config_path);
    free(reading);
}

/* Its arguments are main()'s, and stay. */
static struct config_reading *config_reader_make(const struct options *options)
{
    struct config_reading *reading = calloc(1, sizeof(*reading));

    if (!reading)
        return NULL;
    reading->write_end = config_reader.write_end;
    reading->options = *options;
    reading->options.config_path = strdup(options->config_path);
    if (reading->options.config_path)
        return reading;
    free(reading);
    return NULL;
}

static void config_reader_end(struct config_reading *reading)
{
    struct config *config = NULL;

    check("config_reader.CR1", reading == config_reader.reading);
    config_reader.reading = NULL;
    if (config_reader.done && reading->result == 0) {
        config = config_reader_take(reading);
        reading->result = config ? 0 : -ENOMEM;
    }
    config_fini(&reading->config);
    if (config_reader.done)
        config_reader_tell(config, reading->result, reading->text);
    config_reader_free(reading);
}

static void config_reader_on_end(uv_poll_t *poll, int status, int events)
{
    struct config_reading *reading;

    (void)poll;
    (void)status;
    (void)events;
    if (read(config_reader.read_end, &reading, sizeof(reading)) == (ssize_t)sizeof(reading))
        config_reader_end(reading);
}

static void config_reader_on_limit(uv_timer_t *timer)
{
    char text[OPTIONS_TEXT_MAX];

    (void)timer;
    snprintf(text, sizeof(text),
             "it could not be read within %d s: the file system of %.200s does not answer, or who "
             "is asked for the users and groups in it",
             CONFIG_READ_LIMIT_S, config_reader.reading->options.config_path);
    config_reader_tell(NULL, -ETIMEDOUT, text);
}

int config_reader_ask(const struct options *options, config_reader_done done, void *userdata,
                      char *text)
{
    struct config_reading *reading;
    int r;

    text[0] = '\0';
    if (!config_reader.loop) {
        snprintf(text, OPTIONS_TEXT_MAX, "the service has no pipe to read it by, or is stopping");
        return -ESHUTDOWN;
    }
    if (config_reader.reading) { /* config_reader.CR3 */
        snprintf(text, OPTIONS_TEXT_MAX, "an earlier reading of it has not ended so far");
        return -EBUSY;
    }
    reading = config_reader_make(options);
    if (!reading)
        return -ENOMEM;
    r = side_thread_make(config_reader_main, reading);
    if (r < 0) {
        config_reader_free(reading);
        return r;
    }
    config_reader.reading = reading;
    config_reader.done = done;
    config_reader.userdata = userdata;
    return uv_timer_start(&config_reader.limit, config_reader_on_limit,
                          CONFIG_READ_LIMIT_S * UINT64_C(1000), 0);
}

/* ---- life */

static int config_reader_watch(uv_loop_t *loop, int read_end)
{
    if (fcntl(read_end, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    return uv_poll_init(loop, &config_reader.poll, read_end);
}

int config_reader_start(uv_loop_t *loop)
{
    int ends[2], r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    r = config_reader_watch(loop, ends[0]);
    if (r < 0) {
        close(ends[0]);
        close(ends[1]);
        return r;
    }
    config_reader.read_end = ends[0];
    config_reader.write_end = ends[1];
    config_reader.loop = loop;
    uv_timer_init(loop, &config_reader.limit);
    return uv_poll_start(&config_reader.poll, UV_READABLE, config_reader_on_end);
}

void config_reader_stop(void)
{
    if (!config_reader.loop)
        return;
    config_reader.loop = NULL;
    config_reader_on_end(&config_reader.poll, 0, 0);
    if (config_reader.done)
        config_reader_tell(NULL, -ESHUTDOWN, "the service is stopping");
    uv_close((uv_handle_t *)&config_reader.poll, NULL);
    uv_close((uv_handle_t *)&config_reader.limit, NULL);
    close(config_reader.read_end);
    config_reader.read_end = -1;
    if (!config_reader.reading)
        close(config_reader.write_end);
}
