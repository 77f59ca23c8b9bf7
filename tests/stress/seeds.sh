#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The torture's proof: executors with one deliberate bug each (tests/seeded/seeds.h) must be
# found broken.
#
#   seeds.sh BUILD_DIR [SEED...]
#
# Each is given eight chances of 200 kills, of which a machine that has time needs one; a bug that
# survives all of them fails the test.
set -u
build=$(realpath -e "$1") || exit 2
shift
[ $# -gt 0 ] || set -- journal_late own_early two_stores locks_first
ODEON_INJECT="handler:3000,outbox:500,lock:2000,copied:2000,journal:2000,published:2000,step:2000"
export ODEON_INJECT="$ODEON_INJECT,parked:300,release:500,port:200,recovery:3"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
survived=0
for seed in "$@"; do
    found=
    for try in 1 2 3 4 5 6 7 8; do
        ODEON_SEED=$seed timeout 1200 "$build/tests/stress/torture" --bin "$build/bin" \
            --plugin "$build/tests/stress/relay.so" \
            --executor "$build/tests/stress/executor-seeded" \
            --kills 200 --patience 60 --lopsided >"$log" 2>/dev/null
        rc=$?
        if [ $rc = 1 ] && grep -q '^torture: BROKEN' "$log"; then
            found=$(grep -m1 -oE 'history=WRONG .*|got .*|receive: .*' "$log")
            break
        elif [ $rc = 2 ] || [ $rc -gt 2 ]; then
            echo "# $seed: the torture could not run (exit $rc)"
            cat "$log"
        fi
    done
    if [ -n "$found" ]; then
        echo "ok - $seed is found at try $try: $found"
    else
        echo "not ok - $seed survived"
        survived=$((survived + 1))
    fi
done
exit $((survived != 0))
