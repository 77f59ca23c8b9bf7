#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copies of a plugin with one mistake each: its own test finds it, by the test that looks for it and
# by no other, names the seed, and finds the same with that seed alone.
# Usage: check_broken.sh [PROGRAM TEST]...
set -uo pipefail
WORK=$(mktemp -d) || exit 1
trap 'rm -rf "$WORK"' EXIT
COUNT=0 BROKEN=0

# result STATUS WHAT
result()
{
    COUNT=$((COUNT + 1))
    if [ "$1" = 0 ]; then
        echo "ok $COUNT - $2"
    else
        echo "not ok $COUNT - $2"
        sed 's/^/# /' "$WORK/log"
        BROKEN=1
    fi
}

while [ $# -ge 2 ]; do
    program=$1 name=$2
    shift 2
    ! "$program" >"$WORK/log" 2>&1 && grep -q "^not ok [0-9]* - $name$" "$WORK/log"
    result $? "${program##*/} fails"
    ! grep '^not ok' "$WORK/log" | grep -qv -- "- $name$"
    result $? "... in $name alone"
    seed=$(grep -oE 'ODEON_TEST_SEED=[0-9]+' "$WORK/log" | head -n 1)
    reason=$(grep -A1 "^not ok [0-9]* - $name$" "$WORK/log" | sed -n '2p')
    [ -n "$seed" ] && [ -n "$reason" ]
    result $? "... and names the seed"
    ! env "$seed" "$program" >"$WORK/log" 2>&1 && grep -qxF "$reason" "$WORK/log"
    result $? "... with which it fails in the same way"
done
[ $COUNT -gt 0 ] || BROKEN=1
echo "1..$COUNT"
[ $BROKEN = 0 ]
