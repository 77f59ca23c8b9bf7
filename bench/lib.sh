# SPDX-License-Identifier: Apache-2.0
# What the scripts here share: private services, runs of both sides, series of figures, the ruler.
# To be sourced by a script that has changed to the top of the source tree and set SELF (its name in
# messages).
#
# Sets: CPU_A, CPU_B and CPU_LIST (choose_cpus), WORK (a folder that goes when the script ends),
# LINE (the last run's line), RULED (the ruler's), RTT (its round trip), FAILED (1: something could
# not be measured; what runs in $(...) cannot set it). Uses BUILD and PATIENCE_S, which the script
# may change.
# shellcheck shell=bash disable=SC2034 # its variables are its users'
export LC_ALL=C
BUILD=build/release CPUS='' WORK='' FAILED=0 PATIENCE_S=300 LINE='' RULED='' RTT=''
declare -A SERVICE=() VALUES=() RATIO=()

say()
{
    printf '\n== %s\n' "$*"
}

# trouble TEXT: something could not be measured; the rest goes on.
trouble()
{
    echo "$SELF: $*" >&2
    FAILED=1
}

die()
{
    trouble "$*"
    exit 1
}

# ---- services ----

stop_process()
{
    local pid=$1 end=$((SECONDS + 10))
    kill -TERM "$pid" 2>/dev/null
    while kill -0 "$pid" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do
        sleep 0.02
    done
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}

stop_service()
{
    stop_process "${SERVICE[$1]}"
    unset "SERVICE[$1]"
    rm -rf "${WORK:?}/$1"
}

stop_services()
{
    local name
    for name in "${!SERVICE[@]}"; do
        stop_service "$name"
    done
}

# wait_for SERVICE WHAT COMMAND...: looks again and again until the command succeeds. 1, with a
# message, when the service has ended or PATIENCE_S are over.
wait_for()
{
    local name=$1 what=$2 end=$((SECONDS + PATIENCE_S))
    shift 2
    until "$@"; do
        if ! kill -0 "${SERVICE[$name]}" 2>/dev/null; then
            trouble "the service has ended: $name, before: $what"
            return 1
        elif [ "$SECONDS" -ge "$end" ]; then
            trouble "not within $PATIENCE_S s: $what"
            return 1
        fi
        sleep 0.01
    done
}

# What runs beside the services ends, too: it has nobody to talk to any more.
# shellcheck disable=SC2317 # called by the trap
cleanup()
{
    local status=$? pid
    trap '' INT TERM HUP
    stop_services
    for pid in $(jobs -p); do
        stop_process "$pid"
    done
    [ -z "$WORK" ] || rm -rf "$WORK"
    exit "$status"
}

make_work_folder()
{
    trap cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    WORK=$(mktemp -d /tmp/odeon-bench.XXXXXX) || die "no temporary folder"
}

# start_service NAME KEY=VALUE...: a private odeond, ready to be connected to. 1: it does not start,
# for the reason in WHY.
start_service()
{
    local name=$1 setting settings=() end=$((SECONDS + PATIENCE_S))
    shift
    for setting in "$@"; do
        settings+=(--set "$setting")
    done
    [ -z "${EXECUTOR-}" ] || settings+=(--executor "$EXECUTOR")
    mkdir -p "$WORK/$name"
    : >"$WORK/$name/conf"
    "$BUILD/bin/odeond" --foreground --runtime-dir "$WORK/$name/run" --config "$WORK/$name/conf" \
        "${settings[@]}" \
        >"$WORK/$name/log" 2>&1 &
    SERVICE[$name]=$!
    # It answers a little before its executor has said how many workers there are.
    until "$BUILD/bin/odeonctl" --socket "$(socket "$name")" --json status 2>/dev/null |
        grep -q '"workers":[1-9]'; do
        if ! kill -0 "${SERVICE[$name]}" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then
            WHY=$(grep -m 1 -o 'error: .*' "$WORK/$name/log" || tail -n 1 "$WORK/$name/log")
            stop_service "$name"
            return 1
        fi
        sleep 0.01
    done
}

