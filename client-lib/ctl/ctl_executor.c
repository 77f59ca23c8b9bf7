/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl executor: its settings. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/suggest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int executor_get(struct ctl *ctl, struct odeon_executor_info **ret)
{
    int r, code;

    code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_executor_show(ctl->client, ret);
    return r < 0 ? ctl_refuse(ctl, r, "cannot get the executor's settings") : 0;
}

static void executor_print_json(struct ctl *ctl, const struct odeon_executor_info *info)
{
    struct json json;

    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "executor");
    json_uint(&json, "pid", info->pid);
    json_uint(&json, "restarts", info->restarts);
    json_uint(&json, "boots", info->boots);
    json_uint(&json, "reconfigurations", info->reconfigurations);
    json_uint(&json, "reconfigure_last_ns", info->reconfigure_last_ns);
    json_uint(&json, "reconfigure_longest_ns", info->reconfigure_longest_ns);
    json_begin_array(&json, "settings");
    for (size_t i = 0; i < info->n_settings; i++) {
        const struct odeon_setting_info *s = &info->settings[i];

        json_begin_object(&json, NULL);
        json_string(&json, "key", s->key);
        json_string(&json, "value", s->value);
        json_string(&json, "default", s->initial);
        json_bool(&json, "live", s->live != 0);
        json_string(&json, "doc", s->doc);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    json_end_document(&json);
}

static void executor_print_heading(struct ctl *ctl, const struct odeon_executor_info *info)
{
    char last[OUTPUT_DURATION_TEXT], longest[OUTPUT_DURATION_TEXT];

    if (info->pid)
        fprintf(ctl->out, "Executor: process %u; starts: %u, restarts after its death: %llu\n",
                info->pid, info->boots, (unsigned long long)info->restarts);
    else
        fprintf(ctl->out, "Executor: down; starts: %u\n", info->boots);
    fprintf(ctl->out, "Reconfigurations: %llu; the last paused for %s, the longest for %s\n\n",
            (unsigned long long)info->reconfigurations,
            output_format_duration(info->reconfigure_last_ns, last),
            output_format_duration(info->reconfigure_longest_ns, longest));
}

int ctl_executor_show(struct ctl *ctl)
{
    static const struct column columns[] = { { "SETTING", "key", false },
                                             { "VALUE", "value", false },
                                             { "DEFAULT", "default", false },
                                             { "LIVE", "live", false },
                                             { "WHAT IT IS", "doc", false } };
    struct odeon_executor_info *info = NULL;
    struct listing list;
    int code;

    code = executor_get(ctl, &info);
    if (code)
        return code;
    if (ctl->json) {
        executor_print_json(ctl, info);
        odeon_result_free(info);
        return 0;
    }
    if (ctl->legend)
        executor_print_heading(ctl, info);
    listing_begin(&list, ctl, "settings", columns, 5);
    for (size_t i = 0; i < info->n_settings; i++) {
        const struct odeon_setting_info *s = &info->settings[i];

        listing_add(&list,
                    (struct cell[]){ CELL_TEXT(s->key), CELL_TEXT(s->value), CELL_TEXT(s->initial),
                                     CELL_FLAG(s->live != 0), CELL_TEXT(s->doc) });
    }
    code = listing_end(&list, false, 0);
    odeon_result_free(info);
    return code;
}

/* What is written as a=1,b=2 and as words of their own; a comma inside a value (a list of
 * processors) stays in it. */
struct assignments {
    size_t n;
    char **keys, **values; /* into `text` */
    char *text;
};

static void ctl_executor_assignments_fini(struct assignments *a)
{
    free(a->keys);
    free(a->values);
    free(a->text);
}

/* Where the assignment at `at` ends: at a comma that another KEY= follows. */
static char *ctl_executor_assignment_end(char *at)
{
    for (char *comma = strchr(at, ','); comma; comma = strchr(comma + 1, ',')) {
        size_t n = strcspn(comma + 1, ",=");

        if (n && comma[1 + n] == '=')
            return comma;
    }
    return at + strlen(at);
}

