#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# smoke.sh BUILD: bench/counting/run.sh works, and what it counts is what is known otherwise. Prints
# TAP.
set -uo pipefail
BUILD=$(realpath -e "${1-}") || exit 2
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
N=0 BROKEN=0
export LC_ALL=C

check()
{
    local name=$1
    shift
    N=$((N + 1))
    if "$@" >"$WORK/said" 2>&1; then
        echo "ok $N - $name"
    else
        BROKEN=$((BROKEN + 1))
        echo "not ok $N - $name"
        head -n 20 "$WORK/said" | sed 's/^/# /'
    fi
}

# Nothing is lost between a unit and its words, but for rows too small to be shown.
sums_agree()
{
    awk '
        function value(name,    i, part) {
            for (i = 1; i <= NF; i++) { split($i, part, "="); if (part[1] == name) return part[2] }
        }
        { key = value("workers") " " value("traffic") " " value("spread") " " value("unit") }
        $1 == "bench=count_unit" { foreign[key] = value("foreign"); locked[key] = value("locked") }
        $1 == "bench=count_word" { f[key] += value("foreign"); l[key] += value("locked") }
        function apart(a, b) { return a - b > 0.15 || b - a > 0.15 }
        END {
            for (key in foreign) {
                n++
                if (apart(foreign[key], f[key]) || apart(locked[key], l[key])) {
                    print key ": foreign " foreign[key] ", words " f[key] + 0 ", locked " \
                        locked[key] ", words " l[key] + 0
                    bad = 1
                }
            }
            exit bad || n < 20
        }' "$WORK/lines"
}

# Two actors on two workers: each message is a group of its own, which crosses, under a lock, with
# two locked instructions, and is gulped by a third one; now and then one waits for the other.
ping_pong_is_known()
{
    grep -E 'bench=count .* traffic=pingpong ' "$WORK/lines" | grep -c \
        'groups_per_1000=1000.0 crossing_per_1000=1000.0 flushed_share=1.000' | grep -x 2 &&
        [ "$(grep -cE 'traffic=pingpong .* unit=message word=queue.lock.sel .* locked=3.0[0-9]* ' \
            "$WORK/lines")" = 2 ]
}

# What a worker sends to its own only actor never leaves its batch.
self_sends_stay()
{
    grep -E 'bench=count .* traffic=search ' "$WORK/lines" |
        grep -c 'crossing_per_1000=0.0 flushed_share=0.000' | grep -x 2
}

same_again()
{
    "$BUILD/bench/odeon-count" random --workers 4 --messages 2000 --actors 400 >"$WORK/a" &&
        "$BUILD/bench/odeon-count" random --workers 4 --messages 2000 --actors 400 >"$WORK/b" &&
        cmp "$WORK/a" "$WORK/b"
}

refused()
{
    ! "$BUILD/bench/odeon-count" random --workers 65 && ! "$BUILD/bench/odeon-count" nothing &&
        ! "$BUILD/bench/odeon-count" random --stealing nobody
}

check "a quick pass ends well" "$ROOT/bench/counting/run.sh" --build "$BUILD" --quick \
    --save "$WORK/lines"
check "what was asked for was counted" test \
    "$(grep -cE '^bench=count .* messages=3000 ' "$WORK/lines")" = 22
check "words and units agree" sums_agree
check "a ping-pong is what is known of it" ping_pong_is_known
check "nothing crosses where actors talk to themselves" self_sends_stay
check "the same arguments give the same lines" same_again
check "what makes no sense is refused" refused
echo "1..$N"
[ $BROKEN = 0 ]
