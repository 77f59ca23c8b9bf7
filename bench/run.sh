#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/run.sh - measures Odeon beside its baseline and beside the bare machine, in the same minutes.
#
#   bench/run.sh [--quick] [--build DIR] [--cpus A,B]
#
#   --quick      a minute at most instead of five: fewer runs, shorter ones; to see that it works, not to quote
#   --build DIR  where the programs are (default: build/release, which is built when it is not there)
#   --cpus A,B   the two CPUs to measure on (default: the first two that may be used)
#
# Needs nothing running and touches nothing that is: it starts services of its own in a private folder. Benchmarks of actors run
# as plugins inside odeon-executor, through the host table, statistics on, started and timed from outside; the baseline
# (bench/baseline) runs in between, run by run: A B A B. For one core, the service has one worker on CPU A and the baseline's
# worker is on the same CPU, while the client is on CPU B. Both sides are measured with several numbers of queues a worker; the
# `point` lines show all of them, the `bench` lines compare the best of each. Times are medians; spread is highest less lowest in
# percent of the median.
#
# Figures of two cores are bracketed by the ruler (a cache line's round trip between the two CPUs): compare only such as were
# taken between equal rulers. The exit status says whether everything could be run, not whether a target was met: the table at
# the end says that.
set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

QUICK='' BUILD=build/release CPUS='' WORK='' FAILED=0
RUNS=7 LIMIT_S=270 IDLE_S=30 PATIENCE_S=60
QUEUES_ONE=(1 16 64) QUEUES_TWO=(1 16 64) QUEUES_TWO_BASELINE=(16 64 256)
ROUNDS=20 N_STATIC=10000000 N_LOCAL=10000000 N_DYNAMIC=4000000 N_CROSS=400000 REPEAT_ROUNDS=5 N_POST=4000000 N_TRIPS=100000
declare -A SERVICE=() VALUES=() RATIO=()

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' bench/run.sh
    exit "$1"
}

say()
{
    printf '\n== %s\n' "$*"
}

# trouble TEXT: something could not be measured; the rest goes on.
trouble()
{
    echo "run.sh: $*" >&2
    FAILED=1
}

die()
{
    trouble "$*"
    exit 1
}

stop_process()
{
    local pid=$1 end=$((SECONDS + 10))
    kill -TERM "$pid" 2>/dev/null
    while kill -0 "$pid" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do
        sleep 0.02
    done
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}

stop_services()
{
    local name
    for name in "${!SERVICE[@]}"; do
        stop_process "${SERVICE[$name]}"
        rm -rf "${WORK:?}/$name"
    done
    SERVICE=()
}

# shellcheck disable=SC2317 # called by the trap
cleanup()
{
    local status=$?
    trap '' INT TERM HUP
    stop_services
    [ -z "$WORK" ] || rm -rf "$WORK"
    exit "$status"
}

# start_service NAME KEY=VALUE...: a private odeond, ready to be connected to.
start_service()
{
    local name=$1 setting settings=() end=$((SECONDS + 20))
    shift
    for setting in "$@"; do
        settings+=(--set "$setting")
    done
    mkdir -p "$WORK/$name"
    : >"$WORK/$name/conf"
    "$BUILD/bin/odeond" --foreground --runtime-dir "$WORK/$name/run" --config "$WORK/$name/conf" "${settings[@]}" \
        >"$WORK/$name/log" 2>&1 &
    SERVICE[$name]=$!
    until "$BUILD/bin/odeonctl" --socket "$(socket "$name")" status >/dev/null 2>&1; do
        if ! kill -0 "${SERVICE[$name]}" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then
            tail -n 5 "$WORK/$name/log" >&2
            die "the service $name ($*) does not start"
        fi
        sleep 0.02
    done
}

socket()
{
    echo "$WORK/$1/run/control.sock"
}

executor_pid()
{
    "$BUILD/bin/odeonctl" --socket "$(socket "$1")" --json status | grep -oE '"executor_pid":[0-9]+' | grep -oE '[0-9]+'
}

# field KEY LINE: the value of KEY=VALUE in a line of results.
field()
{
    local word
    for word in $2; do
        case $word in "$1="*) echo "${word#*=}" ;; esac
    done
}

# add KEY VALUE: one more value of a series.
add()
{
    VALUES[$1]="${VALUES[$1]-} $2"
}

# series KEY: "median spread count" of a series.
series()
{
    # shellcheck disable=SC2086 # a list
    printf '%s\n' ${VALUES[$1]-} | sort -g | awk '
        { v[NR] = $1 }
        END {
            if (NR == 0) exit 1
            m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
            printf "%.2f %.1f%% %d\n", m, (m ? 100 * (v[NR] - v[1]) / m : 0), NR
        }'
}

