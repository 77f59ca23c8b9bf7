/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-savina-caf: runs one program of the suite several times on CAF, the C++ Actor Framework,
 * and prints a line for all of them:
 *
 *     bench=savina_caf program=NAME cores=W messages=M ns_per_message=X ms=T spread=S% mean_ms=U
 *         kept=K runs=N peak_kib=R check=ok
 *
 * in one line. The figures are those of odeon-savina (see its main.c): an iteration's time is that
 * from before the first actor is made until the last one has ended. The actor system is there
 * before, as the service is, with CAF's settings as they come but for the number of threads. Where
 * something is not as it should be, check="..." says what, and the exit status is 1.
 */
#include "savina.hpp"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <getopt.h>

static const char usage_text[] =
    "usage: odeon-savina-caf NAME [FIELD=VALUE...] [--threads T] [--runs K]\n"
    "       odeon-savina-caf --names\n";

enum option_code { OPTION_THREADS = 1, OPTION_RUNS, OPTION_NAMES, OPTION_HELP };

static const struct option long_options[] = {
    { "threads", required_argument, nullptr, OPTION_THREADS },
    { "runs", required_argument, nullptr, OPTION_RUNS },
    { "names", no_argument, nullptr, OPTION_NAMES },
    { "help", no_argument, nullptr, OPTION_HELP },
    { nullptr, 0, nullptr, 0 },
};

static const program *const programs[] = {
    &program_pingpong,   &program_count,       &program_fjthrput, &program_fjcreate,
    &program_threadring, &program_chameneos,   &program_big,      &program_fib,
    &program_concdict,   &program_philosopher, &program_banking,  &program_bitonicsort,
};

enum { MAIN_DONE = 0, MAIN_FAILED = 1, MAIN_USAGE = 2 };

struct figure {
    double ns, messages;
};

static void main_usage(const std::string &why)
{
    std::fprintf(stderr, "odeon-savina-caf: %s\n%s", why.c_str(), usage_text);
    std::exit(MAIN_USAGE);
}

static uint64_t main_number(const std::string &text, uint64_t least, uint64_t most)
{
    char *end = nullptr;
    errno = 0;
    unsigned long long value = std::strtoull(text.c_str(), &end, 10);
    if (errno != 0 || text.empty() || *end != '\0' || text[0] == '-' || value < least ||
        value > most)
        main_usage("not a number in range: " + text);
    return value;
}

void run::expect(const char *what, int64_t is, int64_t should)
{
    if (is != should && wrong.empty())
        wrong = std::string(what) + ": " + std::to_string(is) + ", not " + std::to_string(should);
}

void run::expect_near(const char *what, double is, double should, double within)
{
    if (!(std::fabs(is - should) <= within * std::fabs(should)) && wrong.empty())
        wrong = std::string(what) + ": " + std::to_string(is) + ", not " + std::to_string(should);
}

/* FIELD=VALUE words; all fields must be given. */
static std::map<std::string, uint64_t> main_sizes(const program &program, char **words, int n)
{
    std::map<std::string, uint64_t> sizes;
    for (int i = 0; i < n; i++) {
        std::string word = words[i];
        std::string name = word.substr(0, word.find('='));
        auto is_it = [&](const field &one) { return name == one.name; };
        if (std::none_of(program.fields.begin(), program.fields.end(), is_it) || name == word)
            main_usage("there is no field '" + name + "'");
        sizes[name] = main_number(word.substr(name.size() + 1), 0, INT64_MAX);
    }
    for (const field &one : program.fields) {
        if (sizes.count(one.name) == 0)
            main_usage(std::string("field '") + one.name + "' is missing");
    }
    return sizes;
}

