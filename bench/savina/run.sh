#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/savina/run.sh - the programs of the Savina suite, as actors inside the service, checked and
# timed.
#
#   bench/savina/run.sh [NAME...] [--cores 1,2,...] [--policies POLICY,...|all] [--full | --small]
#                       [--runs K] [--set FIELD=VALUE,...] [--service SETTING=VALUE,...]
#                       [--cpus A,B,...] [--save FILE] [--build DIR]
#
#   NAME        these programs alone: see bench/savina/sizes, which also has their sizes
#   --cores     numbers of workers (default: 1,2)
#   --policies  how workers steal: none, random/keep, random/visit, ... (default: the service's own)
#   --full      the sizes of the definitions, also where they take long
#   --small     sizes that show that it works
#   --runs      iterations of each program (default: 12, as the suite has it)
#   --set       fields that are other than in sizes, of the programs that have them
#   --service   settings of the service, beyond those of the policies
#   --cpus      the CPUs of the workers, in this order (default: the first that may be used)
#   --save      the lines go into FILE, too
#   --build     where the programs are (default: build/release, which is built when it is not there)
#
# Each line is of a service of its own, in which the program is run one iteration after the other:
# worker i is bound to the i-th CPU, and the client, which sleeps, to the second one. An iteration's
# time is that from before its first actor is made until its last one has ended. Of several policies
# it is told at the end what they are worth (choice.awk). The exit status says whether everything
# could be run and all results were right.
set -uo pipefail
FROM=$PWD
cd "$(dirname "$0")/../.." || exit 1
SELF=savina/run.sh
. bench/lib.sh
. bench/savina/lines.sh

CORES=(1 2) POLICIES=() COLUMN=3 RUNS=12 SAVE='' LIMIT_S=840 SET=() TUNED=()
ALL_POLICIES=(none random/keep random/visit round-robin/keep round-robin/visit longest-victim/keep
    longest-victim/visit fullest/keep fullest/visit locality/keep locality/visit share/keep
    share/visit)
NAMES=() # of programs
declare -A NS=() MS=() PEAK=() MESSAGES=()

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' bench/savina/run.sh
    exit "$1"
}

# set_field FIELD=VALUE: in the sizes of all of NAMES that have it.
set_field()
{
    local field=${1%%=*} value=${1#*=} name has=''
    case $field-$value in *[!a-z0-9-]* | -* | *-) die "not a field and a number: $1" ;; esac
    for name in "${NAMES[@]}"; do
        [[ " ${SIZES[$name]} " = *" $field="* ]] || continue
        SIZES[$name]=$(sed -E "s/(^| )$field=[^ ]*/\1$field=$value/" <<<"${SIZES[$name]}")
        has=1
    done
    [ -n "$has" ] || die "no program has a field $field"
}

# run NAME CORES [POLICY[/MODE]]: one service, one program; its line.
run()
{
    local name=$1 cores=$2 policy=${3-} settings=() line stats pid peak words IFS=' '
    if [ -n "$policy" ]; then
        settings+=("stealing=${policy%/*}")
        case $policy in */visit) settings+=(steal-mode=visit) ;; esac
    fi
    need_service run "workers=$cores" stash=1024 \
        "affinity=$(IFS=,; echo "${CPU_LIST[*]:0:$cores}")" \
        "${settings[@]}" ${TUNED[@]+"${TUNED[@]}"}
    read -ra words <<<"${SIZES[$name]}"
    line=$(patiently taskset -c "$CPU_B" "$BUILD/bench/odeon-savina" "$name" \
        "${words[@]}" --runs "$RUNS" --timeout "$PATIENCE_S" --socket "$(socket run)") ||
        trouble "$name, $cores worker(s)${policy:+, $policy} has failed"
    stats=$("$BUILD/bin/odeonctl" --socket "$(socket run)" --json stats)
    pid=$(executor_pid run)
    peak=$(awk '/^VmHWM:/ { print $2 }' "/proc/$pid/status")
    echo "${line/ cores=/ policy=${policy:-default} cores=}" \
        "gulps=$(json_number gulps <<<"$stats")" \
        "missed=$(json_number missed_gulps <<<"$stats")" \
        "steals=$(json_number steals <<<"$stats")" "peak_kib=$peak" | tee -a "$WORK/lines"
    stop_service run
    [ -z "$policy" ] || [ "$policy" = "${POLICIES[0]-}" ] || return
    NS["$name $cores"]=$(field ns_per_msg "$line") MS["$name $cores"]=$(field ms "$line")
    MESSAGES[$name]=$(field messages "$line") PEAK[$name]=$peak
}

