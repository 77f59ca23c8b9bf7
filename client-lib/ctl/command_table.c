/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands and options, and looking into it (command.h). */
#include "client-lib/ctl/command.h"

#include <string.h>

const struct option_info option_table[OPTION_N] = {
    [OPTION_SOCKET] = { "socket", "PATH",
                        "Control socket ($ODEON_SOCKET, else /run/odeon/control.sock)", "@file",
                        false },
    [OPTION_STATS] = { "stats", "PATH",
                       "Statistics segment ($ODEON_STATS, else \"stats\" beside the socket)",
                       "@file", false },
    [OPTION_JSON] = { "json", NULL, "Print JSON with stable names instead of tables", NULL, false },
    [OPTION_NO_LEGEND] = { "no-legend", NULL, "Leave out headings and hints", NULL, false },
    [OPTION_HELP] = { "help", NULL, "Show help for the command and leave", NULL, false },
    [OPTION_VERSION] = { "version", NULL, "Show the version and leave", NULL, false },
    [OPTION_LIMIT] = { "limit", "N", "Show at most N rows (all without it)", NULL, false },
    [OPTION_AFTER] = { "after", "KEY",
                       "Begin after this key, which the end of a limited list names", NULL, false },
    [OPTION_WATCH] = { "watch", "SECONDS",
                       "Show rates per second, again every SECONDS (fractions allowed)", NULL,
                       false },
    [OPTION_WORKER] = { "worker", NULL, "Show each worker and the control thread for itself", NULL,
                        false },
    [OPTION_COUNT] = { "count", "N", "Stop after N messages", NULL, false },
    [OPTION_TYPE] = { "type", "TYPE", "Only actors of this type", "@types", false },
    [OPTION_NAME] = { "name", "NAME", "Register the new actor under this name", NULL, false },
    [OPTION_HOW] = { "how", "delete|destroy|finished", "How the actor ends (delete without it)",
                     "delete destroy finished", false },
    [OPTION_ALL] = { "all", NULL, "Show every command with its options", NULL, false },
    [OPTION_KIND] = { "kind", "KIND",
                      "Only queues of this kind: ordinary, pinned, follow, aside or detached",
                      "ordinary pinned follow aside detached", false },
    [OPTION_NODE] = { "node", "N", "Let it live on a worker of memory node N", NULL, false },
    [OPTION_PINNED] = { "pinned", "WORKER",
                        "Let it live on one worker, which nobody steals it from", NULL, true },
    [OPTION_FOLLOW] = { "follow", NULL, "Let it run where its last sender runs", NULL, false },
    [OPTION_TO] = { "to", "REF|NAME", "Give them to this actor instead of their receivers",
                    "@actors", false },
    [OPTION_HEX] = { "hex", NULL, "Show the payload's bytes, too, when its fields are known", NULL,
                     false },
    [OPTION_BY] = { "by", "user|client|port", "Whose memory to list (user without it)",
                    "user client port", false },
    [OPTION_OF] = { "of", "REF|NAME", "Only timers that this actor, or port, has armed", "@actors",
                    false },
    [OPTION_TIMEOUT] = { "timeout", "SECONDS",
                         "Wait so long for the answer (10 without it, fractions allowed)", NULL,
                         false },
    [OPTION_BUSY] = { "busy", NULL, "Only queues in which something waits", NULL, false },
    [OPTION_SUMMARY] = { "summary", NULL, "Show sums by type, message and reason", NULL, false },
    [OPTION_REASON] = { "reason", "REASON", "Only those that are dead for this reason",
                        "attempts-exhausted bad-size no-such-actor not-accepted quarantined "
                        "queue-full type-not-loaded",
                        false },
    [OPTION_SORT] = { "sort", "KEY", "What to sort by, who has most first",
                      "run messages wait bytes actors", false },
    [OPTION_TOTAL] = { "total", NULL, "Of types: since the service began, instead of now", NULL,
                       false },
    [OPTION_BATCH] = { "batch", NULL, "Print tables, one after the other, on a terminal, too", NULL,
                       false },
    [OPTION_DETACHED] = { "detached", NULL, "Give it a thread of its own", NULL, false },
    [OPTION_SLOWER] = { "slower-than", "TIME",
                        "Only those that ran or waited so long: 250us, 1.5ms, 2s", NULL, false },
    [OPTION_PAST] = { "past", NULL, "Show those that are kept of before, and end", NULL, false },
    [OPTION_PERFETTO] = { "perfetto", "FILE", "Write them into a file that ui.perfetto.dev shows",
                          "@file", false },
    [OPTION_ID] = { "id", "N", "Show what is kept of messages with this trace's id, and end", NULL,
                    false },
    [OPTION_CLIENT] = { "client", "NAME|ID", "Only those that this client has posted", "@clients",
                        false },
    [OPTION_FAILED] = { "failed", NULL, "Only those that could not be run", NULL, false },
    [OPTION_TRACE] = { "trace", "N", "Give it this trace's id (from 1 on; see odeonctl trace --id)",
                       NULL, false },
    [OPTION_SVG] = { "svg", "FILE", "Draw it into this file instead", "@file", false },
};

