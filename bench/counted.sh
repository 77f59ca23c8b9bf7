# SPDX-License-Identifier: Apache-2.0
# Instructions a message, counted by valgrind (cachegrind, no caches), of one worker. Of each build
# a short and a longer run are counted, and only the difference of the two is used: what the service
# does at its start and end is in both. The executor looks at the clock every so many messages as
# take some time, and so is built for it: told how much slower valgrind's processor is
# (PACE_SLOWDOWN). Sourced after bench/lib.sh.
#
# NAME is the benchmark; WATCH, if it is set, words of odeonctl that look on meanwhile.
# shellcheck shell=bash disable=SC2034 # its variables are its users'
NAME=executor SLOWDOWN=60 WATCH=() WATCHER=''

# sizes: LITTLE and MORE, the arguments of the two runs of NAME.
sizes()
{
    case $NAME in
    executor)
        LITTLE=(--actors 2000 --set 100 --rounds 1) MORE=(--actors 2000 --set 100 --rounds 6)
        ;;
    repeat) LITTLE=(--actors 2000 --rounds 10) MORE=(--actors 2000 --rounds 110) ;;
    static_send | pingpong_local | dynamic_send | ask | forward)
        LITTLE=(--n 200000) MORE=(--n 1200000)
        ;;
    *) die "not among those that can be counted: $NAME" ;;
    esac
}

watch_count()
{
    [ ${#WATCH[@]} -gt 0 ] || return 0
    "$BUILD/bin/odeonctl" --socket "$(socket count)" "${WATCH[@]}" >"$WORK/watched" 2>&1 &
    WATCHER=$!
}

# What looked on has looked, to the end.
watch_end()
{
    [ -n "$WATCHER" ] || return 0
    kill -0 "$WATCHER" 2>/dev/null ||
        die "odeonctl ${WATCH[*]} has ended: $(tail -n 1 "$WORK/watched")"
    kill "$WATCHER"
    wait "$WATCHER" 2>/dev/null
    WATCHER=''
}

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
    watch_count
    odeon_run count "$NAME" "$@" || exit 1
    MESSAGES=$(field messages "$LINE")
    watch_end
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
