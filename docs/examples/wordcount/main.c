/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-wordcount: counts the words of a file with actors of the plugin `wordcount`, and prints the
 * most frequent ones.
 *
 * Exit: 0 done; 1 failed; 2 usage; 3 service unreachable; 5 the result would be incomplete; 6
 * --check found a difference.
 */
#include "client.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char usage_text[] =
    "usage: odeon-wordcount FILE [--top N] [--shards S] [--splitters K] [--window CHUNKS] "
    "[--socket PATH]\n"
    "                       [--plugin PATH] [--json] [--check]\n"
    "  FILE              - is the standard input\n"
    "  --top N           print the N most frequent words (10)\n"
    "  --shards S        actors that count, 1 to 28 (one for each processor)\n"
    "  --splitters K     actors that split, 1 to 64 (one for each processor)\n"
    "  --window CHUNKS   chunks of 24 KiB on their way at a time (64)\n"
    "  --plugin PATH     wordcount.so, if the service has not loaded it yet (beside this program)\n"
    "  --json            print JSON\n"
    "  --check           count again with coreutils, and compare\n"
    "exit: 0 done, 1 failed, 2 usage, 3 service unreachable, 5 result incomplete, 6 differs from "
    "coreutils\n";

enum option_code {
    OPTION_TOP = 1,
    OPTION_SHARDS,
    OPTION_SPLITTERS,
    OPTION_WINDOW,
    OPTION_SOCKET,
    OPTION_PLUGIN,
    OPTION_JSON,
    OPTION_CHECK,
    OPTION_HELP,
};

static const struct option long_options[] = {
    { "top", required_argument, NULL, OPTION_TOP },
    { "shards", required_argument, NULL, OPTION_SHARDS },
    { "splitters", required_argument, NULL, OPTION_SPLITTERS },
    { "window", required_argument, NULL, OPTION_WINDOW },
    { "socket", required_argument, NULL, OPTION_SOCKET },
    { "plugin", required_argument, NULL, OPTION_PLUGIN },
    { "json", no_argument, NULL, OPTION_JSON },
    { "check", no_argument, NULL, OPTION_CHECK },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

static _Noreturn void usage(const char *why)
{
    fprintf(stderr, "odeon-wordcount: %s\n%s", why, usage_text);
    exit(WORDCOUNT_USAGE);
}

static uint32_t parse_number(const char *text, uint32_t most, const char *why)
{
    char *end = NULL;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < 1 || value > most)
        usage(why);
    return (uint32_t)value;
}

static void parse_option(struct wordcount_options *options, int code, const char *value)
{
    switch (code) {
    case OPTION_TOP:
        options->top = parse_number(value, WORD_TOP_MAX, "--top is a number from 1 to 100000");
        break;
    case OPTION_SHARDS:
        options->counters =
            parse_number(value, WORD_COUNTERS_MAX, "--shards is a number from 1 to 28");
        break;
    case OPTION_SPLITTERS:
        options->splitters =
            parse_number(value, SPLITTERS_MAX, "--splitters is a number from 1 to 64");
        break;
    case OPTION_WINDOW:
        options->window = parse_number(value, WINDOW_MAX, "--window is a number from 1 to 4096");
        break;
    case OPTION_SOCKET:
        options->socket = value;
        break;
    case OPTION_PLUGIN:
        options->plugin = value;
        break;
    case OPTION_JSON:
        options->json = true;
        break;
    case OPTION_CHECK:
        options->check = true;
        break;
    case OPTION_HELP:
        fputs(usage_text, stdout);
        exit(WORDCOUNT_DONE);
    default:
        usage("see the options");
    }
}

/* The service wants an absolute path. */
static const char *find_plugin(const char *given)
{
    static char path[PATH_MAX];
    static const char name[] = "/wordcount.so";
    if (given != NULL)
        return realpath(given, path) != NULL ? path : given;
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0)
        return name + 1;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) + sizeof(name) > sizeof(path))
        return name + 1;
    memcpy(slash, name, sizeof(name));
    return path;
}

int main(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t many = processors < 1                   ? 1
                    : processors > WORD_COUNTERS_MAX ? WORD_COUNTERS_MAX
                                                     : (uint32_t)processors;
    struct wordcount_options options = {
        .top = 10, .counters = many, .splitters = many, .window = 64
    };
    for (int code; (code = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
        parse_option(&options, code, optarg);
    if (optind + 1 != argc)
        usage("one file, please");
    options.file = argv[optind];
    if (options.check && strcmp(options.file, "-") == 0)
        usage("--check reads the file again: it cannot be the standard input");
    options.plugin = find_plugin(options.plugin);

    struct wordcount wordcount = { .options = &options };
    int r = wordcount_open(&wordcount);
    if (r == 0)
        r = wordcount_stream(&wordcount);
    if (r == 0)
        r = wordcount_collect(&wordcount);
    if (r == 0)
        r = wordcount_print(&wordcount);
    if (r == 0 && options.check)
        r = wordcount_check(&wordcount);
    wordcount_close(&wordcount);
    return r;
}
