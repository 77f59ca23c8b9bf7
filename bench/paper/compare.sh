# SPDX-License-Identifier: Apache-2.0
# The comparisons of the paper's suite: one benchmark on some cores, both sides at their best number
# of queues, every policy. Sourced by run.sh and saturated.sh after bench/lib.sh.
#
# Every run of either side is a process of its own: a service that was just started, or the
# baseline's program. So no run finds queues where the thieves of an earlier one have left them, and
# the peak of memory is that of the run.
# shellcheck shell=bash disable=SC2034 # its variables are its users'

POLICIES=(none random/keep random/visit round-robin/keep round-robin/visit longest-victim/keep
    longest-victim/visit
    fullest/keep fullest/visit locality/keep locality/visit share/keep share/visit)
declare -A REFUSED=() # policy[/mode]: why the service does not take it
QUEUES=(1 4 16 64 512) RUNS=5 POLICY_RUNS=3 QUICK=''
COUNTED=(gulps missed_gulps steals steal_attempts messages_sent crossing_messages) # statistics
NEAR_FAR=1.5 # rulers that differ by more than this factor are not equal

SHORT_MS=120 FULL_MS=500 # what a run should take

# parameters NAME: what both sides run: FIXED arguments, and UNIT, the argument that says how much,
# of PER messages each; a first run has PROBE of them. Without a UNIT, SHORT and FULL are the
# arguments. The names of both sides in OURS and THEIRS; a policy for the main line in MAIN, if it
# is not the service's own.
parameters()
{
    THEIRS=$1 OURS=$1 MAIN='' FIXED=() UNIT=--n PER=1 PROBE=300000
    case $1 in
    static_send | dynamic_send | spawn_stop) ;;
    pingpong_local) THEIRS=pingpong ;;
    pingpong_cross) MAIN=none PROBE=100000 ;; # a thief would bring the two together
    fan_in) FIXED=(--actors 64) ;;
    executor) FIXED=(--actors 40000 --set 100) UNIT=--rounds PER=4000000 PROBE=1 ;;
    repeat) FIXED=(--actors 100000) UNIT=--rounds PER=400000 PROBE=2 ;;
    balance_one | balance_multi) FIXED=(--actors 4000 --set 100) UNIT=--rounds PER=400000 PROBE=4 ;;
    balance_one_work | balance_multi_work)
        OURS=${1%_work} THEIRS=${1%_work} UNIT=''
        FULL=(--actors 4000 --set 100 --rounds 1 --work 1000)
        SHORT=(--actors 1000 --set 100 --rounds 1 --work 1000)
        ;;
    matrix) UNIT='' FULL=(--n 768) SHORT=(--n 448) ;;
    *) die "no benchmark $1" ;;
    esac
}

# size MS NS: the arguments of a run that takes about MS milliseconds at NS a message, in ARGS.
size()
{
    if [ -z "$UNIT" ]; then
        if [ "$1" = "$FULL_MS" ]; then ARGS=("${FULL[@]}"); else ARGS=("${SHORT[@]}"); fi
    else
        ARGS=("${FIXED[@]}" "$UNIT" "$(awk -v ms="$1" -v ns="$2" -v per="$PER" \
            'BEGIN { n = int(1e6 * ms / (ns * per) + 0.5); printf "%d", n < 1 ? 1 : n }')")
    fi
}

# probe SIDE CORES QUEUES POLICY: what a message takes, roughly, in PROBED.
probe()
{
    local side=$1 cores=$2 queues=$3 policy=$4
    PROBED=1
    [ -n "$UNIT" ] || return 0
    unset "VALUES[probe ns]"
    if [ "$side" = odeon ]; then
        run_ours probe "$cores" "$queues" "$policy" "${FIXED[@]}" "$UNIT" "$PROBE" || return
    else
        run_theirs probe "$cores" "$queues" "$(their_steal "$policy")" "${FIXED[@]}" "$UNIT" \
            "$PROBE" || return
    fi
    PROBED=$(median 'probe ns')
    [ -n "$PROBED" ]
}

# The first N of the CPUs, for as many workers.
cpus_of()
{
    local IFS=,
    echo "${CPU_LIST[*]:0:$1}"
}

