/* SPDX-License-Identifier: Apache-2.0 */
/* See start_actors.h. */
#include "daemon/supervisor/start_actors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/crash_point.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/seat.h"

static const struct actor_lines *start_actors_lines(const struct seat *seat)
{
    return &seat->service->config->actors;
}

static void start_actors_refuse(const struct actor_line *line, const char *why)
{
    log_event(LOG_LEVEL_ERROR, CATALOGUE_ACTOR_REFUSED,
              "actor = %s %s: the actor is not made: %s; the service goes on without it",
              line->type, line->name, why);
}

static void start_actors_on_answer(void *userdata, struct link_request *request,
                                   Odeon__Reply *reply)
{
    struct seat *seat = userdata;
    struct seat_actors *actors = &seat->actors;
    const struct actor_lines *lines = start_actors_lines(seat);
    size_t index = (uint32_t)request->tag;

    actors->asked = false;
    if (reply->error == -ECONNRESET || reply->error == -ESHUTDOWN) /* the next one is asked again */
        return;
    CRASH_POINT();
    if (request->tag >> 32 == actors->round && index < lines->n) {
        const struct actor_line *line = &lines->list[index];

        actors->pending[index] = false;
        if (reply->error < 0)
            start_actors_refuse(line, reply->text[0] ? reply->text : strerror(-reply->error));
        else
            log_info("the actor %s of type %s %s", line->name, line->type,
                     reply->body_case == ODEON__REPLY__BODY_REF && reply->ref->found ? "is there"
                                                                                     : "is made");
    }
    start_actors_go_on(seat);
}

/* NULL: no memory. */
static Odeon__Request *start_actors_make_request(const struct actor_line *line)
{
    Odeon__Request *request = malloc(sizeof(*request));
    Odeon__StartActor *body = malloc(sizeof(*body));

    if (!request || !body) {
        free(request);
        free(body);
        return NULL;
    }
    odeon__request__init(request);
    odeon__start_actor__init(body);
    request->id = 1;
    request->body_case = ODEON__REQUEST__BODY_START_ACTOR;
    request->start_actor = body;
    body->type = strdup(line->type);
    body->name = strdup(line->name);
    body->words = calloc(line->n_words + 1, sizeof(char *));
    for (size_t i = 0; body->words && i < line->n_words; i++) {
        body->words[i] = strdup(line->words[i]);
        if (!body->words[i])
            break;
        body->n_words++;
    }
    if (body->type && body->name && body->n_words == line->n_words)
        return request;
    odeon__request__free_unpacked(request, NULL);
    return NULL;
}

static int start_actors_ask(struct seat *seat, size_t index)
{
    Odeon__Request *request = start_actors_make_request(&start_actors_lines(seat)->list[index]);

    if (!request)
        return -ENOMEM;
    return executor_link_ask(&seat->executor,
                             &(struct link_ask){ .tag = (uint64_t)seat->actors.round << 32 | index,
                                                 .request = request,
                                                 .fd = -1,
                                                 .now = true,
                                                 .done = start_actors_on_answer });
}

static void start_actors_end(struct seat *seat)
{
    struct seat_actors *actors = &seat->actors;
    void (*done)(struct seat *) = actors->done;
    void (*made)(void *) = actors->made;

    actors->done = NULL;
    actors->made = NULL;
    if (done)
        done(seat);
    if (made)
        made(actors->userdata);
}

/* True: an answer is waited for, or another try. */
static bool start_actors_ask_next(struct seat *seat, size_t index)
{
    int r;

    CRASH_POINT();
    r = start_actors_ask(seat, index);
    seat->actors.asked = r == 0;
    if (r == -ENOMEM || channel_is_short(r))
        executor_link_try_later(&seat->executor, r);
    else if (r < 0 && r != -EPIPE && r != -ECONNRESET) {
        seat->actors.pending[index] = false;
        start_actors_refuse(&start_actors_lines(seat)->list[index], strerror(-r));
        return false;
    }
    return true;
}

void start_actors_go_on(struct seat *seat)
{
    struct seat_actors *actors = &seat->actors;
    const struct actor_lines *lines = start_actors_lines(seat);

    if (actors->asked || (!actors->done && seat->executor.state != LINK_READY))
        return;
    for (size_t i = 0; i < lines->n && !seat->stopping; i++)
        if (actors->pending[i] && start_actors_ask_next(seat, i))
            return;
    /* which there are is not known where the configuration could not be read */
    if (!seat->stopping && !seat->service->config->unread) {
        CRASH_POINT();
        persist_note_actors(seat->service->persist, true);
        CRASH_POINT();
    }
    start_actors_end(seat);
}

/* Another answer than of this round means nothing. */
static void start_actors_want_all(struct seat *seat)
{
    seat->actors.round++;
    for (size_t i = 0; i < ACTOR_LINES_MAX; i++)
        seat->actors.pending[i] = i < start_actors_lines(seat)->n;
}

void start_actors_begin(struct seat *seat, void (*done)(struct seat *seat))
{
    /* the first executor of this odeond, and no reload has come before it */
    if (seat->actors.round == 0) {
        if (persist_wants_actors(seat->service->persist))
            start_actors_want_all(seat);
        seat->actors.round++;
    }
    seat->actors.done = done;
    start_actors_go_on(seat);
}

static bool start_actors_same_line(const struct actor_line *a, const struct actor_line *b)
{
    bool same = strcmp(a->type, b->type) == 0 && a->n_words == b->n_words;

    for (size_t i = 0; same && i < a->n_words; i++)
        same = strcmp(a->words[i], b->words[i]) == 0;
    return same;
}

void start_actors_reload(struct seat *seat, const struct actor_lines *former,
                         void (*made)(void *userdata), void *userdata)
{
    for (size_t i = 0; i < former->n; i++) {
        const struct actor_line *old = &former->list[i],
                                *new = actor_lines_find(start_actors_lines(seat), old->name);

        if (!new)
            log_warning("reload: the actor %s is no longer configured; if it lives it goes on: "
                        "odeonctl actor stop %s ends it",
                        old->name, old->name);
        else if (!start_actors_same_line(old, new))
            log_warning("reload: the actor %s is configured otherwise; if it lives it stays as it "
                        "is",
                        old->name);
    }
    start_actors_want_all(seat);
    persist_note_actors(seat->service->persist, false);
    seat->actors.made = made;
    seat->actors.userdata = userdata;
    start_actors_go_on(seat);
}

void start_actors_on_exited(struct seat *seat)
{
    seat->actors.done = NULL;
}
