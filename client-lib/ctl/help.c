/* SPDX-License-Identifier: Apache-2.0 */
/* Help, all of it from the table of commands.
 *
 * What `help --all` prints is also what a test looks for in the man page: the synopsis line of each
 * command, its options and its one-line description, unchanged.
 */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/suggest.h"

#include <string.h>

static void help_show_synopsis(struct ctl *ctl, const struct command *c)
{
    fprintf(ctl->out, "odeonctl %s%s%s%s%s\n", c->noun, c->verb ? " " : "", c->verb ? c->verb : "",
            *c->arguments ? " " : "", c->arguments);
}

static void help_show_options(struct ctl *ctl, const struct command *c, uint64_t options)
{
    for (int o = 0; o < OPTION_N; o++) {
        char left[48];

        if (!(options & OPTION_BIT(o)))
            continue;
        snprintf(left, sizeof(left), "--%s%s%s%s", option_table[o].name,
                 option_table[o].optional   ? "[="
                 : option_table[o].argument ? " "
                                            : "",
                 option_table[o].argument ? option_table[o].argument : "",
                 option_table[o].optional ? "]" : "");
        fprintf(ctl->out, "  %-18s %s%s\n", left,
                strlen(left) > 18 ? "\n                     " : "",
                command_option_doc(c, (enum option)o));
    }
}

void help_show_command(struct ctl *ctl, const struct command *c)
{
    fputs("Usage: ", ctl->out);
    help_show_synopsis(ctl, c);
    fprintf(ctl->out, "\n%s.\n", c->doc);
    if (c->details)
        fprintf(ctl->out, "%s\n", c->details);
    if (c->options) {
        fputs("\nOptions:\n", ctl->out);
        help_show_options(ctl, c, c->options);
    }
    fputs("\nOptions of every command:\n", ctl->out);
    help_show_options(ctl, NULL, OPTIONS_COMMON);
}

static void help_show_line(struct ctl *ctl, const struct command *c)
{
    char left[80];

    snprintf(left, sizeof(left), "%s%s%s%s%s", c->noun, c->verb ? " " : "", c->verb ? c->verb : "",
             *c->arguments ? " " : "", c->arguments);
    if (strlen(left) > 26)
        fprintf(ctl->out, "  %s\n  %-26s %s\n", left, "", c->doc);
    else
        fprintf(ctl->out, "  %-26s %s\n", left, c->doc);
}

void help_show_noun(struct ctl *ctl, const char *noun)
{
    fprintf(ctl->out, "Usage: odeonctl %s VERB\n\nVerbs:\n", noun);
    for (size_t i = 0; i < command_table_n; i++)
        if (!strcmp(command_table[i].noun, noun))
            help_show_line(ctl, &command_table[i]);
    fprintf(ctl->out, "\nodeonctl help %s VERB says more.\n", noun);
}

void help_show_program(struct ctl *ctl)
{
    fputs("Usage: odeonctl [OPTION...] NOUN [VERB] [ARGUMENT...]\n\nLooks at the Odeon service and "
          "steers "
          "it.\n\nCommands:\n",
          ctl->out);
    for (size_t i = 0; i < command_table_n; i++)
        help_show_line(ctl, &command_table[i]);
    fputs("\nOptions of every command:\n", ctl->out);
    help_show_options(ctl, NULL, OPTIONS_COMMON);
    fputs("\nLists also take --limit and --after.  Actors are written as "
          "EXECUTOR.SLOT.GENERATION (without EXECUTOR: 1) or by their registered name.\n"
          "Exit codes: 0 done, 1 refused, 2 usage, 3 service unreachable, 4 version mismatch, "
          "5 no answer, 6 ill (doctor).\n"
          "odeonctl help NOUN VERB says more of one command, odeonctl help --all of each.\n",
          ctl->out);
}

static void help_show_all(struct ctl *ctl)
{
    for (size_t i = 0; i < command_table_n; i++) {
        const struct command *c = &command_table[i];

        help_show_synopsis(ctl, c);
        fprintf(ctl->out, "  %s\n", c->doc);
        help_show_options(ctl, c, c->options);
    }
    fputs("Options of every command:\n", ctl->out);
    help_show_options(ctl, NULL, OPTIONS_COMMON);
}

int ctl_help(struct ctl *ctl)
{
    const char *noun = ctl->n_words > 0 ? ctl->words[0] : NULL,
               *verb = ctl->n_words > 1 ? ctl->words[1] : NULL;
    const struct command *c;

    if (ctl->option[OPTION_ALL])
        help_show_all(ctl);
    else if (!noun)
        help_show_program(ctl);
    else if (!(c = command_find_noun(noun)))
        return ctl_fail(ctl, CTL_USAGE, "%s: there is no such command. odeonctl help lists them",
                        noun);
    else if (c->verb && !verb)
        help_show_noun(ctl, noun);
    else if (!(c = command_find(noun, verb)))
        return ctl_fail(ctl, CTL_USAGE, "%s %s: there is no such verb. odeonctl help %s lists them",
                        noun, verb, noun);
    else
        help_show_command(ctl, c);
    return 0;
}
