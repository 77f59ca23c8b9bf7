#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh - counts cache lines and locked instructions a message, with 2, 8 and 64 simulated workers
# (docs/benchmarks/growth.md), and lists the words of which more are touched the more workers there
# are. It measures no time: what else the machine does is nothing to it.
#
#   bench/counting/run.sh [--build DIR] [--workers 2,8,64] [--only TRAFFIC,...] [--quick]
#       [--save FILE]
#
#   --quick   little of everything, with 2 and 4 workers, to see that it works
#   --save    all lines go there; without it only those of messages, units and growth are shown
set -uo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=$ROOT/build/release WORKERS=2,8,64 ONLY='' SAVE='' QUICK=''
export LC_ALL=C

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit "$1"
}

while [ $# -gt 0 ]; do
    case $1 in
    --build | --workers | --only | --save)
        [ $# -gt 1 ] || usage 2 >&2
        case $1 in
        --build) BUILD=$2 ;;
        --workers) WORKERS=$2 ;;
        --only) ONLY=$2 ;;
        --save) SAVE=$2 ;;
        esac
        shift
        ;;
    --quick) QUICK=1 WORKERS=2,4 ;;
    -h | --help) usage 0 ;;
    *) usage 2 >&2 ;;
    esac
    shift
done

COUNT=$BUILD/bench/odeon-count
[ -x "$COUNT" ] || { echo "run.sh: $COUNT is not there: build it first (gcc, x86-64)" >&2; exit 2; }
LINES_FILE=${SAVE:-$(mktemp)} || exit 2
: >"$LINES_FILE" || exit 2
[ -n "$SAVE" ] || trap 'rm -f "$LINES_FILE"' EXIT

# count TRAFFIC [OPTION...]: one kind, with each number of workers.
count()
{
    local workers traffic=$1
    shift
    case ,${ONLY:-$traffic}, in *,"$traffic",*) ;; *) return 0 ;; esac
    [ -z "$QUICK" ] || set -- --messages 3000 --actors 600 "$@"
    for workers in ${WORKERS//,/ }; do
        "$COUNT" "$traffic" --workers "$workers" "$@" >>"$LINES_FILE" || return 1
    done
}

STATUS=0
for placement in spread each; do
    count executor --placement "$placement" || STATUS=1
    count random --placement "$placement" || STATUS=1
done
for traffic in pingpong search wake burst ports; do
    count "$traffic" || STATUS=1
done
# A message of these takes long to simulate: all other workers search meanwhile.
FEW=(--messages 1000)
[ -z "$QUICK" ] || FEW=()
for traffic in lone lone-ports; do
    count "$traffic" "${FEW[@]}" || STATUS=1
done
grep -E '^bench=count(_cut|_unit)? ' "$LINES_FILE"
awk -f "$ROOT/bench/counting/growth.awk" "$LINES_FILE"
exit $STATUS
