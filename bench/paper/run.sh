#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/paper/run.sh - the paper's benchmarks, with every policy, beside the baseline, in the same
# minutes.
#
#   bench/paper/run.sh [--quick] [--only NAME,...] [--cores 1,2,...] [--cpus A,B,...]
#   [--no-policies] [--save FILE] [--build DIR]
#
#   --quick        two minutes instead of fifteen: fewer and shorter runs; to see that it works, not
#                  to quote
#   --only         these benchmarks alone: static_send dynamic_send executor pingpong_local
#                  pingpong_cross repeat fan_in spawn_stop matrix balance_one balance_multi
#                  balance_one_work balance_multi_work client wake idle saturated statistics
#   --cores        numbers of workers (default: 1,2); every policy is tried with the last of them
#   --cpus         the CPUs of the workers, in this order (default: the first that may be used)
#   --no-policies  the service's own policy alone
#   --save         the lines go into FILE, too: plot.sh draws them
#   --build        where the programs are (default: build/release, which is built when it is not
#                  there)
#
# Benchmarks of actors run as plugins inside odeon-executor, through the host table, statistics on,
# started from outside; worker i is bound to the i-th CPU, and so is that of the baseline
# (bench/baseline). Every run is a process of its own, runs of the two sides alternate, and each
# side has the number of queues a worker, out of 1, 4, 16, 64 and 512, that short runs (the `point`
# lines) have shown to be its best. Times are medians; spread is highest less lowest in percent of
# the median.
#
# Figures of more than one core are bracketed by the ruler (a cache line's round trip between the
# first two CPUs): on virtual machines this distance changes from one minute to the next, and only
# lines between equal rulers can be compared. The exit status says whether everything could be run,
# not whether a target was met: the tables at the end say that.
set -uo pipefail
FROM=$PWD
cd "$(dirname "$0")/../.." || exit 1
SELF=paper/run.sh
. bench/lib.sh
. bench/paper/compare.sh
. bench/paper/other.sh

ONLY='' SAVE='' CORES=(1 2) WITH_POLICIES=1 LIMIT_S=840 N_POST=4000000 N_TRIPS=100000 \
    IDLE_PERCENT='' IDLE_CALLS='' SATURATED='' STATISTICS=''
ONE_CORE=(executor static_send dynamic_send pingpong_local repeat fan_in spawn_stop matrix)
MORE_CORES=(executor repeat static_send dynamic_send pingpong_cross fan_in spawn_stop matrix
    balance_one balance_one_work balance_multi balance_multi_work)
OTHERS=(client wake idle saturated statistics)
declare -A OURS_AT=() THEIRS_AT=() NS=() THEIR_NS=() NOISE=() MISSED=()

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' bench/paper/run.sh
    exit "$1"
}

# in_time WHAT: is there time for another part?
in_time()
{
    [ "$SECONDS" -lt "$LIMIT_S" ] && return 0
    echo "skipped=$1 reason=the-$LIMIT_S-seconds-are-used-up"
    return 1
}

more_runs()
{
    [ "$1" -lt "$RUNS" ] && { [ "$1" = 0 ] || [ "$SECONDS" -lt "$LIMIT_S" ]; }
}

# wanted NAME: was it asked for?
wanted()
{
    [ -z "$ONLY" ] || [[ ",$ONLY," = *",$1,"* ]]
}

describe_machine()
{
    local commit version
    commit=$(git rev-parse --short HEAD 2>/dev/null) &&
        [ -z "$(git status --porcelain 2>/dev/null)" ] || commit+=${commit:+-changed}
    version=$(sed -n 's/^CMAKE_C_COMPILER:[^=]*=//p' "$BUILD/CMakeCache.txt" | head -n 1)
    say "Machine and build"
    echo "cpu=\"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)\"" \
        "cpus_allowed=$(allowed_cpus | paste -sd,) cpus_used=$CPUS"
    echo "kernel=\"$(uname -srm)\" virtual=$(systemd-detect-virt 2>/dev/null || echo unknown)"
    echo "compiler=\"$($version --version 2>/dev/null | head -n 1)\""
    echo "flags=\"$(sed -n 's/^CMAKE_BUILD_TYPE:[^=]*=//p' "$BUILD/CMakeCache.txt")" \
        "$(awk '/-c .*daemon\/engine\/turn\.c/ && match($0, /-O[^ ]*( -[^ ]*)*/) {
            print substr($0, RSTART, RLENGTH); exit
        }' "$BUILD/compile_commands.json" 2>/dev/null |
            sed 's/ -o .*//; s/ -o$//; s/ -W[^ ]*//g')\""
    echo "commit=${commit:-none}" \
        "version=\"$("$BUILD/bin/odeond" --version 2>/dev/null | head -n 1)\"" \
        "date=$(date -u +%Y-%m-%dT%H:%MZ)"
    echo "default_policy=${DEFAULT%/*} default_mode=${DEFAULT#*/}" \
        "queues_tried=$(IFS=,; echo "${QUEUES[*]}") runs=$RUNS policy_runs=$POLICY_RUNS"
}

