/* SPDX-License-Identifier: Apache-2.0 */
/* 18, sieve of Eratosthenes: a chain that grows.
 *
 * A producer sends the odd numbers from 3 to below `n` to a first filter, whose first prime is 2,
 * and then the end. A filter has up to `m` primes. What one of them divides is dropped; else it is
 * passed on, if there is a next filter; else it is a prime: the filter's, if it has room, else the
 * first one of a next filter, which it makes. The end is passed on, ending who passes it, and the
 * last filter knows how many primes there are: m for each filter before, and its own.
 * Messages: as many as are sent. Check: the number of primes.
 */
#include "program.h"

#include <stdlib.h>

enum { SIEVE_PRIMES_MAX = 10000 };

ODEON_ARGUMENTS(sieve_args, {
    uint32_t n;
    uint32_t m;
});

ODEON_SIGNAL(sieve_start, 1);
ODEON_MESSAGE(sieve_candidate, 1, { uint64_t number; });
ODEON_MESSAGE(sieve_exit, 1, { uint64_t messages; }); /* so far; the definition has none of it */
ODEON_INTERFACE(sieve_producer, sieve_start);
ODEON_INTERFACE(sieve_filter, sieve_candidate, sieve_exit);

/* ---- filters ---- */

struct sieve_filter_args {
    uint32_t id, m;
    uint64_t first;
};

ODEON_STATE(sieve_filter, {
    sieve_filter_ref next;
    uint32_t id, m, n_primes;
    uint64_t *primes, passed;
});

ODEON_INIT(sieve_filter, struct sieve_filter_args)
{
    self->id = args->id;
    self->m = args->m;
    self->primes = malloc(args->m * sizeof(self->primes[0]));
    if (self->primes == NULL) {
        program_fail(ctx, -ENOMEM);
        return -ENOMEM;
    }
    self->primes[self->n_primes++] = args->first;
    return 0;
}

ODEON_FINI(sieve_filter)
{
    free(self->primes);
}

ODEON_RECEIVE(sieve_filter, sieve_candidate)
{
    for (uint32_t i = 0; i < self->n_primes; i++)
        if (msg->number % self->primes[i] == 0)
            return ODEON_NODELETE;
    if (self->next.ref != ODEON_NOBODY) {
        self->passed++;
        program_must(ctx, odeon_send(ctx, self->next, sieve_candidate, .number = msg->number));
    } else if (self->n_primes < self->m) {
        self->primes[self->n_primes++] = msg->number;
    } else {
        program_must(ctx, odeon_spawn_into(ctx, &self->next, sieve_filter,
                                           ODEON_ARGS(struct sieve_filter_args, .id = self->id + 1,
                                                      .m = self->m, .first = msg->number)));
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(sieve_filter, sieve_exit)
{
    uint64_t messages = msg->messages + self->passed;
    if (self->next.ref != ODEON_NOBODY)
        program_must(ctx, odeon_send(ctx, self->next, sieve_exit, .messages = messages + 1));
    else
        program_report(ctx, .messages = messages,
                       .value = (int64_t)(self->id - 1) * self->m + self->n_primes);
    return ODEON_DELETE;
}

ODEON_HANDLERS(sieve_filter, ODEON_ON(sieve_filter, sieve_candidate),
               ODEON_ON(sieve_filter, sieve_exit));
ODEON_ACTOR_TYPE(sieve_filter, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the producer ---- */

struct sieve_producer_args {
    sieve_filter_ref filter;
    uint32_t n;
};

ODEON_STATE(sieve_producer, { struct sieve_producer_args of; });

ODEON_INIT(sieve_producer, struct sieve_producer_args)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(sieve_producer, sieve_start)
{
    uint64_t messages = 2;
    for (uint64_t i = 3; i < self->of.n; i += 2, messages++)
        program_must(ctx, odeon_send(ctx, self->of.filter, sieve_candidate, .number = i));
    program_must(ctx, odeon_send(ctx, self->of.filter, sieve_exit, .messages = messages));
    return ODEON_DELETE;
}

ODEON_HANDLERS(sieve_producer, ODEON_ON(sieve_producer, sieve_start));
ODEON_ACTOR_TYPE(sieve_producer, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_sieve, {
    struct program program;
    struct sieve_args args;
});

static void sieve_accept(struct savina_sieve_state *self)
{
    program_range(&self->program, "n", self->args.n, 3, 2000000);
    program_range(&self->program, "m", self->args.m, 1, SIEVE_PRIMES_MAX);
}

static int sieve_step(struct savina_sieve_state *self, struct odeon_context *ctx)
{
    sieve_filter_ref filter;
    sieve_producer_ref producer;
    int r = odeon_spawn_into(
        ctx, &filter, sieve_filter,
        ODEON_ARGS(struct sieve_filter_args, .id = 1, .m = self->args.m, .first = 2));
    if (r == 0)
        r = odeon_spawn_into(
            ctx, &producer, sieve_producer,
            ODEON_ARGS(struct sieve_producer_args, .filter = filter, .n = self->args.n));
    if (r == 0)
        r = odeon_signal(ctx, producer, sieve_start);
    self->program.awaited = 1;
    return r;
}

static void sieve_verify(struct savina_sieve_state *self)
{
    int64_t primes = 0;
    bool *composite = calloc(self->args.n, sizeof(*composite));
    if (composite == NULL) {
        program_refuse(&self->program, "no memory for the check");
        return;
    }
    for (uint64_t i = 2; i < self->args.n; i++) {
        primes += !composite[i];
        for (uint64_t j = i * i; !composite[i] && j < self->args.n; j += i)
            composite[j] = true;
    }
    free(composite);
    program_expect(&self->program, "primes", self->program.value, primes);
}

PROGRAM(sieve);