# figure KEY: the series' median, spread and number in M, SPREAD, N; fails, with a message, when it is empty.
figure()
{
    if [ -z "${VALUES[$1]-}" ]; then
        trouble "no figures: $1"
        return 1
    fi
    read -r M SPREAD N < <(series "$1")
}

median()
{
    [ -z "${VALUES[$1]-}" ] || series "$1" | cut -d' ' -f1
}

divide()
{
    awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.3f\n", a / b; else print "nan" }'
}

# below A B: is A <= B?
below()
{
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'
}

# in_time WHAT: is there time for another part?
in_time()
{
    [ "$SECONDS" -lt "$LIMIT_S" ] && return 0
    echo "skipped=$1 reason=the-$LIMIT_S-seconds-are-used-up"
    return 1
}

# more_runs DONE: another round of runs?  When the time is up, the figures are those of fewer runs, and say so.
more_runs()
{
    [ "$1" -lt "$RUNS" ] && { [ "$1" = 0 ] || [ "$SECONDS" -lt "$LIMIT_S" ]; }
}

# odeon_run SERVICE NAME ARGUMENT...: one run of odeon-bench; its line in LINE.
odeon_run()
{
    local service=$1
    shift
    if ! LINE=$(timeout "$PATIENCE_S" taskset -c "$CPU_B" "$BUILD/bench/odeon-bench" "$@" --socket "$(socket "$service")" --runs 1); then
        trouble "odeon-bench $* has failed"
        return 1
    fi
}

baseline_run()
{
    if ! LINE=$(timeout "$PATIENCE_S" "$BUILD/bench/baseline/odeon-baseline" "$@" --runs 1); then
        trouble "odeon-baseline $* has failed"
        return 1
    fi
}

ruler()
{
    timeout "$PATIENCE_S" "$BUILD/bench/odeon-ruler" "$@" --cpus "$CPU_A,$CPU_B" || trouble "odeon-ruler $* has failed"
}

ruler_line()
{
    field rtt_ns "$(ruler line --trips 64000)"
}

# points SIDE NAME CORES QUEUES...: a line for each number of queues; the one with the least median in BEST.
points()
{
    local side=$1 name=$2 cores=$3 queues least=''
    shift 3
    BEST=''
    for queues in "$@"; do
        figure "$side $name $cores $queues" || continue
        echo "point=$name side=$side cores=$cores queues=$queues ns_per_msg=$M spread=$SPREAD runs=$N"
        if [ -z "$least" ] || ! below "$least" "$M"; then
            least=$M BEST=$queues
        fi
    done
    [ -n "$BEST" ]
}

# report NAME CORES EXTRA: the points, and the line that compares the best ones.
report()
{
    local name=$1 cores=$2 extra=$3 ours_at ours our_spread our_runs
    local -a mine=("${QUEUES_ONE[@]}") other=("${QUEUES_ONE[@]}")
    if [ "$cores" = 2 ]; then
        mine=("${QUEUES_TWO[@]}") other=("${QUEUES_TWO_BASELINE[@]}")
    fi
    points odeon "$name" "$cores" "${mine[@]}" || return
    ours_at=$BEST
    points baseline "$name" "$cores" "${other[@]}" || return
    figure "odeon $name $cores $ours_at"
    ours=$M our_spread=$SPREAD our_runs=$N
    figure "baseline $name $cores $BEST"
    RATIO["$name $cores"]=$(divide "$ours" "$M")
    echo "bench=$name cores=$cores queues=$ours_at ns_per_msg=$ours baseline_ns=$M baseline_queues=$BEST" \
        "ratio=${RATIO["$name $cores"]} runs=$our_runs spread=$our_spread baseline_spread=$SPREAD${extra:+ $extra}"
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
            odeon_run "one$queues" "$name" "$@" && add "odeon $name 1 $queues" "$(field ns_per_msg "$LINE")"
            baseline_run "$theirs" --workers 1 --queues "$queues" --cpu-list "$CPU_A" "$@" &&
                add "baseline $name 1 $queues" "$(field ns_per_msg "$LINE")" && add "rss $name $queues" "$(field peak_rss_kib "$LINE")"
        done
    done
    report "$name" 1 ''
}

