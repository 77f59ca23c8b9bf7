/* SPDX-License-Identifier: Apache-2.0 */
/* Completion code for shells, from the table of commands.
 *
 * The generated function finds noun and verb among the words before the cursor (options and their
 * values skipped) and offers what the table has for them; it never asks the service.
 */
#include "client-lib/ctl/ctl.h"

#include <string.h>

static void completion_list_options(FILE *out, uint64_t options)
{
    const char *separator = "";

    for (int o = 0; o < OPTION_N; o++)
        if (options & OPTION_BIT(o)) {
            fprintf(out, "%s--%s", separator, option_table[o].name);
            separator = " ";
        }
}

/* What may follow: `choices` of an option or of a command's arguments. */
static void completion_offer(FILE *out, const char *choices)
{
    if (!choices)
        fputs(" COMPREPLY=() ;;\n", out);
    else if (!strcmp(choices, "@file"))
        fputs(" compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n", out);
    else if (!strcmp(choices, "@noun"))
        fputs(" mapfile -t COMPREPLY < <(compgen -W \"$nouns\" -- \"$cur\") ;;\n", out);
    else
        fprintf(out, " mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\") ;;\n", choices);
}

static void completion_nouns(FILE *out)
{
    fputs("    local nouns='", out);
    for (size_t i = 0; i < command_table_n; i++)
        if (command_begins_noun(&command_table[i]))
            fprintf(out, "%s%s", i ? " " : "", command_table[i].noun);
    fputs("'\n", out);
}

static void completion_find_words(FILE *out)
{
    const char *separator = "";

    fputs("    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n            ",
          out);
    for (int o = 0; o < OPTION_N; o++)
        if (option_table[o].argument && !option_table[o].optional) {
            fprintf(out, "%s--%s", separator, option_table[o].name);
            separator = "|";
        }
    fputs(") ((i++)) ;;\n"
          "            -*) ;;\n"
          "            *) words+=(\"${COMP_WORDS[i]}\") ;;\n"
          "        esac\n"
          "    done\n",
          out);
}

static void completion_option_values(FILE *out)
{
    fputs("    case $prev in\n", out);
    for (int o = 0; o < OPTION_N; o++) {
        if (!option_table[o].argument || option_table[o].optional)
            continue;
        fprintf(out, "        --%s)", option_table[o].name);
        completion_offer(out, option_table[o].choices);
    }
    fputs("        *) prev= ;;\n    esac\n    [[ -n $prev ]] && return\n", out);
}

static void completion_verbs(FILE *out)
{
    fputs("    case $command in\n", out);
    for (size_t i = 0; i < command_table_n; i++) {
        const struct command *c = &command_table[i];

        if (!c->verb || !command_begins_noun(c))
            continue;
        fprintf(out, "        '%s ') mapfile -t COMPREPLY < <(compgen -W '", c->noun);
        for (size_t k = i; k < command_table_n && !strcmp(command_table[k].noun, c->noun); k++)
            fprintf(out, "%s%s", k > i ? " " : "", command_table[k].verb);
        fputs("' -- \"$cur\"); return ;;\n", out);
    }
    fputs("    esac\n", out);
}

static void completion_options(FILE *out)
{
    fputs("    if [[ $cur == -* ]]; then\n        options='", out);
    completion_list_options(out, OPTIONS_COMMON);
    fputs("'\n        case $command in\n", out);
    for (size_t i = 0; i < command_table_n; i++) {
        const struct command *c = &command_table[i];

        if (!c->options)
            continue;
        fprintf(out, "            '%s %s'*) options+=' ", c->noun, c->verb ? c->verb : "");
        completion_list_options(out, c->options);
        fputs("' ;;\n", out);
    }
    fputs("        esac\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
          "        return\n"
          "    fi\n",
          out);
}

static void completion_arguments(FILE *out)
{
    fputs("    case $command in\n        '')", out);
    completion_offer(out, "@noun");
    for (size_t i = 0; i < command_table_n; i++) {
        const struct command *c = &command_table[i];

        if (!c->choices)
            continue;
        fprintf(out, "        '%s %s')", c->noun, c->verb ? c->verb : "");
        completion_offer(out, c->choices);
    }
    fputs("    esac\n", out);
}

int ctl_completion(struct ctl *ctl)
{
    FILE *out = ctl->out;

    if (strcmp(ctl->words[0], "bash") != 0)
        return ctl_fail(ctl, CTL_USAGE, "completion: there is none for '%s'. Write bash",
                        ctl->words[0]);
    fputs("# bash completion for odeonctl\n"
          "_odeonctl()\n"
          "{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i options "
          "command=\n"
          "    local -a words=()\n",
          out);
    completion_nouns(out);
    fputs("    COMPREPLY=()\n", out);
    completion_option_values(out);
    completion_find_words(out);
    fputs("    [[ ${#words[@]} -gt 0 ]] && command=\"${words[0]} ${words[1]:-}\"\n", out);
    completion_options(out);
    completion_verbs(out);
    completion_arguments(out);
    fputs("}\n"
          "complete -F _odeonctl odeonctl\n",
          out);
    return 0;
}
