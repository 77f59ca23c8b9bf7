# SPDX-License-Identifier: Apache-2.0
# The comparisons of the paper's suite: one benchmark on some cores, both sides at their best number of queues, every policy.
# Sourced by run.sh and saturated.sh after bench/lib.sh.
#
# Every run of either side is a process of its own: a service that was just started, or the baseline's program. So no run finds
# queues where the thieves of an earlier one have left them, and the peak of memory is that of the run.
# shellcheck shell=bash disable=SC2034 # its variables are its users'

POLICIES=(none random/keep random/visit round-robin/keep round-robin/visit longest-victim/keep longest-victim/visit
    fullest/keep fullest/visit locality/keep locality/visit share/keep share/visit)
declare -A REFUSED=() # policy[/mode]: why the service does not take it
QUEUES=(1 4 16 64 512) RUNS=5 POLICY_RUNS=3 QUICK=''
NEAR_FAR=1.5 # rulers that differ by more than this factor are not equal

# parameters NAME: what both sides run, in FULL and SHORT; the baseline's name in THEIRS; a policy for the main line in MAIN, if
# it is not the service's default. A full run takes 0.3 to 1 s on one core, a short one about a fifth of that.
parameters()
{
    THEIRS=$1 OURS=$1 MAIN=''
    case $1 in
    static_send) FULL=(--n 50000000) SHORT=(--n 10000000) ;;
    dynamic_send) FULL=(--n 15000000) SHORT=(--n 3000000) ;;
    executor) FULL=(--actors 40000 --set 100 --rounds 10) SHORT=(--actors 40000 --set 100 --rounds 2) ;;
    pingpong_local) THEIRS=pingpong FULL=(--n 40000000) SHORT=(--n 8000000) ;;
    pingpong_cross) MAIN=none FULL=(--n 3000000) SHORT=(--n 500000) ;; # a thief would bring the two together
    repeat) FULL=(--actors 100000 --rounds 40) SHORT=(--actors 100000 --rounds 6) ;;
    fan_in) FULL=(--actors 64 --n 20000000) SHORT=(--actors 64 --n 4000000) ;;
    spawn_stop) FULL=(--n 10000000) SHORT=(--n 2000000) ;;
    matrix) FULL=(--n 768) SHORT=(--n 448) ;;
    balance_one | balance_multi) FULL=(--actors 4000 --set 100 --rounds 100) SHORT=(--actors 4000 --set 100 --rounds 20) ;;
    balance_one_work | balance_multi_work)
        OURS=${1%_work} THEIRS=${1%_work}
        FULL=(--actors 4000 --set 100 --rounds 1 --work 1000) SHORT=(--actors 1000 --set 100 --rounds 1 --work 1000)
        ;;
    *) die "no benchmark $1" ;;
    esac
    if [ -n "$QUICK" ]; then
        FULL=("${SHORT[@]}")
    fi
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
    DEFAULT=$("$BUILD/bin/odeonctl" --socket "$(socket default)" --json status | grep -oE '"stealing":"[^"]*"' | cut -d'"' -f4)
    DEFAULT+=/$(echo "$show" | grep -qE 'steal-mode[ =]+visit' && echo visit || echo keep)
    stop_service default
}

# policy_settings POLICY[/MODE]: as settings of the service, in SETTINGS. `keep` is the default, and left out.
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