# default_policy: the policy/mode that a service has when nothing is said, in DEFAULT.
default_policy()
{
    local show
    need_service default workers=1 "affinity=$CPU_A"
    show=$("$BUILD/bin/odeonctl" --socket "$(socket default)" executor show)
    DEFAULT=$("$BUILD/bin/odeonctl" --socket "$(socket default)" --json status |
        grep -oE '"stealing":"[^"]*"' | cut -d'"' -f4)
    DEFAULT+=/$(echo "$show" | grep -qE 'steal-mode[ =]+visit' && echo visit || echo keep)
    stop_service default
}

# policy_settings POLICY[/MODE]: as settings of the service, in SETTINGS. `keep` is the default, and
# left out.
policy_settings()
{
    SETTINGS=("stealing=${1%/*}")
    case $1 in */visit) SETTINGS+=(steal-mode=visit) ;; esac
}

# Asks for each policy once: what is refused is reported with each benchmark, and not tried again.
probe_policies()
{
    local policy
    for policy in "${POLICIES[@]}"; do
        policy_settings "$policy"
        if start_service probe workers=2 "affinity=$(cpus_of 2)" "${SETTINGS[@]}"; then
            stop_service probe
        else
            REFUSED[$policy]=$WHY
            echo "refused=$policy why=\"$WHY\""
        fi
    done
}

# run_ours KEY CORES QUEUES POLICY ARGUMENT...: one run in a fresh service; adds to the series "KEY
# ns", "KEY peak", "KEY gulps", ...
run_ours()
{
    local key=$1 cores=$2 queues=$3 policy=$4 stats pid name
    shift 4
    policy_settings "$policy"
    if ! start_service run "workers=$cores" "affinity=$(cpus_of "$cores")" \
        "queues-per-worker=$queues" "${SETTINGS[@]}"; then
        trouble "no service with $cores workers, $queues queues each, policy $policy: $WHY"
        return 1
    fi
    if odeon_run run "$OURS" "$@"; then
        add "$key ns" "$(field ns_per_msg "$LINE")"
        pid=$(executor_pid run)
        add "$key peak" "$(awk '/^VmHWM:/ { print $2 }' "/proc/$pid/status")"
        stats=$("$BUILD/bin/odeonctl" --socket "$(socket run)" --json stats)
        for name in "${COUNTED[@]}"; do
            add "$key $name" "$(json_number "$name" <<<"$stats")"
        done
    fi
    stop_service run
}

# run_theirs KEY CORES QUEUES on|off ARGUMENT...
run_theirs()
{
    local key=$1 cores=$2 queues=$3 steal=$4
    shift 4
    baseline_run "$THEIRS" --workers "$cores" --queues "$queues" --steal "$steal" \
        --cpu-list "$(cpus_of "$cores")" "$@" || return
    add "$key ns" "$(field ns_per_msg "$LINE")"
    add "$key peak" "$(field peak_rss_kib "$LINE")"
}

# count_theirs KEY CORES QUEUES on|off ARGUMENT...: a run of the program that counts, whose time is
# not used: adds to the series "KEY crossing" and "KEY sends".
count_theirs()
{
    local key=$1 cores=$2 queues=$3 steal=$4 line
    shift 4
    [ "$cores" -gt 1 ] && [ -x "$BUILD/bench/baseline/odeon-baseline-crossing" ] || return
    line=$(patiently "$BUILD/bench/baseline/odeon-baseline-crossing" "$THEIRS" \
        --workers "$cores" --queues "$queues" --steal "$steal" --cpu-list "$(cpus_of "$cores")" \
        "$@" --runs 1) || return
    add "$key crossing" "$(field crossing "$line")"
    add "$key sends" "$(field sends "$line")"
}

# forget KEY: all series that run_ours() and run_theirs() have added to.
forget()
{
    local name
    for name in ns peak "${COUNTED[@]}"; do
        unset "VALUES[$1 $name]"
    done
}

# crossing KEY ACROSS ALL: what went to another worker, of all that was sent, in percent; both are
# series. A benchmark's messages are not what it sends: one of spawn_stop is two.
crossing()
{
    [ -n "${VALUES["$1 $2"]-}" ] || { echo -; return; }
    awk -v c="$(total "$1 $2")" -v m="$(total "$1 $3")" \
        'BEGIN { if (m > 0) printf "%.2f%%\n", 100 * c / m; else print "-" }'
}

