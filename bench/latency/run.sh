#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/latency/run.sh - how late what actors send arrives, beside bare threads and rings that do
# the same at the same time.
#
#   bench/latency/run.sh [--quick | --smoke] [--only PART,...] [--save FILE] [--cpus A,B]
#   [--build DIR]
#
#   --quick  a minute instead of six: shorter; to see that it works, not to quote
#   --smoke  as little as shows that everything can be run: for the tests
#   --only   these parts alone: step ticker timer turn burst crowd roundtrip idle through
#            disturbed
#   --save   the lines go into FILE, too: plot.sh draws them
#   --cpus   worker 0 on A, the client, which spins, on B (default: the first two that may be used)
#   --build  where the programs are (default: build/release, which is built when it is not there)
#
# Default settings but for the number of workers, and where a line says otherwise; every part has a
# service of its own that was just started. With two workers the second one shares CPU B with the
# client: such lines say whether something waits for a whole batch, and little about microseconds.
# Lateness of timers: from the time that one was armed for to the record in the client's ring. Of
# step, ticker, turn and burst: from the end of the work to the record in the client's
# ring. Of crowd, roundtrip, idle and through: from the time at which the request was to be sent
# (open loop, no coordinated omission) to the answer. The exit status says whether everything could
# be run, not whether a target was met: the table at the end says that.
set -uo pipefail
FROM=$PWD
cd "$(dirname "$0")/../.." || exit 1
SELF=latency/run.sh
. bench/lib.sh

ONLY='' SAVE='' SMOKE=''
PARTS=(step ticker timer turn burst crowd roundtrip idle through disturbed)
S=2 ROUNDS=5 STEP_S=1 KILL_S=12 PERIOD_MS=1200 # kills that come sooner meet the back-off
BUSY=1,10,100,1000,10000,100000 SLEEP=100,1000,10000,100000 TICKS=50 TIMERS=1000,10000
SLOW_US=1000000 EVERY=1000000 BURSTS=('1000 1000' '20 20000')
RATES=1000,10000,100000,1000000 CROWD_S=10 WITHIN_S=4 ARGUMENTS=()
FLOOD_UID=64007 # nobody's, and not 65534, who is not let in

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' bench/latency/run.sh
    exit "$1"
}

# service NAME WORKERS KEY=VALUE...: starts one that stops at once, whatever waits in it.
service()
{
    local name=$1 workers=$2 affinity=$CPU_A
    shift 2
    [ "$workers" = 1 ] || affinity=$CPU_A,$CPU_B
    need_service "$name" "workers=$workers" "affinity=$affinity" drain-timeout-ms=100 "$@"
}

# measure SERVICE EXTRA NAME ARGUMENT...: the lines of one measurement, EXTRA at their ends.
measure()
{
    local service=$1 extra=$2
    shift 2
    patiently taskset -c "$CPU_B" "$BUILD/bench/odeon-latency" \
        --socket "$(socket "$service")" --cpus "$CPU_A" "${ARGUMENTS[@]}" "$@" \
        >"$WORK/measured" ||
        trouble "odeon-latency $* has failed"
    sed "s/\$/${extra:+ $extra}/" "$WORK/measured" | tee -a "$WORK/lines"
}

# ---- parts ----

step()
{
    say "Steps: an actor works, tells the client, sends itself the next step"
    service step 1
    measure step '' step --us "$BUSY" --rounds "$ROUNDS" --seconds "$STEP_S"
    measure step '' step --us "$SLEEP" --rounds "$ROUNDS" --seconds "$STEP_S" --sleep
    stop_service step
}

ticker()
{
    say "A ticker: a detached actor sleeps, tells the client, sends itself the next step"
    service ticker 1
    measure ticker '' step --us 100000 --n "$TICKS" --sleep --detached
    stop_service ticker
}

timer()
{
    say "Timers of an actor, $TIMERS a second, beside a thread that sleeps by a timerfd"
    service timer 1
    measure timer '' timer --rate "$TIMERS" --seconds "$S"
    stop_service timer
}

turn()
{
    say "A kind that is quick $EVERY times and then takes $SLOW_US us; two lengths by turns"
    service turn 1
    # What needs no time at all is made faster than a client takes it: what lies in the ring then
    # is in that line. The one with a microsecond of work is judged.
    measure turn '' turn --us 0 --slow-us "$SLOW_US" --every "$EVERY"
    measure turn '' turn --us 1 --slow-us "$SLOW_US" --every "$EVERY"
    stop_service turn
    service turns 1
    measure turns '' turn --us 1 --slow-us $((SLOW_US / 100)) --every 2 --n 100
    stop_service turns
}

