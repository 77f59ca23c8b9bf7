/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to a command, its options and its words.
 *
 * Options are long, may stand anywhere before "--", as --name=VALUE or --name VALUE; names are
 * exact. A value that may be left out is written --name=VALUE only.
 */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/suggest.h"

#include <string.h>

static int parse_option(struct ctl *ctl, int argc, char **argv, int *at)
{
    const char *name = argv[*at] + 2, *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    struct suggestion near;
    char written[32];

    for (int o = 0; o < OPTION_N; o++) {
        if (strlen(option_table[o].name) != n || strncmp(option_table[o].name, name, n))
            continue;
        if (!option_table[o].argument) {
            if (equals)
                return ctl_fail(ctl, CTL_USAGE, "--%s: it takes no value. Write it without '%s'",
                                option_table[o].name, equals);
            ctl->option[o] = "";
            return 0;
        }
        if (equals) {
            if (option_table[o].optional && !equals[1]) /* else as if nothing had been said */
                return ctl_fail(ctl, CTL_USAGE, "--%s: its value is empty. Write --%s or --%s=%s",
                                option_table[o].name, option_table[o].name, option_table[o].name,
                                option_table[o].argument);
            ctl->option[o] = equals + 1;
            return 0;
        }
        if (option_table[o].optional) {
            ctl->option[o] = "";
            return 0;
        }
        if (*at + 1 >= argc)
            return ctl_fail(ctl, CTL_USAGE, "--%s: its value is missing. Write --%s %s",
                            option_table[o].name, option_table[o].name, option_table[o].argument);
        ctl->option[o] = argv[++*at];
        return 0;
    }

    snprintf(written, sizeof(written), "%.*s",
             n < sizeof(written) ? (int)n : (int)sizeof(written) - 1, name);
    suggestion_init(&near, written);
    for (int o = 0; o < OPTION_N; o++)
        suggestion_offer(&near, option_table[o].name);
    if (near.best)
        return ctl_fail(ctl, CTL_USAGE, "--%s: there is no such option. Did you mean --%s?",
                        written, near.best);
    return ctl_fail(ctl, CTL_USAGE, "--%s: there is no such option. See odeonctl help", written);
}

/* The word begins with one dash: "-n" without its number, or what there is not. */
static int parse_refuse_short(struct ctl *ctl, const char *word)
{
    if (!strcmp(word, "-n"))
        return ctl_fail(ctl, CTL_USAGE, "-n: its value is missing. Write -n N");
    if (!strncmp(word, "-n", 2) && strspn(word + 2, "0123456789") == strlen(word + 2))
        return ctl_fail(ctl, CTL_USAGE, "%s: its value is a word of its own. Write -n %s", word,
                        word + 2);
    return ctl_fail(ctl, CTL_USAGE, "%s: options have long names here. See odeonctl help", word);
}

/* Takes the options out of argv; what is left are the words, in their order. */
static int parse_options(struct ctl *ctl, int argc, char **argv)
{
    bool options = true;
    size_t n = 0;
    int code;

    for (int i = 1; i < argc; i++) {
        if (options && !strcmp(argv[i], "--")) {
            options = false;
        } else if (options && !strcmp(argv[i], "-h")) {
            ctl->option[OPTION_HELP] = "";
        } else if (options && !strcmp(argv[i], "-n") && i + 1 < argc) {
            ctl->option[OPTION_COUNT] = argv[++i]; /* as in other programs of this name */
        } else if (options && !strncmp(argv[i], "--", 2)) {
            code = parse_option(ctl, argc, argv, &i);
            if (code)
                return code;
        } else if (options && argv[i][0] == '-' && argv[i][1]) {
            return parse_refuse_short(ctl, argv[i]);
        } else {
            ctl->words[n++] = argv[i];
        }
    }
    ctl->n_words = n;
    return 0;
}

static int parse_unknown_noun(struct ctl *ctl, const char *noun)
{
    struct suggestion near;

    suggestion_init(&near, noun);
    for (size_t i = 0; i < command_table_n; i++)
        suggestion_offer(&near, command_table[i].noun);
    if (near.best)
        return ctl_fail(ctl, CTL_USAGE, "%s: there is no such command. Did you mean %s?", noun,
                        near.best);
    return ctl_fail(ctl, CTL_USAGE, "%s: there is no such command. odeonctl help lists them", noun);
}

