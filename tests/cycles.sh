#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Clients that connect, open a port, post and are killed, one after the other: nothing that was
# accepted may be lost or received twice, and nothing may be left of them
# (tests/system/test_cycles.c).
#
#   tests/cycles.sh [--cycles N] [--build DIR]
#
#   --cycles N   how many clients (default 100000, some seven minutes)
#   --build DIR  a build directory (default build/release)
#
# Exit status 0: all books balanced; 1: not; 2: could not run.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/release cycles=100000
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=${2:?--build needs a directory}; shift ;;
    --cycles) cycles=${2:?--cycles needs a number}; shift ;;
    *) sed -n '6,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
case $cycles in
'' | 0 | *[!0-9]*)
    echo "cycles.sh: --cycles: not a number: $cycles" >&2
    exit 2
    ;;
esac
program=$build/tests/system/test_system_cycles
[ -x "$program" ] || {
    echo "cycles.sh: $program is not built: cmake --build $build --target test_system_cycles" >&2
    exit 2
}
"$program" "$cycles" || exit 1
