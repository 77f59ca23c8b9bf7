#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One of 64 does not receive, or never returns (tests/hostile/test_crowd.c), held against the
# others' rate without it.
#
#   tests/crowd.sh [--seconds N] [--pairs N] [--build DIR]
#
#   --seconds N  how long either service of a pair runs, in slices (default 5)
#   --pairs N    so many pairs of services, at most 15 (default 7)
#   --build DIR  a build directory (default build/release)
#
# Exit status 0: every book balances, and the median ratio is 0.98 or more. Best on a machine that
# does nothing else.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/release seconds=5 pairs=7
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --pairs) pairs=${2:?--pairs needs a number}; shift ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    *) sed -n '4,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
case $seconds$pairs in '' | *[!0-9.]*) echo "crowd.sh: not a number" >&2; exit 2 ;; esac
program=$build/tests/hostile/test_hostile_crowd
[ -x "$program" ] || {
    echo "crowd.sh: $program is not built: cmake --build $build --target test_hostile_crowd" >&2
    exit 2
}
exec "$program" --strict "$seconds" "$pairs"
