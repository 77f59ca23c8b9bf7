#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test.sh - builds Odeon and runs its tests.
#
#   ./test.sh [--asan | --tsan | --clang | --debug] [--quick] [--only PATTERN] [-v]
#
#   --asan          with AddressSanitizer and UndefinedBehaviorSanitizer; suites unit, plugins,
#                   system, hostile, stress (short)
#   --tsan          the same suites with ThreadSanitizer
#   --clang         built with clang
#   --debug         built without optimisation
#   --quick         short runs, neither models nor rig
#   --only PATTERN  only tests whose name matches this extended regular expression
#   --budget S      seconds that all may take (default 1200); a test that cannot begin in time
#                   counts as failed
#   --over-budget-skips   ... counts as skipped
#   --totals FILE   writes "passed failed skipped" there instead of printing the closing line
#   -v              shows everything that the tests print
#
# Installs the packages that are missing (as root or through sudo), builds in build/PRESET with
# warnings as errors, runs the suites in the order of SUITES, each test for itself, one after the
# other (two cores are few, and several tests measure time). The logs are in build/PRESET/logs; the
# ends of those of failed tests, and lines of others that begin with "# ", are shown. The last line
# is "N passed, M failed[, K skipped]", summing
# every check: a cmocka program or a TAP script counts with each of its tests. Exit status 1 when
# one failed.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=tests/run/packages.sh
. tests/run/packages.sh
# shellcheck source=tests/run/count.sh
. tests/run/count.sh

SUITES=(unit plugins law system hostile model stress rig)
PRESET=release QUICK='' ONLY='' VERBOSE='' TOTALS='' BUDGET_S=1200 OVER=failed
PASSED=0 FAILED=0 SKIPPED=0
export LC_ALL=C

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' test.sh
    exit "$1"
}

parse_arguments()
{
    while [ $# -gt 0 ]; do
        case $1 in
        --asan | --tsan | --clang | --debug) PRESET=${1#--} ;;
        --quick) QUICK=1 ;;
        --only | --budget | --totals)
            [ $# -gt 1 ] || { echo "test.sh: $1 needs a value" >&2; usage 2 >&2; }
            case $1 in
            --only) ONLY=$2 ;;
            --totals) TOTALS=$(realpath -m "$2") ;;
            --budget) BUDGET_S=$2 ;;
            esac
            shift
            ;;
        --over-budget-skips) OVER=skipped ;;
        -v | --verbose) VERBOSE=1 ;;
        -h | --help) usage 0 ;;
        *) echo "test.sh: unknown argument: $1" >&2; usage 2 >&2 ;;
        esac
        shift
    done
    case $BUDGET_S in '' | *[!0-9]*) echo "test.sh: --budget: not a number of seconds: $BUDGET_S" >&2; exit 2 ;; esac
}

# The one line at the end, and the exit status.
finish()
{
    if [ -n "$TOTALS" ]; then
        echo "$PASSED $FAILED $SKIPPED" >"$TOTALS"
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
    finish
}

# build PRESET: configures and builds out of tree.
build()
{
    local log=build/$1.log started=$SECONDS
    mkdir -p build
    echo "== build ($1)"
    if ! { cmake --preset "$1" && cmake --build --preset "$1"; } >"$log" 2>&1; then
        grep -nE -A5 'error:|Error|FAILED' "$log" | cut -c -240 | head -n 40
        echo "-- end of $log:"
        tail -n 40 "$log" | cut -c -240
        give_up "the build ($1) failed"
    fi
    echo "   built in $((SECONDS - started)) s"
}

# A report of a sanitizer goes to a file, so that one of a daemon in the background is not
# overlooked.
set_sanitizer_options()
{
    local reports=$1
    export ASAN_OPTIONS=log_path=$reports/report:detect_leaks=1:strict_string_checks=1:check_initialization_order=1
    export UBSAN_OPTIONS=log_path=$reports/report:print_stacktrace=1
    export TSAN_OPTIONS=log_path=$reports/report:second_deadlock_stack=1:halt_on_error=0:exitcode=66
}

# ThreadSanitizer of gcc 12 cannot place its shadow memory on kernels that randomise mappings with
# more than 28 bits.
sanitizer_wrapper()
{
    local bits
    bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)
    if [ "$PRESET" = tsan ] && [ "$bits" -gt 28 ] && setarch -R true 2>/dev/null; then
        WRAPPER=(setarch -R)
    fi
}

