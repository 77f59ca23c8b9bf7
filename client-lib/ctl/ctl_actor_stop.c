/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl actor stop: one actor, or all of a type. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* How an actor is to end, as --how says. False: it says something else. */
static bool actor_stop_parse_how(const struct ctl *ctl, const char **ret_name,
                                 enum odeon_allocation *ret_how)
{
    static const struct {
        const char *name;
        enum odeon_allocation how;
    } ways[] = { { "delete", ODEON_DELETE },
                 { "destroy", ODEON_DESTROY },
                 { "finished", ODEON_FINISHED } };
    const char *how = ctl->option[OPTION_HOW] ? ctl->option[OPTION_HOW] : ways[0].name;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].name, how) == 0) {
            *ret_name = ways[i].name;
            *ret_how = ways[i].how;
            return true;
        }
    return false;
}

static int actor_stop_one(struct ctl *ctl, const char *name, enum odeon_allocation how)
{
    char text[ODEON_REF_TEXT];
    struct json json;
    odeon_ref ref;
    int r, code = ctl_ref_find(ctl, ctl->words[0], &ref);

    if (code)
        return code;
    r = odeon_actor_stop(ctl->client, ref, how);
    if (r == -ESRCH)
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot stop %s: there is no such actor, it has ended or never was. See "
                        "odeonctl actor list",
                        ctl->words[0]);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot stop %s", ctl->words[0]);
    odeon_ref_format(ref, text);
    if (!ctl->json) {
        fprintf(ctl->out, "sent %s to %s\n", name, text);
        return 0;
    }
    json_begin_document(&json, ctl->out);
    json_string(&json, "stopping", text);
    json_string(&json, "how", name);
    json_end_document(&json);
    return 0;
}

/* ---- all of a type ---- */

struct actor_stop_sums {
    enum odeon_allocation how;
    const char *name; /* of that */
    uint64_t sent, gone;
};

/* Who has ended meanwhile needs no message. */
static int actor_stop_page(struct ctl *ctl, void *userdata, const struct odeon_list *list)
{
    struct actor_stop_sums *sums = userdata;
    const struct odeon_actor_info *rows = list->rows;

    for (size_t i = 0; i < list->n; i++) {
        int r = odeon_actor_stop(ctl->client, rows[i].ref, sums->how);

        if (r < 0 && r != -ESRCH)
            return ctl_refuse(ctl, r, "stopped behind %" PRIu64 " actors of type %s", sums->sent,
                              ctl->option[OPTION_TYPE]);
        sums->sent += r == 0;
        sums->gone += r == -ESRCH;
    }
    if (list->more && ctl->legend && ctl->terminal)
        fprintf(ctl->err, "sent %s to %" PRIu64 " so far\n", sums->name, sums->sent);
    return 0;
}

static int actor_stop_print_sums(struct ctl *ctl, const struct actor_stop_sums *sums)
{
    struct json json;

    if (!ctl->json) {
        fprintf(ctl->out, "sent %s to %" PRIu64 " actors of type %s\n", sums->name, sums->sent,
                ctl->option[OPTION_TYPE]);
        return 0;
    }
    json_begin_document(&json, ctl->out);
    json_string(&json, "type", ctl->option[OPTION_TYPE]);
    json_string(&json, "how", sums->name);
    json_uint(&json, "stopping", sums->sent);
    json_uint(&json, "gone", sums->gone);
    json_end_document(&json);
    return 0;
}

static int actor_stop_type(struct ctl *ctl, const char *name, enum odeon_allocation how)
{
    const struct listing_source source = { .what = "cannot list the actors of the type",
                                           .fetch = odeon_actor_list,
                                           .filter = ctl->option[OPTION_TYPE],
                                           .by_type = true };
    struct actor_stop_sums sums = { .how = how, .name = name };
    int code = listing_walk(ctl, &source, 0, actor_stop_page, &sums);

    return code ? code : actor_stop_print_sums(ctl, &sums);
}

int ctl_actor_stop(struct ctl *ctl)
{
    enum odeon_allocation how;
    const char *name;
    int code;

    if (!actor_stop_parse_how(ctl, &name, &how))
        return ctl_fail(ctl, CTL_USAGE,
                        "--how: '%s' is no way to end. Write delete, destroy or finished",
                        ctl->option[OPTION_HOW]);
    if ((ctl->n_words == 1) == (ctl->option[OPTION_TYPE] != NULL))
        return ctl_fail(ctl, CTL_USAGE,
                        "actor stop: write one actor, its reference or its name, or --type TYPE "
                        "for all of a type");
    code = ctl_connect(ctl);
    if (code)
        return code;
    return ctl->n_words ? actor_stop_one(ctl, name, how) : actor_stop_type(ctl, name, how);
}