static int parse_unknown_verb(struct ctl *ctl, const char *noun, const char *verb)
{
    struct suggestion near;
    char verbs[128] = "";
    size_t used = 0;

    suggestion_init(&near, verb ? verb : "");
    for (size_t i = 0; i < command_table_n; i++) {
        const struct command *c = &command_table[i];

        if (strcmp(c->noun, noun) || !c->verb)
            continue;
        suggestion_offer(&near, c->verb);
        used +=
            (size_t)snprintf(verbs + used, sizeof(verbs) - used, "%s%s", used ? ", " : "", c->verb);
        if (used >= sizeof(verbs))
            break;
    }
    if (!verb)
        return ctl_fail(ctl, CTL_USAGE, "%s: it needs a verb. Write one of %s after it", noun,
                        verbs);
    if (near.best)
        return ctl_fail(ctl, CTL_USAGE, "%s %s: there is no such verb. Did you mean %s?", noun,
                        verb, near.best);
    return ctl_fail(ctl, CTL_USAGE, "%s %s: there is no such verb. There are %s", noun, verb,
                    verbs);
}

/* The command's name as written in messages. */
static const char *parse_name(const struct command *c, char *name, size_t size)
{
    snprintf(name, size, "%s%s%s", c->noun, c->verb ? " " : "", c->verb ? c->verb : "");
    return name;
}

static int parse_check(struct ctl *ctl)
{
    const struct command *c = ctl->command;
    char name[64];

    parse_name(c, name, sizeof(name));
    for (int o = 0; o < OPTION_N; o++)
        if (ctl->option[o] && !command_allows(c, (enum option)o))
            return ctl_fail(ctl, CTL_USAGE, "%s: --%s does not belong to it. See odeonctl help %s",
                            name, option_table[o].name, name);
    if (ctl->n_words < c->words_min)
        return ctl_fail(ctl, CTL_USAGE, "%s: an argument is missing. Write odeonctl %s %s", name,
                        name, c->arguments);
    if (ctl->n_words > c->words_max)
        return ctl_fail(ctl, CTL_USAGE, "%s: '%s' is one argument too many. Write odeonctl %s%s%s",
                        name, ctl->words[c->words_max], name, *c->arguments ? " " : "",
                        c->arguments);

    if (ctl->option[OPTION_TYPE] && !*ctl->option[OPTION_TYPE]) /* which would be all types */
        return ctl_fail(ctl, CTL_USAGE, "--type: it is empty. Write --type TYPE, or leave it out");
    if (ctl->option[OPTION_LIMIT] &&
        (!ctl_number_parse(ctl->option[OPTION_LIMIT], &ctl->limit) || !ctl->limit))
        return ctl_fail(ctl, CTL_USAGE, "--limit: '%s' is not a number of rows. Write 1 or more",
                        ctl->option[OPTION_LIMIT]);
    if (ctl->option[OPTION_AFTER] && !ctl_number_parse(ctl->option[OPTION_AFTER], &ctl->after))
        return ctl_fail(
            ctl, CTL_USAGE,
            "--after: '%s' is not a key. Write the number that the list before ended with",
            ctl->option[OPTION_AFTER]);
    return 0;
}

int command_parse(struct ctl *ctl, int argc, char **argv, bool *ret_finished)
{
    const struct command *c;
    const char *noun;
    int code;

    *ret_finished = false;
    code = parse_options(ctl, argc, argv);
    if (code)
        return code;
    ctl->json = ctl->option[OPTION_JSON] != NULL;
    ctl->legend = !ctl->option[OPTION_NO_LEGEND];

    if (ctl->option[OPTION_VERSION]) {
        fprintf(ctl->out, "odeonctl %s\n", ODEON_VERSION);
        *ret_finished = true;
        return 0;
    }
    if (!ctl->n_words) {
        if (!ctl->option[OPTION_HELP])
            return ctl_fail(ctl, CTL_USAGE,
                            "no command: nothing to do. odeonctl help lists the commands");
        help_show_program(ctl);
        *ret_finished = true;
        return 0;
    }

    noun = ctl->words[0];
    c = command_find_noun(noun);
    if (!c)
        return parse_unknown_noun(ctl, noun);
    if (c->verb) {
        if (ctl->n_words < 2 && ctl->option[OPTION_HELP]) {
            help_show_noun(ctl, noun);
            *ret_finished = true;
            return 0;
        }
        c = ctl->n_words < 2 ? NULL : command_find(noun, ctl->words[1]);
        if (!c)
            return parse_unknown_verb(ctl, noun, ctl->n_words < 2 ? NULL : ctl->words[1]);
    }
    if (ctl->option[OPTION_HELP]) {
        help_show_command(ctl, c);
        *ret_finished = true;
        return 0;
    }
    ctl->command = c;
    ctl->words += c->verb ? 2 : 1;
    ctl->n_words -= c->verb ? 2 : 1;
    return parse_check(ctl);
}
