#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hostile clients at full speed beside honest ones (tests/hostile/test_storm.c), long.
#
#   tests/hostile.sh [--seconds N] [--rounds N] [--hold MS] [--build DIR]
#
#   --seconds N  how long an attack lasts (default 12: random words, which last five times as long,
#                take a minute)
#   --rounds N   so many alternating runs of random words, by one process and by many, and of ones
#                that only burn CPU time (default 7, 0: none)
#   --hold MS    offender-hold-ms of that comparison (default 100, as the service has it; 0 shows
#                what the holds are for)
#   --build DIR  a build directory (default build/release)
#
# Every attack, with no holds: the service lives, each offence is answered and named, nobody else
# loses anything. The comparison: honest clients' p99 beside the offender at most 1.25 times that
# beside a process that burns as much CPU time, medians; each offence answered within a second. Best
# on a machine that does nothing else. Exit status 0: all that held.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/release seconds=12 rounds=7 hold=100
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --rounds) rounds=${2:?--rounds needs a number}; shift ;;
    --hold) hold=${2:?--hold needs a number}; shift ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    *) sed -n '5,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
case $seconds$rounds$hold in '' | *[!0-9]*) echo "hostile.sh: not a number" >&2; exit 2 ;; esac
program=$build/tests/hostile/test_hostile_storm
[ -x "$program" ] || {
    echo "hostile.sh: $program is not built: cmake --build $build --target test_hostile_storm" >&2
    exit 2
}
export ODEON_STORM_SECONDS=$seconds
"$program" || exit 1
[ "$rounds" = 0 ] || ODEON_STORM_HOLD_MS=$hold exec "$program" --compare "$rounds"
