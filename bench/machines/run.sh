#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a start costs on machines of every size: address space, time, memory, descriptors.
#
#   bench/machines/run.sh [--build DIR] [--rounds N] [WORKERS...]
#
#   --build DIR  a build directory (default build/release)
#   --rounds N   starts of each (default 5), of which the median is told
#   WORKERS      default: 1 2 16 64 128 256 1024
#
# Each start is one with default settings but `workers`, in a runtime directory of its own.
# Lines: bench=machines workers=N queues_per_worker=Q outbox_kib=O address_gib=A start_ms=S
#        (from odeond's start to an answer that workers run, looked for every 10 ms) rss_kib=R
#        descriptors=D runs=K
# Exit status 0: all of them have started.
set -u
cd "$(dirname "$0")/../.." || exit 2
SELF=machines
. bench/lib.sh
rounds=5 sizes=()
while [ $# -gt 0 ]; do
    case $1 in
    --build) BUILD=${2:?--build needs a directory}; shift ;;
    --rounds) rounds=${2:?--rounds needs a number}; shift ;;
    [1-9]*) sizes+=("$1") ;;
    *) sed -n '5,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
[ ${#sizes[@]} -gt 0 ] || sizes=(1 2 16 64 128 256 1024)
[ -x "$BUILD/bin/odeond" ] || die "no build in $BUILD"
make_work_folder

now_ms()
{
    echo $((${EPOCHREALTIME/./} / 1000))
}

# status_of KEY: what proc says of the executor, a number
status_of()
{
    awk -v key="$1:" '$1 == key { print $2 }' "/proc/$pid/status"
}

# setting_of KEY: the value that is in force
setting_of()
{
    "$BUILD/bin/odeonctl" --socket "$(socket one)" --json executor show |
        grep -oE "\"key\":\"$1\",\"value\":\"[0-9]+" | grep -oE '[0-9]+$'
}

runs()
{
    "$BUILD/bin/odeonctl" --socket "$(socket one)" --json status | grep -q '"state":"running"'
}

for workers in "${sizes[@]}"; do
    VALUES=()
    for ((round = 0; round < rounds; round++)); do
        begun=$(now_ms)
        if ! start_service one "workers=$workers" affinity=none; then
            trouble "$workers workers: $WHY"
            break
        fi
        if ! wait_for one "$workers workers run" runs; then
            stop_service one
            break
        fi
        add start $(($(now_ms) - begun))
        pid=$(executor_pid one)
        add rss "$(status_of VmRSS)"
        size=$(status_of VmSize) queues=$(setting_of queues-per-worker)
        outbox=$(setting_of outbox-bytes)
        descriptors=$(find "/proc/$pid/fd" -mindepth 1 | wc -l)
        stop_service one
    done
    [ -n "${VALUES[start]-}" ] || continue
    read -r start _ runs <<<"$(series start)"
    read -r rss _ <<<"$(series rss)"
    echo "bench=machines workers=$workers queues_per_worker=$queues" \
        "outbox_kib=$((outbox / 1024)) address_gib=$((size / 1048576))" \
        "start_ms=${start%.*} rss_kib=${rss%.*} descriptors=$descriptors runs=$runs"
done
exit "$FAILED"
