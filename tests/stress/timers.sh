#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timers.sh BUILD: what timers cost can be measured, and the lines say what they should. The times
# mean nothing here. Needs two CPUs; 77: there is one.
# shellcheck source=tests/stress/bench_lines.sh
. "$(dirname "$0")/bench_lines.sh"

bench/timers/run.sh --smoke --build "$BUILD" >"$WORK/out" 2>"$WORK/err" || {
    cat "$WORK/out" "$WORK/err"
    echo "FAIL run.sh"
    exit 1
}
cat "$WORK/err"
tail='spread=[0-9.]+% runs=1'
for name in arm cancel; do
    expect 2 "^bench=timer_$name pending=(10|1000) ns=[0-9.]+ $tail$" "$WORK/out"
done
expect 2 "^bench=timer_recovery pending=(10|1000) us=[0-9.]+ $tail$" "$WORK/out"
for name in pingpong_local ask forward; do
    expect 1 "^bench=$name ns_per_msg=[0-9.]+ $tail sends=[0-9.]+$" "$WORK/out"
done
expect 6 ' (met|MISSED)$' "$WORK/out"
for wrong in '--kills' '--cpus' 'more'; do
    # shellcheck disable=SC2086 # words
    bench/timers/run.sh --smoke --build "$BUILD" $wrong >/dev/null 2>&1 && {
        echo "FAIL run.sh takes $wrong"
        FAILED=1
    }
done
exit $FAILED
