#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/run.sh - measures Odeon beside its baseline and beside the bare machine, in the same
# minutes.
#
#   bench/run.sh [--quick] [--build DIR] [--cpus A,B]
#
#   --quick      a minute at most instead of five: fewer runs, shorter ones; to see that it works,
#                not to quote
#   --build DIR  where the programs are (default: build/release, which is built when it is not
#                there)
#   --cpus A,B   the two CPUs to measure on (default: the first two that may be used)
#
# Needs nothing running and touches nothing that is: it starts services of its own in a private
# folder. Benchmarks of actors run as plugins inside odeon-executor, through the host table,
# statistics on, started and timed from outside; the baseline (bench/baseline) runs in between, run
# by run: A B A B. For one core, the service has one worker on CPU A and the baseline's worker is on
# the same CPU, while the client is on CPU B. Both sides are measured with several numbers of queues
# a worker; the `point` lines show all of them. The `bench` lines compare the service as it is
# without any setting (but for the workers and their CPUs, with room for two workers) with the
# baseline at its best number; the `best` lines compare the best of each. Times are medians; spread
# is highest less lowest in percent of the median.
#
# Figures of two cores are bracketed by the ruler (a cache line's round trip between the two CPUs):
# compare only such as were taken between equal rulers. The exit status says whether everything
# could be run, not whether a target was met: the table at the end says that.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
SELF=run.sh
. bench/lib.sh

QUICK=''
RUNS=7 LIMIT_S=270 IDLE_S=30
QUEUES_ONE=(default 1 64) QUEUES_TWO=(default 1 64)
QUEUES_ONE_BASELINE=(1 16 64) QUEUES_TWO_BASELINE=(16 64 256)
ROUNDS=20 N_STATIC=10000000 N_LOCAL=10000000 N_DYNAMIC=4000000 N_CROSS=400000 REPEAT_ROUNDS=5 \
    N_POST=4000000 N_TRIPS=100000

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' bench/run.sh
    exit "$1"
}

# in_time WHAT: is there time for another part?
in_time()
{
    [ "$SECONDS" -lt "$LIMIT_S" ] && return 0
    echo "skipped=$1 reason=the-$LIMIT_S-seconds-are-used-up"
    return 1
}

# more_runs DONE: another round of runs?  When the time is up, the figures are those of fewer runs,
# and say so.
more_runs()
{
    [ "$1" -lt "$RUNS" ] && { [ "$1" = 0 ] || [ "$SECONDS" -lt "$LIMIT_S" ]; }
}

# points SIDE NAME CORES QUEUES...: a line for each number of queues; the one with the least median
# in BEST.
points()
{
    local side=$1 name=$2 cores=$3 queues least=''
    shift 3
    BEST=''
    for queues in "$@"; do
        figure "$side $name $cores $queues" || continue
        echo "point=$name side=$side cores=$cores queues=$queues" \
            "ns_per_msg=$M spread=$SPREAD runs=$N"
        if [ -z "$least" ] || ! below "$least" "$M"; then
            least=$M BEST=$queues
        fi
    done
    [ -n "$BEST" ]
}

# compared KEY NAME CORES QUEUES BASELINE-QUEUES EXTRA: the line; the ratio in R.
compared()
{
    local key=$1 name=$2 cores=$3 ours our_spread our_runs
    figure "odeon $name $cores $4" || return
    ours=$M our_spread=$SPREAD our_runs=$N
    figure "baseline $name $cores $5" || return
    R=$(divide "$ours" "$M")
    echo "$key=$name cores=$cores queues=$4 ns_per_msg=$ours baseline_ns=$M" \
        "baseline_queues=$5 ratio=$R runs=$our_runs spread=$our_spread" \
        "baseline_spread=$SPREAD${6:+ $6}"
}

# report NAME CORES EXTRA: the points, the line of the defaults, and that of the best of each side.
report()
{
    local name=$1 cores=$2 extra=$3 ours_at
    local -a mine=("${QUEUES_ONE[@]}") other=("${QUEUES_ONE_BASELINE[@]}")
    if [ "$cores" = 2 ]; then
        mine=("${QUEUES_TWO[@]}") other=("${QUEUES_TWO_BASELINE[@]}")
    fi
    points odeon "$name" "$cores" "${mine[@]}" || return
    ours_at=$BEST
    points baseline "$name" "$cores" "${other[@]}" || return
    compared bench "$name" "$cores" default "$BEST" "$extra" && RATIO["$name $cores"]=$R
    compared best "$name" "$cores" "$ours_at" "$BEST" "$extra" && RATIO["best $name $cores"]=$R
}

# ---- one core ----