# need_service: as start_service, but the script ends when that fails.
need_service()
{
    start_service "$@" || die "the service $* does not start: $WHY"
}

socket()
{
    echo "$WORK/$1/run/control.sock"
}

# json_number KEY: the first number of that name in the JSON that comes in.
json_number()
{
    grep -oE "\"$1\":-?[0-9.]+" | head -n 1 | grep -oE '[-0-9.]+$'
}

executor_pid()
{
    "$BUILD/bin/odeonctl" --socket "$(socket "$1")" --json status | json_number executor_pid
}

# ---- lines and series ----

# field KEY LINE: the value of KEY=VALUE in a line of results.
field()
{
    local word
    for word in $2; do
        case $word in "$1="*) echo "${word#*=}" ;; esac
    done
}

# measured VALUE: is it a figure, and not the blank, - or nan of what could not be measured?
measured()
{
    [[ ${1-} =~ ^-?\.?[0-9] ]]
}

# add KEY VALUE: one more value of a series; fails, with a message, when it is no figure.
add()
{
    if ! measured "$2"; then
        trouble "no figure: $1${2:+: $2}"
        return 1
    fi
    VALUES[$1]="${VALUES[$1]-} $2"
}

# series KEY: "median spread count" of a series.
series()
{
    # shellcheck disable=SC2086 # a list
    printf '%s\n' ${VALUES[$1]-} | sort -g | awk '
        { v[NR] = $1 }
        END {
            if (NR == 0) exit 1
            m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
            printf "%.2f %.1f%% %d\n", m, (m ? 100 * (v[NR] - v[1]) / m : 0), NR
        }'
}

# figure KEY: the series' median, spread and number in M, SPREAD, N; fails, with a message, when it
# is empty.
figure()
{
    if [ -z "${VALUES[$1]-}" ]; then
        trouble "no figures: $1"
        return 1
    fi
    read -r M SPREAD N < <(series "$1")
}

median()
{
    [ -z "${VALUES[$1]-}" ] || series "$1" | cut -d' ' -f1
}

divide()
{
    awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.3f\n", a / b; else print "nan" }'
}

# below A B: is A <= B?  What is no figure is not below anything, nor anything below it.
below()
{
    measured "$1" && measured "$2" && awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'
}

# ---- runs ----

# patiently COMMAND...: one process, which is ended after PATIENCE_S. It stays in the script's group
# of processes, or Ctrl-C would reach only the script, which acts when the command has ended.
patiently()
{
    timeout --foreground "$PATIENCE_S" "$@"
}

# odeon_run SERVICE NAME ARGUMENT...: one run of odeon-bench; its line in LINE.
odeon_run()
{
    local service=$1
    shift
    if ! LINE=$(patiently taskset -c "$CPU_B" "$BUILD/bench/odeon-bench" "$@" \
        --socket "$(socket "$service")" --runs 1); then
        trouble "odeon-bench $* has failed"
        return 1
    fi
}

baseline_run()
{
    if ! LINE=$(patiently "$BUILD/bench/baseline/odeon-baseline" "$@" --runs 1); then
        trouble "odeon-baseline $* has failed"
        return 1
    fi
}

# ruler NAME ARGUMENT...: its lines in RULED.
ruler()
{
    if ! RULED=$(patiently "$BUILD/bench/odeon-ruler" "$@" --cpus "$CPU_A,$CPU_B"); then
        RULED=''
        trouble "odeon-ruler $* has failed"
        return 1
    fi
}

# ruler_line: a cache line's round trip in RTT; nothing when it could not be measured.
ruler_line()
{
    RTT=''
    ruler line --trips 64000 && RTT=$(field rtt_ns "$RULED")
}