# run_one SUITE NUMBER NAME: one ctest test, its line, and what it counts for.
run_one()
{
    local suite=$1 number=$2 name=$3 log result started rc=0 spent report
    log=$DIR/logs/${name//\//.}.log
    started=${EPOCHREALTIME/./}
    rm -rf "$DIR/reports" && mkdir -p "$DIR/reports"
    printf '   %-44s ' "$name"
    [ -z "$VERBOSE" ] || echo
    # A test has its own time limit; this one is that of all tests, with a little to end in. In the
    # background, so that a signal to this script is acted on at once.
    timeout -k 10 $((BUDGET_S + 20 - SECONDS)) "${WRAPPER[@]}" ctest --test-dir "$DIR" -I "$number,$number" -V \
        >"$log" 2>&1 </dev/null &
    RUNNING=$!
    wait $RUNNING || rc=$?
    RUNNING=''
    spent=$(((${EPOCHREALTIME/./} - started) / 1000))
    result=$(count_result "$log" "$number" "$rc") # "state passed failed skipped reason..."
    count_trim "$log" "$number"
    [ -z "$VERBOSE" ] || cat "$log"
    for report in "$DIR"/reports/report.*; do
        [ -e "$report" ] || continue
        { echo "-- ${report##*/}"; cat "$report"; } >>"$log"
        result="failed 0 1 0 a sanitizer reported"
    done
    # shellcheck disable=SC2086 # fields
    set -- $result
    local state=$1 passed=$2 failed=$3 skipped=$4
    shift 4
    S_PASSED=$((S_PASSED + passed)) S_FAILED=$((S_FAILED + failed)) S_SKIPPED=$((S_SKIPPED + skipped))
    printf '%-7s %4d checks %4d.%01d s %s\n' "$state" $((passed + failed + skipped)) $((spent / 1000)) $((spent % 1000 / 100)) "$*"
    case $state in
    failed)
        echo "   -- the end of $log:"
        tail -n 45 "$log" | sed 's/^/   | /'
        ;;
    *) grep '^# ' "$log" | head -n 24 | sed 's/^/   | /' ;; # figures that a test wants to be seen
    esac
}

# run_suite LABEL: every test with this label that has not run yet.
run_suite()
{
    local suite=$1 started=$SECONDS number name line
    local -a tests
    S_PASSED=0 S_FAILED=0 S_SKIPPED=0
    mapfile -t tests < <(ctest --test-dir "$DIR" -N -L "^$suite\$" 2>/dev/null |
        sed -nE 's/^ *Test +#([0-9]+): (.*)$/\1 \2/p' | grep -E -- "^[0-9]+ .*${ONLY:+($ONLY)}")
    if [ ${#tests[@]} = 0 ]; then
        [ -n "$ONLY" ] || echo "== $suite: no tests"
        return
    fi
    echo "== $suite"
    for line in "${tests[@]}"; do
        number=${line%% *} name=${line#* }
        [ -z "${SEEN[$number]-}" ] || continue
        SEEN[$number]=1
        if [ "$SECONDS" -ge "$BUDGET_S" ]; then
            echo "   $name: $OVER, not begun: the $BUDGET_S s for all tests are used up"
            if [ $OVER = failed ]; then S_FAILED=$((S_FAILED + 1)); else S_SKIPPED=$((S_SKIPPED + 1)); fi
            continue
        fi
        run_one "$suite" "$number" "$name"
    done
    PASSED=$((PASSED + S_PASSED)) FAILED=$((FAILED + S_FAILED)) SKIPPED=$((SKIPPED + S_SKIPPED))
    SUMMARY+=("$(printf '%-8s %5d passed %4d failed %4d skipped %5d s' "$suite" "$S_PASSED" "$S_FAILED" "$S_SKIPPED" \
        $((SECONDS - started)))")
}

# Tests that no suite runs would be forgotten: say so, loudly.
check_all_seen()
{
    local line
    [ -z "$ONLY" ] || return
    while read -r line; do
        echo "test.sh: the test $line has the label of no suite (${SUITES[*]})"
        FAILED=$((FAILED + 1))
    done < <(ctest --test-dir "$DIR" -N -LE "^($(IFS='|'; echo "${SUITES[*]}"))\$" 2>/dev/null |
        sed -nE 's/^ *Test +#[0-9]+: (.*)$/\1/p')
}

# timeout passes the signal on to ctest and all that it has started.
# shellcheck disable=SC2317 # reached through the traps
interrupted()
{
    [ -z "$RUNNING" ] || kill -TERM "$RUNNING"
    echo
    echo "test.sh: interrupted"
    exit "$1"
}

parse_arguments "$@"
trap 'interrupted 130' INT
trap 'interrupted 143' TERM HUP
RUNNING=''
DIR=build/$PRESET
WRAPPER=()
SUMMARY=()
declare -A SEEN=()
run=("${SUITES[@]}")
case $PRESET in
asan | tsan) run=(unit plugins system hostile stress) QUICK=1 ;;
esac
if [ -n "$QUICK" ]; then
    export ODEON_TEST_QUICK=1 # stress tests make their runs short
    mapfile -t run < <(printf '%s\n' "${run[@]}" | grep -vxE 'model|rig')
fi

packages_ensure "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}" || give_up "packages are missing"
build "$PRESET"
mkdir -p "$DIR/logs"
rm -f "$DIR"/logs/*
set_sanitizer_options "$PWD/$DIR/reports"
sanitizer_wrapper
for suite in "${run[@]}"; do
    run_suite "$suite"
done
check_all_seen
echo "== time"
[ ${#SUMMARY[@]} = 0 ] || printf '   %s\n' "${SUMMARY[@]}"
echo "   all, packages and build included: $SECONDS s of at most $BUDGET_S s"
if [ "$PASSED" = 0 ] && [ "$FAILED" = 0 ]; then
    echo "test.sh: no test has run${ONLY:+ (none is called like $ONLY)}"
    FAILED=1
fi
finish
