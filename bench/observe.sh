#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/observe.sh - what it costs that actors can be observed: instructions a message, and system
# calls of the workers.
#
#   bench/observe.sh [--build DIR] [--cpus A,B] [--only NAME]
#
#   --only  this benchmark alone: executor static_send (default: both)
#
# Instructions (bench/counted.sh) with statistics and samples compiled out, with everything on and
# nobody looking, while `odeonctl top` looks ten times a second, and while `odeonctl trace` is open.
# System calls: those of the worker threads that strace sees in some seconds of a full load, while
# nobody looks, and while both look. Lines:
#
#   bench=observe of=NAME instructions_out=N instructions_on=N instructions_top=N
#       instructions_trace=N added=N bound_added=3
#   bench=observe_calls seconds=S alone=KIND:N,... watched=KIND:N,...
#
# `added` is what everything costs above the build without. A worker looks at its doorbells between
# batches (epoll_wait), whoever looks on; what is done for samples and records is no system call, so
# that there is no kind more while somebody does. Exit status: 0 if everything could be
# run.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
SELF=observe.sh
. bench/lib.sh
. bench/counted.sh

ON=build/counted OFF=build/no-statistics NAMES=(executor static_send) SECONDS_TRACED=4

# counted BUILD WORDS...: instructions a message while odeonctl WORDS look on, in PER_MESSAGE.
counted()
{
    local build=$1
    shift
    WATCH=("$@")
    per_message "$(realpath "$build")"
}

instructions()
{
    local out on top trace
    NAME=$1
    sizes
    counted $OFF
    out=$PER_MESSAGE
    counted $ON
    on=$PER_MESSAGE
    counted $ON top --batch --watch 0.1 --count 1000000
    top=$PER_MESSAGE
    counted $ON trace
    trace=$PER_MESSAGE
    echo "bench=observe of=$NAME instructions_out=$out instructions_on=$on instructions_top=$top" \
        "instructions_trace=$trace" \
        "added=$(awk -v a="$on" -v b="$out" 'BEGIN { printf "%.2f", a - b }') bound_added=3"
}

# The threads that are named worker/N.
worker_threads()
{
    local task
    for task in /proc/"$1"/task/*; do
        grep -q '^worker/' "$task/comm" 2>/dev/null && echo "${task##*/}"
    done
}

# calls: those that end in the seconds of a full load, of all workers, by kind, in KINDS.
calls()
{
    local thread words=() load pid
    pid=$(executor_pid calls)
    for thread in $(worker_threads "$pid"); do
        words+=(-p "$thread")
    done
    [ ${#words[@]} -gt 0 ] || die "no thread of the executor is a worker's"
    taskset -c "$CPU_B" timeout $((SECONDS_TRACED + 4)) "$BUILD/bench/odeon-bench" executor \
        --actors 40000 --set 100 --rounds 100000 --socket "$(socket calls)" >"$WORK/load" 2>&1 &
    load=$!
    sleep 1
    timeout --foreground -s INT "$SECONDS_TRACED" strace -ttt -o "$WORK/seen" "${words[@]}" \
        2>"$WORK/strace"
    KINDS=$(awk '{ at = $1 ~ /^[0-9]+$/ ? 2 : 1 }
        !first { first = $at }
        $at > first + 1 && / = / && !/restart_syscall|ERESTART|EINTR|resumed/ {
            sub(/\(.*/, "", $(at + 1)); print $(at + 1)
        }' "$WORK/seen" | sort | uniq -c | awk '{ printf "%s%s:%d", s, $2, $1; s = "," }')
    kill "$load" 2>/dev/null
    wait "$load" 2>/dev/null
}

system_calls()
{
    local alone
    need_service calls workers=1 "affinity=$CPU_A" drain-timeout-ms=100
    calls
    alone=$KINDS
    stop_service calls
    need_service calls workers=1 "affinity=$CPU_A" drain-timeout-ms=100
    taskset -c "$CPU_B" "$BUILD/bin/odeonctl" --socket "$(socket calls)" top --batch --watch 0.1 \
        --count 1000000 >/dev/null 2>&1 &
    local top=$!
    taskset -c "$CPU_B" "$BUILD/bin/odeonctl" --socket "$(socket calls)" trace >/dev/null 2>&1 &
    local trace=$!
    calls
    kill "$top" "$trace"
    wait "$top" "$trace" 2>/dev/null
    stop_service calls
    echo "bench=observe_calls seconds=$SECONDS_TRACED alone=${alone:-none} watched=${KINDS:-none}"
}

while [ $# -gt 0 ]; do
    case $1 in
    --build | --cpus | --only)
        [ $# -gt 1 ] || die "$1 wants a value"
        case $1 in
        --build) BUILD=$(realpath -m "$2") ;;
        --cpus) CPUS=$2 ;;
        --only) NAMES=("$2") ;;
        esac
        shift
        ;;
    *) die "unknown argument: $1" ;;
    esac
    shift
done
need_tools valgrind strace cmake taskset awk timeout
make_work_folder
build_if_missing
choose_cpus
build_executor $ON
build_executor $OFF -DODEON_STATISTICS=OFF
PATIENCE_S=60
for name in "${NAMES[@]}"; do
    instructions "$name"
done
system_calls
exit $FAILED
