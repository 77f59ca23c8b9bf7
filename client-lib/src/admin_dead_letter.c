/* SPDX-License-Identifier: Apache-2.0 */
/* Administration: dead letters, and the quarantine that makes some of them.  Any thread. */
#include <errno.h>
#include <string.h>

#include <odeon/admin.h>

#include "client-lib/src/arena.h"
#include "client-lib/src/connect.h"
#include "client-lib/src/error.h"

static void admin_dead_letter_fill_letter(void *result, const Odeon__DeadLetter *from,
                                          struct odeon_dead_letter_info *to)
{
    *to = (struct odeon_dead_letter_info){
        .id = from->id,
        .to = from->to,
        .from = from->from,
        .type = arena_string(result, from->type),
        .message = arena_string(result, from->message),
        .reason = arena_string(result, from->reason),
        .size = from->size,
        .attempts = from->attempts,
        .time_ns = from->time_ns,
    };
}

static int admin_dead_letter_finish(void *result, struct client_answer *answer, void **ret)
{
    client_answer_fini(answer);
    if (!result || arena_failed(result)) {
        odeon_free(result);
        return error_set_literal(-ENOMEM, "no memory for the service's answer");
    }
    *ret = result;
    return 0;
}

int odeon_admin_dead_letter_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                                 struct odeon_list **ret)
{
    Odeon__Page page = ODEON__PAGE__INIT;
    Odeon__DeadLetterList body = ODEON__DEAD_LETTER_LIST__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    const Odeon__DeadLetterListReply *reply;
    struct client_answer answer;
    struct odeon_list *list;
    int result = ret ? client_check(client) : error_set_literal(-EINVAL, "no place for the list");

    if (result < 0)
        return result;
    page.after = after;
    page.rows = rows;
    body.page = &page;
    request.body_case = ODEON__REQUEST__BODY_DEAD_LETTER_LIST;
    request.dead_letter_list = &body;
    result = client_call(client, &request, ODEON__REPLY__BODY_DEAD_LETTER_LIST, &answer);
    if (result < 0)
        return result;
    reply = answer.reply->dead_letter_list;
    list = arena_new(sizeof(*list));
    if (list) {
        list->rows = arena_alloc(list, reply->n_letters, sizeof(struct odeon_dead_letter_info));
        list->more = reply->more;
        list->next = after;
        for (; list->rows && list->n < reply->n_letters; list->n++) {
            admin_dead_letter_fill_letter(list, reply->letters[list->n],
                                          (struct odeon_dead_letter_info *)list->rows + list->n);
            list->next = reply->letters[list->n]->id + 1;
        }
    }
    return admin_dead_letter_finish(list, &answer, (void **)ret);
}

int odeon_admin_dead_letter_show(struct odeon_client *client, uint64_t id,
                                 struct odeon_dead_letter_detail **ret)
{
    Odeon__DeadLetterShow body = ODEON__DEAD_LETTER_SHOW__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct odeon_dead_letter_detail *detail;
    struct client_answer answer;
    int result = ret ? client_check(client) : error_set_literal(-EINVAL, "no place for the result");

    if (result < 0)
        return result;
    body.id = id;
    request.body_case = ODEON__REQUEST__BODY_DEAD_LETTER_SHOW;
    request.dead_letter_show = &body;
    result = client_call(client, &request, ODEON__REPLY__BODY_DEAD_LETTER, &answer);
    if (result < 0)
        return result;
    detail = arena_new(sizeof(*detail));
    if (detail) {
        const Odeon__DeadLetter *letter = answer.reply->dead_letter;
        void *payload = arena_alloc(detail, letter->payload.len, 1);

        detail->struct_size = sizeof(*detail);
        admin_dead_letter_fill_letter(detail, letter, &detail->letter);
        detail->letter.size = payload ? (uint32_t)letter->payload.len : 0;
        if (detail->letter.size > 0)
            memcpy(payload, letter->payload.data, letter->payload.len);
        detail->payload = payload;
    }
    return admin_dead_letter_finish(detail, &answer, (void **)ret);
}

static int admin_dead_letter_check_done(const struct odeon_client *client,
                                        const struct odeon_dead_letters_done *ret,
                                        const uint64_t *ids, size_t n)
{
    if (!ret || ret->struct_size < sizeof(*ret))
        return error_set(-EINVAL,
                         "struct_size is %u, sizeof (struct odeon_dead_letters_done) was expected",
                         ret ? ret->struct_size : 0);
    if (n > 0 && !ids)
        return error_set_literal(-EINVAL, "dead letters were counted, and not given");
    return client_check(client);
}

static int admin_dead_letter_ask_done(struct odeon_client *client, Odeon__Request *request,
                                      struct odeon_dead_letters_done *ret)
{
    struct client_answer answer;
    int result = client_call(client, request, ODEON__REPLY__BODY_DEAD_LETTERS_DONE, &answer);

    if (result < 0)
        return result;
    ret->done = answer.reply->dead_letters_done->done;
    ret->gone = answer.reply->dead_letters_done->gone;
    ret->full = answer.reply->dead_letters_done->full;
    client_answer_fini(&answer);
    return 0;
}

int odeon_admin_dead_letter_replay(struct odeon_client *client, const uint64_t *ids, size_t n,
                                   odeon_ref to, struct odeon_dead_letters_done *ret)
{
    Odeon__DeadLetterReplay body = ODEON__DEAD_LETTER_REPLAY__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int result = admin_dead_letter_check_done(client, ret, ids, n);

    if (result < 0)
        return result;
    body.ids = (uint64_t *)(uintptr_t)ids;
    body.n_ids = n;
    body.to = to;
    request.body_case = ODEON__REQUEST__BODY_DEAD_LETTER_REPLAY;
    request.dead_letter_replay = &body;
    return admin_dead_letter_ask_done(client, &request, ret);
}

int odeon_admin_dead_letter_purge(struct odeon_client *client, const uint64_t *ids, size_t n,
                                  struct odeon_dead_letters_done *ret)
{
    Odeon__DeadLetterPurge body = ODEON__DEAD_LETTER_PURGE__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int result = admin_dead_letter_check_done(client, ret, ids, n);

    if (result < 0)
        return result;
    body.ids = (uint64_t *)(uintptr_t)ids;
    body.n_ids = n;
    request.body_case = ODEON__REQUEST__BODY_DEAD_LETTER_PURGE;
    request.dead_letter_purge = &body;
    return admin_dead_letter_ask_done(client, &request, ret);
}

int odeon_admin_type_release(struct odeon_client *client, const char *name)
{
    Odeon__TypeRelease body = ODEON__TYPE_RELEASE__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int result = client_check(client);

    if (result == 0 && !name)
        result = error_set_literal(-EINVAL, "odeon_admin_type_release: no name was given");
    if (result < 0)
        return result;
    body.name = (char *)(uintptr_t)name;
    request.body_case = ODEON__REQUEST__BODY_TYPE_RELEASE;
    request.type_release = &body;
    return client_call(client, &request, ODEON__REPLY__BODY_OK, NULL);
}
