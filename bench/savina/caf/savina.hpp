/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs for CAF have in common. Each is a file, with the same definition, sizes and
 * check as its namesake among Odeon's (the head of bench/savina/NAME.c has the definition), written
 * as CAF's own examples are: behaviours of lambdas, typed actors where its examples are typed.
 *
 * What actors have to tell is added up in memory (`outcome`), which costs CAF less than the message
 * that Odeon's actors send for it; a program is over when CAF says that no actor is left.
 */
#ifndef SAVINA_HPP
#define SAVINA_HPP

#include <atomic>
#include <caf/all.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

/* What actors have to tell, added up. */
struct outcome {
    std::atomic<int64_t> count{ 0 }, value{ 0 }, messages{ 0 };
    std::atomic<double> sum{ 0 };

    void add_sum(double by)
    {
        double before = sum;
        while (!sum.compare_exchange_weak(before, before + by)) {
        }
    }
};

/* One iteration of a program. */
struct run {
    caf::actor_system &system;
    std::map<std::string, uint64_t> size; /* by the field's name */
    outcome told;
    std::string wrong; /* the first thing that is not as it should be */

    void expect(const char *what, int64_t is, int64_t should);
    void expect_near(const char *what, double is, double should, double within);
};

struct field {
    const char *name;
    uint64_t least, most;
};

struct program {
    const char *name;
    std::vector<field> fields;
    /* Makes the first actors and sends the first messages, on the clock; returns how many messages
     * there are by the definition, less those that `told.messages` has. */
    uint64_t (*start)(run &);
    void (*verify)(run &);
    void (*prepare)(run &) = nullptr; /* before the clock */
    void (*refuse)(run &) = nullptr;  /* what no range says */
};

extern const program program_pingpong, program_count, program_fjthrput, program_fjcreate,
    program_threadring, program_chameneos, program_big, program_fib, program_concdict,
    program_philosopher, program_banking, program_bitonicsort;

/* What several of them call their messages. */
using start_atom = caf::atom_constant<caf::atom("start")>;
using work_atom = caf::atom_constant<caf::atom("work")>;
using ping_atom = caf::atom_constant<caf::atom("ping")>;
using pong_atom = caf::atom_constant<caf::atom("pong")>;
using end_atom = caf::atom_constant<caf::atom("end")>;

#endif
