#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test.sh - builds Odeon and runs its tests.
#
#   ./test.sh [--all] [--asan | --tsan | --clang | --debug] [--only PATTERN] [-v]
#
#   --all           everything that is bounded: also the models, the rig, the seeded bugs, the
#                   fuzzers and the crash points
#   --asan          with AddressSanitizer and UndefinedBehaviorSanitizer; suites unit, plugins,
#                   system, hostile and stress, some in a shorter form
#   --tsan          the same suites with ThreadSanitizer
#   --clang         built with clang
#   --debug         built without optimisation
#   --only PATTERN  only tests whose name matches this extended regular expression, of --all too
#   --jobs N        so many tests at a time (default: as many as there are processors)
#   --budget S      for a machine that has only so many seconds: a test that cannot begin or end in
#                   this time counts as skipped
#   --totals FILE   writes "passed failed skipped" there instead of printing the closing line, and
#                   behind it what is known of each test that failed
#   -v              shows everything that the tests print
#
# Installs the packages that are missing (as root or through sudo; where that is not possible, those
# that the build needs must be there, and tests that need others are skipped), builds in
# build/PRESET what the tests need, with warnings as errors, and runs the tests side by side, those
# with the label `alone` one after the other. A test ends by itself, or by its limits, which are
# processor time (label `cpu-SECONDS`) and doing nothing at all (tests/run/limit.c): never because
# the machine is slow. The logs are in build/PRESET/logs; the ends of those of failed tests, and
# lines of others that begin with "# ", are shown. The last line is "N passed, M failed[, K
# skipped]", summing every check: a cmocka program or a TAP script counts with each of its tests.
# Exit status 1 when one failed.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=tests/run/packages.sh
. tests/run/packages.sh
# shellcheck source=tests/run/count.sh
. tests/run/count.sh

SUITES=(unit plugins law system hostile stress rig model)
PRESET=release ALL='' ONLY='' VERBOSE='' TOTALS='' BUDGET_S='' JOBS=''
CPU_FACTOR=1 # of the limits: a sanitizer takes its time
STILL_S=600 LAST_RESORT_S=14400
PASSED=0 FAILED=0 SKIPPED=0 LEFT_OUT=0
FAILURES=() # a text for each
export LC_ALL=C ODEON_TIMEOUT_MS=300000 # as tests/run/patience.h

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' test.sh
    exit "$1"
}

# number OPTION VALUE: the value is a number.
number()
{
    case $2 in '' | 0 | *[!0-9]*) echo "test.sh: $1: not a number: $2" >&2; exit 2 ;; esac
}

parse_arguments()
{
    while [ $# -gt 0 ]; do
        case $1 in
        --all) ALL=1 ;;
        --asan | --tsan | --clang | --debug) PRESET=${1#--} ;;
        --only | --budget | --totals | --jobs)
            [ $# -gt 1 ] || { echo "test.sh: $1 needs a value" >&2; usage 2 >&2; }
            case $1 in
            --only) ONLY=$2 ;;
            --totals) TOTALS=$(realpath -m "$2") ;;
            --budget) number "$1" "$2"; BUDGET_S=$2 ;;
            --jobs) number "$1" "$2"; JOBS=$2 ;;
            esac
            shift
            ;;
        -v | --verbose) VERBOSE=1 ;;
        -h | --help) usage 0 ;;
        *) echo "test.sh: unknown argument: $1" >&2; usage 2 >&2 ;;
        esac
        shift
    done
}

# The one line at the end, and the exit status.
finish()
{
    if [ -n "$TOTALS" ]; then
        printf '%s\n' "$PASSED $FAILED $SKIPPED" ${FAILURES[@]+"${FAILURES[@]}"} >"$TOTALS"
    elif [ "$SKIPPED" -gt 0 ]; then
        echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    else
        echo "$PASSED passed, $FAILED failed"
    fi
    [ "$FAILED" = 0 ] && [ "$PASSED" -gt 0 ]
    exit
}

# Something that had to work before any test did not: one failure.
give_up()
{
    echo "test.sh: $1"
    FAILED=$((FAILED + 1))
    FAILURES+=("test.sh: $1")
    finish
}

