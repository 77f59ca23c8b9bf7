# SPDX-License-Identifier: Apache-2.0
# What the paper's suite measures besides messages between actors: a client, the wake-up of a parked
# worker, a service at rest. Sourced by run.sh after bench/lib.sh and compare.sh.
# shellcheck shell=bash disable=SC2034 # its variables are its users'

N_WAKES=1000 IDLE_S=10

# Posts and round trips from another process, beside bare memory between the same two CPUs.
client()
{
    local before
    need_service client workers=1 "affinity=$CPU_A" queues-per-worker=1
    ruler_line
    before=$RTT
    measure_client client
    ruler_line
    echo "client_cpus=$CPU_A,$CPU_B ruler_ns=$before/$RTT"
    stop_service client
}

# A post to a worker that sleeps, until its behaviour begins; and the bare futex wake between the
# same CPUs.
wake()
{
    local parks before line key shown='' bare_shown='' failed=''
    need_service wake workers=1 "affinity=$CPU_A" queues-per-worker=1
    ruler_line
    before=$RTT
    odeon_run wake wake --n 20 || failed=1 # the plugin's loading, and the first pages
    parks=$("$BUILD/bin/odeonctl" --socket "$(socket wake)" --json stats | json_number parks)
    [ -n "$failed" ] || odeon_run wake wake --n "$N_WAKES" --pause 1000 || failed=1
    line=$LINE
    parks=$(($("$BUILD/bin/odeonctl" --socket "$(socket wake)" --json stats |
        json_number parks) - parks))
    stop_service wake
    [ -z "$failed" ] || return
    ruler wake --wakes "$N_WAKES" || return
    for key in p50 p90 p99 max; do
        shown+=" ${key}_ns=$(field ${key}_ns "$line")"
        bare_shown+=" bare_${key}_ns=$(field ${key}_ns "$RULED")"
    done
    RATIO["wake"]=$(divide "$(field p50_ns "$line")" "$(field p50_ns "$RULED")")
    ruler_line
    echo "bench=wake policy=- mode=- cores=1 posts=$N_WAKES parks=$parks$shown$bare_shown" \
        "ratio=${RATIO["wake"]}" \
        "ruler_ns=$before/$RTT cpus=$CPU_A,$CPU_B"
    # Each post but a few finds the worker parked, or this was another measurement.
    [ "$parks" -ge $((N_WAKES * 9 / 10)) ] ||
        trouble "wake: the worker was parked $parks times in $N_WAKES posts"
}

# System calls that a process and its threads complete in SECONDS, but for the first second:
# attaching disturbs them.
count_calls()
{
    local pid=$1 seconds=$2
    timeout --foreground -s INT "$seconds" strace -f -ttt -p "$pid" -o "$WORK/calls" \
        >"$WORK/strace" 2>&1
    [ -s "$WORK/calls" ] || { cat "$WORK/strace" >&2; return 1; }
    # A line that ends with a result, of a call which is none of those interrupted by the attaching
    # or the detaching.
    awk '!first { first = $2 }
        $2 > first + 1 && / = / && !/restart_syscall|ERESTART|EINTR/ { n++ }
        END { print n + 0 }' "$WORK/calls"
}

# Sixteen workers without work, however few the cores.
rest()
{
    local pid before spent percent calls ok=yes
    need_service rest workers=16 affinity=none
    sleep 1 # what the start has stirred up comes to rest
    pid=$(executor_pid rest)
    before=$(cpu_ns "$pid")
    sleep "$IDLE_S"
    spent=$(($(cpu_ns "$pid") - before))
    calls=$(count_calls "$pid" $((IDLE_S + 1))) || { trouble "strace cannot be used"; calls=-; }
    stop_service rest
    if [ "$before" = 0 ] || [ "$spent" -lt 0 ]; then
        trouble "no processor times in /proc/PID/task/*/schedstat"
        return
    fi
    percent=$(awk -v ns="$spent" -v s="$IDLE_S" 'BEGIN { printf "%.4f", ns / s / 1e7 }')
    below "$percent" 0.1 && [ "$calls" = 0 ] || ok=no
    IDLE_PERCENT=$percent IDLE_CALLS=$calls
    echo "bench=idle workers=16 seconds=$IDLE_S cpu_percent=$percent bound_percent=0.1" \
        "syscalls=$calls strace_seconds=$IDLE_S idle_ok=$ok"
}

# The high-water marks of the executor benchmark's runs, whose processes have run nothing else.
memory()
{
    local cores key ours theirs
    for cores in "${CORES[@]}"; do
        ours=$(most "executor $cores peak") theirs=$(most "baseline executor $cores peak")
        [ -n "$ours" ] && [ -n "$theirs" ] || continue
        key="memory $DEFAULT $cores"
        RATIO[$key]=$(divide "$ours" "$theirs")
        echo "bench=memory policy=${DEFAULT%/*} mode=${DEFAULT#*/} cores=$cores" \
            "queues=${OURS_AT["executor $cores"]} peak_kib=$ours baseline_peak_kib=$theirs" \
            "baseline_queues=${THEIRS_AT["executor $cores"]} ratio=${RATIO[$key]} runs=$RUNS"
    done
}