burst()
{
    local burst
    say "Bursts: requests at once, answered one by one"
    for burst in "${BURSTS[@]}"; do
        service burst 1
        measure burst '' burst --n "${burst% *}" --us "${burst#* }"
        stop_service burst
    done
    service burst2 2
    measure burst2 '' burst --n "${BURSTS[0]% *}" --us "${BURSTS[0]#* }" --actors 16
    stop_service burst2
}

# crowded NAME KEY=VALUE...: a service that the flood's user may use, too. Who runs it is bound by
# no quota, so root's flood is another user's.
crowded()
{
    local name=$1
    shift
    service "$name" 1 socket-mode=0666 'role-observe=*' 'role-post=*' "$@"
    [ "$UID" != 0 ] || chmod a+x "$WORK" "$WORK/$name"
}

crowd()
{
    local arguments=(crowd --actors 40 --us 2000 --rate 100 --seconds "$CROWD_S")
    say "40 actors are called beside 40 that another client floods"
    [ "$UID" != 0 ] || arguments+=(--flood-uid "$FLOOD_UID")
    crowded own queues-per-worker=128
    measure own queues=own "${arguments[@]}" --within "$WITHIN_S"
    stop_service own
    crowded cold queues-per-worker=128
    measure cold queues=own "${arguments[@]}" --within "$WITHIN_S" --cold
    stop_service cold
    crowded shared
    measure shared queues=shared "${arguments[@]}" --within "$WITHIN_S"
    stop_service shared
}

roundtrip()
{
    local payload
    say "Client, actor, client in open loop, beside a bare ring each way"
    service trip 1
    for payload in 8 64; do
        measure trip '' roundtrip --payload "$payload" --rate "$RATES" --seconds "$S"
    done
    stop_service trip
}

idle()
{
    say "The same, to a worker that has gone to sleep, beside a thread that has"
    service idle 1
    measure idle '' roundtrip --park --rate 200 --seconds "$S"
    stop_service idle
}

through()
{
    local workers actors shape
    say "Through 1, 2, 4 actors: asked at once (fan), one behind the other (chain)"
    for workers in 1 2; do
        service "through$workers" "$workers"
        for shape in fan chain; do
            for actors in 1 2 4; do
                measure "through$workers" '' "$shape" --actors "$actors" --rate 10000 \
                    --seconds "$S"
            done
        done
        stop_service "through$workers"
    done
}

# disturb SERVICE SECONDS ARGUMENT...: what else is measured, while the service is disturbed;
# rulers, which nobody disturbs, are beside the undisturbed lines.
disturb()
{
    local service=$1 seconds=$2
    shift 2
    set -- --no-ruler "$@"
    measure "$service" '' roundtrip --rate 10000 --seconds "$seconds" "$@"
    measure "$service" '' roundtrip --park --rate 200 --seconds "$seconds" "$@"
    measure "$service" '' fan --actors 4 --rate 1000 --seconds "$seconds" "$@"
    measure "$service" '' chain --actors 4 --rate 1000 --seconds "$seconds" "$@"
    measure "$service" '' step --us 1000 --seconds "$seconds" "$@"
    measure "$service" '' burst --us 1000 "$@" \
        --n "$(awk -v s="$seconds" 'BEGIN { printf "%d", s * 1000 }')"
}

disturbed()
{
    say "While settings change ten times a second"
    service settings 1
    disturb settings "$S" --disturb reconfigure --period-ms 100
    stop_service settings
    service workers 2
    measure workers set=workers roundtrip --rate 10000 --seconds "$S" --disturb reconfigure \
        --period-ms 100 --set workers=2,1
    stop_service workers
    say "While the executor is killed every $PERIOD_MS ms"
    # Whom the kills happen to hit is not to be blamed for them.
    service killed 1 attempts=255 quarantine-crashes=0 "${KILLED[@]}"
    disturb killed "$KILL_S" --disturb kill --period-ms "$PERIOD_MS"
    stop_service killed
}

# ---- the table ----

# value KEY PATTERN: the field of the last undisturbed line that matches.
value()
{
    field "$1" "$(grep -E "$2" "$WORK/lines" | grep -v disturb= | tail -n 1)"
}

# target LABEL VALUE BOUND
target()
{
    local value=$2 verdict=MISSED
    if [ "$value" != lost ] && ! measured "$value"; then
        value=- verdict='not measured'
    elif below "$value" "$3"; then
        verdict=met
    fi
    printf '%-60s %12s %10s   %s\n' "$1" "$value" "$3" "$verdict"
}

# called KEY PATTERN: the time of calls; "lost" where more than one of a hundred have no time, for
# then p99 is one of these.
called()
{
    local lost answered
    lost=$(value lost "$2") answered=$(value answered "$2")
    if [ -n "$lost" ] && [ $((lost * 100)) -gt $((lost + answered)) ]; then
        echo lost
    else
        value "$1" "$2"
    fi
}