# measure_client SERVICE: posts and round trips of a client on CPU_B, and the same with bare memory;
# in rounds, as long as more_runs() wants more.
measure_client()
{
    local service=$1 i a
    for ((i = 0; ; i++)); do
        more_runs $i || break
        ruler_line && add ruler "$RTT"
        for a in 1 32; do
            odeon_run "$service" post --n "$N_POST" --window $a &&
                add "post $a" \
                    "$(awk -v ns="$(field ns_per_msg "$LINE")" 'BEGIN { print 1000 / ns }')"
        done
        ruler ring && while read -r LINE; do
            add "ring $(field batch "$LINE")" "$(field mmsg_s "$LINE")"
        done <<<"$RULED"
        odeon_run "$service" roundtrip --n "$N_TRIPS" && add p50 "$(field p50_ns "$LINE")" &&
            add p99 "$(field p99_ns "$LINE")"
        ruler pingpong --trips "$N_TRIPS" && add bare50 "$(field p50_ns "$RULED")" &&
            add bare99 "$(field p99_ns "$RULED")"
    done
    figure ruler && echo "bench=ruler_line rtt_ns=$M spread=$SPREAD runs=$N"
    for i in 1 32; do
        figure "ring $i" && echo "bench=bare_ring batch=$i mmsg_s=$M spread=$SPREAD runs=$N"
    done
    figure bare50 &&
        echo "bench=bare_pingpong p50_ns=$M p99_ns=$(median bare99) spread=$SPREAD runs=$N"
    for i in 1 32; do
        a=$(median "ring $i")
        figure "post $i" || continue
        RATIO[post]=$(divide "$M" "$a")
        echo "bench=post window=$i mmsg_s=$M bare_mmsg_s=$a share=${RATIO[post]}" \
            "runs=$N spread=$SPREAD"
    done
    a=$(median bare50)
    figure p50 || return
    RATIO[roundtrip]=$(divide "$M" "$a")
    echo "bench=roundtrip p50_ns=$M p99_ns=$(median p99)" \
        "bare_p50_ns=$a bare_p99_ns=$(median bare99)" \
        "ratio=${RATIO[roundtrip]} runs=$N spread=$SPREAD"
}

# cpu_ns PID: processor time of all threads so far.
cpu_ns()
{
    cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{ sum += $1 } END { printf "%d", sum }'
}

# ---- the machine ----

# allowed_cpus: those that this process may use, one a line.
allowed_cpus()
{
    taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
        awk -F- '{ for (c = $1; c <= ($2 == "" ? $1 : $2); c++) print c }'
}

# choose_cpus [N]: CPUS, or the first N (2) that may be used.
choose_cpus()
{
    [ -n "$CPUS" ] || CPUS=$(allowed_cpus | head -n "${1:-2}" | paste -sd,)
    IFS=, read -ra CPU_LIST <<<"$CPUS"
    CPU_A=${CPU_LIST[0]} CPU_B=${CPU_LIST[1]-}
    [ -n "$CPU_B" ] && [ "$CPU_A" != "$CPU_B" ] || die "two CPUs are needed"
}

# choose_cpus_for CORES...: as many as the largest of these numbers of workers, but two at least.
# Workers that share a CPU are another measurement.
choose_cpus_for()
{
    local most
    most=$(printf '%s\n' 2 "$@" | sort -n | tail -n 1)
    choose_cpus "$most"
    [ "${#CPU_LIST[@]}" -ge "$most" ] || die "$most workers want as many CPUs: there are $CPUS"
}

build_if_missing()
{
    local program
    for program in bin/odeond bin/odeonctl bin/odeon-executor \
        bench/odeon-bench bench/odeon-ruler bench/odeon-idle bench/odeon-latency \
        bench/odeon-savina bench/baseline/odeon-baseline; do
        [ -x "$BUILD/$program" ] && continue
        [ "$BUILD" = build/release ] || die "$BUILD/$program is missing: build first"
        echo "building in build/release"
        { cmake --preset release && cmake --build --preset release; } >"$WORK/build.log" 2>&1 || {
            tail -n 20 "$WORK/build.log" >&2
            die "the build failed"
        }
        return
    done
}

say_load()
{
    local load
    load=$(cut -d' ' -f1-3 /proc/loadavg)
    echo "load_average_$1=${load// /,}"
    if ! below "${load%% *}" 0.6; then
        echo "warning: the machine is busy (load ${load%% *}): these figures are not to be quoted"
    fi
}

need_tools()
{
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null ||
            die "$tool is missing (package util-linux, mawk, coreutils or of its own name)"
    done
}
