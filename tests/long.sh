#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The long run: the scheduler's settings change under load, every message is checked
# (tests/stress/long.c).
#
#   tests/long.sh [--seconds N] [--build DIR] [--seed S] [--kill] [--minute]
#   tests/long.sh --all         everything that takes too long for the test run, one after the
#   other: some four hours
#
#   --seconds N  how long (default 600)
#   --build DIR  a build directory (default build/release); with a sanitizer's, its reports are
#                looked for
#   --seed S     the changes of an earlier run, as it printed it; the rest of the machine is not
#                repeated
#   --kill       the executor is killed now and then, too
#   --minute     as long as in the test run: 60 s; 20 s when ODEON_TEST_QUICK is set
#
# The last line is the verdict; exit status 0: every message came once, in order; 1: not, or a
# sanitizer reported; 2: could not run.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/release seconds=600

# Each line: what, and how.  All of them run, whatever one says; the table at the end tells which
# was red.
run_all()
{
    local name command started verdict rc=0 table=''
    while IFS='|' read -r name command; do
        started=$SECONDS
        echo "==== $name: $command"
        if $command </dev/null; then verdict=ok; else verdict=RED rc=1; fi
        table+=$(printf '%-12s %-4s %6d s  %s' "$name" $verdict $((SECONDS - started)) \
            "$command")$'\n'
    done <<'LINES'
scheduler|tests/long.sh --seconds 600
kills|tests/long.sh --seconds 300 --kill
promises|build/release/tests/stress/promises --kills 1000
stuck|env ODEON_TEST_STRICT=1 build/release/tests/system/test_system_stuck
crash points|tests/crashpoints.sh
simulation|tests/simulate.sh --seconds 600
soak|tests/soak.sh --minutes 10
shortage|build/release/tests/system/test_system_shortage --all
top|build/release/tests/system/test_system_top_growth --minutes 60
cycles|tests/cycles.sh
tour|tests/system/tour.sh
hostile|tests/hostile.sh
crowd|tests/crowd.sh
fuzzers|tests/fuzz.sh --minutes 10
LINES
    printf '====\n%s' "$table"
    return $rc
}
[ "${1-}" != --all ] || { run_all; exit; }
words=()
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    --seed) words+=(--seed "${2:?--seed needs a number}"); shift ;;
    --kill) words+=(--kill) ;;
    --minute) seconds=60; [ -z "${ODEON_TEST_QUICK-}" ] || seconds=20 ;;
    *) sed -n '5,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
case $seconds in
'' | 0 | *[!0-9]*)
    echo "long.sh: --seconds: not a number of seconds: $seconds" >&2
    exit 2
    ;;
esac
program=$build/tests/stress/long
[ -x "$program" ] || {
    echo "long.sh: $program is not built: cmake --build $build --target long" >&2
    exit 2
}

# Reports of sanitizers go to files, so that those of the daemons are not overlooked; who calls may
# have said where.
reports=''
if [ -z "${TSAN_OPTIONS-}${ASAN_OPTIONS-}" ]; then
    reports=$(mktemp -d) || exit 2
    trap 'rm -rf "$reports"' EXIT
    export ASAN_OPTIONS=log_path=$reports/report:detect_leaks=1 \
        UBSAN_OPTIONS=log_path=$reports/report:print_stacktrace=1
    export TSAN_OPTIONS=log_path=$reports/report:second_deadlock_stack=1:exitcode=66
fi
# ThreadSanitizer of gcc 12 cannot place its shadow memory where mappings are randomised with more
# than 28 bits.
wrapper=()
if grep -q '^ODEON_SANITIZE.*=.*thread' "$build/CMakeCache.txt" 2>/dev/null &&
    setarch -R true 2>/dev/null; then
    wrapper=(setarch -R)
fi
"${wrapper[@]}" "$program" --bin "$build/bin" \
    --plugin "$(realpath "$build")/tests/stress/lanes.so" --seconds "$seconds" "${words[@]}"
rc=$?
if [ -n "$reports" ]; then
    for report in "$reports"/report*; do
        [ -e "$report" ] || continue
        echo "-- ${report##*/}"
        head -n 120 "$report"
        rc=1
    done
    [ -z "$(ls "$reports")" ] || echo "long: BROKEN: a sanitizer reported"
fi
exit $rc
