#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/paper/setting.sh - what a setting's values cost, by turns, in processor time.
#
#   bench/paper/setting.sh [--rounds N] [--only NAME,...] [--cores 1,2] [--cpus A,B] [--build DIR]
#   [--set KEY=VALUE]... SETTING VALUE...
#
#   --rounds  runs of each value (default: 5)
#   --only    these benchmarks alone (default: executor,repeat,fan_in,spawn_stop,dynamic_send,
#             static_send)
#   --cores   numbers of workers (default: 1,2)
#   --cpus    the CPUs of the workers (default: the first that may be used)
#   --build   where the programs are (default: build/release)
#   --set     another setting of all services
#
# Each run is one of a fresh service, the second of two: the first one loads the plugin and touches
# the memory. `cpu_ns_per_msg` is the processor time of the executor's threads a message, the median
# of the runs: other processes on the same machine disturb it less than they disturb a clock.
# `wall_ns_per_msg` is the clock's, `least` the lowest processor time. The exit status says whether
# everything could be run.
set -uo pipefail
FROM=$PWD
cd "$(dirname "$0")/../.." || exit 1
SELF=paper/setting.sh
. bench/lib.sh
. bench/paper/compare.sh

ROUNDS=5 ONLY=executor,repeat,fan_in,spawn_stop,dynamic_send,static_send CORES=(1 2) EXTRA=()
MS=300 # what a run should take

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' bench/paper/setting.sh
    exit "$1"
}

# setting_run KEY CORES VALUE: two runs with ARGS in a fresh service, the second one's figures into
# the series.
setting_run()
{
    local key=$1 cores=$2 value=$3 pid before status=1
    start_service run "workers=$cores" "affinity=$(cpus_of "$cores")" "$SETTING=$value" \
        "${EXTRA[@]}" || {
        trouble "no service with $SETTING=$value: $WHY"
        return 1
    }
    pid=$(executor_pid run)
    if odeon_run run "$OURS" "${ARGS[@]}" && before=$(cpu_ns "$pid") &&
        odeon_run run "$OURS" "${ARGS[@]}"; then
        add "$key cpu" "$(awk -v a="$before" -v b="$(cpu_ns "$pid")" \
            -v n="$(field messages "$LINE")" 'BEGIN { if (n > 0) print (b - a) / n }')" &&
            add "$key wall" "$(field ns_per_msg "$LINE")" && status=0
    fi
    stop_service run
    return $status
}

# setting_size NAME CORES VALUE: how long the runs of all values are, by a short one, in ARGS.
setting_size()
{
    local probe
    parameters "$1"
    ARGS=("${FULL[@]}")
    [ -n "$UNIT" ] || return 0
    ARGS=("${FIXED[@]}" "$UNIT" "$PROBE")
    probe="probe $1 $2 $3"
    setting_run "$probe" "$2" "$3" && size "$MS" "$(median "$probe wall")"
}

# setting_values NAME CORES: all values of a benchmark by turns, and their lines.
setting_values()
{
    local name=$1 cores=$2 value i
    setting_size "$name" "$cores" "${SETTING_VALUES[0]}" || return
    for ((i = 0; i < ROUNDS; i++)); do
        for value in "${SETTING_VALUES[@]}"; do
            setting_run "$name $cores $value" "$cores" "$value" || return
        done
    done
    for value in "${SETTING_VALUES[@]}"; do
        figure "$name $cores $value cpu" || return
        echo "setting=$SETTING value=$value bench=$name cores=$cores cpu_ns_per_msg=$M" \
            "least=$(least "$name $cores $value cpu")" \
            "wall_ns_per_msg=$(median "$name $cores $value wall") runs=$N spread=$SPREAD"
    done
}

parse()
{
    while [ $# -gt 0 ]; do
        case $1 in
        --rounds) ROUNDS=${2:?--rounds needs a number} && shift ;;
        --only) ONLY=${2:?--only needs names} && shift ;;
        --cores) IFS=, read -ra CORES <<<"${2:?--cores needs numbers}" && shift ;;
        --cpus) CPUS=${2:?--cpus needs a list} && shift ;;
        --build) BUILD=$(cd "$FROM" && realpath -e "${2:?--build needs a directory}") || exit 2
            shift ;;
        --set) EXTRA+=("${2:?--set needs KEY=VALUE}") && shift ;;
        -h | --help) usage 0 ;;
        -*) usage 2 >&2 ;;
        *) WORDS+=("$1") ;;
        esac
        shift
    done
    [ ${#WORDS[@]} -ge 2 ] || usage 2 >&2
    [[ $ROUNDS =~ ^[1-9][0-9]*$ ]] || die "--rounds $ROUNDS: a number of runs"
}

WORDS=()
parse "$@"
SETTING=${WORDS[0]} SETTING_VALUES=("${WORDS[@]:1}")
need_tools taskset timeout awk realpath
make_work_folder
build_if_missing
choose_cpus_for "${CORES[@]}"
say_load before
IFS=, read -ra NAMES <<<"$ONLY"
for cores in "${CORES[@]}"; do
    for name in "${NAMES[@]}"; do
        setting_values "$name" "$cores"
    done
done
say_load after
exit "$FAILED"
