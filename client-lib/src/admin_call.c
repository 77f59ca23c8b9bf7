/* SPDX-License-Identifier: Apache-2.0 */
/* Requests with one answer; see admin_call.h.
 *
 * `next` of a page is what the service takes as "rows after this": the last row's key (clients: id;
 * actors: slot + 1; queues and dead letters: id + 1), or the number of rows so far where rows have
 * no key of their own (plugins, actor types).
 */
#include "client-lib/src/admin_call.h"

#include <errno.h>
#include <string.h>

int admin_check_given(const char *what, const char *name)
{
    return name ? 0 : error_set(-EINVAL, "%s: no name was given", what);
}

int admin_check_name(const char *what, const char *name)
{
    size_t length = name ? strnlen(name, ODEON_NAME_MAX + 1) : 0;

    if (length == 0)
        return admin_check_given(what, NULL);
    if (length > ODEON_NAME_MAX)
        return error_set(-EINVAL, "%s: the name is longer than %d bytes: %.80s", what,
                         ODEON_NAME_MAX, name);
    return 0;
}

void *admin_list_rows(const struct admin_call *call, struct odeon_list *list, size_t n,
                      size_t row_size, int more)
{
    list->rows = arena_alloc(list, n, row_size);
    list->n = list->rows ? n : 0;
    list->more = more;
    list->next = call->after;
    return list->rows;
}

const char **admin_copy_strings(void *result, char *const *strings, size_t n, size_t *ret_n)
{
    const char **copies = arena_alloc(result, n, sizeof(*copies));

    *ret_n = copies ? n : 0;
    for (size_t i = 0; i < *ret_n; i++)
        copies[i] = arena_string(result, strings[i]);
    return copies;
}

/* admin_call.AC1 */
static int admin_call_make_result(const struct admin_call *call, const Odeon__Reply *reply)
{
    void *result = arena_new(call->size);
    int r = result ? call->fill(call, result, reply) : 0;

    if (r == 0 && (!result || arena_failed(result)))
        r = error_set_literal(-ENOMEM, "no memory for the service's answer");
    if (r < 0)
        odeon_result_free(result);
    else
        *(void **)call->ret = result;
    return r;
}

int admin_call(struct odeon_client *client, const struct admin_call *call)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct client_answer answer;
    int r;

    if (call->size > 0 && !call->ret)
        return error_set_literal(-EINVAL, "no place for the result");
    if (call->size > 0)
        *(void **)call->ret = NULL;
    request.body_case = call->request;
    request.hello = call->body; /* a union of pointers: `body_case` says to what */
    r = client_call(client, &request, call->reply, &answer);
    if (r < 0)
        return r;
    if (call->size > 0)
        r = admin_call_make_result(call, answer.reply);
    else if (call->fill && call->ret)
        r = call->fill(call, call->ret, answer.reply);
    client_answer_fini(&answer);
    return r;
}
