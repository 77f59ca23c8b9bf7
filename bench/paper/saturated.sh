#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/paper/saturated.sh - what stealing costs where there is nothing to steal: the executor
# benchmark on two workers, both of which have work all the time, with the service's own policy and
# with none.
#
#   bench/paper/saturated.sh [--quick] [--pairs N] [--queues Q] [--cpus A,B] [--build DIR]
#
# Pairs of runs (default 15), in turns on-off and off-on; prints the median of what the pairs say,
# in percent, and the medians of both. The target is 2 percent. Exit status: 0 if everything could
# be run.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
SELF=paper/saturated.sh
. bench/lib.sh
. bench/paper/compare.sh

PAIRS=15 QUEUES_EACH=16 CORES=2

while [ $# -gt 0 ]; do
    case $1 in
    --quick) PAIRS=3 FULL_MS=$SHORT_MS ;;
    --pairs | --queues | --cpus | --build)
        [ $# -gt 1 ] || die "$1 wants a value"
        case $1 in
        --pairs) PAIRS=$2 ;;
        --queues) QUEUES_EACH=$2 ;;
        --cpus) CPUS=$2 ;;
        --build) BUILD=$(realpath -m "$2") ;;
        esac
        shift
        ;;
    *) die "unknown argument: $1" ;;
    esac
    shift
done
need_tools taskset awk timeout
make_work_folder
build_if_missing
choose_cpus
default_policy
parameters executor
probe odeon $CORES "$QUEUES_EACH" none || exit 1
size "$FULL_MS" "$PROBED"
ruler_line
ruler_before=$RTT
for ((pair = 0; pair < PAIRS; pair++)); do
    order=("$DEFAULT" none)
    [ $((pair % 2)) = 0 ] || order=(none "$DEFAULT")
    for policy in "${order[@]}"; do
        run_ours "$policy" $CORES "$QUEUES_EACH" "$policy" "${ARGS[@]}" &&
            last=$(field ns_per_msg "$LINE") || exit 1
        if [ "$policy" = none ]; then off=$last; else on=$last; fi
    done
    add percent "$(awk -v on="$on" -v off="$off" 'BEGIN { printf "%.2f", 100 * (on / off - 1) }')"
done
figure percent || exit 1
ruler_line
echo "bench=saturated policy=${DEFAULT%/*} mode=${DEFAULT#*/} cores=$CORES" \
    "queues=$QUEUES_EACH pairs=$PAIRS" \
    "on_ns=$(median "$DEFAULT ns") off_ns=$(median "none ns") percent=$M" \
    "percent_least=$(least percent) percent_most=$(most percent)" \
    "steals=$(total "$DEFAULT steals") ruler_ns=$ruler_before/$RTT cpus=$(cpus_of $CORES)"
exit $FAILED
