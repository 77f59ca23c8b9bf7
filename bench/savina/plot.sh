#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/savina/plot.sh - figures of the suite, from the lines that run.sh and compare.sh, or
# bench/matrix_search/run.sh, have saved.
#
#   bench/savina/run.sh --policies all --save LINES
#   bench/savina/compare.sh --save MORE
#   bench/savina/plot.sh FOLDER LINES...
#
# Writes into FOLDER, and names: for each number of workers makespan_W.svg, an iteration's time of
# each program by policy and mode, and ratio_W.svg, that time divided by the one with the default
# policy; caf_W.svg, time a message divided by CAF's; place_W.svg, matrix search by placement,
# policy and mode. What LINES has nothing for is named, too, and left out. Figures can be read in
# grey: policies are told by the shape of their marks, modes by their filling. Of a machine with one
# memory node each figure of policies says so. Exit status: 0 if at least one was drawn.
set -uo pipefail
export LC_ALL=C
HERE=$(cd "$(dirname "$0")" && pwd) || exit 1

if [ $# -lt 2 ] || [[ $1 = -* ]]; then
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
fi
FOLDER=$1 DRAWN=0
shift
for file in "$@"; do
    [ -r "$file" ] || { echo "savina/plot.sh: cannot read $file" >&2; exit 2; }
done
mkdir -p "$FOLDER" || exit 1

# draw FILE KIND CORES TITLE LABEL
draw()
{
    local file=$FOLDER/$1.svg status
    awk -v "kind=$2" -v "cores=$3" -v "title=$4" -v "label=$5" -f "$HERE/../svg.awk" \
        -f "$HERE/plot.awk" "${LINES_FILES[@]}" >"$file.part"
    status=$?
    if [ $status = 0 ]; then
        mv "$file.part" "$file"
        echo "$file"
        DRAWN=$((DRAWN + 1))
    else
        rm -f "$file.part"
        [ $status = 3 ] || exit 1
        echo "nothing for $1: no figure" >&2
    fi
}

LINES_FILES=("$@")
while read -r cores; do
    workers="$cores workers"
    [ "$cores" != 1 ] || workers='1 worker'
    draw "makespan_$cores" makespan "$cores" "Makespan by policy and mode, $workers" \
        'milliseconds an iteration'
    draw "ratio_$cores" ratio "$cores" "Makespan beside the default policy, $workers" \
        'time divided by that of the default policy'
    draw "caf_$cores" caf "$cores" "Beside CAF, $workers" "time a message divided by CAF's"
    draw "place_$cores" place "$cores" "Matrix search by placement, policy and mode, $workers" \
        'milliseconds an iteration'
done < <(grep -hoE '^bench=savina_.* cores=[0-9]+' "$@" | sed 's/.*=//' | sort -nu)
[ $DRAWN -gt 0 ]
