/* SPDX-License-Identifier: Apache-2.0 */
/* Completion code for shells, from the table of commands.
 *
 * The generated function finds noun and verb among the words before the cursor (options and their
 * values skipped) and offers what the table has for them. Bash takes words apart at "=", and puts
 * what is offered behind the last one: they are put together first, and what is there already is
 * taken off the offers. Names of what the service has are asked
 * for, for a second at most, where the socket that the line names or the environment does may be
 * used; they are never expanded by the shell.
 */
#include "client-lib/ctl/completion_names.h"
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
    else if (*choices == '@')
        fprintf(out, " _odeonctl_names %s ;;\n", choices + 1);
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

    fputs("    for ((i = 1; i < ${#given[@]} - 1; i++)); do\n"
          "        case ${given[i]} in\n"
          "            --socket=*) socket=(--socket \"${given[i]#*=}\") ;;\n"
          "            --socket) socket=(--socket \"${given[++i]}\") ;;\n            ",
          out);
    for (int o = 0; o < OPTION_N; o++)
        if (o != OPTION_SOCKET && option_table[o].argument && !option_table[o].optional) {
            fprintf(out, "%s--%s", separator, option_table[o].name);
            separator = "|";
        }
    fputs(") ((i++)) ;;\n"
          "            -*) ;;\n"
          "            *) words+=(\"${given[i]}\") ;;\n"
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
    fputs("        *) prev= ;;\n    esac\n    [[ -n $prev$option ]] && return\n", out);
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

/* Choices parted by bars are those of the first argument, the second and so on. */
static void completion_offer_each(FILE *out, const char *choices)
{
    fputs("\n            case $((${#words[@]} - 2)) in\n", out);
    for (unsigned i = 0; *choices; i++) {
        char one[64];
        size_t n = strcspn(choices, "|");

        snprintf(one, sizeof(one), "%.*s", (int)n, choices);
        fprintf(out, "            %u)", i);
        completion_offer(out, *one ? one : NULL);
        choices += n + (choices[n] == '|');
    }
    fputs("            esac ;;\n", out);
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
        if (strchr(c->choices, '|'))
            completion_offer_each(out, c->choices);
        else
            completion_offer(out, c->choices);
    }
    fputs("    esac\n", out);
}

/* `socket` is the caller's. */
static void completion_function_of_names(FILE *out)
{
    fputs("_odeonctl_names()\n"
          "{\n"
          "    local name\n"
          "    while IFS= read -r name; do\n"
          "        [[ $name == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$name\")\")\n"
          "    done < <(timeout 1 odeonctl \"${socket[@]}\" completion names \"$1\" 2>/dev/null)\n"
          "}\n",
          out);
}

/* `given`, `cur`, `prev`, `option` are the caller's. */
static void completion_function_of_offers(FILE *out)
{
    fputs("_odeonctl_offer()\n"
          "{\n"
          "    local i options command=\n"
          "    local -a words=() socket=()\n",
          out);
    completion_nouns(out);
    completion_find_words(out);
    completion_option_values(out);
    fputs("    [[ ${#words[@]} -gt 0 ]] && command=\"${words[0]} ${words[1]:-}\"\n", out);
    completion_options(out);
    completion_verbs(out);
    completion_arguments(out);
    fputs("}\n", out);
}

/* An empty word behind "=" is the next one: where the cursor is at the "=", this is the last. */
static void completion_function_of_all(FILE *out)
{
    fputs("_odeonctl()\n"
          "{\n"
          "    local cur prev i word before='' option=''\n"
          "    local -a given=()\n"
          "    COMPREPLY=()\n"
          "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
          "        word=${COMP_WORDS[i]}\n"
          "        if ((i > 1)) && [[ $word == =* || -n $word && $before == =* ]]; then\n"
          "            given[-1]+=$word\n"
          "        else\n"
          "            given+=(\"$word\")\n"
          "        fi\n"
          "        before=$word\n"
          "    done\n"
          "    cur=${given[-1]} prev=${given[-2]:-}\n"
          "    [[ $cur == --*=* ]] && option=${cur%%=*}= prev=${cur%%=*} cur=${cur#*=}\n"
          "    _odeonctl_offer\n"
          "    if [[ $COMP_WORDBREAKS == *=* ]]; then\n"
          "        COMPREPLY=(\"${COMPREPLY[@]#\"${cur%\"${cur##*=}\"}\"}\")\n"
          "    else\n"
          "        COMPREPLY=(\"${COMPREPLY[@]/#/$option}\")\n"
          "    fi\n"
          "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
          "    return 0\n"
          "}\n",
          out);
}

int ctl_completion(struct ctl *ctl)
{
    FILE *out = ctl->out;

    if (strcmp(ctl->words[0], "names") == 0 && ctl->n_words == 2)
        return completion_names_print(ctl, ctl->words[1]);
    if (strcmp(ctl->words[0], "names") == 0)
        return ctl_fail(ctl, CTL_USAGE,
                        "completion names: of what is missing. Write odeonctl completion names "
                        "KIND");
    if (strcmp(ctl->words[0], "bash") != 0)
        return ctl_fail(ctl, CTL_USAGE, "completion: there is none for '%s'. Write bash",
                        ctl->words[0]);
    if (ctl->n_words != 1)
        return ctl_fail(ctl, CTL_USAGE,
                        "completion bash: '%s' is one argument too many. Write odeonctl completion "
                        "bash",
                        ctl->words[1]);
    fputs("# bash completion for odeonctl\n", out);
    completion_function_of_names(out);
    completion_function_of_offers(out);
    completion_function_of_all(out);
    fputs("complete -F _odeonctl odeonctl\n", out);
    return 0;
}
