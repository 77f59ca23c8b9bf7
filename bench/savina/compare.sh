#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/savina/compare.sh - twelve programs of the suite, as actors of Odeon's and as actors of CAF,
# the C++ Actor Framework, by turns.
#
#   bench/savina/compare.sh [NAME...] [--cores 1,2] [--rounds R] [--runs K] [--small]
#                           [--cpus A,B,...] [--save FILE] [--build DIR]
#
#   NAME      these programs alone: those that odeon-savina-caf --names has
#   --cores   numbers of workers on both sides (default: 1,2)
#   --rounds  how often each side has its turn (default: 3)
#   --runs    iterations of a turn (default: 4); a turn's figure is their median
#   --small   sizes that show that it works
#   --cpus    the CPUs of the workers, in this order (default: the first that may be used)
#   --save    the lines go into FILE, too
#   --build   where the programs are (default: build/release, which is built when it is not there)
#
# Sizes, generators of numbers, checks and numbers of messages are the same on both sides. Odeon's
# worker i is bound to the i-th CPU, and its client sleeps on the second one; CAF's threads, and the
# main thread that starts a program and then waits, may use the CPUs of as many workers. Each turn
# is a process of its own. `ratio` is Odeon's time a message divided by CAF's; less is better.
#
#   bench=savina_compare program=NAME cores=W ns_per_message=X caf_ns_per_message=Y ratio=R
#       spread=S% caf_spread=T% rounds=N check=ok
#   bench=savina_compare_mean cores=W programs=P geometric_mean=G target=T met=yes|no
#
# Each is one line. The exit status says whether everything could be run and all results were right,
# not whether targets are met; 77: there is no odeon-savina-caf in this build.
set -uo pipefail
FROM=$PWD
cd "$(dirname "$0")/../.." || exit 1
SELF=savina/compare.sh
. bench/lib.sh
. bench/savina/lines.sh

CORES=(1 2) ROUNDS=3 RUNS=4 COLUMN=3 SAVE=''
NAMES=() # of programs
declare -A TARGET=([1]=0.2 [2]=0.3)

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' bench/savina/compare.sh
    exit "$1"
}

# ours NAME CORES: one turn of Odeon's; the line in LINE.
ours()
{
    local name=$1 cores=$2 words status IFS=' '
    need_service turn "workers=$cores" stash=1024 \
        "affinity=$(IFS=,; echo "${CPU_LIST[*]:0:$cores}")"
    read -ra words <<<"${SIZES[$name]}"
    LINE=$(patiently taskset -c "$CPU_B" "$BUILD/bench/odeon-savina" "$name" \
        "${words[@]}" --runs "$RUNS" --timeout "$PATIENCE_S" --socket "$(socket turn)")
    status=$?
    stop_service turn
    return $status
}

# theirs NAME CORES: one turn of CAF's.
theirs()
{
    local name=$1 cores=$2 words IFS=' '
    read -ra words <<<"${SIZES[$name]}"
    LINE=$(patiently taskset -c "$(IFS=,; echo "${CPU_LIST[*]:0:$cores}")" \
        "$CAF" "$name" "${words[@]}" --runs "$RUNS" --threads "$cores")
}

# turn SIDE NAME CORES KEY: one turn of a side, its figure KEY into the side's series; 1: it failed.
turn()
{
    if "$1" "$2" "$3" && [ "$(field check "$LINE")" = ok ]; then
        add "$1 $2 $3" "$(field "$4" "$LINE")"
        return
    fi
    trouble "$2, $3 worker(s): ${1/theirs/CAF} has failed: $LINE"
    return 1
}

# Three digits of a number, and no exponent, however small it is.
DIGITS='function digits(v,    d)
{
    for (d = 3; v < 0.1 && d < 12; d++)
        v *= 10
    return d
}'

# ratio A B: A divided by B.
ratio()
{
    awk -v a="$1" -v b="$2" "$DIGITS"' BEGIN {
        if (b > 0) printf "%." digits(a / b) "f\n", a / b
        else print "nan"
    }'
}

# compare NAME CORES: both sides by turns; one line.
compare()
{
    local name=$1 cores=$2 round ours ours_spread theirs ratio
    for ((round = 0; round < ROUNDS; round++)); do
        turn ours "$name" "$cores" ns_per_msg || return
        turn theirs "$name" "$cores" ns_per_message || return
    done
    figure "ours $name $cores" || return
    ours=$M ours_spread=$SPREAD
    figure "theirs $name $cores" || return
    theirs=$M
    ratio=$(ratio "$ours" "$theirs")
    add "ratio $cores" "$ratio"
    echo "bench=savina_compare program=$name cores=$cores ns_per_message=$ours" \
        "caf_ns_per_message=$theirs ratio=$ratio spread=$ours_spread caf_spread=$SPREAD" \
        "rounds=$N check=ok"
}

# mean CORES: of all ratios, the geometric one.
mean()
{
    local cores=$1 words
    [ -n "${VALUES[ratio $cores]-}" ] || return
    # shellcheck disable=SC2086 # a list
    words=$(printf '%s\n' ${VALUES[ratio $cores]} | awk -v target="${TARGET[$cores]-}" "$DIGITS"'
        { sum += log($1) }
        END {
            mean = exp(sum / NR)
            printf "programs=%d geometric_mean=%." digits(mean) "f", NR, mean
            if (target != "")
                printf " target=%s met=%s", target, (mean <= target ? "yes" : "no")
        }')
    echo "bench=savina_compare_mean cores=$cores $words"
}

while [ $# -gt 0 ]; do
    case $1 in
    --small) COLUMN=2 ;;
    --cores | --rounds | --runs | --cpus | --save | --build)
        [ $# -gt 1 ] || usage 2 >&2
        case $1 in
        --cores) IFS=, read -ra CORES <<<"$2" ;;
        --rounds) ROUNDS=$2 ;;
        --runs) RUNS=$2 ;;
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
for number in "${CORES[@]}" "$ROUNDS" "$RUNS"; do
    case $number in '' | 0* | *[!0-9]*) die "not a number above 0: $number" ;; esac
done

need_tools taskset awk timeout grep sed
make_work_folder
build_if_missing
CAF=$BUILD/bench/odeon-savina-caf
if [ ! -x "$CAF" ]; then
    echo "$SELF: there is no odeon-savina-caf in this build: libcaf-dev and a C++ compiler," >&2
    echo "then cmake again" >&2
    exit 77
fi
sizes $COLUMN
mapfile -t KNOWN < <("$CAF" --names)
[ ${#NAMES[@]} -gt 0 ] || NAMES=("${KNOWN[@]}")
for name in "${NAMES[@]}"; do
    [[ " ${KNOWN[*]} " = *" $name "* ]] || die "no program $name for CAF"
done
if [ -n "$SAVE" ]; then
    case $SAVE in /*) ;; *) SAVE=$FROM/$SAVE ;; esac
    exec > >(exec tee "$SAVE")
    SAVER=$!
fi
choose_cpus_for "${CORES[@]}"
say_load before
for cores in "${CORES[@]}"; do
    for name in "${NAMES[@]}"; do
        compare "$name" "$cores"
    done
    mean "$cores"
done
say_load after
if [ -n "$SAVE" ]; then # all of it is in the file when this has ended
    exec >&-
    wait "$SAVER"
fi
exit $FAILED
