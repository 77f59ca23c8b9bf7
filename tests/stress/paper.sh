#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# paper.sh BUILD: the paper's suite can be run, its lines say what they should, and figures come out
# of them. The times mean nothing here. Needs two CPUs; 77: there is one.
# shellcheck source=tests/stress/bench_lines.sh
. "$(dirname "$0")/bench_lines.sh"

run()
{
    bench/paper/run.sh --quick --build "$BUILD" "$@" >"$WORK/out" 2>"$WORK/err"
    local status=$?
    cat "$WORK/err"
    return $status
}

run --only static_send,balance_one,wake --save "$WORK/lines" || {
    cat "$WORK/out"
    echo "FAIL run.sh"
    exit 1
}
number='[0-9.]+'
head="policy=[a-z-]+ mode=(keep|visit|-)"
tail="queues=[0-9]+ ns_per_msg=$number baseline_ns=$number baseline_queues=[0-9]+"
tail="$tail baseline_steal=(on|off) ratio=$number runs=[0-9]+ spread=$number%"
tail="$tail baseline_spread=$number% ruler_ns=[^ ]+/[^ ]+ ruler_equal=(yes|no)"
tail="$tail gulps=[0-9]+ missed=[0-9]+ steals=[0-9]+"
expect 1 "^bench=static_send $head cores=1 $tail" "$WORK/lines"
for name in static_send balance_one; do
    # The service's own policy, and twelve more, each with a figure or refused.
    expect 13 "^bench=$name $head cores=2 ($tail|refused)" "$WORK/lines"
    expect 1 "^bench=$name policy=none mode=- cores=2 $tail" "$WORK/lines"
    expect 3 "^point=$name side=odeon cores=2 queues=[0-9]+ ns_per_msg=$number" "$WORK/lines"
    expect 3 "^point=$name side=baseline cores=2 queues=[0-9]+ ns_per_msg=$number" "$WORK/lines"
done
latency="p50_ns=[0-9]+ p90_ns=[0-9]+ p99_ns=[0-9]+ max_ns=[0-9]+"
expect 1 "^bench=wake .* $latency bare_p50_ns=[0-9]+" "$WORK/lines"
expect 1 '^cpu=".+" cpus_allowed=' "$WORK/lines"
expect 1 '^static_send, 1 core, ratio +[0-9.]+ +most +0.3 +(met|MISSED)' "$WORK/lines"
cmp -s "$WORK/lines" "$WORK/out" || {
    echo "FAIL what was saved is not what was printed"
    FAILED=1
}

bench/paper/plot.sh "$WORK/lines" "$WORK/figures" >"$WORK/drawn" 2>"$WORK/err" || {
    cat "$WORK/err"
    echo "FAIL plot.sh"
    FAILED=1
}
expect 2 '/(static_send|balance_one)\.svg$' "$WORK/drawn"
expect 1 '^</svg>$' "$WORK/figures/static_send.svg"
expect 1 'no lines of matrix' "$WORK/err"
grep -q 'nan\|inf' "$WORK"/figures/*.svg && { echo "FAIL a figure with nan or inf"; FAILED=1; }

for wrong in '--only nonsense' '--nonsense' '--cores 1,4096'; do
    # shellcheck disable=SC2086 # words
    run $wrong >/dev/null && { echo "FAIL run.sh $wrong succeeds"; FAILED=1; }
done
bench/paper/plot.sh /dev/null "$WORK/nothing" 2>/dev/null && {
    echo "FAIL plot.sh draws without lines"
    FAILED=1
}
exit $FAILED
