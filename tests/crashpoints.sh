#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The crash points: routines of the engine are killed behind every instruction, and recovered from;
# so is recovery, twice over (tests/crashpoints/README.md).
#
#   tests/crashpoints.sh [--quick] [--build DIR] [--only TEXT] [--jobs N]
#
#   --quick      as in the test run: below a minute
#   --build DIR  a build directory (default build/release)
#   --only TEXT  routines and deliberate bugs with this in their names
#   --jobs N     processes that recover (default: as many as there are processors)
#
# TAP lines, each with the number of instructions or stores and of states that were recovered from;
# on standard error, in a long run, how far it is.  Without --only, the last line says whether a
# routine that stores was never stepped (tests/crashpoints/unstepped.sh).
#
# Exit status 0: all books balance, each deliberate bug is found, and no routine is missing; 1: not;
# 2: could not run.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/release only='' quick=() jobs=()
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=(--quick) ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    --only) only=${2:?--only needs a text}; shift ;;
    --jobs) jobs=(--jobs "${2:?--jobs needs a number}"); shift ;;
    *) sed -n '6,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
for program in crashpoints crashpoints_seeded; do
    [ -x "$build/tests/crashpoints/$program" ] || {
        echo "crashpoints.sh: $program is not built: cmake --build $build --target $program" >&2
        exit 2
    }
done
rc=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
program=$build/tests/crashpoints/crashpoints
# Recovery takes longest: the rest runs beside it, and is shown behind it.
{
    echo "# every instruction of a routine"
    "$program" "${quick[@]}" --only "$only" --places "$work/routines"
    routines=$?
    echo "# deliberate bugs"
    "${program}_seeded" "${quick[@]}" --only "$only" && [ $routines = 0 ]
} >"$work/others" &
echo "# recovery, and recovery of recovery"
"$program" "${quick[@]}" "${jobs[@]}" --recovery --only "$only" --places "$work/recovery" || rc=1
wait $! || rc=1
cat "$work/others"
if [ -z "$only" ]; then
    echo "# what was never stepped"
    tests/crashpoints/unstepped.sh "${quick[@]}" "$program" "$work"/{routines,recovery} || rc=1
fi
exit $rc
