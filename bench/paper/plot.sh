#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/paper/plot.sh - the figures of the paper, from the lines that run.sh has saved.
#
#   bench/paper/run.sh --save LINES
#   bench/paper/plot.sh LINES FOLDER
#
# Writes one SVG for each figure into FOLDER, and names them; benchmarks that LINES does not have
# are named, too, and left out. Exit status: 0 if at least one was drawn.
set -uo pipefail
export LC_ALL=C
HERE=$(cd "$(dirname "$0")" && pwd) || exit 1

FIGURES=(
    'static_send|Static send: one actor sends to itself'
    'dynamic_send|Dynamic send: every message makes a new actor'
    'executor|Executor: 40,000 actors in groups of 100'
    'repeat|Repeat: one client, 100,000 servers'
    'balance_one|Balance-one: all work on one worker, nothing to do for a message'
    'balance_one_work|Balance-one, with 1000 steps of work a message'
    'balance_multi|Balance-multi: all work on every second worker'
    'balance_multi_work|Balance-multi, with 1000 steps of work a message'
    'matrix|Matrix: an actor for each row of the product'
    'pingpong_local|Ping-pong of two actors of one worker'
    'pingpong_cross|Ping-pong of two actors of two workers'
    'fan_in|Fan-in: 64 senders, one sink'
    'spawn_stop|Spawn and stop: from the making of an actor to its end'
)

if [ $# != 2 ] || [ ! -r "$1" ]; then
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
fi
LINES_FILE=$1 FOLDER=$2 DRAWN=0
mkdir -p "$FOLDER" || exit 1

# draw FILE NAME TITLE VARIABLE=VALUE...
draw()
{
    local file=$FOLDER/$1.svg name=$2 title=$3 status
    shift 3
    awk -v "name=$name" -v "title=$title" "$@" -f "$HERE/../svg.awk" -f "$HERE/plot.awk" \
        "$LINES_FILE" >"$file.part"
    status=$?
    if [ $status = 0 ]; then
        mv "$file.part" "$file"
        echo "$file"
        DRAWN=$((DRAWN + 1))
    else
        rm -f "$file.part"
        [ $status = 3 ] || exit 1
        echo "no lines of $name in $LINES_FILE: no figure" >&2
    fi
}

for figure in "${FIGURES[@]}"; do
    draw "${figure%%|*}" "${figure%%|*}" "${figure#*|}"
done
draw memory executor 'Memory: high-water mark of the executor benchmark' -v ours=peak_kib \
    -v theirs=baseline_peak_kib -v kind=memory
[ $DRAWN -gt 0 ]