# Without what single tests need, those are skipped: no failure of what is tested.
ensure_packages()
{
    packages_ensure "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}" || {
        packages_ensure "${PACKAGES_BUILD[@]}" libcmocka-dev || give_up "packages are missing"
        echo "test.sh: goes on without them: tests that need them are skipped"
    }
    [ -z "$ALL" ] || packages_ensure "${PACKAGES_ALL[@]}" ||
        echo "test.sh: goes on without these, too: tests that need them are skipped"
}

# Seconds that are left of those that were asked for; a great many if none were.
time_left()
{
    if [ -n "$BUDGET_S" ]; then echo $((BUDGET_S - SECONDS)); else echo $LAST_RESORT_S; fi
}

# build PRESET: configures and builds out of tree. What takes long to build and is needed by few
# tests (the target `tests_usual` does without) is built for them only.
build()
{
    local log=build/$1.log started=$SECONDS rc=0 left
    local -a target=()
    [ -n "$ALL$ONLY" ] || target=(--target tests_usual)
    left=$(time_left)
    [ "$left" -gt 0 ] || left=1
    mkdir -p build
    echo "== build ($1)"
    (
        # in this process, so that a signal reaches it
        cmake --preset "$1" &&
            exec timeout -k 10 "$left" cmake --build --preset "$1" "${target[@]}"
    ) >"$log" 2>&1 &
    wait $! || rc=$?
    if [ $rc = 124 ] && [ -n "$BUDGET_S" ]; then
        echo "   not built in the $BUDGET_S s that there are for everything: all tests are skipped"
        SKIPPED=$((SKIPPED + 1))
        finish
    fi
    if [ $rc != 0 ]; then
        grep -nE -A5 'error:|Error|FAILED' "$log" | cut -c -240 | head -n 40
        echo "-- end of $log:"
        tail -n 40 "$log" | cut -c -240
        give_up "the build ($1) failed"
    fi
    echo "   built in $((SECONDS - started)) s"
}

# Reports of a sanitizer go to files, so that one of a daemon in the background is not overlooked.
# sanitizer_options DIR: what the environment must say for that.
sanitizer_options()
{
    echo "ASAN_OPTIONS=log_path=$1/report:detect_leaks=1:strict_string_checks=1:\
check_initialization_order=1"
    echo "UBSAN_OPTIONS=log_path=$1/report:print_stacktrace=1"
    echo "TSAN_OPTIONS=log_path=$1/report:second_deadlock_stack=1:halt_on_error=0:exitcode=66"
}

# ThreadSanitizer of gcc 12 cannot place its shadow memory on kernels that randomise mappings with
# more than 28 bits; and with fewer it leaves a hole of a random size for what a test maps.
sanitizer_wrapper()
{
    if [ "$PRESET" = tsan ] && setarch -R true 2>/dev/null; then
        WRAPPER=(setarch -R)
    fi
}

# list_tests: "NUMBER NAME LABEL..." of every test that is registered.
list_tests()
{
    ctest --test-dir "$DIR" -N -V 2>/dev/null | awk '
        /^Labels: / { sub(/^Labels: /, ""); labels = $0 }
        /^ *Test +#[0-9]+: / {
            number = $0; sub(/^ *Test +#/, "", number); sub(/:.*/, "", number)
            sub(/^ *Test +#[0-9]+: /, ""); sub(/ \(Disabled\)$/, "")
            print number, $0, labels
            labels = ""
        }'
}

# choose_tests SUITE...: fills BESIDE and ALONE with "NUMBER NAME SUITE CPU_S", in the order of the
# suites; ALL_BESIDE and ALL_ALONE with those that only --all has: where a budget is too small, it
# is these that are left out. A test that no suite runs would be forgotten: that is a failure.
choose_tests()
{
    local suite name rest line list
    local -A suite_of=()
    mapfile -t TESTS < <(list_tests)
    BESIDE=() ALONE=() ALL_BESIDE=() ALL_ALONE=()
    for suite in "$@"; do
        for line in "${TESTS[@]}"; do
            name=${line#* } name=${name%% *} rest=" ${line#* * } "
            case $rest in *" $suite "*) ;; *) continue ;; esac
            [ -z "${suite_of[$name]-}" ] || continue
            suite_of[$name]=$suite
            if [ -n "$ONLY" ]; then
                [[ $name =~ $ONLY ]] || continue
            elif [ -z "$ALL" ] && [[ $rest = *" all "* ]]; then
                LEFT_OUT=$((LEFT_OUT + 1))
                continue
            fi
            [[ $rest =~ \ cpu-([0-9]+)\  ]] || give_up "$name has no limit (a label cpu-SECONDS)"
            line="${line%% *} $name $suite ${BASH_REMATCH[1]}"
            list=BESIDE
            [[ $rest != *" alone "* ]] || list=ALONE
            [[ $rest != *" all "* ]] || list=ALL_$list
            declare -n into=$list
            into+=("$line")
        done
    done
    for line in "${TESTS[@]}"; do
        rest=" ${line#* * } "
        [[ $rest =~ \ ($(IFS='|'; echo "${SUITES[*]}"))\  ]] ||
            give_up "the test ${line#* } has the label of no suite (${SUITES[*]})"
    done
}

