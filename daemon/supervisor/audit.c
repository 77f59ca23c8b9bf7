/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-login.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/seat.h"
#include "proto/reference.h"

enum { AUDIT_TEXT = 512, AUDIT_FIELD = 160 };

/* The service that a process belongs to; "": none, or it has gone. To be freed. */
static char *audit_find_unit(pid_t pid)
{
    char *unit = NULL;

    if (sd_pid_get_unit(pid, &unit) < 0 && sd_pid_get_user_unit(pid, &unit) < 0)
        return strdup("");
    return unit;
}

static void audit_write(const struct client *client, uid_t uid, const char *what)
{
    char who[AUDIT_FIELD], pid[48] = "ODEON_CLIENT_PID=", user[48],
                           service[AUDIT_FIELD] = "ODEON_CLIENT_UNIT=";
    const char *const fields[] = { CATALOGUE_CHANGED, user, pid, service, NULL };
    char *unit = client ? audit_find_unit(client->pid) : NULL;

    if (client)
        client_describe(client, who, sizeof(who));
    else
        snprintf(who, sizeof(who), "a client that has gone since (user %u)", uid);
    snprintf(user, sizeof(user), "ODEON_CLIENT_UID=%u", uid);
    if (client)
        snprintf(pid, sizeof(pid), "ODEON_CLIENT_PID=%d", (int)client->pid);
    snprintf(service, sizeof(service), "ODEON_CLIENT_UNIT=%s", unit ? unit : "");
    log_fields(LOG_LEVEL_NOTICE, fields, "%s %s", who, what);
    free(unit);
}

/* Spawns and stops. */
static bool audit_is_of_actors(const Odeon__Request *asked)
{
    return asked->body_case == ODEON__REQUEST__BODY_SPAWN ||
           asked->body_case == ODEON__REQUEST__BODY_ACTOR_STOP;
}

/* audit.AU1, audit.AU2.  False: this one is not written. */
static bool audit_take_by_hand(struct client *client)
{
    if (!client || strcmp(client->name, "odeonctl") != 0 || client->n_audited > AUDIT_BY_HAND_MOST)
        return false;
    if (client->n_audited++ < AUDIT_BY_HAND_MOST)
        return true;
    audit_write(client, client->uid,
                "makes or stops more actors than these: the others are not written one by one");
    return false;
}

static bool audit_is_later(const Odeon__Reply *reply, const char *key)
{
    for (size_t i = 0; reply->reconfigured && i < reply->reconfigured->n_later; i++)
        if (strcmp(reply->reconfigured->later[i], key) == 0)
            return true;
    return false;
}

/* A line for each setting. */
static void audit_settings(const struct seat *seat, const struct client *client, uid_t uid,
                           const Odeon__ExecutorSet *set, const Odeon__Reply *reply)
{
    for (size_t i = 0; i < set->n_settings; i++) {
        const Odeon__Setting *setting = set->settings[i];
        const char *before = setting_list_get(&seat->settings, setting->key);
        char what[AUDIT_TEXT];

        snprintf(what, sizeof(what), "has set %s=%s, which was %s%s", setting->key, setting->value,
                 before ? before : "as it is by default",
                 audit_is_later(reply, setting->key) ? ", for the next start" : "");
        audit_write(client, uid, what);
    }
}

static void audit_letters(char what[AUDIT_TEXT], const char *done, size_t n,
                          const Odeon__Reply *reply)
{
    uint64_t count = reply->body_case == ODEON__REPLY__BODY_DEAD_LETTERS_DONE
                         ? reply->dead_letters_done->done
                         : 0;

    snprintf(what, AUDIT_TEXT, "has %s %" PRIu64 " dead letters%s", done, count,
             n ? "" : " of all that there were");
}

static void audit_ref(char what[AUDIT_TEXT], const char *done, uint64_t ref, const char *rest)
{
    snprintf(what, AUDIT_TEXT, "has %s %u.%u.%u%s", done, actor_ref_executor(ref),
             actor_ref_number(ref), actor_ref_generation(ref), rest);
}

static void audit_spawn(char what[AUDIT_TEXT], const Odeon__Spawn *spawn, const Odeon__Reply *reply)
{
    char rest[AUDIT_FIELD];

    snprintf(rest, sizeof(rest), ", an actor of type %s%s%s", spawn->type,
             spawn->name[0] ? ", called " : "", spawn->name);
    audit_ref(what, "made", reply->body_case == ODEON__REPLY__BODY_REF ? reply->ref->ref : 0, rest);
}

/* What else one line says; "": the request changes nothing. */
static void audit_describe(const Odeon__Request *asked, const Odeon__Reply *reply,
                           char what[AUDIT_TEXT])
{
    *what = '\0';
    switch (asked->body_case) {
    case ODEON__REQUEST__BODY_PLUGIN_LOAD:
        snprintf(what, AUDIT_TEXT, "has loaded plugin %s",
                 reply->body_case == ODEON__REPLY__BODY_PLUGIN && reply->plugin
                     ? reply->plugin->name
                     : asked->plugin_load->path);
        break;
    case ODEON__REQUEST__BODY_PLUGIN_UNLOAD:
        snprintf(what, AUDIT_TEXT, "has unloaded plugin %s", asked->plugin_unload->name);
        break;
    case ODEON__REQUEST__BODY_TYPE_RELEASE:
        snprintf(what, AUDIT_TEXT, "has released type %s from quarantine",
                 asked->type_release->name);
        break;
    case ODEON__REQUEST__BODY_DEAD_LETTER_REPLAY:
        audit_letters(what, "replayed", asked->dead_letter_replay->n_ids, reply);
        break;
    case ODEON__REQUEST__BODY_DEAD_LETTER_PURGE:
        audit_letters(what, "purged", asked->dead_letter_purge->n_ids, reply);
        break;
    case ODEON__REQUEST__BODY_SPAWN:
        audit_spawn(what, asked->spawn, reply);
        break;
    case ODEON__REQUEST__BODY_ACTOR_STOP:
        audit_ref(what, "stopped actor", asked->actor_stop->ref, "");
        break;
    default:
        break;
    }
}

/* audit.AU1 */
void audit_request(const struct seat *seat, struct client *client, uid_t uid,
                   const Odeon__Request *asked, const Odeon__Reply *reply)
{
    char what[AUDIT_TEXT];

    if (asked->body_case == ODEON__REQUEST__BODY_EXECUTOR_SET) {
        audit_settings(seat, client, uid, asked->executor_set, reply);
        return;
    }
    if (audit_is_of_actors(asked) && !audit_take_by_hand(client))
        return;
    audit_describe(asked, reply, what);
    if (*what)
        audit_write(client, uid, what);
}

void audit_kick(const struct client *client, const struct client *other)
{
    char what[AUDIT_TEXT], whom[AUDIT_FIELD];

    snprintf(what, sizeof(what), "has thrown out %s", client_describe(other, whom, sizeof(whom)));
    audit_write(client, client->uid, what);
}
