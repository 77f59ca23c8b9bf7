#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_teardown.sh LOSING: a group of tests that fails in its teardown is a failure (teardown.c),
# for whoever runs its program, for ctest, and for what test.sh counts (count.sh). Prints TAP.
set -uo pipefail
LOSING=$(realpath -e "${1-}") || exit 2
# shellcheck source=tests/run/count.sh
. "$(dirname "$0")/count.sh"
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
# shellcheck source=tests/run/is.sh
. "$(dirname "$0")/is.sh"

# try WHERE STATUS CTEST_STATUS COUNTED: of a program that is lost there.
try()
{
    local rc=0 state passed failed skipped
    "$LOSING" "$1" >"$WORK/log" 2>&1 </dev/null || rc=$?
    is "$1: its status" "$rc" "$2"
    echo "add_test(losing \"$LOSING\" \"$1\")" >"$WORK/CTestTestfile.cmake"
    rc=0
    ctest --test-dir "$WORK" -I 1,1 -V >"$WORK/log" 2>&1 </dev/null || rc=$?
    is "$1: ctest's" "$rc" "$3"
    read -r state passed failed skipped _ < <(count_result "$WORK/log" 1 "$rc" ended)
    is "$1: what is counted" "$state $passed $failed $skipped" "$4"
}

try nowhere 0 0 "passed 3 0 0"
try test 1 8 "failed 2 1 0"
try teardown 1 8 "failed 3 1 0"
try return 1 8 "failed 3 1 0"
try test-and-teardown 2 8 "failed 2 2 0"
echo "1..$COUNT"
[ $BROKEN = 0 ]