# The baseline's stealing that goes with a policy of ours.
their_steal()
{
    if [ "$1" = none ]; then echo off; else echo on; fi
}

total()
{
    # shellcheck disable=SC2086 # a list
    printf '%s\n' ${VALUES[$1]-0} | awk '{ sum += $1 } END { printf "%d\n", sum }'
}

least()
{
    # shellcheck disable=SC2086 # a list
    printf '%s\n' ${VALUES[$1]-} | sort -g | head -n 1
}

most()
{
    # shellcheck disable=SC2086 # a list
    printf '%s\n' ${VALUES[$1]-} | sort -g | tail -n 1
}

# search NAME CORES POLICY: short runs with each number of queues; the best of each side in
# BEST_OURS and BEST_THEIRS, and the arguments of its full runs in FULL_OURS and FULL_THEIRS.
search()
{
    local name=$1 cores=$2 policy=$3 queues i side key value our_run their_run
    local -A low=()
    BEST_OURS='' BEST_THEIRS=''
    for queues in "${QUEUES[@]}"; do
        probe odeon "$cores" "$queues" "$policy" || continue
        size "$SHORT_MS" "$PROBED" && our_run=("${ARGS[@]}")
        probe baseline "$cores" "$queues" "$policy" || continue
        size "$SHORT_MS" "$PROBED" && their_run=("${ARGS[@]}")
        for i in 1 2; do
            run_ours "search $name $cores odeon $queues" "$cores" "$queues" "$policy" \
                "${our_run[@]}"
            run_theirs "search $name $cores baseline $queues" "$cores" "$queues" \
                "$(their_steal "$policy")" "${their_run[@]}"
            [ -z "$QUICK" ] || break
        done
    done
    for side in odeon baseline; do
        for queues in "${QUEUES[@]}"; do
            key="search $name $cores $side $queues ns"
            [ -n "${VALUES[$key]-}" ] || continue
            value=$(least "$key")
            echo "point=$name side=$side cores=$cores queues=$queues ns_per_msg=$value" \
                "runs=$(wc -w <<<"${VALUES[$key]}")"
            if [ -z "${low[$side]-}" ] || ! below "${low[$side]}" "$value"; then
                low[$side]=$value
                if [ $side = odeon ]; then BEST_OURS=$queues; else BEST_THEIRS=$queues; fi
            fi
        done
    done
    [ -n "$BEST_OURS" ] && [ -n "$BEST_THEIRS" ] || return
    size "$FULL_MS" "${low[odeon]}" && FULL_OURS=("${ARGS[@]}")
    size "$FULL_MS" "${low[baseline]}" && FULL_THEIRS=("${ARGS[@]}")
}

# ruler_for CORES: the ruler where it means something, in RTT; elsewhere that is a -.
ruler_for()
{
    if [ "$1" -gt 1 ]; then ruler_line; else RTT=-; fi
}

rulers_equal()
{
    [ "$1" = - ] || awk -v a="$1" -v b="$2" -v f="$NEAR_FAR" \
        'BEGIN { exit !(a > 0 && b > 0 && a <= f * b && b <= f * a) }'
}

# show NAME POLICY CORES KEY THEIR-KEY QUEUES THEIR-QUEUES BEFORE AFTER: the line that compares two
# series.
show()
{
    local name=$1 policy=$2 cores=$3 key=$4 theirs=$5 gulps missed ours ours_spread ours_runs mode=-
    case $policy in */*) mode=${policy#*/} ;; esac
    figure "$key ns" || return
    ours=$M ours_spread=$SPREAD ours_runs=$N
    figure "$theirs ns" || return
    RATIO["$name $policy $cores"]=$(divide "$ours" "$M")
    NS["$name $policy $cores"]=$ours THEIR_NS["$name $policy $cores"]=$M
    NOISE["$name $policy $cores"]=$(printf '%s\n' "${ours_spread%\%}" "${SPREAD%\%}" | sort -g |
        tail -n 1)
    gulps=$(total "$key gulps") missed=$(total "$key missed_gulps")
    MISSED["$name $policy $cores"]="$gulps $missed"
    echo "bench=$name policy=${policy%/*} mode=$mode cores=$cores queues=$6" \
        "ns_per_msg=$ours baseline_ns=$M baseline_queues=$7" \
        "baseline_steal=$(their_steal "$policy") ratio=${RATIO["$name $policy $cores"]}" \
        "runs=$ours_runs spread=$ours_spread baseline_spread=$SPREAD ruler_ns=$8/$9" \
        "ruler_equal=$(rulers_equal "$8" "$9" && echo yes || echo no)" \
        "gulps=$gulps missed=$missed steals=$(total "$key steals")" \
        "steal_attempts=$(total "$key steal_attempts") peak_kib=$(most "$key peak")" \
        "baseline_peak_kib=$(most "$theirs peak")" \
        "crossing=$(crossing "$key" crossing_messages messages_sent)" \
        "baseline_crossing=$(crossing "$theirs" crossing sends) cpus=$(cpus_of "$cores")"
}

