#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# latency.sh BUILD: the suite of latencies can be run, its lines say what they should, and figures
# come out of them. The times mean nothing here. Needs two CPUs; 77: there is one.
# shellcheck source=tests/stress/bench_lines.sh
. "$(dirname "$0")/bench_lines.sh"

bench/latency/run.sh --smoke --build "$BUILD" --save "$WORK/lines" >"$WORK/out" 2>"$WORK/err" || {
    cat "$WORK/out" "$WORK/err"
    echo "FAIL run.sh"
    exit 1
}
cat "$WORK/err"
number='[0-9]+\.[0-9]+'
times="p50_us=$number p90_us=$number p99_us=$number p999_us=$number p9999_us=$number"
times="$times most_us=$number"
ruler="ruler_${times// / ruler_}"
calls='n=[0-9]+ answered=[0-9]+ refused=[0-9]+ lost=[0-9]+ per_second=[0-9]+'
gap="gap_p50_us=$number gap_p99_us=$number gap_most_us=$number"
step="work=(busy|sleep) place=queue workers=1 n=[0-9]+ rounds=1 $times"
expect 3 "^bench=latency_step duration_us=[0-9]+ $step first_us=$number $ruler$" "$WORK/lines"
expect 1 "^bench=latency_step duration_us=all $step $ruler$" "$WORK/lines"
step="${step/queue/detached}"
expect 1 "^bench=latency_step .* ${step/n=\[0-9]+/n=1} first_us=$number $ruler$" "$WORK/lines"
expect 2 "^bench=latency_timer rate=10*0 workers=1 n=[0-9]+ $times $ruler$" "$WORK/lines"
for part in before slow other; do
    expect 3 "^bench=latency_turn part=$part .* every=[0-9]+ workers=1 n=[0-9]+ $times$" \
        "$WORK/lines"
done
expect 2 "^bench=latency_burst .* actors=1 workers=1 n=[0-9]+ $times $ruler$" "$WORK/lines"
expect 1 "^bench=latency_burst .* actors=16 workers=2 n=20 $times $ruler$" "$WORK/lines"
for begun in 'behind own' 'with own' 'behind shared'; do
    crowd="begun=${begun% *} flood_uid=[0-9]+ $calls $times flood_done=[0-9]+ .* queues=${begun#* }"
    expect 1 "^bench=latency_crowd .* $crowd$" "$WORK/lines"
done
for payload in 8 64; do
    expect 2 "^bench=latency_roundtrip rate=[0-9]+ payload=$payload .* $calls $times $ruler$" \
        "$WORK/lines"
done
expect 1 "^bench=latency_idle rate=200 .* $calls $times $ruler$" "$WORK/lines"
for shape in fan chain; do
    expect 6 "^bench=latency_$shape rate=10000 actors=[124] workers=[12] $calls $times $ruler$" \
        "$WORK/lines"
done
for how in reconfigure kill; do
    expect 6 "^bench=latency_.* disturb=$how events=[0-9]+ $gap$" "$WORK/lines"
done
expect 1 " disturb=reconfigure events=[0-9]+ $gap set=workers$" "$WORK/lines"
expect 1 '^the worst length of steps: p50 above the ruler, us +[0-9.-]+ +20 +(met|MISSED)' \
    "$WORK/out"
# Nothing is lost, disturbed or not: only beside a flood may a call come too late.
grep -v '^bench=latency_crowd' "$WORK/lines" >"$WORK/calm"
expect 0 ' (lost|refused)=[1-9]' "$WORK/calm"

bench/latency/plot.sh "$WORK/lines" "$WORK/figures" >"$WORK/drawn" 2>"$WORK/err" || {
    cat "$WORK/err"
    echo "FAIL plot.sh"
    FAILED=1
}
expect 10 '\.svg$' "$WORK/drawn"
expect 1 '^</svg>$' "$WORK/figures/disturbed.svg"
grep -q 'nan\|inf' "$WORK"/figures/*.svg && { echo "FAIL a figure with nan or inf"; FAILED=1; }

for wrong in '--only nonsense' '--nonsense'; do
    # shellcheck disable=SC2086 # words
    bench/latency/run.sh --smoke --build "$BUILD" $wrong >/dev/null 2>&1 && {
        echo "FAIL run.sh $wrong succeeds"
        FAILED=1
    }
done
for wrong in 'nonsense' 'turn' 'step --us x' 'roundtrip --payload 9' 'step --us 1,,2'; do
    # shellcheck disable=SC2086 # words
    "$BUILD/bench/odeon-latency" $wrong --socket "$WORK/none" >/dev/null 2>&1
    [ $? = 2 ] || {
        echo "FAIL odeon-latency $wrong is taken"
        FAILED=1
    }
done
bench/latency/plot.sh /dev/null "$WORK/nothing" 2>/dev/null && {
    echo "FAIL plot.sh draws without lines"
    FAILED=1
}
exit $FAILED