# start_test NUMBER NAME SUITE CPU_S: in the background, so that a signal to this script is acted on
# at once.
start_test()
{
    local number=$1 name=$2 log wall
    local -a options
    log=$DIR/logs/${name//\//.}.log
    rm -rf "$log" "$log.limit" "$log.reports"
    mkdir -p "$log.reports"
    mapfile -t options < <(sanitizer_options "$PWD/$log.reports")
    wall=$(time_left)
    if [ "$wall" -le 0 ]; then
        skip_test "$name" "$3" "not begun: the $BUDGET_S s that there are for everything are over"
        return
    fi
    env "${options[@]}" "$DIR/tests/run/limit" --cpu $(($4 * CPU_FACTOR)) --still $STILL_S \
        --wall "$wall" --report "$log.limit" -- "${WRAPPER[@]}" \
        ctest --test-dir "$DIR" --timeout $((2 * LAST_RESORT_S)) -I "$number,$number" -V \
        >"$log" 2>&1 </dev/null &
    RUNNING[$!]=$*
}

skip_test()
{
    add_to_sums "$2" 0 0 1 0
    printf '   %-44s %-7s %s\n' "$1" skipped "$3"
}

# add_to_sums SUITE PASSED FAILED SKIPPED CPU_MS
add_to_sums()
{
    PASSED=$((PASSED + $2)) FAILED=$((FAILED + $3)) SKIPPED=$((SKIPPED + $4))
    SUM_PASSED[$1]=$((${SUM_PASSED[$1]-0} + $2))
    SUM_FAILED[$1]=$((${SUM_FAILED[$1]-0} + $3))
    SUM_SKIPPED[$1]=$((${SUM_SKIPPED[$1]-0} + $4))
    SUM_CPU[$1]=$((${SUM_CPU[$1]-0} + $5))
}

# seconds MS: with one digit behind the point.
seconds()
{
    printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100))
}

# failure_lines LOG: the few lines of it that say most: those of cmocka and TAP, else its end.
failure_lines()
{
    local lines='^not ok|\[  FAILED|\[   LINE|\[  ERROR|^# (expected|got)|!=|ERROR:|: error:|seed='
    { grep -E "$lines" "$1" || tail -n 12 "$1"; } | head -n 16 | cut -c -200 | sed 's/^/   | /'
}

# end_test STATUS NUMBER NAME SUITE CPU_S: a test that has ended: its line, and what it counts for.
end_test()
{
    local rc=$1 number=$2 name=$3 suite=$4 log wall=0 cpu=0 verdict=none result report
    log=$DIR/logs/${name//\//.}.log
    if [ -e "$log.limit" ]; then read -r wall cpu verdict <"$log.limit"; fi
    # "state passed failed skipped reason..."
    result=$(count_result "$log" "$number" "$rc" "$verdict")
    if [ "$verdict" = wall ] && [ -n "$BUDGET_S" ]; then
        result="skipped 0 0 1 ended: the $BUDGET_S s that there are for everything are over"
    fi
    count_trim "$log" "$number"
    for report in "$log.reports"/report.*; do
        [ -e "$report" ] || continue
        # The leak checker's word for a process that is killed while it looks: it has found nothing.
        grep -qv '==Unable to get registers from thread [0-9]*\.$' "$report" || continue
        { echo "-- ${report##*/}"; cat "$report"; } >>"$log"
        result="failed 0 1 0 a sanitizer reported"
    done
    rm -rf "$log.limit" "$log.reports"
    # shellcheck disable=SC2086 # fields
    set -- $result
    local state=$1 passed=$2 failed=$3 skipped=$4
    shift 4
    add_to_sums "$suite" "$passed" "$failed" "$skipped" "$cpu"
    printf '   %-44s %-7s %4d checks %7s s %7s s cpu %s\n' "$name" "$state" \
        $((passed + failed + skipped)) "$(seconds "$wall")" "$(seconds "$cpu")" "$*"
    [ -z "$VERBOSE" ] || cat "$log"
    case $state in
    failed)
        echo "   -- the end of $log:"
        tail -n 60 "$log" | sed 's/^/   | /'
        FAILURES+=("$PRESET: $name: $*"$'\n'"$(failure_lines "$log")")
        ;;
    *) grep '^# ' "$log" | head -n 24 | sed 's/^/   | /' ;; # figures that a test wants to be seen
    esac
}