# compare_one NAME BASELINE-NAME ARGUMENT...: interleaved runs over all numbers of queues.
compare_one()
{
    local name=$1 theirs=$2 queues i
    shift 2
    in_time "$name" || return
    for ((i = 0; ; i++)); do
        more_runs $i || break
        for queues in "${QUEUES_ONE[@]}"; do
            odeon_run "one$queues" "$name" "$@" &&
                add "odeon $name 1 $queues" "$(field ns_per_msg "$LINE")"
        done
        for queues in "${QUEUES_ONE_BASELINE[@]}"; do
            baseline_run "$theirs" --workers 1 --queues "$queues" --cpu-list "$CPU_A" "$@" &&
                add "baseline $name 1 $queues" "$(field ns_per_msg "$LINE")" &&
                add "rss $name" "$(field peak_rss_kib "$LINE")"
        done
    done
    report "$name" 1 ''
}

# service NAME QUEUES SETTING...: `default` is no number at all.
service()
{
    local name=$1 queues=$2
    shift 2
    [ "$queues" = default ] || set -- "$@" "queues-per-worker=$queues"
    need_service "$name" "$@"
}

# The resident peak of the executor that has run nothing else so far, beside the baseline's at the
# number of queues with which it needs most.
report_memory()
{
    local queues=$1 pid ours theirs bound ok=yes
    pid=$(executor_pid "one$queues")
    ours=$(awk '/^VmHWM:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
    # shellcheck disable=SC2086 # a list
    theirs=$(printf '%s\n' ${VALUES["rss executor"]-} | sort -g | tail -n 1)
    if [ -z "$ours" ] || [ -z "$theirs" ]; then
        trouble "no figures of memory"
        return
    fi
    bound=$(awk -v t="$theirs" 'BEGIN { printf "%d", 2.5 * t + 64 * 1024 }')
    [ "$ours" -le "$bound" ] || ok=no
    echo "bench=executor_memory queues=$queues vm_hwm_kib=$ours baseline_peak_kib=$theirs" \
        "bound_kib=$bound memory_ok=$ok"
}

one_core()
{
    local queues
    say "One core: the service's worker and the baseline's on CPU $CPU_A, the client on CPU $CPU_B"
    for queues in "${QUEUES_ONE[@]}"; do
        service "one$queues" "$queues" workers=1 workers-max=2 "affinity=$CPU_A"
    done
    compare_one executor executor --actors 40000 --set 100 --rounds "$ROUNDS"
    for queues in "${QUEUES_ONE[@]}"; do
        report_memory "$queues"
    done
    compare_one static_send static_send --n "$N_STATIC"
    compare_one pingpong_local pingpong --n "$N_LOCAL"
    compare_one dynamic_send dynamic_send --n "$N_DYNAMIC"
}

# ---- a client ----

client()
{
    in_time post || return
    say "A client on CPU $CPU_B and the worker on CPU $CPU_A," \
        "beside bare memory between the same CPUs"
    measure_client onedefault
}

# ---- at rest ----

idle()
{
    local pid percent ok=yes seconds=$IDLE_S
    in_time idle || return
    say "At rest: two workers, ten clients with a port each, $seconds s"
    need_service idle workers=2 "affinity=$CPU_A,$CPU_B"
    : >"$WORK/idle-clients"
    timeout $((seconds + 30)) "$BUILD/bench/odeon-idle" "$(socket idle)" 10 \
        $((seconds + 3)) >"$WORK/idle-clients" &
    local clients=$!
    until grep -q ready "$WORK/idle-clients" || ! kill -0 "$clients" 2>/dev/null; do
        sleep 0.02
    done
    sleep 1.5 # what opening the ports has stirred up comes to rest
    pid=$(executor_pid idle)
    local daemon=${SERVICE[idle]} before_daemon before_executor spent
    before_daemon=$(cpu_ns "$daemon") before_executor=$(cpu_ns "$pid")
    sleep "$seconds"
    spent=$(($(cpu_ns "$daemon") + $(cpu_ns "$pid") - before_daemon - before_executor))
    wait "$clients" || trouble "odeon-idle has failed"
    if [ "$before_daemon" = 0 ] || [ "$before_executor" = 0 ] || [ "$spent" -lt 0 ]; then
        trouble "no processor times in /proc/PID/task/*/schedstat"
        return
    fi
    percent=$(awk -v ns="$spent" -v s="$seconds" 'BEGIN { printf "%.4f", ns / s / 1e7 }')
    below "$percent" 0.2 || ok=no
    echo "bench=idle cores=2 clients=10 seconds=$seconds cpu_percent=$percent" \
        "bound_percent=0.2 idle_ok=$ok"
    IDLE_PERCENT=$percent
}

# ---- two cores ----

compare_two()
{
    local name=$1 before after queues i
    shift
    in_time "$name-2" || return
    ruler_line
    before=$RTT
    for ((i = 0; ; i++)); do
        more_runs $i || break
        for queues in "${QUEUES_TWO[@]}"; do
            odeon_run "two$queues" "$name" "$@" &&
                add "odeon $name 2 $queues" "$(field ns_per_msg "$LINE")"
        done
        for queues in "${QUEUES_TWO_BASELINE[@]}"; do
            baseline_run "$name" --workers 2 --queues "$queues" --cpu-list "$CPU_A,$CPU_B" "$@" &&
                add "baseline $name 2 $queues" "$(field ns_per_msg "$LINE")"
        done
    done
    ruler_line
    after=$RTT
    report "$name" 2 "ruler_before_ns=$before ruler_after_ns=$after"
}

# One queue a worker and no stealing: the two actors stay on two cores.
compare_cross()
{
    local before after i
    in_time pingpong_cross || return
    "$BUILD/bin/odeonctl" --socket "$(socket two1)" executor set stealing=none >/dev/null ||
        trouble "cannot switch stealing off"
    ruler_line
    before=$RTT
    for ((i = 0; ; i++)); do
        more_runs $i || break
        odeon_run two1 pingpong_cross --n "$N_CROSS" && add cross "$(field ns_per_msg "$LINE")"
        baseline_run pingpong_cross --workers 2 --queues 1 --steal off --cpu-list "$CPU_A,$CPU_B" \
            --n "$N_CROSS" &&
            add cross_baseline "$(field ns_per_msg "$LINE")"
    done
    ruler_line
    after=$RTT
    figure cross || return
    local ours=$M spread=$SPREAD
    figure cross_baseline || return
    RATIO["pingpong_cross 2"]=$(divide "$ours" "$M")
    echo "bench=pingpong_cross cores=2 queues=1 ns_per_msg=$ours baseline_ns=$M" \
        "baseline_queues=1 ratio=$(divide "$ours" "$M") runs=$N spread=$spread" \
        "baseline_spread=$SPREAD ruler_before_ns=$before ruler_after_ns=$after"
}

two_cores()
{
    local queues
    in_time "two cores" || return
    say "Two cores: workers on CPUs $CPU_A and $CPU_B; reported, no target"
    for queues in "${QUEUES_TWO[@]}"; do
        service "two$queues" "$queues" workers=2 "affinity=$CPU_A,$CPU_B"
    done
    compare_two executor --actors 40000 --set 100 --rounds "$ROUNDS"
    compare_two repeat --actors 100000 --rounds "$REPEAT_ROUNDS"
    compare_cross
}

# ---- the frame ----

# target LABEL VALUE GATE GOAL
target()
{
    local label=$1 value=$2 gate=$3 goal=$4 verdict=MISSED
    if ! measured "$value"; then
        value=- verdict='not measured'
    elif below "$value" "$goal"; then
        verdict='goal reached'
    elif below "$value" "$gate"; then
        verdict=ok
    fi
    printf '%-34s %9s %7s %7s   %s\n' "$label" "$value" "$gate" "$goal" "$verdict"
}

table()
{
    say "Targets: the time of the baseline's best times so much, at most"
    printf '%-34s %9s %7s %7s\n' 'default settings' measured gate goal
    target 'executor, one core' "${RATIO["executor 1"]-}" 1.1 0.9
    target 'executor, two cores' "${RATIO["executor 2"]-}" 0.80 0.60
    target 'repeat, two cores' "${RATIO["repeat 2"]-}" 0.7 0.4
    target static_send "${RATIO["static_send 1"]-}" 0.31 0.25
    target pingpong_local "${RATIO["pingpong_local 1"]-}" 0.33 0.28
    target dynamic_send "${RATIO["dynamic_send 1"]-}" 0.62 0.45
    target 'pingpong_cross, nobody steals' "${RATIO["pingpong_cross 2"]-}" 0.80 0.6
    target 'idle, percent of a core' "${IDLE_PERCENT-}" 0.2 0.1
    printf '%-34s %9s %7s %7s\n' 'best settings of each side' measured gate goal
    target 'executor, one core' "${RATIO["best executor 1"]-}" 0.74 0.62
    target 'executor, two cores' "${RATIO["best executor 2"]-}" 0.80 0.55
}

while [ $# -gt 0 ]; do
    case $1 in
    --quick) QUICK=1 ;;
    --build | --cpus)
        [ $# -gt 1 ] || usage 2 >&2
        if [ "$1" = --build ]; then BUILD=$(realpath -m "$2"); else CPUS=$2; fi
        shift
        ;;
    -h | --help) usage 0 ;;
    *)
        echo "run.sh: unknown argument: $1" >&2
        usage 2 >&2
        ;;
    esac
    shift
done
if [ -n "$QUICK" ]; then
    RUNS=3 LIMIT_S=60 IDLE_S=5 QUEUES_ONE=(default 1) QUEUES_TWO=(default 1)
    QUEUES_ONE_BASELINE=(1 16) QUEUES_TWO_BASELINE=(16 64)
    ROUNDS=2 N_STATIC=2000000 N_LOCAL=2000000 N_DYNAMIC=500000 N_CROSS=50000 REPEAT_ROUNDS=1 \
        N_POST=500000 N_TRIPS=20000
fi

need_tools taskset awk timeout
make_work_folder
build_if_missing
choose_cpus
SECONDS=0
say_load before
one_core
client
stop_services
idle
stop_services
two_cores
stop_services
table
echo
say_load after
echo "seconds=$SECONDS quick=${QUICK:-0}"
exit $FAILED
