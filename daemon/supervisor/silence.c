/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/silence.h"

#include <stdio.h>

#include "daemon/supervisor/client.h"
#include "daemon/supervisor/configuration.h"

/* Looks within the time that is allowed; one a second where any is, for a reload may bring a
 * limit. */
enum { LOOKS = 4, LOOK_MS_MIN = 10, LOOK_MS_WITHOUT = 1000 };

static bool silence_is_kept_by(const struct client *client)
{
    return client->channel && !client->said_hello;
}

/* One that is not read from may have said it long ago: its time begins when it is (client.K6,
 * client.K7). */
static bool silence_is_over(const struct client *client, uint64_t now_ns, uint64_t limit_ns)
{
    return silence_is_kept_by(client) && !client->throttled &&
           now_ns - client->listened_ns >= limit_ns;
}

static void silence_end(struct client *client, uint64_t limit_ms)
{
    char why[80];

    snprintf(why, sizeof(why), "it has not said hello within %llu ms (hello-ms)",
             (unsigned long long)limit_ms);
    client_part(client, CLIENT_PART_SILENT, why);
}

static void silence_on_timer(uv_timer_t *timer)
{
    struct silence *silence = timer->data;
    uint64_t limit_ms = silence->clients->world.config->quotas.hello_ms, now = uv_hrtime();
    struct client *next;

    for (struct client *client = silence->clients->first; client && limit_ms > 0; client = next) {
        next = client->next;
        if (silence_is_over(client, now, limit_ms * 1000000))
            silence_end(client, limit_ms);
    }
    silence_watch(silence);
}

void silence_start(struct silence *silence, uv_loop_t *loop, struct clients *clients)
{
    silence->clients = clients;
    uv_timer_init(loop, &silence->timer);
    silence->timer.data = silence;
}

void silence_watch(struct silence *silence)
{
    const struct client *client = silence->clients ? silence->clients->first : NULL;
    uint64_t limit_ms, look_ms;

    while (client && !silence_is_kept_by(client))
        client = client->next;
    if (!client || uv_is_active((uv_handle_t *)&silence->timer))
        return;
    limit_ms = silence->clients->world.config->quotas.hello_ms;
    look_ms = limit_ms > 0 ? limit_ms / LOOKS : LOOK_MS_WITHOUT;
    (void)uv_timer_start(&silence->timer, silence_on_timer,
                         look_ms > LOOK_MS_MIN ? look_ms : LOOK_MS_MIN, 0);
}
