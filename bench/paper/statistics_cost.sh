#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/paper/statistics_cost.sh - what counting costs: the instructions of the executor benchmark
# with the statistics on, and with a build of the service's executor in which they are compiled out.
#
#   bench/paper/statistics_cost.sh [--build DIR] [--cpus A,B] [--only NAME]
#
# Both builds are made here, in build/counted and build/no-statistics (bench/counted.sh). The target
# is 1 percent. Exit status: 0 if everything could be run. --only NAME: another benchmark: executor
# static_send pingpong_local repeat dynamic_send ask forward.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
SELF=paper/statistics_cost.sh
. bench/lib.sh
. bench/counted.sh

ON=build/counted OFF=build/no-statistics

while [ $# -gt 0 ]; do
    case $1 in
    --build | --cpus | --only)
        [ $# -gt 1 ] || die "$1 wants a value"
        case $1 in
        --build) BUILD=$(realpath -m "$2") ;;
        --cpus) CPUS=$2 ;;
        --only) NAME=$2 ;;
        esac
        shift
        ;;
    *) die "unknown argument: $1" ;;
    esac
    shift
done
sizes
need_tools valgrind cmake taskset awk timeout
make_work_folder
build_if_missing
choose_cpus
build_executor $ON
build_executor $OFF -DODEON_STATISTICS=OFF
PATIENCE_S=60
per_message "$(realpath $ON)"
on=$PER_MESSAGE
per_message "$(realpath $OFF)"
echo "bench=statistics_cost of=$NAME instructions_on=$on instructions_off=$PER_MESSAGE" \
    "percent=$(awk -v on="$on" -v off="$PER_MESSAGE" \
        'BEGIN { printf "%.2f", 100 * (on - off) / off }')" \
    "bound_percent=1"
exit $FAILED