const struct command command_table[] = {
    { .noun = "status",
      .arguments = "",
      .doc = "Show what the service is and how it is",
      .run = ctl_status },
    { .noun = "stats",
      .arguments = "",
      .options = OPTION_BIT(OPTION_WATCH) | OPTION_BIT(OPTION_WORKER) | OPTION_BIT(OPTION_COUNT),
      .texts = (const struct option_text[]){ { OPTION_COUNT, "Stop after N intervals of --watch" },
                                             { 0 } },
      .doc = "Show what the scheduler has done, from the statistics segment",
      .details =
          "Reads the segment without asking the service, and so works while the service is down.\n"
          "With --watch and --json, prints one JSON document a line.",
      .run = ctl_stats },
    { .noun = "top",
      .arguments = "[VIEW]",
      .words_max = 1,
      .options = OPTION_BIT(OPTION_WATCH) | OPTION_BIT(OPTION_COUNT) | OPTION_BIT(OPTION_SORT) |
                 OPTION_BIT(OPTION_TOTAL) | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_BATCH),
      .texts =
          (const struct option_text[]){ { OPTION_WATCH, "Look every SECONDS (fractions allowed)" },
                                        { OPTION_COUNT, "Stop after N looks" },
                                        { 0 } },
      .doc = "Show what actors do now, by type, by actor, or who sends to whom",
      .details =
          "VIEW is types, actors or flows; on a terminal also queues, workers, clients or users.\n"
          "Types: messages, run time (100 % is one processor), how long a message runs and waits.\n"
          "Actors, flows: who has most, of the last seconds. Figures are estimates from samples.\n"
          "--sort has run, messages and wait; run without it.\n"
          "On a terminal a program with keys (? says which), else one look; with --json, a line\n"
          "each. With --batch, --count (or -n), --limit or --total, tables on a terminal, too.",
      .choices = "types actors flows queues workers clients users",
      .run = ctl_top },
    { .noun = "trace",
      .arguments = "[REF|NAME]",
      .words_max = 1,
      .options = OPTION_BIT(OPTION_TYPE) | OPTION_BIT(OPTION_SLOWER) | OPTION_BIT(OPTION_PAST) |
                 OPTION_BIT(OPTION_COUNT) | OPTION_BIT(OPTION_PERFETTO) | OPTION_BIT(OPTION_ID) |
                 OPTION_BIT(OPTION_FAILED) | OPTION_BIT(OPTION_CLIENT),
      .texts =
          (const struct option_text[]){ { OPTION_TYPE, "Only messages to actors of this type" },
                                        { 0 } },
      .doc = "Show messages one by one, as they are run",
      .details = "Who sent what to whom, how long it waited and ran, and how many it sent; of one "
                 "actor, to it\n"
                 "and from it.  Shows each message of slow behaviours, and samples of quick ones: "
                 "all, below some\n"
                 "2,000 a second and worker.  With --json, a document a line.\n"
                 "With --id, what is kept of a trace (odeonctl actor send --trace N): each message "
                 "below its cause.",
      .choices = "@actors",
      .run = ctl_trace },
    { .noun = "doctor",
      .arguments = "",
      .doc = "Show everything that is wrong or slow, and what mends it",
      .details = "Looks for a second at the service, its clients, its counters and its machine.  "
                 "Worst comes first:\n"
                 "broken (somebody is not served), bad (it will be), slow, note.  Exit code 6: "
                 "something is broken\n"
                 "or bad.",
      .run = ctl_doctor },
    { .noun = "topology",
      .arguments = "",
      .options = OPTION_BIT(OPTION_SVG),
      .doc = "Show this machine's processors, and which workers run on them",
      .details = "Each processor with its node, caches and core, which have the number of their "
                 "first processor;\n"
                 "of a worker its own queues, who lives there, and what waits.  Call it on the "
                 "service's machine.",
      .run = ctl_topology },
    { .noun = "mem",
      .arguments = "",
      .options = OPTION_BIT(OPTION_BY),
      .doc = "Show what memory is for, and who holds it",
      .details = "Counts pages that exist, not what is reserved; see Memory in the manual.",
      .run = ctl_memory_show },
    { .noun = "config",
      .verb = "check",
      .arguments = "[FILE]",
      .words_max = 1,
      .doc = "Say what is wrong with a configuration, before a service starts with it",
      .details = "FILE is /etc/odeon/odeond.conf without it.  The odeond beside this program reads "
                 "it; a service\n"
                 "that runs is neither asked nor disturbed.",
      .choices = "@file",
      .run = ctl_config_check },
    { .noun = "executor",
      .verb = "show",
      .arguments = "",
      .doc = "Show the executor's settings",
      .run = ctl_executor_show },
    { .noun = "executor",
      .verb = "set",
      .arguments = "KEY=VALUE...",
      .words_min = 1,
      .words_max = COMMAND_WORDS_ANY,
      .doc = "Change settings of the running executor, all or none",
      .details = "Several may be joined with commas: stealing=random,throughput=64.  They are one "
                 "change: workers\n"
                 "stop for it once, and go on with all of it or, after a refusal, with none.",
      .choices =
          "stealing=none stealing=random stealing=round-robin stealing=longest-victim "
          "stealing=fullest "
          "stealing=locality stealing=share steal-mode=keep steal-mode=visit steal-sources= "
          "packing=yes packing=no "
          "throughput= "
          "workers= affinity=auto affinity=none smt=yes smt=no spin-us= moderate-sleeps= "
          "moderate-us= "
          "relaxed-us= stall-warn-ms= stall-kill-ms= quarantine-crashes= quarantine-window-s=",
      .run = ctl_executor_set },
    { .noun = "plugin",
      .verb = "load",
      .arguments = "PATH",
      .words_min = 1,
      .words_max = 1,
      .doc = "Load a plugin",
      .details = "A relative PATH begins at the current directory.",
      .choices = "@file",
      .run = ctl_plugin_load },
    { .noun = "plugin",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED,
      .doc = "List the loaded plugins",
      .run = ctl_plugin_list },
    { .noun = "plugin",
      .verb = "unload",
      .arguments = "NAME",
      .words_min = 1,
      .words_max = 1,
      .doc = "Unload a plugin, or say what blocks it",
      .choices = "@plugins",
      .run = ctl_plugin_unload },
    { .noun = "plugin",
      .verb = "check",
      .arguments = "FILE",
      .words_min = 1,
      .words_max = 1,
      .doc = "Say what would be refused of a plugin, and what should worry its author",
      .details = "Reads the file, and neither loads it nor asks the service.",
      .choices = "@file",
      .run = ctl_plugin_check },
    { .noun = "type",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED,
      .doc = "List the actor types",
      .run = ctl_type_list },
    { .noun = "type",
      .verb = "release",
      .arguments = "NAME",
      .words_min = 1,
      .words_max = 1,
      .doc = "Run an actor type again that is in quarantine",
      .choices = "@types",
      .run = ctl_type_release },
    { .noun = "message",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED,
      .doc = "List the message types that are known",
      .run = ctl_message_list },
    { .noun = "message",
      .verb = "show",
      .arguments = "NAME [VERSION]",
      .words_min = 1,
      .words_max = 2,
      .doc = "Show a message type's fields, who declares it and who accepts it",
      .details = "Without VERSION: the newest.",
      .choices = "@messages",
      .run = ctl_message_show },
    { .noun = "actor",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED | OPTION_BIT(OPTION_TYPE),
      .doc = "List the actors",
      .run = ctl_actor_list },
    { .noun = "actor",
      .verb = "show",
      .arguments = "REF|NAME",
      .words_min = 1,
      .words_max = 1,
      .doc = "Show one actor",
      .choices = "@actors",
      .run = ctl_actor_show },
    { .noun = "actor",
      .verb = "spawn",
      .arguments = "TYPE [FIELD=VALUE...|HEX...]",
      .words_min = 1,
      .words_max = COMMAND_WORDS_ANY,
      .options = OPTION_BIT(OPTION_NAME) | OPTION_BIT(OPTION_NODE) | OPTION_BIT(OPTION_PINNED) |
                 OPTION_BIT(OPTION_FOLLOW) | OPTION_BIT(OPTION_DETACHED),
      .doc = "Make an actor and print its reference",
      .details = "FIELD=VALUE are its arguments, as its type describes them (odeonctl type list); "
                 "fields that are\n"
                 "not given are zero.  HEX are their bytes as hexadecimal digits, 232 at most.  "
                 "Without either\n"
                 "it gets no arguments.\n"
                 "Without an option that says where, it lives in a queue of any worker, in turn.",
      .choices = "@types|",
      .run = ctl_actor_spawn },
    { .noun = "actor",
      .verb = "send",
      .arguments = "REF|NAME MESSAGE [FIELD=VALUE...]",
      .words_min = 2,
      .words_max = COMMAND_WORDS_ANY,
      .options = OPTION_BIT(OPTION_TRACE),
      .doc = "Send a message to an actor",
      .details = "Fields that are not given are zero.  Integers are decimal or 0x hexadecimal, "
                 "arrays of numbers are\n"
                 "joined with commas, arrays of char and a tail take text as it is.",
      .choices = "@actors|@messages|",
      .run = ctl_actor_send },
    { .noun = "actor",
      .verb = "call",
      .arguments = "REF|NAME MESSAGE [FIELD=VALUE...]",
      .words_min = 2,
      .words_max = COMMAND_WORDS_ANY,
      .options = OPTION_BIT(OPTION_TIMEOUT) | OPTION_BIT(OPTION_TRACE),
      .doc = "Send a message to an actor and print its answer",
      .details = "Fields are written as for actor send.  The answer is printed on one line: its "
                 "message, and its\n"
                 "fields by name.  Exit code 5: there was none in time.",
      .choices = "@actors|@messages|",
      .run = ctl_actor_call },
    { .noun = "actor",
      .verb = "stop",
      .arguments = "REF|NAME|--type TYPE",
      .words_max = 1,
      .options = OPTION_BIT(OPTION_HOW) | OPTION_BIT(OPTION_TYPE),
      .texts = (const struct option_text[]){ { OPTION_TYPE, "All actors of this type" }, { 0 } },
      .doc = "Send an actor, or all of a type, the message that ends it",
      .details = "Messages that it has already been sent come first.",
      .choices = "@actors",
      .run = ctl_actor_stop },
    { .noun = "listen",
      .arguments = "[NAME]",
      .words_max = 1,
      .options = OPTION_BIT(OPTION_COUNT),
      .doc = "Print what actors send to a port of this program's own, a message a line",
      .details =
          "Says first, on standard error, what the port is for those who are to send to it: "
          "its reference,\n"
          "and NAME, if it is to have one.  With --json all of it is on standard output, one "
          "JSON document a\n"
          "line.",
      .run = ctl_listen },
    { .noun = "queue",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED | OPTION_BIT(OPTION_KIND) | OPTION_BIT(OPTION_BUSY) |
                 OPTION_BIT(OPTION_SORT),
      .doc = "List the message queues",
      .details = "--sort has bytes, wait (of the oldest message) and actors; by number without it.",
      .run = ctl_queue_list },
    { .noun = "timer",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED | OPTION_BIT(OPTION_OF),
      .doc = "List the timers that actors have armed",
      .details = "A stop of the service waits for none of them, and tells how many it leaves.",
      .run = ctl_timer_list },
    { .noun = "monitor",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED | OPTION_BIT(OPTION_OF),
      .texts = (const struct option_text[]){ { OPTION_OF,
                                               "Only those in which this actor, or client, watches "
                                               "or is watched" },
                                             { 0 } },
      .doc = "List who is told when somebody ends, or ends with them",
      .run = ctl_monitor_list },
    { .noun = "group",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED,
      .doc = "List the groups that actors have joined",
      .run = ctl_group_list },
    { .noun = "group",
      .verb = "show",
      .arguments = "REF|NAME",
      .words_min = 1,
      .words_max = 1,
      .options = OPTIONS_PAGED,
      .doc = "List the members of a group",
      .choices = "@groups",
      .run = ctl_group_show },
    { .noun = "dlq",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED | OPTION_BIT(OPTION_SUMMARY) | OPTION_BIT(OPTION_TYPE) |
                 OPTION_BIT(OPTION_REASON),
      .texts = (const struct option_text[]){ { OPTION_TYPE, "Only those to actors of this type" },
                                             { 0 } },
      .doc = "List the dead letters, oldest first",
      .run = ctl_dlq_list },
    { .noun = "dlq",
      .verb = "show",
      .arguments = "ID",
      .words_min = 1,
      .words_max = 1,
      .options = OPTION_BIT(OPTION_HEX),
      .doc = "Show one dead letter with its payload",
      .details = "The payload is shown by its fields when its message type describes them, in the "
                 "version\n"
                 "that it was sent in, else as hexadecimal digits.",
      .run = ctl_dlq_show },
    { .noun = "dlq",
      .verb = "replay",
      .arguments = "all|ID...",
      .words_min = 1,
      .words_max = COMMAND_WORDS_ANY,
      .options = OPTION_BIT(OPTION_TO),
      .doc = "Give dead letters to their receivers once more",
      .details = "They come behind what waits there, as if they were new.  Those whose receiver "
                 "has ended, or has no\n"
                 "room, stay.",
      .choices = "all",
      .run = ctl_dlq_replay },
    { .noun = "dlq",
      .verb = "purge",
      .arguments = "all|ID...",
      .words_min = 1,
      .words_max = COMMAND_WORDS_ANY,
      .doc = "Forget dead letters",
      .choices = "all",
      .run = ctl_dlq_purge },
    { .noun = "client",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED,
      .doc = "List the connected clients",
      .run = ctl_client_list },
    { .noun = "client",
      .verb = "show",
      .arguments = "ID",
      .words_min = 1,
      .words_max = 1,
      .doc = "Show a client, what it and its user have of each quota, and its ports",
      .choices = "@clients",
      .run = ctl_client_show },
    { .noun = "client",
      .verb = "traffic",
      .arguments = "",
      .options = OPTIONS_PAGED,
      .doc = "List what has gone through each client's ports, and its round trips",
      .run = ctl_client_traffic },
    { .noun = "client",
      .verb = "kick",
      .arguments = "ID",
      .words_min = 1,
      .words_max = 1,
      .doc = "End the connection of a client",
      .details = "What it has posted is still consumed; then its ports are closed.",
      .choices = "@clients",
      .run = ctl_client_kick },
    { .noun = "user",
      .verb = "list",
      .arguments = "",
      .options = OPTIONS_PAGED,
      .doc = "List the users who have clients, and what these have done",
      .run = ctl_user_list },
    { .noun = "completion",
      .arguments = "bash|names KIND",
      .words_min = 1,
      .words_max = 2,
      .doc = "Print completion code for a shell",
      .details = "The code asks for names of what the service has by completion names: actors, "
                 "types, plugins,\n"
                 "messages, groups, clients.",
      .choices = "bash",
      .run = ctl_completion },
    { .noun = "help",
      .arguments = "[NOUN [VERB]]",
      .words_max = 2,
      .options = OPTION_BIT(OPTION_ALL),
      .doc = "Show help",
      .choices = "@noun",
      .run = ctl_help },
};
const size_t command_table_n = sizeof(command_table) / sizeof(command_table[0]);

const struct command *command_find_noun(const char *noun)
{
    for (size_t i = 0; i < command_table_n; i++)
        if (!strcmp(command_table[i].noun, noun))
            return &command_table[i];
    return NULL;
}

const struct command *command_find(const char *noun, const char *verb)
{
    for (size_t i = 0; i < command_table_n; i++) {
        const struct command *c = &command_table[i];

        if (strcmp(c->noun, noun))
            continue;
        if (c->verb ? verb && !strcmp(c->verb, verb) : !verb)
            return c;
    }
    return NULL;
}

const char *command_option_doc(const struct command *command, enum option option)
{
    for (const struct option_text *t = command ? command->texts : NULL; t && t->doc; t++)
        if (t->option == option)
            return t->doc;
    return option_table[option].doc;
}

bool command_begins_noun(const struct command *command)
{
    return command == command_table || strcmp(command->noun, command[-1].noun) != 0;
}
