/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the soak, for one of its lives: asks the actors what of its last life has arrived,
 * then posts transfers and hops and checks what comes back, until it is killed, or the run ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/history/history.h"
#include "tests/soak/soak.h"

enum { WINDOW = 192, BATCH = 16, RING_BYTES = 1 << 16 };

struct life {
    struct soak_shared *shared;
    struct soak_book *book;
    unsigned index;
    uint64_t seed;
    struct odeon_client *client;
    struct odeon_port *port;
    uint32_t transfer, receipt, hop, ask;
    struct history *history;        /* of the hops of this life */
    uint64_t base[BANK_LANES_EACH]; /* what the recorder had seen before */
    uint64_t under_way;             /* receipts and hops that are to come */
    /* transfer that the account has given a receipt for */
    uint32_t last[BANK_ACCOUNTS][BANK_TELLERS_EACH];
};

static bool __attribute__((format(printf, 2, 3))) wrong(struct life *l, const char *format, ...)
{
    va_list args;
    if (!l->book->wrong[0]) {
        va_start(args, format);
        vsnprintf(l->book->wrong, sizeof(l->book->wrong), format, args);
        va_end(args);
    }
    atomic_store(&l->shared->broken, true);
    return false;
}

/* Calls again what fails because nobody serves at the moment. */
#define TRY(what_, call_)                                                                          \
    __extension__({                                                                                \
        int64_t try_end_ = time_ns() + SECONDS(PATIENCE_S);                                        \
        int try_r_;                                                                                \
        while ((try_r_ = (call_)) < 0 && time_ns() < try_end_ && !atomic_load(&l->shared->broken)) \
            pause_briefly();                                                                       \
        if (try_r_ < 0)                                                                            \
            wrong(l, "%s: %s", what_, odeon_error_text());                                         \
        try_r_ >= 0;                                                                               \
    })

/* ---- what has arrived ---- */

/* The port of the life before is gone, and with it all that it had published has gone on. */
static bool wait_for_the_end_of(struct life *l, odeon_ref port)
{
    struct odeon_actor_detail *detail = NULL;
    int64_t end = time_ns() + SECONDS(PATIENCE_S);
    while (port != ODEON_NOBODY) {
        int r = odeon_actor_show(l->client, port, NULL, &detail);
        if (r == -ENOENT)
            break;
        if (r == 0)
            odeon_result_free(detail);
        if (time_ns() > end)
            return wrong(l, "the port of the life before does not end: %s",
                         r == 0 ? "it is still there" : odeon_error_text());
        pause_briefly();
    }
    return true;
}

/* `last` has arrived: all that was accepted, and of what was begun any part from the front. */
static bool settle(struct life *l, struct soak_track *track, const char *what, unsigned nth,
                   uint64_t last)
{
    uint64_t sent = atomic_load(&track->sent), begun = atomic_load(&track->begun);
    if (last < sent || last > begun)
        return wrong(l,
                     "%s %u: %" PRIu64 " has arrived last, %" PRIu64 " were accepted, %" PRIu64
                     " begun: %s",
                     what, nth, last, sent, begun, last < sent ? "lost" : "doubled");
    atomic_fetch_add(&l->book->was_there, last - sent);
    atomic_fetch_add(&l->book->was_not, begun - last);
    atomic_store(&track->sent, last);
    atomic_store(&track->begun, last);
    return true;
}

static bool ask_teller(struct life *l, unsigned nth)
{
    struct odeon_delivery reply;
    odeon_ref teller = l->shared->tellers[l->index * BANK_TELLERS_EACH + nth];
    int outcome = odeon_port_call(l->port, teller, l->ask, NULL, 0, SECONDS(PATIENCE_S), &reply);
    if (outcome != ODEON_CALL_REPLY)
        return wrong(l, "teller %u does not answer: outcome %d, %s", nth, outcome,
                     odeon_error_text());
    uint64_t last = ((const struct bank_told *)reply.data)->last;
    odeon_port_release(l->port);
    return settle(l, &l->book->tellers[nth], "transfers of teller", nth, last);
}

/* Along the lane, behind all that is under way in it. */
static bool ask_lane(struct life *l, unsigned nth)
{
    struct bank_hop hop = { .origin = odeon_port_ref(l->port),
                            .lane = l->index * BANK_LANES_EACH + nth,
                            .ask = 1 };
    struct odeon_delivery delivery;
    if (odeon_port_post_wait(l->port, l->shared->lanes[hop.lane], l->hop, &hop, sizeof(hop),
                             SECONDS(PATIENCE_S)) < 0)
        return wrong(l, "asking lane %u: %s", nth, odeon_error_text());
    int r = odeon_port_receive_wait(l->port, &delivery, SECONDS(PATIENCE_S));
    if (r != 1)
        return wrong(l, "lane %u does not answer: %s", nth, odeon_error_text());
    memcpy(&hop, delivery.data, delivery.size < sizeof(hop) ? delivery.size : sizeof(hop));
    if (delivery.type != l->hop || !hop.ask || hop.lane != l->index * BANK_LANES_EACH + nth)
        return wrong(l, "lane %u: something else than the answer has come first, of type %u", nth,
                     delivery.type);
    odeon_port_release(l->port);
    l->base[nth] = hop.number;
    return settle(l, &l->book->lanes[nth], "hops of lane", nth, hop.number);
}

