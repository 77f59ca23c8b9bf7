#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# savina_kept.sh BUILD: the two programs of bench/savina/kept go on where they were, and come to the
# right result, when the executor is killed in their middle, again and again; a program whose states
# are not kept says that it has no result. The times mean nothing here.
cd "$(dirname "$0")/../.." || exit 1
. bench/lib.sh
. tests/stress/tap.sh
SELF=savina_kept.sh
# A machine that is busy with other things may not come to all of these kills.
BUILD=$1 KILLS=4 PATIENCE_S=300
make_work_folder

# messages: that the present executor's workers have run.
messages()
{
    "$BUILD/bin/odeonctl" --socket "$(socket one)" --json stats | json_number messages_processed
}

# until_it_runs PROGRAM BEFORE: it has run some messages more than BEFORE; 1: it has ended.
until_it_runs()
{
    local end=$((SECONDS + PATIENCE_S)) now
    while [ $SECONDS -lt $end ] && kill -0 "$1" 2>/dev/null; do
        now=$(messages)
        [ "${now:-0}" -le "$2" ] || return 0
        sleep 0.02
    done
    return 1
}

# kill_executor: and waits for the next one.
kill_executor()
{
    local end=$((SECONDS + PATIENCE_S)) old now
    old=$(executor_pid one)
    kill -KILL "$old"
    while [ $SECONDS -lt $end ]; do
        now=$(executor_pid one)
        [ -n "$now" ] && [ "$now" != 0 ] && [ "$now" != "$old" ] && return 0
        sleep 0.02
    done
    return 1
}

# started PLUGIN NAME WORD...: odeon-savina runs in the background, as PROGRAM; its line goes to
# $WORK/said.
started()
{
    local plugin=$1
    shift
    "$BUILD/bench/odeon-savina" --socket "$(socket one)" --runs 1 --timeout $PATIENCE_S \
        --plugin "$BUILD/bench/$plugin.so" "$@" >"$WORK/said" 2>"$WORK/errors" &
    PROGRAM=$!
}

# killed_in_the_middle NAME WORD...: a run, with as many kills as it has time for; their number in
# KILLED, its end in STATUS. The service is its own: what is counted there is this program's, and it
# has been spawned before the first kill.
killed_in_the_middle()
{
    local before=0
    KILLED=0
    need_service one workers=2
    started savina-kept "$@"
    while [ $KILLED -lt $KILLS ] && until_it_runs $PROGRAM $((before + 2000)); do
        kill_executor || break
        KILLED=$((KILLED + 1)) before=$(messages)
    done
    wait $PROGRAM
    STATUS=$?
    stop_service one
}

# survives NAME WORD...: it is run again where it has come to its end while this script had no
# processor, and so without a kill.
survives()
{
    local name=$1 end=$((SECONDS + PATIENCE_S))
    killed_in_the_middle "$@"
    while [ $STATUS = 0 ] && [ $KILLED = 0 ] && [ $SECONDS -lt $end ]; do
        killed_in_the_middle "$@"
    done
    tap $STATUS "$name comes to its end"
    grep -q " check=ok$" "$WORK/said"
    tap $? "... with the right result"
    [ $KILLED -gt 0 ]
    tap $? "... and the executor was killed in its middle"
    [ $FAILED = 0 ] || cat "$WORK/said" "$WORK/errors"
}

survives keptbank a=32 n=600000
survives keptbuffer b=24 np=8 nc=8 i=400000

need_service one workers=2
started savina pingpong n=1000000000 # as many as it takes: it would need minutes
until_it_runs $PROGRAM 2000
tap $? "a program runs whose states are not kept"
kill_executor
tap $? "... and is killed"
wait $PROGRAM
[ $? = 1 ] && grep -q ' check="there is no result, the head has ended: ' "$WORK/said"
tap $? "... and has no result"
[ $FAILED = 0 ] || cat "$WORK/said" "$WORK/errors"
stop_services
echo "1..$COUNT"
exit $FAILED