static int ctl_executor_assignments_parse(struct ctl *ctl, struct assignments *a)
{
    size_t size = 1, n_max = 0;
    char *at, *end;

    for (size_t i = 0; i < ctl->n_words; i++)
        size += strlen(ctl->words[i]) + 1;
    a->text = at = calloc(1, size);
    for (size_t i = 0; at && i < ctl->n_words; i++) { /* with their NULs, one after the other */
        size_t n = strlen(ctl->words[i]) + 1;

        memcpy(at, ctl->words[i], n);
        for (size_t k = 0; k < n; k++)
            n_max += at[k] == '=';
        at += n;
    }
    a->keys = calloc(n_max + 1, sizeof(*a->keys));
    a->values = calloc(n_max + 1, sizeof(*a->values));
    if (!a->text || !a->keys || !a->values)
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot set anything: no memory. Free memory and try again");

    at = a->text;
    for (size_t i = 0; i < ctl->n_words; i++) {
        char *word_end = at + strlen(at);

        for (; at < word_end; at = end < word_end ? end + 1 : word_end) {
            char *equals;

            end = ctl_executor_assignment_end(at);
            *end = '\0';
            equals = strchr(at, '=');
            if (!equals || equals == at)
                return ctl_fail(ctl, CTL_USAGE,
                                "%s: not of the form KEY=VALUE. Write odeonctl executor set %s", at,
                                ctl->command->arguments);
            *equals = '\0';
            for (size_t k = 0; k < a->n; k++)
                if (!strcmp(a->keys[k], at))
                    return ctl_fail(ctl, CTL_USAGE, "%s: it is given twice. Leave one out", at);
            a->keys[a->n] = at;
            a->values[a->n++] = equals + 1;
        }
        at = word_end + 1;
    }
    if (!a->n)
        return ctl_fail(ctl, CTL_USAGE, "executor set: there is nothing to set. Write KEY=VALUE");
    return 0;
}

/* After a refusal: whether a key was unknown, and which was meant.  0: the keys are all known. */
static int executor_explain_key(struct ctl *ctl, const struct assignments *a)
{
    struct odeon_executor_info *info = NULL;
    int code = 0;

    if (odeon_executor_show(ctl->client, &info) < 0)
        return 0;
    for (size_t i = 0; i < a->n && !code; i++) {
        struct suggestion near;
        bool known = false;

        suggestion_init(&near, a->keys[i]);
        for (size_t k = 0; k < info->n_settings; k++) {
            known |= !strcmp(info->settings[k].key, a->keys[i]);
            suggestion_offer(&near, info->settings[k].key);
        }
        if (!known && near.best)
            code = ctl_fail(ctl, CTL_REFUSED, "%s: there is no such setting. Did you mean %s?",
                            a->keys[i], near.best);
        else if (!known)
            code = ctl_fail(ctl, CTL_REFUSED,
                            "%s: there is no such setting. odeonctl executor show lists them",
                            a->keys[i]);
    }
    odeon_result_free(info);
    return code;
}

static void executor_print_set(struct ctl *ctl, const struct assignments *a,
                               const struct odeon_reconfigured *done)
{
    char pause[OUTPUT_DURATION_TEXT];
    struct json json;

    if (!ctl->json) {
        for (size_t i = 0; i < a->n; i++)
            fprintf(ctl->out, "%s = %s\n", a->keys[i], a->values[i]);
        fprintf(ctl->out, "paused %s, %llu %s moved\n",
                output_format_duration(done->pause_ns, pause), (unsigned long long)done->moved,
                done->moved == 1 ? "queue" : "queues");
        return;
    }
    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "set");
    for (size_t i = 0; i < a->n; i++)
        json_string(&json, a->keys[i], a->values[i]);
    json_end_object(&json);
    json_uint(&json, "pause_ns", done->pause_ns);
    json_uint(&json, "moved", done->moved);
    json_end_document(&json);
}

/* The service has gone, has turned this client out, or is late: it may have made the change. That
 * it is stopping (-ESHUTDOWN) is a refusal. */
static bool ctl_executor_is_uncertain(int error)
{
    return error == -ETIMEDOUT || error == -EPROTO ||
           (error != -ESHUTDOWN && ctl_exit_of(error) == CTL_UNREACHABLE);
}

static int ctl_executor_refuse_set(struct ctl *ctl, const struct assignments *a, int error)
{
    char *why = strdup(odeon_error_text()); /* the next call replaces it */
    int code = error == -EINVAL ? executor_explain_key(ctl, a) : 0;

    if (!code && error == -EINVAL && why && *why)
        code = ctl_fail(ctl, CTL_REFUSED, "nothing has been set: %s", why);
    else if (!code && ctl_executor_is_uncertain(error))
        code = ctl_fail(ctl, ctl_exit_of(error),
                        "it is not known whether it has been set: %s. See odeonctl executor show",
                        why && *why ? why : odeon_strerror(error));
    else if (!code)
        code = ctl_refuse(ctl, error, "nothing has been set");
    free(why);
    return code;
}

int ctl_executor_set(struct ctl *ctl)
{
    struct odeon_reconfigured done = { .struct_size = sizeof(done) };
    struct assignments a = { 0 };
    int r, code;

    code = ctl_executor_assignments_parse(ctl, &a);
    if (!code)
        code = ctl_connect(ctl);
    if (code) {
        ctl_executor_assignments_fini(&a);
        return code;
    }
    r = odeon_executor_set(ctl->client, (const char *const *)a.keys, (const char *const *)a.values,
                           a.n, &done);
    if (r < 0)
        code = ctl_executor_refuse_set(ctl, &a, r);
    else
        executor_print_set(ctl, &a, &done);
    ctl_executor_assignments_fini(&a);
    return code;
}
