# SPDX-License-Identifier: Apache-2.0
# What the policies are worth, from lines of run.sh:
# awk -f ../svg.awk -f choice.awk LINES...
#
# For each number of workers a table: the median, over all programs, of a policy's time divided by
# that of the default one, and the programs in which it is faster and slower by more than a
# twentieth and the spread, with the ratio. Behind it those programs in which the default is not
# within that of the best. The spread of two medians is half the sum of what their runs differ by,
# highest less lowest.
# The default policy is the one that is named so, or longest-victim/keep.

/^bench=savina_/ && field("check") == "ok" && field("policy") != "" && field("place") == "" {
    program = substr(field("bench"), length("savina_") + 1)
    policy = field("policy")
    cores = field("cores")
    if (policy == "default")
        policy = DEFAULT
    if (!((cores, program) in programs)) {
        programs[cores, program] = 1
        name[cores, ++n_programs[cores]] = program
    }
    if (!((cores, policy) in policies)) {
        policies[cores, policy] = 1
        policy_of[cores, ++n_policies[cores]] = policy
    }
    ms[cores, program, policy] = field("ms") + 0
    spread[cores, program, policy] = field("spread") / 100
}

BEGIN {
    DEFAULT = "longest-victim/keep"
    TWENTIETH = 0.05
}

# The first is slower than the second by more than a twentieth and the spread.
function is_slower(cores, program, a, b,    slow, fast)
{
    slow = ms[cores, program, a]
    fast = ms[cores, program, b]
    return slow - fast > TWENTIETH * fast + \
        (slow * spread[cores, program, a] + fast * spread[cores, program, b]) / 2
}

# Of ratios[1 .. n], which is sorted by it.
function median(n,    i, j, one)
{
    for (i = 2; i <= n; i++) {
        one = ratios[i]
        for (j = i - 1; j >= 1 && ratios[j] > one; j--)
            ratios[j + 1] = ratios[j]
        ratios[j + 1] = one
    }
    return (ratios[int((n + 1) / 2)] + ratios[int((n + 2) / 2)]) / 2
}

# A program's name with the ratio.
function named(program, ratio)
{
    return sprintf(" %s %.2f", program, ratio)
}

function tell_policy(cores, policy,    i, program, n, faster, slower)
{
    for (i = 1; i <= n_programs[cores]; i++) {
        program = name[cores, i]
        if (!((cores, program, policy) in ms) || ms[cores, program, DEFAULT] + 0 <= 0)
            continue
        ratios[++n] = ms[cores, program, policy] / ms[cores, program, DEFAULT]
        if (is_slower(cores, program, DEFAULT, policy))
            faster = faster named(program, ratios[n])
        if (is_slower(cores, program, policy, DEFAULT))
            slower = slower named(program, ratios[n])
    }
    if (n > 0)
        printf "%-20s %8.2f %8d  faster:%s; slower:%s\n", policy, median(n), n, \
            faster == "" ? " none" : faster, slower == "" ? " none" : slower
}

# The programs in which some policy is faster than the default one; how many are none of them.
function tell_default(cores,    i, j, program, policy, best, within, n)
{
    for (i = 1; i <= n_programs[cores]; i++) {
        program = name[cores, i]
        if (!((cores, program, DEFAULT) in ms))
            continue
        n++
        best = DEFAULT
        for (j = 1; j <= n_policies[cores]; j++) {
            policy = policy_of[cores, j]
            if ((cores, program, policy) in ms && is_slower(cores, program, DEFAULT, policy) && \
                (best == DEFAULT || ms[cores, program, policy] < ms[cores, program, best]))
                best = policy
        }
        if (best == DEFAULT)
            within++
        else
            printf "  %s: %s takes %.2f of its time\n", program, best, \
                ms[cores, program, best] / ms[cores, program, DEFAULT]
    }
    printf "the default policy is within 5 %% and the spread of the best in %d of %d programs\n", \
        within, n
}

END {
    for (cores = 1; cores <= 1024; cores++) {
        if (n_policies[cores] < 2)
            continue
        printf "Policies on %d worker%s: medians of the times beside the default policy\n", \
            cores, cores == 1 ? "" : "s"
        printf "%-20s %8s %8s  %s\n", "policy", "median", "programs", \
            "beyond a twentieth and the spread"
        for (j = 1; j <= n_policies[cores]; j++)
            tell_policy(cores, policy_of[cores, j])
        tell_default(cores)
    }
}
