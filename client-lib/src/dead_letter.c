/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters: listed, looked at, sent once more, forgotten.  Any thread. */
#include <errno.h>
#include <string.h>

#include "client-lib/src/admin_call.h"

static struct odeon_dead_letter_info dead_letter_copy(void *result, const Odeon__DeadLetter *from)
{
    return (struct odeon_dead_letter_info){
        .id = from->id,
        .to = from->to,
        .from = from->from,
        .type = arena_string(result, from->type),
        .message = arena_string(result, from->message),
        .reason = arena_string(result, from->reason),
        .size = from->size,
        .attempts = from->attempts,
        .time_ns = from->time_ns,
        .message_id = from->message_id,
        .message_version = from->message_version,
    };
}

static int dead_letter_fill_list(const struct admin_call *call, void *result,
                                 const Odeon__Reply *reply)
{
    const Odeon__DeadLetterListReply *from = reply->dead_letter_list;
    struct odeon_list *list = result;
    struct odeon_dead_letter_info *rows =
        admin_list_rows(call, list, from->n_letters, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++) {
        rows[i] = dead_letter_copy(list, from->letters[i]);
        list->next = rows[i].id + 1;
    }
    return 0;
}

int odeon_dead_letter_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                           struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__DeadLetterList body = ODEON__DEAD_LETTER_LIST__INIT;

    body.page = &page;
    return admin_call(client,
                      &(struct admin_call){ .request = ODEON__REQUEST__BODY_DEAD_LETTER_LIST,
                                            .body = &body,
                                            .reply = ODEON__REPLY__BODY_DEAD_LETTER_LIST,
                                            .size = sizeof(struct odeon_list),
                                            .ret = ret,
                                            .fill = dead_letter_fill_list,
                                            .after = after });
}

static int dead_letter_fill_detail(const struct admin_call *call, void *result,
                                   const Odeon__Reply *reply)
{
    const Odeon__DeadLetter *from = reply->dead_letter;
    struct odeon_dead_letter_detail *detail = result;
    void *payload = arena_alloc(detail, from->payload.len, 1);

    (void)call;
    detail->struct_size = sizeof(*detail);
    detail->letter = dead_letter_copy(detail, from);
    detail->letter.size = payload ? (uint32_t)from->payload.len : 0;
    if (payload)
        memcpy(payload, from->payload.data, from->payload.len);
    detail->payload = payload;
    return 0;
}

int odeon_dead_letter_show(struct odeon_client *client, uint64_t id,
                           struct odeon_dead_letter_detail **ret)
{
    Odeon__DeadLetterShow body = ODEON__DEAD_LETTER_SHOW__INIT;

    body.id = id;
    return admin_call(client,
                      &(struct admin_call){ .request = ODEON__REQUEST__BODY_DEAD_LETTER_SHOW,
                                            .body = &body,
                                            .reply = ODEON__REPLY__BODY_DEAD_LETTER,
                                            .size = sizeof(struct odeon_dead_letter_detail),
                                            .ret = ret,
                                            .fill = dead_letter_fill_detail });
}

static int dead_letter_check(const struct odeon_dead_letters_done *ret, const uint64_t *ids,
                             size_t n)
{
    if (!ret || ret->struct_size < sizeof(*ret))
        return error_set(-EINVAL,
                         "struct_size is %u, sizeof (struct odeon_dead_letters_done) was expected",
                         ret ? ret->struct_size : 0);
    if (n > 0 && !ids)
        return error_set_literal(-EINVAL, "dead letters were counted, and not given");
    return 0;
}

static int dead_letter_fill_done(const struct admin_call *call, void *result,
                                 const Odeon__Reply *reply)
{
    const Odeon__DeadLettersDone *from = reply->dead_letters_done;
    struct odeon_dead_letters_done *done = result;

    (void)call;
    done->done = from->done;
    done->gone = from->gone;
    done->full = from->full;
    return 0;
}

int odeon_dead_letter_replay(struct odeon_client *client, const uint64_t *ids, size_t n,
                             odeon_ref to, struct odeon_dead_letters_done *ret)
{
    Odeon__DeadLetterReplay body = ODEON__DEAD_LETTER_REPLAY__INIT;
    int r = dead_letter_check(ret, ids, n);

    if (r < 0)
        return r;
    body.ids = (uint64_t *)(uintptr_t)ids;
    body.n_ids = n;
    body.to = to;
    return admin_call(client,
                      &(struct admin_call){ .request = ODEON__REQUEST__BODY_DEAD_LETTER_REPLAY,
                                            .body = &body,
                                            .reply = ODEON__REPLY__BODY_DEAD_LETTERS_DONE,
                                            .ret = ret,
                                            .fill = dead_letter_fill_done });
}

int odeon_dead_letter_purge(struct odeon_client *client, const uint64_t *ids, size_t n,
                            struct odeon_dead_letters_done *ret)
{
    Odeon__DeadLetterPurge body = ODEON__DEAD_LETTER_PURGE__INIT;
    int r = dead_letter_check(ret, ids, n);

    if (r < 0)
        return r;
    body.ids = (uint64_t *)(uintptr_t)ids;
    body.n_ids = n;
    return admin_call(client,
                      &(struct admin_call){ .request = ODEON__REQUEST__BODY_DEAD_LETTER_PURGE,
                                            .body = &body,
                                            .reply = ODEON__REPLY__BODY_DEAD_LETTERS_DONE,
                                            .ret = ret,
                                            .fill = dead_letter_fill_done });
}
