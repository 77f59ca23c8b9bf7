/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of clients: one of them, with what its user has of each quota; throwing one out.
 * Any thread. */
#include <errno.h>

#include <odeon/admin.h>

#include "client-lib/src/admin_list.h"
#include "client-lib/src/arena.h"
#include "client-lib/src/connect.h"
#include "client-lib/src/error.h"

static void admin_client_fill_usage(struct odeon_client_detail *detail,
                                    const Odeon__ClientShowReply *reply)
{
    detail->usage = arena_alloc(detail, reply->n_usage, sizeof(*detail->usage));
    for (; detail->usage && detail->n_usage < reply->n_usage; detail->n_usage++) {
        const Odeon__Usage *from = reply->usage[detail->n_usage];

        detail->usage[detail->n_usage] = (struct odeon_usage){
            .name = arena_string(detail, from->name),
            .client = from->client,
            .user = from->user,
            .client_known = !from->user_only,
            .user_known = !from->client_only,
            .limit = from->limit,
            .unlimited = from->unlimited || !reply->bound,
            .per_second = from->per_second,
        };
    }
}

int odeon_admin_client_show(struct odeon_client *client, uint32_t id,
                            struct odeon_client_detail **ret)
{
    Odeon__ClientShow body = ODEON__CLIENT_SHOW__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    const Odeon__ClientShowReply *reply;
    struct odeon_client_detail *detail;
    struct client_answer answer;
    int result = ret ? client_check(client) : error_set_literal(-EINVAL, "no place for the result");

    if (result < 0)
        return result;
    body.id = id;
    request.body_case = ODEON__REQUEST__BODY_CLIENT_SHOW;
    request.client_show = &body;
    result = client_call(client, &request, ODEON__REPLY__BODY_CLIENT_SHOW, &answer);
    if (result < 0)
        return result;
    reply = answer.reply->client_show;
    detail = arena_new(sizeof(*detail));
    if (detail && reply->client) {
        detail->struct_size = sizeof(*detail);
        detail->bound = reply->bound;
        detail->refusals = reply->refusals;
        detail->client = admin_client_info(detail, reply->client);
        admin_client_fill_usage(detail, reply);
    }
    result = !reply->client ? error_set_literal(-EPROTO, "the service's answer lacks the client")
             : !detail || arena_failed(detail)
                 ? error_set_literal(-ENOMEM, "no memory for the service's answer")
                 : 0;
    client_answer_fini(&answer);
    if (result < 0)
        odeon_free(detail);
    else
        *ret = detail;
    return result;
}

int odeon_admin_client_kick(struct odeon_client *client, uint32_t id)
{
    Odeon__ClientKick body = ODEON__CLIENT_KICK__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    body.id = id;
    request.body_case = ODEON__REQUEST__BODY_CLIENT_KICK;
    request.client_kick = &body;
    return client_call(client, &request, ODEON__REPLY__BODY_OK, NULL);
}