# The resident peak of the executor that has run nothing else so far, beside the baseline's with the same number of queues.
report_memory()
{
    local queues=$1 pid ours theirs bound ok=yes
    pid=$(executor_pid "one$queues")
    ours=$(awk '/^VmHWM:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
    # shellcheck disable=SC2086 # a list
    theirs=$(printf '%s\n' ${VALUES["rss executor $queues"]-} | sort -g | tail -n 1)
    if [ -z "$ours" ] || [ -z "$theirs" ]; then
        trouble "no figures of memory"
        return
    fi
    bound=$(awk -v t="$theirs" 'BEGIN { printf "%d", 2.5 * t + 64 * 1024 }')
    [ "$ours" -le "$bound" ] || ok=no
    echo "bench=executor_memory queues=$queues vm_hwm_kib=$ours baseline_peak_kib=$theirs bound_kib=$bound memory_ok=$ok"
}

one_core()
{
    local queues
    say "One core: the service's worker and the baseline's on CPU $CPU_A, the client on CPU $CPU_B"
    for queues in "${QUEUES_ONE[@]}"; do
        start_service "one$queues" workers=1 "affinity=$CPU_A" "queues-per-worker=$queues"
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
    local i a
    in_time post || return
    say "A client on CPU $CPU_B and the worker on CPU $CPU_A, beside bare memory between the same CPUs"
    local service=one${QUEUES_ONE[0]}
    for ((i = 0; ; i++)); do
        more_runs $i || break
        add ruler "$(ruler_line)"
        for a in 1 32; do
            odeon_run "$service" post --n "$N_POST" --window $a &&
                add "post $a" "$(awk -v ns="$(field ns_per_msg "$LINE")" 'BEGIN { print 1000 / ns }')"
        done
        while read -r LINE; do
            add "ring $(field batch "$LINE")" "$(field mmsg_s "$LINE")"
        done < <(ruler ring)
        odeon_run "$service" roundtrip --n "$N_TRIPS" && add p50 "$(field p50_ns "$LINE")" && add p99 "$(field p99_ns "$LINE")"
        LINE=$(ruler pingpong --trips "$N_TRIPS") && add bare50 "$(field p50_ns "$LINE")" && add bare99 "$(field p99_ns "$LINE")"
    done
    figure ruler && echo "bench=ruler_line rtt_ns=$M spread=$SPREAD runs=$N"
    for i in 1 32; do
        figure "ring $i" && echo "bench=bare_ring batch=$i mmsg_s=$M spread=$SPREAD runs=$N"
    done
    figure bare50 && echo "bench=bare_pingpong p50_ns=$M p99_ns=$(median bare99) spread=$SPREAD runs=$N"
    for i in 1 32; do
        a=$(median "ring $i")
        figure "post $i" && echo "bench=post window=$i mmsg_s=$M bare_mmsg_s=$a share=$(divide "$M" "$a") runs=$N spread=$SPREAD"
    done
    a=$(median bare50)
    figure p50 && echo "bench=roundtrip p50_ns=$M p99_ns=$(median p99) bare_p50_ns=$a bare_p99_ns=$(median bare99)" \
        "ratio=$(divide "$M" "$a") runs=$N spread=$SPREAD"
}

# ---- at rest ----

# cpu_ns PID: processor time of all threads so far.
cpu_ns()
{
    cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{ sum += $1 } END { printf "%d", sum }'
}

idle()
{
    local pid percent ok=yes seconds=$IDLE_S
    in_time idle || return
    say "At rest: two workers, ten clients with a port each, $seconds s"
    start_service idle workers=2 "affinity=$CPU_A,$CPU_B"
    : >"$WORK/idle-clients"
    timeout $((seconds + 30)) "$BUILD/bench/odeon-idle" "$(socket idle)" 10 $((seconds + 3)) >"$WORK/idle-clients" &
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
    echo "bench=idle cores=2 clients=10 seconds=$seconds cpu_percent=$percent bound_percent=0.2 idle_ok=$ok"
    IDLE_PERCENT=$percent
}

# ---- two cores ----

compare_two()
{
    local name=$1 before after queues i
    shift
    in_time "$name-2" || return
    before=$(ruler_line)
    for ((i = 0; ; i++)); do
        more_runs $i || break
        for queues in "${QUEUES_TWO[@]}"; do
            odeon_run "two$queues" "$name" "$@" && add "odeon $name 2 $queues" "$(field ns_per_msg "$LINE")"
        done
        for queues in "${QUEUES_TWO_BASELINE[@]}"; do
            baseline_run "$name" --workers 2 --queues "$queues" --cpu-list "$CPU_A,$CPU_B" "$@" &&
                add "baseline $name 2 $queues" "$(field ns_per_msg "$LINE")"
        done
    done
    after=$(ruler_line)
    report "$name" 2 "ruler_before_ns=$before ruler_after_ns=$after"
}

# One queue a worker and no stealing: the two actors stay on two cores.
compare_cross()
{
    local before after i
    in_time pingpong_cross || return
    "$BUILD/bin/odeonctl" --socket "$(socket two1)" executor set stealing=none >/dev/null || trouble "cannot switch stealing off"
    before=$(ruler_line)
    for ((i = 0; ; i++)); do
        more_runs $i || break
        odeon_run two1 pingpong_cross --n "$N_CROSS" && add cross "$(field ns_per_msg "$LINE")"
        baseline_run pingpong_cross --workers 2 --queues 1 --steal off --cpu-list "$CPU_A,$CPU_B" --n "$N_CROSS" &&
            add cross_baseline "$(field ns_per_msg "$LINE")"
    done
    after=$(ruler_line)
    figure cross || return
    local ours=$M spread=$SPREAD
    figure cross_baseline || return
    echo "bench=pingpong_cross cores=2 queues=1 ns_per_msg=$ours baseline_ns=$M baseline_queues=1 ratio=$(divide "$ours" "$M")" \
        "runs=$N spread=$spread baseline_spread=$SPREAD ruler_before_ns=$before ruler_after_ns=$after"
}

two_cores()
{
    local queues
    in_time "two cores" || return
    say "Two cores: workers on CPUs $CPU_A and $CPU_B; reported, no target"
    for queues in "${QUEUES_TWO[@]}"; do
        start_service "two$queues" workers=2 "affinity=$CPU_A,$CPU_B" "queues-per-worker=$queues"
    done
    compare_two executor --actors 40000 --set 100 --rounds "$ROUNDS"
    compare_two repeat --actors 100000 --rounds "$REPEAT_ROUNDS"
    compare_cross
}

# ---- the frame ----

choose_cpus()
{
    local list
    if [ -z "$CPUS" ]; then
        list=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (c = $1; c <= ($2 == "" ? $1 : $2); c++) print c }' | head -n 2)
        CPUS=$(echo "$list" | paste -sd,)
    fi
    CPU_A=${CPUS%,*} CPU_B=${CPUS#*,}
    [ "$CPU_A" != "$CPU_B" ] || die "two CPUs are needed"
}

build_if_missing()
{
    local program
    for program in bin/odeond bin/odeonctl bin/odeon-executor bench/odeon-bench bench/odeon-ruler bench/odeon-idle bench/baseline/odeon-baseline; do
        [ -x "$BUILD/$program" ] && continue
        [ "$BUILD" = build/release ] || die "$BUILD/$program is missing: build first"
        echo "building in build/release"
        { cmake --preset release && cmake --build --preset release; } >"$WORK/build.log" 2>&1 || {
            tail -n 20 "$WORK/build.log" >&2
            die "the build failed"
        }
        return
    done
}

say_load()
{
    local load
    load=$(cut -d' ' -f1-3 /proc/loadavg)
    echo "load_average_$1=${load// /,}"
    if ! below "${load%% *}" 0.6; then
        echo "warning: the machine is busy (load ${load%% *}): these figures are not to be quoted"
    fi
}

target()
{
    local label=$1 value=$2 bound=$3 verdict=MISSED
    [ -n "$value" ] || value=-
    if [ "$value" = - ]; then
        verdict='not measured'
    elif below "$value" "$bound"; then
        verdict=ok
    fi
    printf '%-26s %10s %12s   %s\n' "$label" "$value" "$bound" "$verdict"
}

table()
{
    say "Targets"
    printf '%-26s %10s %12s\n' 'one core, ratio' measured 'at most'
    target executor "${RATIO["executor 1"]-}" 0.75
    target static_send "${RATIO["static_send 1"]-}" 0.4
    target pingpong_local "${RATIO["pingpong_local 1"]-}" 0.5
    target dynamic_send "${RATIO["dynamic_send 1"]-}" 0.9
    target 'idle, percent of a core' "${IDLE_PERCENT-}" 0.2
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
    RUNS=3 LIMIT_S=60 IDLE_S=5 QUEUES_ONE=(1 16) QUEUES_TWO=(1 16) QUEUES_TWO_BASELINE=(16 64)
    ROUNDS=2 N_STATIC=2000000 N_LOCAL=2000000 N_DYNAMIC=500000 N_CROSS=50000 REPEAT_ROUNDS=1 N_POST=500000 N_TRIPS=20000
fi

for tool in taskset awk timeout; do
    command -v $tool >/dev/null || die "$tool is missing (package util-linux, mawk or coreutils)"
done
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
WORK=$(mktemp -d /tmp/odeon-bench.XXXXXX) || die "no temporary folder"
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
