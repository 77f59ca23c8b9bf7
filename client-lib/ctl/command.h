/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands: parsing, help, completion and the check of the man page all read it.
 *
 * Constant data, any thread.  A new command is a line here and a function in its noun's file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl;

enum option {
    /* of every command */
    OPTION_SOCKET,
    OPTION_STATS,
    OPTION_JSON,
    OPTION_NO_LEGEND,
    OPTION_HELP,
    OPTION_VERSION,
    /* of those that name them */
    OPTION_LIMIT,
    OPTION_AFTER,
    OPTION_WATCH,
    OPTION_WORKER,
    OPTION_COUNT,
    OPTION_TYPE,
    OPTION_NAME,
    OPTION_HOW,
    OPTION_ALL,
    OPTION_KIND,
    OPTION_NODE,
    OPTION_PINNED,
    OPTION_FOLLOW,
    OPTION_DETACHED,
    OPTION_TO,
    OPTION_HEX,
    OPTION_BY,
    OPTION_OF,
    OPTION_TIMEOUT,
    OPTION_BUSY,
    OPTION_SUMMARY,
    OPTION_REASON,
    OPTION_SORT,
    OPTION_TOTAL,
    OPTION_BATCH,
    OPTION_SLOWER,
    OPTION_PAST,
    OPTION_PERFETTO,
    OPTION_ID,
    OPTION_TRACE,
    OPTION_FAILED,
    OPTION_CLIENT,
    OPTION_SVG,
    OPTION_N,
};

#define OPTION_BIT(option) (UINT64_C(1) << (option))
#define OPTIONS_COMMON     (OPTION_BIT(OPTION_LIMIT) - 1)
#define OPTIONS_PAGED      (OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_AFTER))

struct option_info {
    const char *name;     /* without the dashes */
    const char *argument; /* NULL: a flag */
    const char *doc;
    const char *choices; /* for completion: words, "@file", or NULL */
    bool optional;       /* the argument may be left out; given, it is written --name=ARGUMENT */
};
extern const struct option_info option_table[OPTION_N];

/* What an option does to one command, where that is not what it does to the others. */
struct option_text {
    enum option option;
    const char *doc;
};

enum { COMMAND_WORDS_ANY = 1000000 };

struct command {
    const char *noun;
    const char *verb;      /* NULL: the noun alone is the command */
    const char *arguments; /* as shown, "" for none */
    unsigned words_min, words_max;
    uint64_t options;                /* bits besides OPTIONS_COMMON */
    const struct option_text *texts; /* of some of them, up to one without text; NULL: none */
    const char *doc;                 /* one line, no full stop */
    const char *details;             /* more lines for its help, or NULL */
    const char *choices;             /* of its arguments, as in option_info */
    int (*run)(struct ctl *ctl);
};
extern const struct command command_table[];
extern const size_t command_table_n;

static inline bool command_allows(const struct command *command, enum option option)
{
    return ((command->options | OPTIONS_COMMON) & OPTION_BIT(option)) != 0;
}

/* The first command of a noun, the command of a noun and a verb (NULL: without verb); NULL: there
 * is none. */
const struct command *command_find_noun(const char *noun);
const struct command *command_find(const char *noun, const char *verb);
/* Whether the entry is the first of its noun. */
bool command_begins_noun(const struct command *command);

/* What its help says of an option; NULL: that of every command. */
const char *command_option_doc(const struct command *command, enum option option);

/* Fills ctl from the arguments. 0, or the exit code, after a message; *ret_finished: help or
 * version has been shown.
 */
int command_parse(struct ctl *ctl, int argc, char **argv, bool *ret_finished);

/* The commands themselves, by file. */
int ctl_status(struct ctl *ctl);
int ctl_stats(struct ctl *ctl);
int ctl_top(struct ctl *ctl);
int ctl_trace(struct ctl *ctl);
int ctl_doctor(struct ctl *ctl);
int ctl_topology(struct ctl *ctl);
int ctl_memory_show(struct ctl *ctl);
int ctl_config_check(struct ctl *ctl);
int ctl_executor_show(struct ctl *ctl);
int ctl_executor_set(struct ctl *ctl);
int ctl_plugin_load(struct ctl *ctl);
int ctl_plugin_check(struct ctl *ctl);
int ctl_plugin_list(struct ctl *ctl);
int ctl_plugin_unload(struct ctl *ctl);
int ctl_type_list(struct ctl *ctl);
int ctl_message_list(struct ctl *ctl);
int ctl_message_show(struct ctl *ctl);
int ctl_actor_list(struct ctl *ctl);
int ctl_actor_show(struct ctl *ctl);
int ctl_actor_spawn(struct ctl *ctl);
int ctl_actor_send(struct ctl *ctl);
int ctl_actor_call(struct ctl *ctl);
int ctl_actor_stop(struct ctl *ctl);
int ctl_listen(struct ctl *ctl);
int ctl_queue_list(struct ctl *ctl);
int ctl_timer_list(struct ctl *ctl);
int ctl_monitor_list(struct ctl *ctl);
int ctl_group_list(struct ctl *ctl);
int ctl_group_show(struct ctl *ctl);
int ctl_type_release(struct ctl *ctl);
int ctl_dlq_list(struct ctl *ctl);
int ctl_dlq_show(struct ctl *ctl);
int ctl_dlq_replay(struct ctl *ctl);
int ctl_dlq_purge(struct ctl *ctl);
int ctl_client_list(struct ctl *ctl);
int ctl_client_traffic(struct ctl *ctl);
int ctl_user_list(struct ctl *ctl);
int ctl_client_show(struct ctl *ctl);
int ctl_client_kick(struct ctl *ctl);
int ctl_completion(struct ctl *ctl);
int ctl_help(struct ctl *ctl);

/* Help of one command, of one noun, or of the program. */
void help_show_command(struct ctl *ctl, const struct command *command);
void help_show_noun(struct ctl *ctl, const char *noun);
void help_show_program(struct ctl *ctl);