# run_ours KEY CORES QUEUES POLICY ARGUMENT...: one run in a fresh service; adds to the series "KEY ns", "KEY peak", "KEY gulps", ...
run_ours()
{
    local key=$1 cores=$2 queues=$3 policy=$4 stats pid name
    shift 4
    policy_settings "$policy"
    if ! start_service run "workers=$cores" "affinity=$(cpus_of "$cores")" "queues-per-worker=$queues" "${SETTINGS[@]}"; then
        trouble "no service with $cores workers, $queues queues each, policy $policy: $WHY"
        return 1
    fi
    if odeon_run run "$OURS" "$@"; then
        add "$key ns" "$(field ns_per_msg "$LINE")"
        pid=$(executor_pid run)
        add "$key peak" "$(awk '/^VmHWM:/ { print $2 }' "/proc/$pid/status")"
        stats=$("$BUILD/bin/odeonctl" --socket "$(socket run)" --json stats)
        for name in gulps missed_gulps steals steal_attempts; do
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
    baseline_run "$THEIRS" --workers "$cores" --queues "$queues" --steal "$steal" --cpu-list "$(cpus_of "$cores")" "$@" || return
    add "$key ns" "$(field ns_per_msg "$LINE")"
    add "$key peak" "$(field peak_rss_kib "$LINE")"
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

# search NAME CORES POLICY: short runs with each number of queues; the best of each side in BEST_OURS and BEST_THEIRS.
search()
{
    local name=$1 cores=$2 policy=$3 queues i side key value
    local -A low=()
    BEST_OURS='' BEST_THEIRS=''
    for queues in "${QUEUES[@]}"; do
        for i in 1 2; do
            run_ours "search $name $cores odeon $queues" "$cores" "$queues" "$policy" "${SHORT[@]}"
            run_theirs "search $name $cores baseline $queues" "$cores" "$queues" "$(their_steal "$policy")" "${SHORT[@]}"
            [ -z "$QUICK" ] || break
        done
    done
    for side in odeon baseline; do
        for queues in "${QUEUES[@]}"; do
            key="search $name $cores $side $queues ns"
            [ -n "${VALUES[$key]-}" ] || continue
            value=$(least "$key")
            echo "point=$name side=$side cores=$cores queues=$queues ns_per_msg=$value runs=$(wc -w <<<"${VALUES[$key]}")"
            if [ -z "${low[$side]-}" ] || ! below "${low[$side]}" "$value"; then
                low[$side]=$value
                if [ $side = odeon ]; then BEST_OURS=$queues; else BEST_THEIRS=$queues; fi
            fi
        done
    done
    [ -n "$BEST_OURS" ] && [ -n "$BEST_THEIRS" ]
}

# ruler_for CORES: the ruler where it means something.
ruler_for()
{
    if [ "$1" -gt 1 ]; then ruler_line; else echo -; fi
}

rulers_equal()
{
    [ "$1" = - ] || awk -v a="$1" -v b="$2" -v f="$NEAR_FAR" 'BEGIN { exit !(a > 0 && b > 0 && a <= f * b && b <= f * a) }'
}

# show NAME POLICY CORES KEY THEIR-KEY QUEUES THEIR-QUEUES BEFORE AFTER: the line that compares two series.
show()
{
    local name=$1 policy=$2 cores=$3 key=$4 theirs=$5 gulps missed ours ours_spread ours_runs mode=-
    case $policy in */*) mode=${policy#*/} ;; esac
    figure "$key ns" || return
    ours=$M ours_spread=$SPREAD ours_runs=$N
    figure "$theirs ns" || return
    RATIO["$name $policy $cores"]=$(divide "$ours" "$M")
    NS["$name $policy $cores"]=$ours THEIR_NS["$name $policy $cores"]=$M
    NOISE["$name $policy $cores"]=$(printf '%s\n' "${ours_spread%\%}" "${SPREAD%\%}" | sort -g | tail -n 1)
    gulps=$(total "$key gulps") missed=$(total "$key missed_gulps")
    MISSED["$name $policy $cores"]="$gulps $missed"
    echo "bench=$name policy=${policy%/*} mode=$mode cores=$cores queues=$6 ns_per_msg=$ours baseline_ns=$M baseline_queues=$7" \
        "baseline_steal=$(their_steal "$policy") ratio=${RATIO["$name $policy $cores"]} runs=$ours_runs spread=$ours_spread" \
        "baseline_spread=$SPREAD ruler_ns=$8/$9 ruler_equal=$(rulers_equal "$8" "$9" && echo yes || echo no)" \
        "gulps=$gulps missed=$missed steals=$(total "$key steals") steal_attempts=$(total "$key steal_attempts")" \
        "peak_kib=$(most "$key peak") baseline_peak_kib=$(most "$theirs peak") cpus=$(cpus_of "$cores")"
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
        unset "VALUES[$name $cores ns]" "VALUES[baseline $name $cores ns]"
        before=$(ruler_for "$cores")
        for ((i = 0; i < RUNS; i++)); do
            run_ours "$name $cores" "$cores" "$BEST_OURS" "$policy" "${FULL[@]}"
            run_theirs "baseline $name $cores" "$cores" "$BEST_THEIRS" "$(their_steal "$policy")" "${FULL[@]}"
        done
        after=$(ruler_for "$cores")
        rulers_equal "$before" "$after" && break
        [ $try = 1 ] && in_time "$name-again" >/dev/null || break
        echo "again=$name cores=$cores ruler_ns=$before/$after"
    done
    show "$name" "$policy" "$cores" "$name $cores" "baseline $name $cores" "$BEST_OURS" "$BEST_THEIRS" "$before" "$after"
}

# compare_policies NAME CORES POLICY...: all of them in turn, round by round, with the numbers of queues that compare() found.
compare_policies()
{
    local name=$1 cores=$2 policy i steal ours theirs
    local -A before=() after=()
    shift 2
    parameters "$name"
    ours=${OURS_AT["$name $cores"]-} theirs=${THEIRS_AT["$name $cores"]-}
    [ -n "$ours" ] || return
    for ((i = 0; i < POLICY_RUNS; i++)); do
        for steal in on off; do
            run_theirs "policies $name $cores $steal" "$cores" "$theirs" "$steal" "${FULL[@]}"
        done
        for policy in "$@"; do
            [ -z "${REFUSED[$policy]-}" ] && [ "$policy" != "${MAIN:-$DEFAULT}" ] || continue
            [ $i = 0 ] && before[$policy]=$(ruler_for "$cores")
            run_ours "$name $cores $policy" "$cores" "$ours" "$policy" "${FULL[@]}"
            after[$policy]=$(ruler_for "$cores")
        done
        in_time "$name-policies" >/dev/null || break
    done
    for policy in "$@"; do
        if [ -n "${REFUSED[$policy]-}" ]; then
            echo "bench=$name policy=${policy%/*} mode=${policy#*/} cores=$cores refused"
        elif [ "$policy" != "${MAIN:-$DEFAULT}" ]; then
            show "$name" "$policy" "$cores" "$name $cores $policy" "policies $name $cores $(their_steal "$policy")" "$ours" "$theirs" \
                "${before[$policy]-}" "${after[$policy]-}"
        fi
    done
}