table()
{
    local name cores
    say "Medians: milliseconds an iteration, nanoseconds a message; peak memory of the last line"
    printf '%-12s %12s' program messages
    for cores in "${CORES[@]}"; do
        printf ' %12s %10s' "ms,$cores" "ns,$cores"
    done
    printf ' %9s %10s\n' speed-up MiB
    for name in "${NAMES[@]}"; do
        printf '%-12s %12s' "$name" "${MESSAGES[$name]:--}"
        for cores in "${CORES[@]}"; do
            printf ' %12s %10s' "${MS["$name $cores"]:--}" "${NS["$name $cores"]:--}"
        done
        printf ' %9s %10s\n' \
            "$(divide "${MS["$name ${CORES[0]}"]:-0}" "${MS["$name ${CORES[-1]}"]:-0}")" \
            "$((${PEAK[$name]:-0} / 1024))"
    done
}

while [ $# -gt 0 ]; do
    case $1 in
    --full) COLUMN=4 LIMIT_S=7200 PATIENCE_S=3000 ;;
    --small) COLUMN=2 ;;
    --cores | --policies | --runs | --set | --service | --cpus | --save | --build)
        [ $# -gt 1 ] || usage 2 >&2
        case $1 in
        --cores) IFS=, read -ra CORES <<<"$2" ;;
        --policies)
            IFS=, read -ra POLICIES <<<"$2"
            [ "$2" != all ] || POLICIES=("${ALL_POLICIES[@]}")
            ;;
        --runs) RUNS=$2 ;;
        --set) IFS=, read -ra SET <<<"$2" ;;
        --service) IFS=, read -ra TUNED <<<"$2" ;;
        --cpus) CPUS=$2 ;;
        --save) SAVE=$2 ;;
        --build) BUILD=$(realpath -m "$2") ;;
        esac
        shift
        ;;
    -h | --help) usage 0 ;;
    -*)
        echo "$SELF: unknown argument: $1" >&2
        usage 2 >&2
        ;;
    *) NAMES+=("$1") ;;
    esac
    shift
done
sizes $COLUMN
[ ${#NAMES[@]} -gt 0 ] || NAMES=("${ALL_NAMES[@]}")
for name in "${NAMES[@]}"; do
    [ -n "${SIZES[$name]-}" ] || die "no program $name"
done
for word in ${SET[@]+"${SET[@]}"}; do
    set_field "$word"
done
for policy in "${POLICIES[@]}"; do
    [[ " ${ALL_POLICIES[*]} " = *" $policy "* ]] || die "no policy $policy"
done
for cores in "${CORES[@]}"; do
    case $cores in '' | 0* | *[!0-9]*) die "not a number of workers: $cores" ;; esac
done
if [ -n "$SAVE" ]; then
    case $SAVE in /*) ;; *) SAVE=$FROM/$SAVE ;; esac
    exec > >(exec tee "$SAVE")
    SAVER=$!
fi

need_tools taskset awk timeout grep sed
make_work_folder
build_if_missing
choose_cpus_for "${CORES[@]}"
SECONDS=0
say_load before
say_nodes
for name in "${NAMES[@]}"; do
    for cores in "${CORES[@]}"; do
        for policy in "${POLICIES[@]-}"; do
            if [ "$SECONDS" -lt "$LIMIT_S" ]; then
                run "$name" "$cores" "$policy"
            else
                trouble "$name, $cores worker(s): the $LIMIT_S seconds are used up"
            fi
        done
    done
done
table
echo
if [ "${#POLICIES[@]}" -gt 1 ]; then
    awk -f bench/svg.awk -f bench/savina/choice.awk "$WORK/lines"
    echo
fi
say_load after
echo "seconds=$SECONDS"
if [ -n "$SAVE" ]; then # all of it is in the file when this has ended
    exec >&-
    wait "$SAVER"
fi
exit $FAILED