# worst KEY PATTERN [LESS]: the largest of the field, less the field LESS, in all undisturbed lines
# that match.
worst()
{
    local line theirs all=''
    while read -r line; do
        theirs=0
        [ -z "${3-}" ] || theirs=$(field "$3" "$line")
        all+="$(field "$1" "$line") $theirs"$'\n'
    done < <(grep -E "$2" "$WORK/lines" | grep -v disturb=)
    printf '%s' "$all" | awk 'NF == 2 && (!n++ || $1 - $2 > most) { most = $1 - $2 }
        END { if (n) printf "%.3f", most }'
}

ratio()
{
    local ours theirs
    ours=$(value "$1" "$2") theirs=$(value "ruler_$1" "$2")
    [ -z "$ours" ] || divide "$ours" "$theirs"
}

# lost PATTERN [1]: calls that were not answered; with 1, those that were refused, too.
lost()
{
    local missing
    missing=$(value lost "$1")
    [ -z "$missing" ] || echo $((missing + ${2:-0} * $(value refused "$1")))
}

table()
{
    local step='^bench=latency_step duration_us=[0-9]+ .*place=queue'
    local own='_crowd .* begun=behind .* queues=own' shared='_crowd .* queues=shared'
    local trip='_roundtrip rate=100000 payload=64 .*most'
    say "Targets"
    printf '%-60s %12s %10s\n' '' measured 'at most'
    target 'the worst length of steps: p50 above the ruler, us' \
        "$(worst p50_us "$step" ruler_p50_us)" 20
    target 'the worst length of steps: p99.9 above the ruler, us' \
        "$(worst p999_us "$step" ruler_p999_us)" 200
    target 'the first of a kind, the worst length: us' "$(worst first_us "$step")" 10000
    target '10,000 timers a second: p99 above the timerfd, us' \
        "$(worst p99_us '^bench=latency_timer rate=10000 ' ruler_p99_us)" 100
    target 'sent before a quick kind turns slow: most, us' \
        "$(value most_us "_turn part=before duration_us=1 slow_us=$SLOW_US ")" 10000
    target 'called beside a flood, queues of their own: p99, us' "$(called p99_us "$own")" 10000
    target 'called beside a flood, queues of their own: lost, refused' \
        "$(lost "$own" 1)" 0
    target 'called beside a flood, shared queues: p99, us' "$(called p99_us "$shared")" 50000
    target 'called beside a flood, shared queues: lost' "$(lost "$shared")" 0
    target '100,000 round trips a second of 64 bytes: p50 over the ring' \
        "$(ratio p50_us "$trip")" 2
    target '100,000 round trips a second of 64 bytes: p99 over the ring' \
        "$(ratio p99_us "$trip")" 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --quick)
        S=0.3 STEP_S=0.1 KILL_S=5 TICKS=10 BUSY=1,10,100,1000,10000 SLEEP=1000,10000 CROWD_S=1
        SLOW_US=200000 EVERY=200000 BURSTS=('200 1000' '10 20000')
        ;;
    --smoke)
        SMOKE=1 PATIENCE_S=3600 S=0.02 ROUNDS=1 STEP_S=0.02 KILL_S=1 PERIOD_MS=200 TICKS=1
        BUSY=1,1000 SLEEP=1000 CROWD_S=0.1 SLOW_US=2000 EVERY=1000
        BURSTS=('20 1000' '2 20000') RATES=1000,100000 WITHIN_S=1
        ;;
    --only | --save | --cpus | --build)
        [ $# -gt 1 ] || usage 2 >&2
        case $1 in
        --only) ONLY=$2 ;;
        --save) SAVE=$(cd "$FROM" && realpath -m "$2") ;;
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
IFS=, read -ra WANTED <<<"${ONLY:-$(IFS=,; echo "${PARTS[*]}")}"
for part in "${WANTED[@]}"; do
    [[ " ${PARTS[*]} " = *" $part "* ]] || {
        echo "run.sh: no such part: $part" >&2
        usage 2 >&2
    }
done
KILLED=()
if [ -n "$SMOKE" ]; then
    ARGUMENTS=(--timeout 600) # a machine may be slow
    KILLED=(restart-delay-max-ms=10)
fi

need_tools taskset awk timeout
make_work_folder
build_if_missing
choose_cpus
SECONDS=0
: >"$WORK/lines"
say_load before
for part in "${WANTED[@]}"; do
    "$part"
done
table
echo
say_load after
echo "seconds=$SECONDS"
[ -z "$SAVE" ] || cp "$WORK/lines" "$SAVE" || trouble "cannot write $SAVE"
exit $FAILED
