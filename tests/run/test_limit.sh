#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_limit.sh LIMIT: each limit of limit.c ends a test that breaks it, and no other; nothing that
# a test has started outlives it. Prints TAP.
set -uo pipefail
LIMIT=$(realpath -e "${1-}") || exit 2
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
COUNT=0 BROKEN=0
PATIENT_S=300 # as tests/run/patience.h

# expect STATUS VERDICT NAME ARGUMENT...: limit, with these arguments, ends so.
expect()
{
    local status=$1 verdict=$2 name=$3 rc=0 wall=- cpu=- said=-
    shift 3
    COUNT=$((COUNT + 1))
    rm -f "$WORK/report"
    "$LIMIT" --report "$WORK/report" "$@" >"$WORK/out" 2>&1 </dev/null || rc=$?
    read -r wall cpu said <"$WORK/report"
    if [ "$rc" = "$status" ] && [ "$said" = "$verdict" ]; then
        echo "ok $COUNT - $name"
    else
        BROKEN=$((BROKEN + 1))
        echo "not ok $COUNT - $name"
        echo "# status $rc, not $status; $said, not $verdict; $wall ms, $cpu ms of processor time"
        sed 's/^/# /' "$WORK/out"
    fi
}

# check NAME COMMAND...: the command succeeds.
check()
{
    local name=$1
    shift
    COUNT=$((COUNT + 1))
    if "$@"; then
        echo "ok $COUNT - $name"
    else
        BROKEN=$((BROKEN + 1))
        echo "not ok $COUNT - $name"
        sed 's/^/# /' "$WORK/out"
    fi
}

# gone FILE: the process whose number is in the file has ended.
gone()
{
    [ -s "$1" ] && ! kill -0 "$(cat "$1")" 2>/dev/null
}

# left_alone NAME WORDS: who does this again and again, for twice as long as it may be still, is not
# ended. A machine that does not let it do anything for so long gives it longer.
left_alone()
{
    local name=$1 words=$2 still rc=1
    for ((still = 2; rc != 0 && still < PATIENT_S; still *= 2)); do
        rc=0
        "$LIMIT" --still $still -- bash -c "until ((SECONDS > $((2 * still)))); do $words; done" \
            >"$WORK/out" 2>&1 </dev/null || rc=$?
    done
    check "$name" [ $rc = 0 ]
}

busy='while :; do :; done'
expect 0 ended "a test that passes" -- true
expect 3 ended "a test's status is handed on" -- bash -c 'exit 3'
expect 137 ended "a test that is killed" -- bash -c 'kill -9 $$'
expect 125 ended "a program that is not there" -- "$WORK/nothing"
expect 124 processor-time "one that computes for ever" --cpu 2 -- bash -c "$busy"
check "... what it had running is shown" grep -q 'bash: state' "$WORK/out"
expect 124 processor-time "its children count" --cpu 2 -- bash -c "($busy) & ($busy) & wait"
expect 124 processor-time "children that have ended count" --cpu 1 -- \
    bash -c 'while :; do (for ((i = 0; i < 20000; i++)); do :; done); done'
expect 124 still "one that does nothing" --still 1 -- sleep 1000
expect 124 still "a child that does nothing" --still 1 -- bash -c 'sleep 1000 & wait'
left_alone "one that prints is not still" "echo; sleep 0.1"
left_alone "one that computes is not still" ":"
expect 124 wall "the last resort" --still 1000 --wall 1 -- sleep 1000
# shellcheck disable=SC2016 # of the shell that is tested
expect 0 ended "a daemon that is left" -- bash -c 'setsid sleep 1000 & echo $! >'"$WORK/daemon"
check "... is killed" gone "$WORK/daemon"
# Who is begun with SIGTERM ignored ignores it from the first, however late it gets a processor.
trap '' TERM
expect 124 still "one that ignores SIGTERM" --still 1 -- sleep 1000
trap - TERM
sed -nE 's/^# +([0-9]+) \(child of .*/\1/p' "$WORK/out" >"$WORK/deaf"
check "... is killed" gone "$WORK/deaf"

# shellcheck disable=SC2016
"$LIMIT" -- bash -c 'echo $$ >'"$WORK/asked"'; sleep 1000' >"$WORK/out" 2>&1 </dev/null &
until [ -s "$WORK/asked" ]; do sleep 0.05; done
kill -TERM $!
wait $!
check "a signal ends it with 128 and its number" [ $? = 143 ]
check "... and its test" gone "$WORK/asked"
echo "1..$COUNT"
[ $BROKEN = 0 ]