# wait_for_room N: waits until fewer than N tests run.
wait_for_room()
{
    local ended rc
    while [ ${#RUNNING[@]} -ge "$1" ]; do
        rc=0
        wait -n -p ended "${!RUNNING[@]}" || rc=$?
        [ -n "${ended-}" ] || continue
        # shellcheck disable=SC2086 # fields
        end_test $rc ${RUNNING[$ended]}
        unset "RUNNING[$ended]"
    done
}

# run_some AT_A_TIME LINE...
run_some()
{
    local line at_a_time=$1
    shift
    for line in "$@"; do
        wait_for_room "$at_a_time"
        # shellcheck disable=SC2086 # fields
        start_test $line
    done
}

run_tests()
{
    run_some "$JOBS" ${BESIDE[@]+"${BESIDE[@]}"}
    run_some 1 ${ALONE[@]+"${ALONE[@]}"}
    wait_for_room 1
    run_some "$JOBS" ${ALL_BESIDE[@]+"${ALL_BESIDE[@]}"}
    run_some 1 ${ALL_ALONE[@]+"${ALL_ALONE[@]}"}
    wait_for_room 1
}

print_sums()
{
    local suite
    echo "== sums"
    for suite in "${SUITES[@]}"; do
        [ -n "${SUM_CPU[$suite]-}" ] || continue
        printf '   %-8s %5d passed %4d failed %4d skipped %5d s of processor time\n' "$suite" \
            "${SUM_PASSED[$suite]}" "${SUM_FAILED[$suite]}" "${SUM_SKIPPED[$suite]}" \
            $((SUM_CPU[$suite] / 1000))
    done
    if [ ${#FAILURES[@]} -gt 0 ]; then
        echo "== failed"
        printf '   %s\n' "${FAILURES[@]}"
    fi
    [ $LEFT_OUT = 0 ] || echo "   left to ./test.sh --all: $LEFT_OUT tests"
    echo "   all, packages and build included: $SECONDS s"
}

# limit passes the signal on to all that a test has started, timeout to the build.
# shellcheck disable=SC2317 # reached through the traps
interrupted()
{
    trap '' INT TERM HUP
    # shellcheck disable=SC2046 # a word each
    kill -TERM $(jobs -p) 2>/dev/null
    wait
    echo
    echo "test.sh: interrupted"
    exit "$1"
}

main()
{
    local -a run
    parse_arguments "$@"
    declare -gA RUNNING=() SUM_PASSED=() SUM_FAILED=() SUM_SKIPPED=() SUM_CPU=()
    trap 'interrupted 130' INT
    trap 'interrupted 143' TERM HUP
    DIR=build/$PRESET
    WRAPPER=()
    JOBS=${JOBS:-$(nproc)}
    run=("${SUITES[@]}")
    case $PRESET in
    asan | tsan)
        run=(unit plugins system hostile stress) CPU_FACTOR=6
        export ODEON_TEST_QUICK=1 # tests that have a short form take it
        ;;
    esac

    ensure_packages
    build "$PRESET"
    mkdir -p "$DIR/logs"
    sanitizer_wrapper
    choose_tests "${run[@]}"
    local n=$((${#BESIDE[@]} + ${#ALONE[@]} + ${#ALL_BESIDE[@]} + ${#ALL_ALONE[@]}))
    if [ $n = 0 ]; then
        echo "test.sh: no test is called like $ONLY"
        FAILED=1
        finish
    fi
    echo "== $n tests, $JOBS at a time"
    run_tests
    print_sums
    finish
}

# All of this file has been read by now: it may change while the tests run.
main "$@"
