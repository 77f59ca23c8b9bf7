#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/timers/run.sh - what timers cost while many are armed: arming one, taking one back, a
# recovery, memory; and questions and forwards beside plain sends.
#
#   bench/timers/run.sh [--quick | --smoke] [--cpus A,B] [--build DIR]
#
#   --quick  fewer runs, 100,000 timers instead of a million; to see that it works, not to quote
#   --smoke  as little as shows that everything can be run: for the tests
#   --cpus   worker 0 on A, the client on B (default: the first two that may be used)
#   --build  where the programs are (default: build/release, which is built when it is not there)
#
# How late timers are is in bench/latency (timer). The exit status says whether everything could be
# run, not whether a target was met: the table at the end says that.
set -uo pipefail
FROM=$PWD
cd "$(dirname "$0")/../.." || exit 1
SELF=timers/run.sh
. bench/lib.sh
PENDING=(1000 1000000) BATCH=10000 ROUNDS=20 RUNS=5 KILLS=3 TRIPS=1000000

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' bench/timers/run.sh
    exit "$1"
}

# figure_of SERVICE NAME: a number of the statistics.
figure_of()
{
    "$BUILD/bin/odeonctl" --socket "$(socket "$1")" --json stats | json_number "$2"
}

# service NAME: one with room for all of them.
service()
{
    need_service "$1" workers=1 "affinity=$CPU_A" timers=1048576 timer-bytes=1G \
        restart-delay-max-ms=10 quarantine-crashes=0 attempts=255
}

# Each run has a service of its own: what the one before has armed goes a moment later.
arming()
{
    local pending run name
    say "Arming and taking back, $BATCH at a time, while others are armed"
    for pending in "${PENDING[@]}"; do
        for name in timer_arm timer_cancel; do
            for ((run = 0; run < RUNS; run++)); do
                service arming
                odeon_run arming $name --n $BATCH --rounds $ROUNDS --actors "$pending" &&
                    add "$name$pending" "$(field ns_per_msg "$LINE")"
                stop_service arming
            done
            figure "$name$pending" &&
                echo "bench=$name pending=$pending ns=$M spread=$SPREAD runs=$N"
        done
    done
}

# armed PENDING: are more than so many armed?
armed()
{
    local now
    now=$(figure_of recovery timers_armed)
    [ "${now:-0}" -gt "$1" ]
}

# settled PENDING CLIENT: are they, or will they never be, because their client has ended?
settled()
{
    armed "$1" || ! kill -0 "$2" 2>/dev/null
}

# recovered BEFORE: are there more recoveries in the log than so many?
recovered()
{
    [ "$(grep -c ' recovered in ' "$WORK/recovery/log")" -gt "$1" ]
}

executor_runs()
{
    local pid
    pid=$(executor_pid recovery)
    [ "${pid:-0}" != 0 ]
}

# recoveries PENDING CLIENT: when the client has armed so many, all kills, and what recovery says
# that each took.
recoveries()
{
    local pending=$1 client=$2 kill before
    wait_for recovery "$pending timers are armed" settled "$pending" "$client" || return
    armed "$pending" || { trouble "$pending timers cannot be armed"; return 1; }
    for ((kill = 0; kill < KILLS; kill++)); do
        before=$(grep -c ' recovered in ' "$WORK/recovery/log")
        kill -KILL "$(executor_pid recovery)"
        wait_for recovery "a recovery of $pending timers" recovered "$before" || return
        add "recovery$pending" "$(grep ' recovered in ' "$WORK/recovery/log" | tail -n 1 |
            sed 's/.* recovered in \([0-9]*\) us.*/\1/')"
        wait_for recovery "an executor behind a recovery" executor_runs || return
    done
}

# recovery PENDING: kills the executor while so many are armed.
recovery()
{
    local pending=$1 client
    service recovery
    timeout "$PATIENCE_S" "$BUILD/bench/odeon-bench" timer_arm --socket "$(socket recovery)" \
        --n 1000 --rounds 1000000 --actors "$pending" --timeout "$PATIENCE_S" >/dev/null 2>&1 &
    client=$!
    recoveries "$pending" "$client"
    stop_process "$client"
    stop_service recovery
    figure "recovery$pending" &&
        echo "bench=timer_recovery pending=$pending us=$M spread=$SPREAD runs=$N"
}

# asking: NAME's time a message beside that of plain sends between two actors of one worker.
asking()
{
    local run name
    say "Questions and forwards, beside plain sends"
    service asking
    for ((run = 0; run < RUNS; run++)); do
        for name in pingpong_local ask forward; do
            odeon_run asking $name --n $TRIPS && add $name "$(field ns_per_msg "$LINE")"
        done
    done
    stop_service asking
    for name in pingpong_local ask forward; do
        figure $name && echo "bench=$name ns_per_msg=$M spread=$SPREAD runs=$N" \
            "sends=$(divide "$M" "$(median pingpong_local)")"
    done
}

# target LABEL VALUE BOUND
target()
{
    local value=$2 verdict=MISSED
    if ! measured "$value"; then
        value=- verdict='not measured'
    elif below "$value" "$3"; then
        verdict=met
    fi
    printf '%-60s %12s %12s   %s\n' "$1" "$value" "$3" "$verdict"
}

table()
{
    local most=${PENDING[-1]} none=${PENDING[0]}
    say "Targets"
    printf '%-60s %12s %12s\n' '' measured 'at most'
    target "arming one, $most are armed: ns" "$(median "timer_arm$most")" 60
    target "taking one back, $most are armed: ns" "$(median "timer_cancel$most")" 60
    target "recovery, $most are armed: ms" \
        "$(awk -v us="$(median "recovery$most")" 'BEGIN { if (us != "") print us / 1000 }')" \
        "$(awk -v n="$most" 'BEGIN { print 100 + n * 100 / 1000000 }')"
    target "... and $none: ms" \
        "$(awk -v us="$(median "recovery$none")" 'BEGIN { if (us != "") print us / 1000 }')" \
        "$(awk -v n="$none" 'BEGIN { print 100 + n * 100 / 1000000 }')"
    target 'a question and its answer, over two sends' \
        "$(divide "$(median ask)" "$(median pingpong_local)")" 2.5
    # three messages a trip: two that are sent, and one that is passed on
    target 'passing one on, over a send' \
        "$(awk -v f="$(median forward)" -v s="$(median pingpong_local)" \
            'BEGIN { if (s > 0) printf "%.3f", (3 * f - 2 * s) / s }')" 1.5
}

while [ $# -gt 0 ]; do
    case $1 in
    --quick) PENDING=(1000 100000) ROUNDS=5 RUNS=3 KILLS=1 TRIPS=200000 ;;
    --smoke) PENDING=(10 1000) BATCH=1000 ROUNDS=1 RUNS=1 KILLS=1 TRIPS=2000 PATIENCE_S=3600 ;;
    --cpus | --build)
        [ $# -gt 1 ] || usage 2 >&2
        case $1 in
        --cpus) CPUS=$2 ;;
        --build) BUILD=$(cd "$FROM" && realpath -m "$2") ;;
        esac
        shift
        ;;
    -h | --help) usage 0 ;;
    *)
        echo "run.sh: unknown argument: $1" >&2
        usage 2 >&2
        ;;
    esac
    shift
done

need_tools taskset awk timeout grep sed
make_work_folder
build_if_missing
choose_cpus
SECONDS=0
say_load before
arming
say "Recovery"
for pending in "${PENDING[@]}"; do
    recovery "$pending"
done
asking
table
echo
say_load after
echo "seconds=$SECONDS"
exit $FAILED
