/* SPDX-License-Identifier: Apache-2.0 */
/* 8, concurrent dictionary: many ask one, who looks up.
 *
 * A dictionary has a value for each of 524,287 keys, at first the key. A master makes it and `e`
 * workers, and tells each to work. A worker has one request under way at a time, `m` of them in
 * all: by its generator, `w` of a hundred are writes of a drawn value to a drawn key, the others
 * reads of one. The dictionary answers either with the value (0 where there is none). A worker
 * tells the master when it is done; the master, when all are, tells the dictionary, which says how
 * many entries it has. Messages: e (2m + 2) + 1. Check: as many entries as before, as all keys are
 * there already, and every request was answered.
 *
 * The dictionary is filled before the clock runs: its table is the head's.
 */
#include "concdict.h"
#include "java.h"
#include "program.h"

ODEON_ARGUMENTS(concdict_args, {
    uint32_t e;
    uint32_t m;
    uint32_t w;
});

ODEON_SIGNAL(concdict_work, 1);
ODEON_MESSAGE(concdict_write, 1, { int32_t key, value; });
ODEON_MESSAGE(concdict_read, 1, { int64_t key; });
ODEON_MESSAGE(concdict_result, 1, { int64_t value; });
ODEON_SIGNAL(concdict_end, 1);
ODEON_INTERFACE(concdict_master, concdict_end);
ODEON_INTERFACE(concdict_worker, concdict_work, concdict_result);
ODEON_INTERFACE(concdict_dictionary, concdict_write, concdict_read, concdict_end);

/* ---- the dictionary ---- */

struct concdict_dictionary_args {
    struct concdict_place *table;
};

ODEON_STATE(concdict_dictionary, { struct concdict_place *table; });

ODEON_INIT(concdict_dictionary, struct concdict_dictionary_args)
{
    self->table = args->table;
    return 0;
}

ODEON_RECEIVE(concdict_dictionary, concdict_write)
{
    *concdict_find(self->table, msg->key) =
        (struct concdict_place){ .key = msg->key, .value = msg->value };
    program_must(ctx, odeon_reply(ctx, concdict_result, .value = msg->value));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(concdict_dictionary, concdict_read)
{
    const struct concdict_place *place = concdict_find(self->table, (int32_t)msg->key);
    program_must(ctx,
                 odeon_reply(ctx, concdict_result, .value = place->key < 0 ? 0 : place->value));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(concdict_dictionary, concdict_end)
{
    program_report(ctx, .value = concdict_size(self->table));
    return ODEON_DELETE;
}

ODEON_HANDLERS(concdict_dictionary, ODEON_ON(concdict_dictionary, concdict_write),
               ODEON_ON(concdict_dictionary, concdict_read),
               ODEON_ON(concdict_dictionary, concdict_end));
ODEON_ACTOR_TYPE(concdict_dictionary, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- workers ---- */

struct concdict_worker_args {
    concdict_master_ref master;
    concdict_dictionary_ref dictionary;
    uint32_t id;
    struct concdict_args args;
};

ODEON_STATE(concdict_worker, {
    struct concdict_worker_args of;
    struct java java;
    uint32_t count;
});

ODEON_INIT(concdict_worker, struct concdict_worker_args)
{
    self->of = *args;
    java_seed(&self->java, args->id + args->args.m + 10);
    return 0;
}

static int concdict_go_on(struct concdict_worker_state *self, struct odeon_context *ctx)
{
    if (++self->count > self->of.args.m) {
        program_must(ctx, odeon_signal(ctx, self->of.master, concdict_end));
        program_report(ctx, .count = self->count - 1);
        return ODEON_DELETE;
    }
    bool write = java_below(&self->java, 100) < (int32_t)self->of.args.w;
    int32_t key = concdict_key(java_int(&self->java));
    program_must(ctx, write ? odeon_send(ctx, self->of.dictionary, concdict_write, .key = key,
                                         .value = java_int(&self->java))
                            : odeon_send(ctx, self->of.dictionary, concdict_read, .key = key));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(concdict_worker, concdict_work)
{
    return concdict_go_on(self, ctx);
}

ODEON_RECEIVE(concdict_worker, concdict_result)
{
    return concdict_go_on(self, ctx);
}

ODEON_HANDLERS(concdict_worker, ODEON_ON(concdict_worker, concdict_work),
               ODEON_ON(concdict_worker, concdict_result));
ODEON_ACTOR_TYPE(concdict_worker, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the master ---- */

struct concdict_master_args {
    struct concdict_args args;
    struct concdict_place *table;
};

ODEON_STATE(concdict_master, {
    concdict_dictionary_ref dictionary;
    uint32_t left;
});

ODEON_INIT(concdict_master, struct concdict_master_args)
{
    concdict_worker_ref worker;
    self->left = args->args.e;
    program_must(
        ctx, odeon_spawn_into(ctx, &self->dictionary, concdict_dictionary,
                              ODEON_ARGS(struct concdict_dictionary_args, .table = args->table)));
    for (uint32_t i = 0; i < args->args.e; i++) {
        program_must(ctx, odeon_spawn_into(ctx, &worker, concdict_worker,
                                           ODEON_ARGS(struct concdict_worker_args,
                                                      .master = odeon_self(ctx, concdict_master),
                                                      .dictionary = self->dictionary, .id = i,
                                                      .args = args->args)));
        program_must(ctx, odeon_signal(ctx, worker, concdict_work));
    }
    return 0;
}

ODEON_RECEIVE(concdict_master, concdict_end)
{
    if (--self->left > 0)
        return ODEON_NODELETE;
    program_must(ctx, odeon_signal(ctx, self->dictionary, concdict_end));
    return ODEON_DELETE;
}

ODEON_HANDLERS(concdict_master, ODEON_ON(concdict_master, concdict_end));
ODEON_ACTOR_TYPE(concdict_master, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_concdict, {
    struct program program;
    struct concdict_args args;
    struct concdict_place *table;
});

ODEON_FINI(savina_concdict)
{
    free(self->table);
}

static void concdict_accept(struct savina_concdict_state *self)
{
    program_range(&self->program, "e", self->args.e, 1, 10000);
    program_range(&self->program, "m", self->args.m, 1, 10000000);
    program_range(&self->program, "w", self->args.w, 1, 100);
    self->table = concdict_fill();
}

static int concdict_step(struct savina_concdict_state *self, struct odeon_context *ctx)
{
    concdict_master_ref master;
    self->program.awaited = self->args.e + 1;
    self->program.messages = self->args.e * (2 * (uint64_t)self->args.m + 2) + 1;
    if (self->table == NULL)
        return -ENOMEM;
    return odeon_spawn_into(
        ctx, &master, concdict_master,
        ODEON_ARGS(struct concdict_master_args, .args = self->args, .table = self->table));
}

static void concdict_verify(struct savina_concdict_state *self)
{
    program_expect(&self->program, "entries", self->program.value, CONCDICT_KEYS);
    program_expect(&self->program, "answers", self->program.count,
                   (int64_t)self->args.e * self->args.m);
}

PROGRAM(concdict);
