#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The soak: clients, actors and a bank under random kills of everybody; at the end the books must
# balance (tests/soak/soak.c).
#
#   tests/soak.sh [--minutes N | --seconds N | --short] [--build DIR] [--seed S] [--inject]
#
#   --minutes N  how long (default 10)
#   --short      as long as in the test run: 35 s; 12 s when ODEON_TEST_QUICK is set
#   --build DIR  a build directory (default build/release); with a sanitizer's, its reports are
#                looked for
#   --seed S     the kills and posts of an earlier run, as it printed it; the rest of the machine is
#                not repeated
#   --inject     an executor that also kills itself at the narrow places (daemon/engine/base/seed.h)
#
# The last line is the verdict, for programs, too; exit status 0: nothing lost, nothing twice; 1:
# not, or too little was hit, or a sanitizer reported; 2: could not run.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/release seconds=600 inject=
words=()
while [ $# -gt 0 ]; do
    case $1 in
    --minutes) seconds=$((${2:?--minutes needs a number} * 60)); shift ;;
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --short) seconds=35; [ -z "${ODEON_TEST_QUICK-}" ] || seconds=12 ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    --inject) inject=yes ;;
    --seed) words+=(--seed "${2:?--seed needs a number}"); shift ;;
    *) sed -n '5,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
program=$build/tests/soak/soak
[ -x "$program" ] || {
    echo "soak.sh: $program is not built: cmake --build $build --target soak" >&2
    exit 2
}

if [ -n "$inject" ]; then
    words+=(--executor "$(realpath "$build")/tests/stress/executor-inject")
    [ -x "${words[-1]}" ] || {
        echo "soak.sh: ${words[-1]} is not built: cmake --build $build --target executor-inject" >&2
        exit 2
    }
    kills=handler:3000,outbox:500,undo:2000,lock:2000,copied:2000,journal:2000,published:2000
    kills+=,step:2000,parked:300,release:500,port:200,recovery:3
    export ODEON_INJECT=${ODEON_INJECT-$kills}
fi

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
grep -q '^ODEON_SANITIZE[^=]*=.' "$build/CMakeCache.txt" 2>/dev/null && words+=(--sanitized)
"${wrapper[@]}" "$program" --seconds "$seconds" "${words[@]}"
rc=$?
if [ -n "$reports" ]; then
    for report in "$reports"/report*; do
        [ -e "$report" ] || continue
        echo "-- ${report##*/}"
        head -n 120 "$report"
        rc=1
    done
    [ -z "$(ls "$reports")" ] || echo "soak=BROKEN a sanitizer reported"
fi
exit $rc