# The benchmarks with one number of cores; with the last one, every policy.
suite()
{
    local cores=$1 name names=("${MORE_CORES[@]}")
    [ "$cores" -gt 1 ] || names=("${ONE_CORE[@]}")
    say "$cores worker(s) on $(cpus_of "$cores")"
    for name in "${names[@]}"; do
        wanted "$name" && in_time "$name-$cores" || continue
        compare "$name" "$cores" || continue
        if [ "$cores" -gt 1 ] && [ -n "$WITH_POLICIES" ]; then
            if [ "$cores" = "${CORES[-1]}" ]; then
                compare_policies "$name" "$cores" "${POLICIES[@]}"
            else
                compare_policies "$name" "$cores" none
            fi
        fi
    done
}

saturated()
{
    local line
    line=$(bench/paper/saturated.sh --build "$BUILD" --cpus "$CPUS" ${QUICK:+--quick}) ||
        trouble "saturated.sh has failed"
    echo "$line"
    SATURATED=$(field percent "$(grep '^bench=saturated' <<<"$line")")
}

# Wants a second build, which is only made when this was asked for by its name.
statistics()
{
    local line
    [ -n "$ONLY" ] || [ -x build/no-statistics/bin/odeon-executor ] || return
    line=$(bench/paper/statistics_cost.sh --build "$BUILD" --cpus "$CPUS") ||
        trouble "statistics_cost.sh has failed"
    echo "$line"
    STATISTICS=$(field percent "$line")
}

others()
{
    local part
    say "A client, the wake-up, and a service at rest"
    for part in "${OTHERS[@]}"; do
        wanted "$part" && in_time "$part" || continue
        case $part in
        idle) rest ;;
        *) "$part" ;;
        esac
    done
}

# target LABEL VALUE BOUND [least]
target()
{
    local label=$1 value=$2 bound=$3 verdict=MISSED
    if ! measured "$value"; then
        value=- verdict='not measured'
    elif [ "${4-}" = least ]; then
        ! below "$bound" "$value" || verdict=met
    elif below "$value" "$bound"; then
        verdict=met
    fi
    printf "%-58s %10s %9s %9s   %s\n" "$label" "$value" "${4:-most}" "$bound" "$verdict"
}

# The worst share of missed gulps, in percent, of the default policy's lines that have gulps enough
# to say something.
missed_percent()
{
    local key
    for key in "${!MISSED[@]}"; do
        [[ $key = *" $DEFAULT "* ]] && echo "${MISSED[$key]}"
    done | awk '
        $1 >= 10000 { p = 100 * $2 / $1; if (p > worst) worst = p; n++ }
        END { if (n) printf "%.4f\n", worst }'
}

# Is the service's own policy slower than the baseline in any benchmark? Each with its own stealing,
# and also beside a baseline that does not steal, where it was run: a benchmark that a thief only
# disturbs is not won by that.
table_of_all()
{
    local name cores value bound label
    for cores in "${CORES[@]}"; do
        for name in "${ONE_CORE[@]}" balance_one balance_one_work balance_multi \
            balance_multi_work; do
            value=${RATIO["$name $DEFAULT $cores"]-}
            [ -n "$value" ] || continue
            label="not slower: $name, $cores core(s), ratio"
            if below "$value" 1; then
                target "$label" "$value" 1
            else # slower, or within what the runs differ among themselves?
                bound=$(awk -v s="${NOISE["$name $DEFAULT $cores"]}" \
                    'BEGIN { printf "%.3f", 1 + s / 100 }')
                target "$label (spread)" "$value" "$bound"
            fi
            value=${THEIR_NS["$name none $cores"]-}
            [ -z "$value" ] || target "    beside a baseline that does not steal" \
                "$(divide "${NS["$name $DEFAULT $cores"]}" "$value")" 1
        done
    done
}

