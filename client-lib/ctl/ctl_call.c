/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl actor call: a message to an actor through a port of this program's own, and its answer
 * by the fields of its declaration. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/json.h"

#include <odeon/names.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_TIMEOUT_NS INT64_C(10000000000)

enum {
    CALL_SUBMISSION_BYTES = 1 << 17, /* a message of any size and more */
    CALL_DELIVERY_BYTES = 1 << 17,
};

/* Seconds, with fractions, from a millisecond to a day. */
static bool call_parse_timeout(const char *text, int64_t *ret_ns)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds >= 0.001 && seconds <= 86400))
        return false;
    *ret_ns = (int64_t)(seconds * 1e9);
    return true;
}

static void call_print_json(struct ctl *ctl, const char *name, const char *fields,
                            const struct odeon_delivery *answer)
{
    char from[ODEON_REF_TEXT];
    struct json json;

    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "answer");
    json_string(&json, "message", name);
    json_string(&json, "from", odeon_ref_format(answer->from, from));
    json_uint(&json, "bytes", answer->size);
    if (fields)
        json_object(&json, "fields", fields);
    else
        json_null(&json, "fields");
    json_end_object(&json);
    json_end_document(&json);
}

static int call_print(struct ctl *ctl, const struct odeon_delivery *answer)
{
    struct odeon_message_info *info = NULL;
    char *fields;
    int r = odeon_message_show(ctl->client, answer->type, &info);

    if (r < 0)
        return ctl_refuse(ctl, r, "cannot look up the answer's message, number %u", answer->type);
    fields = ctl_struct_describe(info, answer->data, answer->size,
                                 ctl->json ? ODEON_PAYLOAD_JSON : ODEON_PAYLOAD_WORDS);
    if (ctl->json)
        call_print_json(ctl, info->name, fields, answer);
    else
        ctl_struct_print(ctl, info->name, fields, answer->size);
    odeon_payload_free(fields);
    odeon_result_free(info);
    return CTL_DONE;
}

static int call_fail_refused(struct ctl *ctl, const struct ctl_message *m,
                             const struct odeon_refusal *refusal)
{
    if (refusal->reason == ODEON_REASON_NOT_ACCEPTED && refusal->to == m->to)
        return ctl_message_refuse(ctl, m->to, "it does not accept", false);
    return ctl_fail(ctl, CTL_REFUSED, "no answer from %s: the message was refused: %s",
                    ctl->words[0], odeon_reason_name(refusal->reason));
}

/* How the call has ended. */
static int call_end(struct ctl *ctl, const struct ctl_message *m, int outcome,
                    const struct odeon_delivery *answer)
{
    switch (outcome) {
    case ODEON_CALL_REPLY:
        return call_print(ctl, answer);
    case ODEON_CALL_REFUSED:
        return call_fail_refused(ctl, m, answer->data);
    case ODEON_CALL_EXPIRED:
        return ctl_fail(ctl, CTL_NO_ANSWER,
                        "no answer from %s in time: it may be processed yet. Wait longer with "
                        "--timeout SECONDS, or see whether its behaviour replies at all: odeonctl "
                        "actor send waits for nothing",
                        ctl->words[0]);
    case ODEON_CALL_CLOSED:
        return ctl_fail(ctl, CTL_UNREACHABLE,
                        "no answer from %s: the service has gone. See odeonctl status",
                        ctl->words[0]);
    default:
        return ctl_refuse(ctl, outcome, "cannot call %s", ctl->words[0]);
    }
}

int ctl_trace_option_parse(struct ctl *ctl, uint64_t *ret_id)
{
    const char *text = ctl->option[OPTION_TRACE];

    *ret_id = 0;
    if (text && (!ctl_number_parse(text, ret_id) || *ret_id == 0))
        return ctl_fail(ctl, CTL_USAGE,
                        "--trace: '%s' is not a number from 1 on. Choose one that no other trace "
                        "has, like 4711",
                        text);
    return 0;
}

int ctl_message_open_port(struct ctl *ctl, const char *to_do, struct odeon_port **ret_port)
{
    const struct odeon_port_options options = { .struct_size = sizeof(options),
                                                .submission_bytes = CALL_SUBMISSION_BYTES,
                                                .delivery_bytes = CALL_DELIVERY_BYTES };
    int r = odeon_port_open(ctl->client, &options, ret_port);

    return r < 0 ? ctl_refuse(ctl, r, "cannot open a port to %s from", to_do) : 0;
}

static int call_through(struct ctl *ctl, const struct ctl_message *m, int64_t timeout_ns,
                        uint64_t trace)
{
    const struct odeon_post_options options = { .struct_size = sizeof(options), .trace = trace };
    struct odeon_delivery answer;
    struct odeon_port *port = NULL;
    int r, code;

    /* nobody who has given an answer its time wants to be told at once that the service restarts */
    (void)odeon_client_set_patience(ctl->client, timeout_ns);
    code = ctl_message_open_port(ctl, "call", &port);
    if (code)
        return code;
    r = odeon_port_call_with(port, m->to, m->info->id, m->payload, m->size, timeout_ns, &options,
                             &answer);
    code = call_end(ctl, m, r, &answer);
    odeon_port_close(port);
    return code;
}

int ctl_actor_call(struct ctl *ctl)
{
    const char *timeout = ctl->option[OPTION_TIMEOUT];
    int64_t timeout_ns = CALL_TIMEOUT_NS;
    struct ctl_message m;
    uint64_t trace;
    int code = ctl_trace_option_parse(ctl, &trace);

    if (code)
        return code;
    if (timeout && !call_parse_timeout(timeout, &timeout_ns))
        return ctl_fail(ctl, CTL_USAGE,
                        "--timeout: '%s' is not a number of seconds from 0.001 to 86400. Write one "
                        "like 1 or 0.2",
                        timeout);
    code = ctl_message_prepare(ctl, &m);
    if (code)
        return code;
    code = call_through(ctl, &m, timeout_ns, trace);
    ctl_message_free(&m);
    return code;
}
