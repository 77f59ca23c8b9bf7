#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_bench.sh CLIENT PLUGIN
# Every benchmark comes to its end, leaves no actor behind, and reports the number of messages of
# its definition; but for `ask`, `forward` and `publish`, which need a service's questions and
# groups.  CLIENT is odeon-bench linked to inproc.c, so no service is needed; the times mean nothing
# here.
set -u
client=$1
plugin=$2
err=$(mktemp) || exit 1
trap 'rm -f "$err"' EXIT
failed=0

expect() { # MESSAGES RUNS BENCHMARK OPTIONS...
    messages=$1
    runs=$2
    shift 2
    lines=$("$client" "$@" --runs "$runs" --plugin "$plugin" 2>"$err")
    code=$?
    latency='p50_ns=[0-9]* p90_ns=[0-9]* p99_ns=[0-9]* max_ns=[0-9]*'
    right=$(printf '%s\n' "$lines" |
        grep -c "^bench=$1 cores=1 ns_per_msg=[0-9.]* messages=$messages\( $latency\)\?$")
    if [ $code -ne 0 ] || [ "$right" -ne "$runs" ] || ! grep -q 'inproc: 0 actors left' "$err"; then
        echo "FAIL $* (exit $code, $right of $runs lines with $messages messages)"
        printf '%s\n' "$lines"
        cat "$err"
        failed=1
    else
        echo "ok   $*"
    fi
}

expect 1000 3 static_send --n 1000
expect 1000 3 dynamic_send --n 1000
expect 1000 1 dynamic_send --n 1000 --place spread
expect 1000 2 pingpong_local --n 999
expect 1000 2 pingpong_cross --n 1000
expect 20100 2 executor --actors 100 --set 100 --rounds 2
expect 120300 1 executor --actors 250 --set 100 --rounds 4 --batch 4
expect 505000 1 executor --actors 5000 --set 10 --rounds 10
expect 60000 2 repeat --actors 5000 --rounds 3
expect 80400 2 balance_one --actors 400 --set 100 --rounds 2
expect 404 1 balance_one --actors 4 --set 4 --rounds 25 --work 3
expect 80400 2 balance_multi --actors 400 --set 100 --rounds 2
expect 100 2 matrix --n 100
expect 10000 2 fan_in --n 9990 --actors 16
expect 3000 2 spawn_stop --n 3000
expect 10000 2 post --n 10000 --window 7
expect 500 2 roundtrip --n 500
expect 50 2 wake --n 50 --pause 10

refuse() { # CODE ARGUMENTS...
    code=$1
    shift
    "$client" "$@" --plugin "$plugin" >/dev/null 2>"$err"
    r=$?
    if [ $r -ne "$code" ] || ! grep -q '^odeon-bench: ' "$err"; then
        echo "FAIL $* gives $r, not $code"
        failed=1
    fi
}
refuse 2 nonsense
refuse 2
refuse 2 post --n 0
refuse 2 dynamic_send --place there
refuse 1 executor --actors 100 --set 10 --rounds 1 --batch 3
refuse 1 matrix --n 9000
refuse 1 fan_in --actors 3000
refuse 1 balance_one --actors 2000000
exit $failed