table_of_targets()
{
    local speedup='' last=${CORES[-1]} value
    say "Targets"
    printf '%-58s %10s %9s %9s\n' '' measured at bound
    target 'executor, 1 core, ratio' "${RATIO["executor $DEFAULT 1"]-}" 0.6
    target 'static_send, 1 core, ratio' "${RATIO["static_send $DEFAULT 1"]-}" 0.3
    target 'pingpong_local, 1 core, ratio' "${RATIO["pingpong_local $DEFAULT 1"]-}" 0.3
    target 'repeat, 1 core, ratio' "${RATIO["repeat $DEFAULT 1"]-}" 0.7
    target 'dynamic_send, 1 core, ratio' "${RATIO["dynamic_send $DEFAULT 1"]-}" 0.4
    target 'executor, 2 cores, ratio' "${RATIO["executor $DEFAULT 2"]-}" 0.7
    target 'repeat, 2 cores, ratio' "${RATIO["repeat $DEFAULT 2"]-}" 0.6
    target 'pingpong_cross, 2 cores, stealing off, ratio' "${RATIO["pingpong_cross none 2"]-}" 0.5
    target 'round trip of a client, median, of the bare ring' "${RATIO[roundtrip]-}" 1.7
    target 'posts of a client, of the bare batched ring' "${RATIO[post]-}" 0.2 least
    value=${NS["balance_one_work none 2"]-}
    [ -z "$value" ] || speedup=$(divide "$value" "${NS["balance_one_work $DEFAULT 2"]-0}")
    target 'balance_one_work, 2 cores, speed of the unstolen' "$speedup" 1.9 least
    target 'saturated executor, stealing on over off, percent' "$SATURATED" 2
    target 'missed gulps, worst line, percent' "$(missed_percent)" 0.1
    target 'idle, 16 workers, percent of a core' "$IDLE_PERCENT" 0.1
    target "idle, system calls in $IDLE_S s" "$IDLE_CALLS" 0
    target 'statistics on over compiled out, instructions, percent' "$STATISTICS" 1
    table_of_all
    [ -n "$STATISTICS" ] || echo "statistics are measured when asked for (--only statistics)," \
        "or when build/no-statistics is there: a second build"
    [ "$last" -gt 2 ] || echo "on two workers balance_one and balance_multi are one experiment"
}

table_of_policies()
{
    local name policy cores=${CORES[-1]} shown
    [ -n "$WITH_POLICIES" ] && [ "$cores" -gt 1 ] || return
    say "Ratios to the baseline by policy, $cores cores (the baseline steals, but beside none)"
    printf '%-20s' ''
    for policy in "${POLICIES[@]}"; do
        printf ' %10s' \
            "$(sed 's/round-robin/rr/; s/longest-victim/longest/; s/locality/local/' <<<"$policy")"
    done
    echo
    for name in "${MORE_CORES[@]}"; do
        shown=
        for policy in "${POLICIES[@]}"; do
            shown+=$(printf ' %10s' "${RATIO["$name $policy $cores"]:--}")
        done
        [[ $shown =~ [0-9] ]] && printf '%-20s%s\n' "$name" "$shown"
    done
}

while [ $# -gt 0 ]; do
    case $1 in
    --quick) QUICK=1 ;;
    --no-policies) WITH_POLICIES='' ;;
    --only | --cores | --cpus | --save | --build)
        [ $# -gt 1 ] || usage 2 >&2
        case $1 in
        --only) ONLY=$2 ;;
        --cores) IFS=, read -ra CORES <<<"$2" ;;
        --cpus) CPUS=$2 ;;
        --save) SAVE=$2 ;;
        --build) BUILD=$(realpath -m "$2") ;;
        esac
        shift
        ;;
    -h | --help) usage 0 ;;
    *)
        echo "$SELF: unknown argument: $1" >&2
        usage 2 >&2
        ;;
    esac
    shift
done
for name in ${ONLY//,/ }; do
    [[ " ${ONE_CORE[*]} ${MORE_CORES[*]} ${OTHERS[*]} " = *" $name "* ]] || die "no benchmark $name"
done
if [ -n "$QUICK" ]; then
    FULL_MS=$SHORT_MS QUEUES=(1 16 64) RUNS=2 POLICY_RUNS=1 LIMIT_S=270 N_POST=500000 \
        N_TRIPS=20000 N_WAKES=100 IDLE_S=3
fi
if [ -n "$SAVE" ]; then
    case $SAVE in /*) ;; *) SAVE=$FROM/$SAVE ;; esac
    exec > >(exec tee "$SAVE")
    SAVER=$!
fi

need_tools taskset awk timeout grep sed
make_work_folder
build_if_missing
choose_cpus_for "${CORES[@]}"
SECONDS=0
default_policy
describe_machine
say_load before
[ -z "$WITH_POLICIES" ] || probe_policies
for cores in "${CORES[@]}"; do
    suite "$cores"
done
others
say "Memory: the peak of the executor benchmark's runs"
memory
table_of_targets
table_of_policies
echo
say_load after
echo "seconds=$SECONDS quick=${QUICK:-0}"
if [ -n "$SAVE" ]; then # all of it is in the file when this has ended
    exec >&-
    wait "$SAVER"
fi
exit $FAILED
