#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# restart.sh BUILD: what bench/restart prints are medians, and it leaves nothing behind, however it
# ends. The times mean nothing here.
set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
. tests/stress/tap.sh
BENCH=$1/bench/odeon-bench-restart ODEOND=$1/bin/odeond FAILED=0
PATIENT_S=300 # what nobody waits for, unless it hangs
WORK=$(mktemp -d) || exit 1
export TMPDIR=$WORK/tmp
mkdir "$TMPDIR"
trap 'rm -rf "$WORK"' EXIT

# within COMMAND...: looks again and again until it succeeds; 1: it does not.
within()
{
    local end=$((SECONDS + PATIENT_S))
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
}

# ours: the processes that name a folder of this test, and so odeond, with which its executor ends.
# grep, which would name it, too, reads it.
echo "$TMPDIR/odeon-restart-" >"$WORK/name"
ours()
{
    grep -slF -f "$WORK/name" /proc/[0-9]*/cmdline | cut -d/ -f3
}

no_process()
{
    [ -z "$(ours)" ]
}

no_folder()
{
    [ -z "$(ls "$TMPDIR")" ]
}

# ---- medians ----

# Two rounds: each figure's median is the mean of both. What is printed is rounded.
"$BENCH" "$ODEOND" 2 5000 >"$WORK/out"
tap $? "two rounds come to their end"
awk '
    { for (i = 2; i <= NF; i++) { split($i, word, "="); v[word[1]] = word[2] } }
    /^point=/ { for (k in v) sum[k] += v[k] }
    /^bench=/ {
        for (k in v)
            if (k in sum && k != "round") {
                n++
                if (v[k] - sum[k] / 2 > 0.11 || sum[k] / 2 - v[k] > 0.11) {
                    print "# " k ": " v[k] " of both " sum[k]
                    wrong++
                }
            }
    }
    { split("", v) }
    END { exit n != 11 || wrong > 0 }' "$WORK/out"
tap $? "the median of two is their mean"
[ "$FAILED" = 0 ] || sed 's/^/# /' "$WORK/out"
no_folder
tap $? "no folder is left"

# ---- ends ----

# begin ODEOND UNTIL...: the benchmark as PID, when UNTIL is true.
begin()
{
    local odeond=$1
    shift
    rm -f "$WORK/stub"
    : >"$WORK/out"
    set -m # or it would ignore SIGINT
    "$BENCH" "$odeond" 100 5000 >"$WORK/out" 2>&1 &
    PID=$!
    set +m
    within "$@"
}

stub_runs()
{
    [ -s "$WORK/stub" ]
}

stub_ended()
{
    ! kill -0 "$(cat "$WORK/stub")" 2>/dev/null
}

round_done()
{
    grep -q '^point=' "$WORK/out"
}

# clean_up PROCESS...: what should not be there any more, or the next one would be blamed.
clean_up()
{
    kill -KILL "$@" 2>/dev/null
    rm -rf "${TMPDIR:?}"/*
}

# A service that never comes up.
printf '#!/bin/sh\necho $$ >"%s"\nexec sleep 3600\n' "$WORK/stub" >"$WORK/odeond"
chmod +x "$WORK/odeond"
for signal in INT TERM HUP KILL; do
    begin "$WORK/odeond" stub_runs
    kill -"$signal" "$PID"
    wait "$PID" 2>/dev/null
    [ $? = $((128 + $(kill -l "$signal"))) ]
    tap $? "SIG$signal ends it"
    within stub_ended
    tap $? "... and its odeond"
    # Nobody is left to take the folder away when nobody was asked.
    [ "$signal" = KILL ] || no_folder
    tap $? "... and its folder"
    clean_up "$(cat "$WORK/stub")"
done
begin "$ODEOND" round_done
tap $? "a service is at work"
kill -TERM "$PID"
wait "$PID" 2>/dev/null
within no_process
tap $? "... and is gone when the benchmark is ended"
no_folder
tap $? "... and its folder"
# shellcheck disable=SC2046 # a list
clean_up $(ours)
echo "1..$COUNT"
exit $FAILED