# compare NAME CORES: the main comparison: the search, then pairs of full runs, A B A B.
compare()
{
    local name=$1 cores=$2 policy i before after try
    parameters "$name"
    policy=${MAIN:-$DEFAULT}
    search "$name" "$cores" "$policy" || return
    OURS_AT["$name $cores"]=$BEST_OURS THEIRS_AT["$name $cores"]=$BEST_THEIRS
    for try in 1 2; do
        forget "$name $cores"
        forget "baseline $name $cores"
        ruler_for "$cores"
        before=$RTT
        for ((i = 0; i < RUNS; i++)); do
            run_ours "$name $cores" "$cores" "$BEST_OURS" "$policy" "${FULL_OURS[@]}"
            run_theirs "baseline $name $cores" "$cores" "$BEST_THEIRS" "$(their_steal "$policy")" \
                "${FULL_THEIRS[@]}"
        done
        ruler_for "$cores"
        after=$RTT
        rulers_equal "$before" "$after" && break
        [ $try = 1 ] && in_time "$name-again" >/dev/null || break
        echo "again=$name cores=$cores ruler_ns=$before/$after"
    done
    count_theirs "baseline $name $cores" "$cores" "$BEST_THEIRS" "$(their_steal "$policy")" \
        "${FULL_THEIRS[@]}"
    show "$name" "$policy" "$cores" "$name $cores" "baseline $name $cores" "$BEST_OURS" \
        "$BEST_THEIRS" "$before" "$after"
}

# compare_policies NAME CORES POLICY...: all of them in turn, round by round, with the numbers of
# queues, and the length of our runs, that compare() has found just before.
compare_policies()
{
    local name=$1 cores=$2 policy i ours theirs stealing=() alone=()
    local -A before=() after=()
    shift 2
    parameters "$name"
    ours=${OURS_AT["$name $cores"]-} theirs=${THEIRS_AT["$name $cores"]-}
    [ -n "$ours" ] || return
    probe baseline "$cores" "$theirs" stealing && size "$FULL_MS" "$PROBED" &&
        stealing=("${ARGS[@]}") || return
    probe baseline "$cores" "$theirs" none && size "$FULL_MS" "$PROBED" && alone=("${ARGS[@]}") ||
        return
    for ((i = 0; i < POLICY_RUNS; i++)); do
        run_theirs "policies $name $cores on" "$cores" "$theirs" on "${stealing[@]}"
        run_theirs "policies $name $cores off" "$cores" "$theirs" off "${alone[@]}"
        for policy in "$@"; do
            [ -z "${REFUSED[$policy]-}" ] && [ "$policy" != "${MAIN:-$DEFAULT}" ] || continue
            [ $i = 0 ] && ruler_for "$cores" && before[$policy]=$RTT
            run_ours "$name $cores $policy" "$cores" "$ours" "$policy" "${FULL_OURS[@]}"
            ruler_for "$cores"
            after[$policy]=$RTT
        done
        in_time "$name-policies" >/dev/null || break
    done
    for policy in "$@"; do
        if [ -n "${REFUSED[$policy]-}" ]; then
            echo "bench=$name policy=${policy%/*} mode=${policy#*/} cores=$cores refused"
        elif [ "$policy" != "${MAIN:-$DEFAULT}" ]; then
            show "$name" "$policy" "$cores" "$name $cores $policy" \
                "policies $name $cores $(their_steal "$policy")" "$ours" "$theirs" \
                "${before[$policy]-}" "${after[$policy]-}"
        fi
    done
}
