#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/paper/pairs.sh - two builds of the service, run by turns: which lines have changed?
#
#   bench/paper/pairs.sh [--rounds N] [--only NAME,...] [--cores 1,2] [--queues A,B,...]
#   [--cpus A,B] [--set KEY=VALUE]... OLD NEW
#
#   OLD, NEW  directories of builds, of this source tree or of others
#   --rounds  pairs of runs a line (default: 9, at least 7)
#   --only    these benchmarks alone: those of run.sh that run inside the service, and post,
#             post_batch, roundtrip
#   --cores   numbers of workers (default: 1,2)
#   --queues  numbers of queues a worker (default: 1,16); "default" is what each build comes with
#   --cpus    the CPUs of the workers (default: the first that may be used)
#   --set     a setting of both services, as of odeond
#
# On a machine that is shared with others, two suites that run one behind the other differ by what
# the machine was doing meanwhile. Here a run of the one build and a run of the other are a pair,
# and only their ratio counts. `ratio` is the median of the pairs' ratios; `from` and `to` leave out
# a lowest and a highest ratio each: with nine pairs a line whose builds do not differ has 1 between
# them in 96 of 100 cases. `verdict` says faster or slower when 1 is not between them, and else
# same. The order within a pair alternates. The exit status says whether everything could be run.
set -uo pipefail
FROM=$PWD
cd "$(dirname "$0")/../.." || exit 1
SELF=paper/pairs.sh
. bench/lib.sh
. bench/paper/compare.sh

ROUNDS=9 ONLY='' CORES=(1 2) QUEUES=(1 16) EXTRA=() N_POST=2000000 N_TRIPS=50000
ONE_CORE=(executor static_send dynamic_send pingpong_local repeat fan_in spawn_stop matrix)
MORE_CORES=(executor repeat static_send dynamic_send pingpong_cross fan_in spawn_stop matrix
    balance_one balance_one_work balance_multi balance_multi_work)
CLIENT=(post post_batch roundtrip)

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' bench/paper/pairs.sh
    exit "$1"
}

wanted()
{
    [ -z "$ONLY" ] || [[ ",$ONLY," = *",$1,"* ]]
}

# run_once SIDE NAME CORES QUEUES ARGUMENT...: what a message takes in a fresh service of that
# build, in TOOK.
run_once()
{
    local BUILD=${BUILDS[$1]} name=$2 cores=$3 queues=$4 status=0
    local settings=("workers=$cores" "affinity=$(cpus_of "$cores")")
    shift 4
    [ "$queues" = default ] || settings+=("queues-per-worker=$queues")
    [ "$name" != pingpong_cross ] || settings+=(stealing=none)
    # A client has the other CPU to itself, as in run.sh.
    start_service run "${settings[@]}" "${EXTRA[@]}" || {
        trouble "no service of $BUILD with $cores workers, $queues queues each: $WHY"
        return 1
    }
    if odeon_run run "$OURS" "$@"; then
        TOOK=$(field "$FIELD" "$LINE")
        # A blank would make pairs of runs that were none.
        measured "$TOOK" || { trouble "$name: no $FIELD in: $LINE"; status=1; }
    else
        status=1
    fi
    stop_service run
    return $status
}

# pair_arguments NAME CORES QUEUES: how long the runs of both are, by a short one of the old build,
# in ARGS; OURS and FIELD.
pair_arguments()
{
    FIELD=ns_per_msg
    case $1 in
    post) OURS=post ARGS=(--n "$N_POST" --window 1) ;;
    post_batch) OURS=post ARGS=(--n "$N_POST" --window 32) ;;
    roundtrip) OURS=roundtrip ARGS=(--n "$N_TRIPS") FIELD=p50_ns ;;
    *)
        parameters "$1"
        ARGS=("${FULL[@]}")
        [ -n "$UNIT" ] || return 0
        run_once old "$1" "$2" "$3" "${FIXED[@]}" "$UNIT" "$PROBE" && size "$FULL_MS" "$TOOK"
        ;;
    esac
}

# pair_verdict KEY: the line's end from the two series of a key.
pair_verdict()
{
    # shellcheck disable=SC2086 # lists
    paste -d' ' <(printf '%s\n' ${VALUES["$1 old"]}) <(printf '%s\n' ${VALUES["$1 new"]}) |
        awk '$1 > 0 { print $2 / $1 }' | sort -g | awk '
            { v[NR] = $1 }
            END {
                m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
                verdict = v[2] > 1 ? "slower" : v[NR - 1] < 1 ? "faster" : "same"
                printf "ratio=%.3f from=%.3f to=%.3f pairs=%d verdict=%s\n",
                    m, v[2], v[NR - 1], NR, verdict
            }'
}

# pairs NAME CORES QUEUES: all rounds of a line, and the line.
pairs()
{
    local name=$1 cores=$2 queues=$3 key="$1 $2 $3" i old new order
    pair_arguments "$name" "$cores" "$queues" || return
    for ((i = 0; i < ROUNDS; i++)); do
        order=(old new)
        ((i % 2)) && order=(new old)
        run_once "${order[0]}" "$name" "$cores" "$queues" "${ARGS[@]}" || return
        local "${order[0]}=$TOOK"
        run_once "${order[1]}" "$name" "$cores" "$queues" "${ARGS[@]}" || return
        local "${order[1]}=$TOOK"
        add "$key old" "$old"
        add "$key new" "$new"
    done
    echo "pair=$name cores=$cores queues=$queues old_ns=$(median "$key old")" \
        "new_ns=$(median "$key new") $(pair_verdict "$key")"
}

parse()
{
    while [ $# -gt 0 ]; do
        case $1 in
        --rounds) ROUNDS=${2:?--rounds needs a number} && shift ;;
        --only) ONLY=${2:?--only needs names} && shift ;;
        --cores) IFS=, read -ra CORES <<<"${2:?--cores needs numbers}" && shift ;;
        --queues) IFS=, read -ra QUEUES <<<"${2:?--queues needs numbers}" && shift ;;
        --cpus) CPUS=${2:?--cpus needs a list} && shift ;;
        --set) EXTRA+=("${2:?--set needs KEY=VALUE}") && shift ;;
        -h | --help) usage 0 ;;
        -*) usage 2 >&2 ;;
        *) FOLDERS+=("$(cd "$FROM" && realpath -e "$1")") || exit 2 ;;
        esac
        shift
    done
    [ ${#FOLDERS[@]} = 2 ] || usage 2 >&2
    [[ $ROUNDS =~ ^[0-9]+$ ]] && [ "$ROUNDS" -ge 7 ] || die "--rounds $ROUNDS: at least 7"
}

FOLDERS=()
declare -A BUILDS=()
parse "$@"
BUILDS=([old]=${FOLDERS[0]} [new]=${FOLDERS[1]})
need_tools taskset timeout awk paste realpath
for side in old new; do
    [ -x "${BUILDS[$side]}/bench/odeon-bench" ] || die "${BUILDS[$side]}: no build with benchmarks"
done
make_work_folder
choose_cpus_for "${CORES[@]}"
say_load before
for cores in "${CORES[@]}"; do
    names=("${ONE_CORE[@]}" "${CLIENT[@]}")
    [ "$cores" = 1 ] || names=("${MORE_CORES[@]}")
    for queues in "${QUEUES[@]}"; do
        for name in "${names[@]}"; do
            wanted "$name" || continue
            pairs "$name" "$cores" "$queues"
        done
    done
done
say_load after
exit "$FAILED"
