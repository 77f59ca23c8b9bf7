#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/matrix_search/run.sh - matrix search with several placements of controllers and seekers.
#
#   bench/matrix_search/run.sh [--places HUB/SEEK,...|all] [--block] [OPTION...]
#
#   --places  where controllers and where seekers live: each, follow, node or pinned (default:
#             each/each,follow/each,follow/follow,follow/node,node/node,follow/pinned,pinned/pinned)
#   --block   a controller gives all of its seekers a job when all have answered; without it, each
#             when it has answered
#   OPTION    of bench/savina/run.sh: --policies, --cores, --runs, --small, --full, --set, ...
#
# The lines are those of bench/savina/run.sh, with place=HUB/SEEK and job=one|block at their ends.
# The exit status says whether everything could be run and all results were right.
set -uo pipefail
export LC_ALL=C
HERE=$(cd "$(dirname "$0")" && pwd) || exit 1
PLACES=(each/each follow/each follow/follow follow/node node/node follow/pinned pinned/pinned)
JOB=1 OPTIONS=() SET='' FAILED=0 TOLD=''
declare -A NUMBER=([each]=1 [follow]=2 [node]=3 [pinned]=4) JOB_NAME=([1]=one [2]=block)

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$HERE/run.sh"
    exit "$1"
}

while [ $# -gt 0 ]; do
    case $1 in
    --places)
        IFS=, read -ra PLACES <<<"${2-}"
        [ "${2-}" != all ] ||
            mapfile -t PLACES < <(printf '%s\n' {each,follow,node,pinned}/{each,follow,node,pinned})
        shift
        ;;
    --set)
        SET=,${2-}
        shift
        ;;
    --block) JOB=2 ;;
    -h | --help) usage 0 ;;
    --save)
        echo "matrix_search/run.sh: there are several runs: redirect the output instead" >&2
        exit 2
        ;;
    *) OPTIONS+=("$1") ;;
    esac
    [ $# = 0 ] || shift
done
# shellcheck source=bench/savina/lines.sh
. "$HERE/../savina/lines.sh"
NODES=$(say_nodes)
NODES=${NODES#nodes=}
echo "nodes=$NODES"
[ "$NODES" -gt 1 ] ||
    echo "note: this machine has one memory node: all data is equally far from all workers"
for place in ${PLACES[@]+"${PLACES[@]}"}; do
    hub=${NUMBER[${place%%/*}]-} seek=${NUMBER[${place##*/}]-}
    if [ -z "$hub" ] || [ -z "$seek" ] || [[ $place != */* ]]; then
        echo "matrix_search/run.sh: no placement $place" >&2
        usage 2 >&2
    fi
done
for place in ${PLACES[@]+"${PLACES[@]}"}; do
    hub=${NUMBER[${place%%/*}]} seek=${NUMBER[${place##*/}]}
    "$HERE/../savina/run.sh" matrixsearch ${OPTIONS[@]+"${OPTIONS[@]}"} \
        --set "nodes=$NODES,job=$JOB,hub=$hub,seek=$seek$SET" |
        awk -v "told=$TOLD" -v "words=place=$place job=${JOB_NAME[$JOB]}" '
            /^bench=/ { print $0, words }
            /^warning/ && !told++'
    [ "${PIPESTATUS[0]}" = 0 ] || FAILED=1
    TOLD=1
done
exit $FAILED
