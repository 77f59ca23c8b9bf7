#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timers.sh BUILD: what timers cost can be measured, and the lines say what they should. The times
# mean nothing here. Needs two CPUs; 77: there is one.
set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
BUILD=$1 FAILED=0
[ "$(nproc)" -ge 2 ] || {
    echo "skipped: two processors are needed, one for either side"
    exit 77
}
WORK=$(mktemp -d) || exit 1
trap 'rm -rf "$WORK"' EXIT

# expect COUNT PATTERN: so many lines match.
expect()
{
    local found
    found=$(grep -cE "$2" "$WORK/out")
    if [ "$found" = "$1" ]; then
        echo "ok   $1 x $2"
    else
        echo "FAIL $found lines, not $1, match $2"
        FAILED=1
    fi
}

bench/timers/run.sh --smoke --build "$BUILD" >"$WORK/out" 2>"$WORK/err" || {
    cat "$WORK/out" "$WORK/err"
    echo "FAIL run.sh"
    exit 1
}
cat "$WORK/err"
tail='spread=[0-9.]+% runs=1'
for name in arm cancel; do
    expect 2 "^bench=timer_$name pending=(10|1000) ns=[0-9.]+ $tail$"
done
expect 2 "^bench=timer_recovery pending=(10|1000) us=[0-9.]+ $tail$"
for name in pingpong_local ask forward; do
    expect 1 "^bench=$name ns_per_msg=[0-9.]+ $tail sends=[0-9.]+$"
done
expect 6 ' (met|MISSED)$'
for wrong in '--kills' '--cpus' 'more'; do
    # shellcheck disable=SC2086 # words
    bench/timers/run.sh --smoke --build "$BUILD" $wrong >/dev/null 2>&1 && {
        echo "FAIL run.sh takes $wrong"
        FAILED=1
    }
done
exit $FAILED