static void main_refuse(const program &program, run &run)
{
    for (const field &one : program.fields) {
        uint64_t value = run.size[one.name];
        if ((value < one.least || value > one.most) && run.wrong.empty())
            run.wrong = std::string(one.name) + ": " + std::to_string(value) + " is not from " +
                        std::to_string(one.least) + " to " + std::to_string(one.most);
    }
    if (program.refuse != nullptr && run.wrong.empty())
        program.refuse(run);
}

/* One iteration and its check. */
static figure main_iterate(const program &program, run &run)
{
    using clock = std::chrono::steady_clock;
    main_refuse(program, run);
    if (!run.wrong.empty())
        return { 0, 0 };
    if (program.prepare != nullptr)
        program.prepare(run);
    auto begin = clock::now();
    uint64_t messages = program.start(run);
    run.system.await_all_actors_done();
    std::chrono::duration<double, std::nano> elapsed = clock::now() - begin;
    messages += static_cast<uint64_t>(run.told.messages.load());
    program.verify(run);
    return { elapsed.count(), static_cast<double>(messages) };
}

static double main_median(std::vector<double> &values)
{
    std::sort(values.begin(), values.end());
    size_t n = values.size();
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static uint64_t main_peak_kib()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        uint64_t kib = 0;
        if (word == "VmHWM:" && status >> kib)
            return kib;
    }
    return 0;
}

static void main_print(const program &program, unsigned threads, const std::vector<figure> &figures)
{
    std::vector<double> ns, messages, each;
    for (const figure &one : figures) {
        ns.push_back(one.ns);
        messages.push_back(one.messages);
        each.push_back(one.ns / one.messages);
    }
    double median = main_median(ns), sum = 0;
    unsigned kept = 0;
    for (double one : ns) {
        if (std::fabs(one - median) > 0.2 * median)
            continue;
        sum += one;
        kept++;
    }
    std::printf("bench=savina_caf program=%s cores=%u messages=%.0f ns_per_message=%.1f ms=%.3f"
                " spread=%.1f%% mean_ms=%.3f kept=%u runs=%zu peak_kib=%" PRIu64 " check=ok\n",
                program.name, threads, main_median(messages), main_median(each), median / 1e6,
                100 * (ns.back() - ns.front()) / median, (kept > 0 ? sum / kept : median) / 1e6,
                kept, figures.size(), main_peak_kib());
}

static const program &main_find(const std::string &name)
{
    for (const program *one : programs) {
        if (name == one->name)
            return *one;
    }
    main_usage("no such program: " + name);
    std::abort();
}

int main(int argc, char **argv)
{
    unsigned threads = 1;
    uint64_t runs = 12;
    for (int code; (code = getopt_long(argc, argv, "", long_options, nullptr)) != -1;) {
        if (code == OPTION_THREADS) {
            threads = static_cast<unsigned>(main_number(optarg, 1, 1024));
        } else if (code == OPTION_RUNS) {
            runs = main_number(optarg, 1, 1000);
        } else if (code == OPTION_NAMES) {
            for (const program *one : programs)
                std::puts(one->name);
            return MAIN_DONE;
        } else if (code == OPTION_HELP) {
            std::fputs(usage_text, stdout);
            return MAIN_DONE;
        } else {
            main_usage("see the options");
        }
    }
    if (optind >= argc)
        main_usage("which program?");
    const program &program = main_find(argv[optind]);
    auto sizes = main_sizes(program, argv + optind + 1, argc - optind - 1);

    caf::actor_system_config config;
    config.set("scheduler.max-threads", static_cast<size_t>(threads));
    caf::actor_system system{ config };
    std::vector<figure> figures;
    while (figures.size() < runs) {
        run one{ system, sizes, {}, {} };
        figures.push_back(main_iterate(program, one));
        if (one.wrong.empty())
            continue;
        std::printf("bench=savina_caf program=%s cores=%u runs=%zu check=\"%s\"\n", program.name,
                    threads, figures.size() - 1, one.wrong.c_str());
        return MAIN_FAILED;
    }
    main_print(program, threads, figures);
    return MAIN_DONE;
}
