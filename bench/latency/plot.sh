#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/latency/plot.sh - figures of lateness, from the lines that run.sh has saved.
#
#   bench/latency/run.sh --save LINES
#   bench/latency/plot.sh LINES FOLDER
#
# Writes one SVG for each figure into FOLDER, and names them; those that LINES has nothing for are
# named, too, and left out. Exit status: 0 if at least one was drawn.
set -uo pipefail
export LC_ALL=C
HERE=$(cd "$(dirname "$0")" && pwd) || exit 1

if [ $# != 2 ] || [ ! -r "$1" ]; then
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
fi
LINES_FILE=$1 FOLDER=$2 DRAWN=0
mkdir -p "$FOLDER" || exit 1

# draw FILE PATTERN EXCEPT TITLE [X X-LABEL]: without X, a row for each line.
draw()
{
    local file=$FOLDER/$1.svg status
    awk -v "pattern=$2" -v "except=$3" -v "title=$4" -v "x=${5-}" -v "x_label=${6-}" \
        -f "$HERE/../svg.awk" -f "$HERE/plot.awk" "$LINES_FILE" >"$file.part"
    status=$?
    if [ $status = 0 ]; then
        mv "$file.part" "$file"
        echo "$file"
        DRAWN=$((DRAWN + 1))
    else
        rm -f "$file.part"
        [ $status = 3 ] || exit 1
        echo "no lines of $1 in $LINES_FILE: no figure" >&2
    fi
}

draw step '^bench=latency_step .*work=busy' 'disturb=' \
    'Steps: lateness of what busy handlers send' duration_us 'microseconds of a handler'
draw sleep '^bench=latency_step .*work=sleep place=queue' 'disturb=' \
    'Steps: lateness of what sleeping handlers send' duration_us 'microseconds of a handler'
for payload in 8 64; do
    draw "roundtrip_$payload" "^bench=latency_roundtrip .*payload=$payload " 'disturb=' \
        "Client, actor, client, $payload bytes, open loop" rate 'requests a second'
done
for workers in 1 2; do
    draw "fan_$workers" "^bench=latency_fan .*workers=$workers " 'disturb=' \
        "Asked at once, the last answer; workers: $workers" actors actors
    draw "chain_$workers" "^bench=latency_chain .*workers=$workers " 'disturb=' \
        "One behind the other; workers: $workers" actors actors
done
draw bursts '^bench=latency_(turn|burst|crowd|idle|step .*place=detached)' 'disturb=' \
    'Kinds that turn slow, bursts, calls beside a flood, wake-ups, the ticker'
draw disturbed '^bench=latency_.* disturb=' '' 'While settings change, while the executor is killed'
[ $DRAWN -gt 0 ]