static bool life_begin(struct life *l)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = RING_BYTES,
                                          .delivery_bytes = RING_BYTES };
    char name[32];
    atomic_fetch_add(&l->book->lives, 1);
    snprintf(name, sizeof(name), "soak-%u", l->index);
    if (!TRY("connecting", odeon_client_connect(l->shared->socket, name, &l->client)) ||
        !TRY("message type",
             odeon_message_id(l->client, odeon_message_of(bank_transfer), &l->transfer)) ||
        !TRY("message type",
             odeon_message_id(l->client, odeon_message_of(bank_receipt), &l->receipt)) ||
        !TRY("message type", odeon_message_id(l->client, odeon_message_of(bank_hop), &l->hop)) ||
        !TRY("message type", odeon_message_id(l->client, odeon_message_of(bank_ask), &l->ask)) ||
        !TRY("opening a port", odeon_port_open(l->client, &options, &l->port)) ||
        !wait_for_the_end_of(l, atomic_load(&l->book->port)))
        return false;
    for (unsigned i = 0; i < BANK_TELLERS_EACH; i++)
        if (!ask_teller(l, i))
            return false;
    for (unsigned i = 0; i < BANK_LANES_EACH; i++)
        if (!ask_lane(l, i))
            return false;
    atomic_store(&l->book->port, odeon_port_ref(l->port));
    return true;
}

/* ---- what comes back ---- */

static bool take_receipt(struct life *l, const struct bank_receipt *receipt)
{
    unsigned nth = receipt->teller - l->index * BANK_TELLERS_EACH;
    if (nth >= BANK_TELLERS_EACH || receipt->account >= BANK_ACCOUNTS)
        return wrong(l, "a receipt of teller %u, account %u", receipt->teller, receipt->account);
    uint32_t *last = &l->last[receipt->account][nth];
    struct bank_plan plan = bank_plan_of(l->shared->seed, receipt->teller, receipt->number);
    bool debit = receipt->amount < 0;
    if (receipt->number <= *last || receipt->number > atomic_load(&l->book->tellers[nth].begun))
        return wrong(l, "account %u: a receipt for transfer %" PRIu64 " of teller %u behind %u",
                     receipt->account, receipt->number, nth, *last);
    if (receipt->account != (debit ? plan.from : plan.to) ||
        receipt->amount != (debit ? -plan.amount : plan.amount))
        return wrong(l, "account %u: a receipt that no transfer %" PRIu64 " explains",
                     receipt->account, receipt->number);
    *last = (uint32_t)receipt->number;
    atomic_fetch_add(&l->book->receipts, 1);
    return true;
}

static bool take_hop(struct life *l, const struct bank_hop *hop)
{
    unsigned nth = hop->lane - l->index * BANK_LANES_EACH;
    if (nth >= BANK_LANES_EACH || hop->number <= l->base[nth] || hop->ask)
        return wrong(l, "hop %" PRIu64 " of lane %u", hop->number, hop->lane);
    history_note(l->history, HISTORY_RUN, hop->lane, hop->lane, hop->number - l->base[nth]);
    atomic_fetch_add(&l->book->hops, 1);
    return history_is_right(l->history);
}

static bool receive(struct life *l, int64_t timeout_ns)
{
    struct odeon_delivery delivery;
    int r = odeon_port_receive_wait(l->port, &delivery, timeout_ns);
    for (; r == 1; r = odeon_port_receive(l->port, &delivery)) {
        bool well;
        if (delivery.type == l->receipt && delivery.size == sizeof(struct bank_receipt))
            well = take_receipt(l, delivery.data);
        else if (delivery.type == l->hop && delivery.size == sizeof(struct bank_hop))
            well = take_hop(l, delivery.data);
        else
            well = wrong(l, "a delivery of type %u, %u bytes (a refusal's reason: %u)",
                         delivery.type, delivery.size,
                         delivery.type == ODEON_MSG_REFUSAL
                             ? (unsigned)((const struct odeon_refusal *)delivery.data)->reason
                             : 0U);
        if (!well || l->under_way == 0)
            return l->under_way == 0 && well
                       ? wrong(l, "a delivery of type %u too many", delivery.type)
                       : false;
        l->under_way--;
    }
    odeon_port_release(l->port);
    return r >= 0 || r == -ETIMEDOUT || wrong(l, "receiving: %s", odeon_error_text());
}

/* ---- posts ---- */

static size_t fill_transfer(const struct life *l, void *to, unsigned nth, uint64_t number)
{
    struct bank_plan plan =
        bank_plan_of(l->shared->seed, l->index * BANK_TELLERS_EACH + nth, number);
    struct bank_transfer transfer = { .origin = odeon_port_ref(l->port),
                                      .from = l->shared->accounts[plan.from],
                                      .to = l->shared->accounts[plan.to],
                                      .number = number,
                                      .amount = plan.amount };
    memcpy(to, &transfer, sizeof(transfer));
    return sizeof(transfer);
}

