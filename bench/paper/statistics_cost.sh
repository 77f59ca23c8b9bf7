#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/paper/statistics_cost.sh - what counting costs: the instructions of the executor benchmark
# with the statistics on, and with a build of the service's executor in which they are compiled out.
#
#   bench/paper/statistics_cost.sh [--build DIR] [--cpus A,B] [--only NAME]
#
# Both builds are made here, in build/counted and build/no-statistics: the executor looks at the
# clock every so many messages as take some time, and is told how much slower valgrind's processor
# is (PACE_SLOWDOWN). Instructions are counted by valgrind (cachegrind, no caches), of one
# worker. Of each build a short and a longer run are counted, and only the difference of the two is
# compared: what the service does at its start and end is in both. The target is 1 percent.
# Exit status: 0 if everything could be run. --only NAME: another benchmark: executor static_send
# pingpong_local repeat dynamic_send.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
SELF=paper/statistics_cost.sh
. bench/lib.sh

NAME=executor ON=build/counted OFF=build/no-statistics SLOWDOWN=60

# count BUILD-OF-EXECUTOR ARGUMENT...: instructions of a whole run in COUNT, its messages in
# MESSAGES.
count()
{
    local executor=$1
    shift
    # The supervisor also runs the executor to ask for sizes: that is not counted.
    cat >"$WORK/executor.sh" <<END
#!/bin/sh
case "\$*" in *--print*) exec "$executor/bin/odeon-executor" "\$@" ;; esac
exec valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \\
    --log-file="$WORK/instructions" "$executor/bin/odeon-executor" "\$@"
END
    chmod +x "$WORK/executor.sh"
    # Small windows: the address space under valgrind is small.
    EXECUTOR=$WORK/executor.sh need_service count workers=1 workers-max=1 "affinity=$CPU_A" \
        queues-per-worker=16 spin-us=0 \
        limit-bytes=8M outbox-bytes=4M backlog-bytes=1M
    odeon_run count "$NAME" "$@" || exit 1
    MESSAGES=$(field messages "$LINE")
    stop_service count
    COUNT=$(sed -n 's/.*I *refs: *//p' "$WORK/instructions" | tr -d ,)
    [ -n "$COUNT" ] || { tail -n 5 "$WORK/instructions" >&2; die "valgrind has counted nothing"; }
}

# per_message BUILD: instructions of each message, in PER_MESSAGE.
per_message()
{
    local short messages
    count "$1" "${LITTLE[@]}"
    short=$COUNT messages=$MESSAGES
    count "$1" "${MORE[@]}"
    PER_MESSAGE=$(awk -v i=$((COUNT - short)) -v m=$((MESSAGES - messages)) \
        'BEGIN { printf "%.3f", i / m }')
}

while [ $# -gt 0 ]; do
    case $1 in
    --build | --cpus | --only)
        [ $# -gt 1 ] || die "$1 wants a value"
        case $1 in
        --build) BUILD=$(realpath -m "$2") ;;
        --cpus) CPUS=$2 ;;
        --only) NAME=$2 ;;
        esac
        shift
        ;;
    *) die "unknown argument: $1" ;;
    esac
    shift
done
case $NAME in
executor) LITTLE=(--actors 2000 --set 100 --rounds 1) MORE=(--actors 2000 --set 100 --rounds 6) ;;
repeat) LITTLE=(--actors 2000 --rounds 10) MORE=(--actors 2000 --rounds 110) ;;
static_send | pingpong_local | dynamic_send) LITTLE=(--n 200000) MORE=(--n 1200000) ;;
*) die "not among those that can be counted: $NAME" ;;
esac
need_tools valgrind cmake taskset awk timeout
make_work_folder
build_if_missing
choose_cpus
# build_executor FOLDER ARGUMENT...: the executor alone, in a build of its own.
build_executor()
{
    local folder=$1
    shift
    {
        cmake --preset release -B "$folder" -DCMAKE_C_FLAGS=-DPACE_SLOWDOWN=$SLOWDOWN "$@" &&
            cmake --build "$folder" --target odeon-executor
    } >"$WORK/build.log" 2>&1 ||
        { tail -n 20 "$WORK/build.log" >&2; die "the build in $folder failed"; }
}
build_executor $ON
build_executor $OFF -DODEON_STATISTICS=OFF
PATIENCE_S=60
per_message "$(realpath $ON)"
on=$PER_MESSAGE
per_message "$(realpath $OFF)"
echo "bench=statistics_cost of=$NAME instructions_on=$on instructions_off=$PER_MESSAGE" \
    "percent=$(awk -v on="$on" -v off="$PER_MESSAGE" \
        'BEGIN { printf "%.2f", 100 * (on - off) / off }')" \
    "bound_percent=1"
exit $FAILED