static size_t fill_hop(const struct life *l, void *to, unsigned nth, uint64_t number)
{
    struct bank_hop hop = { .origin = odeon_port_ref(l->port),
                            .number = number,
                            .lane = l->index * BANK_LANES_EACH + nth };
    memcpy(to, &hop, sizeof(hop));
    return sizeof(hop);
}

/* Now and then a moment in which what was begun is in doubt. */
static void hesitate(struct life *l)
{
    if (soak_draw(&l->seed, 64) == 0)
        nanosleep(&(struct timespec){ .tv_nsec = (long)soak_draw(&l->seed, 3000000) }, NULL);
}

/* `n` numbers of a track: one by one, or in place and published together. */
static int post(struct life *l, bool is_hop, unsigned nth, unsigned n, bool together)
{
    struct soak_track *track = is_hop ? &l->book->lanes[nth] : &l->book->tellers[nth];
    odeon_ref to = is_hop ? l->shared->lanes[l->index * BANK_LANES_EACH + nth]
                          : l->shared->tellers[l->index * BANK_TELLERS_EACH + nth];
    uint32_t type = is_hop ? l->hop : l->transfer;
    size_t (*fill)(const struct life *, void *, unsigned, uint64_t) =
        is_hop ? fill_hop : fill_transfer;
    uint64_t sent = atomic_load(&track->sent), first = sent;
    int r = 0;
    for (unsigned i = 0; i < n && r == 0; i++) {
        unsigned char data[sizeof(struct bank_transfer)];
        size_t size = is_hop ? sizeof(struct bank_hop) : sizeof(struct bank_transfer);
        atomic_store(&track->begun, sent + 1);
        if (together) {
            void *place = odeon_port_reserve(l->port, to, type, size);
            r = place ? 0 : -errno;
            if (place)
                fill(l, place, nth, sent + 1);
        } else {
            fill(l, data, nth, sent + 1);
            r = odeon_port_post(l->port, to, type, data, size);
        }
        sent += r == 0;
        hesitate(l);
        if (!together)
            atomic_store(&track->sent, sent);
    }
    atomic_store(&track->begun, sent); /* what did not fit was not begun after all */
    if (together)
        odeon_port_commit(l->port);
    hesitate(l);
    atomic_store(&track->sent, sent);
    l->under_way += (sent - first) * (is_hop ? 1 : 2);
    if (is_hop && sent > first)
        history_note(l->history, HISTORY_SENT, l->index * BANK_LANES_EACH + nth,
                     l->index * BANK_LANES_EACH + nth, sent - l->base[nth]);
    return r;
}

static bool post_some(struct life *l)
{
    while (l->under_way < WINDOW) {
        bool is_hop = soak_draw(&l->seed, 2);
        unsigned nth = (unsigned)soak_draw(&l->seed, is_hop ? (unsigned)BANK_LANES_EACH
                                                            : (unsigned)BANK_TELLERS_EACH);
        int r =
            post(l, is_hop, nth, 1 + (unsigned)soak_draw(&l->seed, BATCH), soak_draw(&l->seed, 2));
        if (r == -EAGAIN)
            break;
        if (r < 0)
            return wrong(l, "posting: %s", odeon_error_text());
    }
    return true;
}

/* Until the stop, and all has come back. */
static bool life_run(struct life *l)
{
    uint64_t seen = 0;
    int64_t since = time_ns();
    while (!atomic_load(&l->shared->broken)) {
        bool stop = atomic_load(&l->shared->stop);
        if (stop && l->under_way == 0)
            return true;
        if ((!stop && !post_some(l)) || !receive(l, MILLISECONDS(20)))
            return false;
        uint64_t came = atomic_load(&l->book->receipts) + atomic_load(&l->book->hops);
        if (came != seen || l->under_way == 0)
            since = time_ns();
        seen = came;
        if (time_ns() - since > SECONDS(PATIENCE_S))
            return wrong(
                l, "%" PRIu64 " are under way and nothing has come for %d s: lost, or hanging",
                l->under_way, PATIENCE_S);
        if (soak_draw(&l->seed, 16) == 0)
            nanosleep(&(struct timespec){ .tv_nsec = (long)soak_draw(&l->seed, 5000000) }, NULL);
    }
    return true;
}

int soak_client(struct soak_shared *shared, unsigned index)
{
    static struct life life;
    struct history_verdict verdict;
    life = (struct life){ .shared = shared,
                          .book = &shared->books[index],
                          .index = index,
                          .seed = shared->seed ^ bank_mix(index + 1 + ((uint64_t)getpid() << 8)),
                          .history = history_new() };
    bool well = life_begin(&life) && life_run(&life);
    if (!history_judge(life.history, &verdict) && !atomic_load(&shared->broken))
        well = wrong(&life, "hops: %s", verdict.first);
    else if (!history_is_right(life.history))
        well = wrong(&life, "hops: %s", verdict.first);
    if (well && !atomic_load(&shared->broken))
        atomic_store(&life.book->port, ODEON_NOBODY);
    odeon_client_disconnect(life.client);
    history_free(life.history);
    return well ? 0 : 1;
}
