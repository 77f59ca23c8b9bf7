#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The siege: all attacks at once, from three users, beside honest clients and root (tests/siege).
#
#   tests/siege.sh [--minutes N | --seconds N] [--build DIR]
#
#   --minutes N  so long (default 10), in twenty rounds; behind each, processes that burn as much
#                processor time take the attackers' place for half of its time, then further ones
#                also burn what the service has computed; the honest calls' p99 may be at most 1.5
#                times that beside the first, by the median of the twenty pairs
#   --seconds N  so long, in one round: the figures are printed
#   --build DIR  a build directory (default build/release)
#
# Needs root, for the users and for a memory group of 512 MB; without, it is skipped. Best on a
# machine that does nothing else. Exit status 0: all that held.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/release seconds=600
words=(--pairs 20 --strict --work)
while [ $# -gt 0 ]; do
    case $1 in
    --minutes)
        minutes=${2:?--minutes needs a number}
        case $minutes in *[!0-9]*) echo "siege.sh: not a number" >&2; exit 2 ;; esac
        seconds=$((minutes * 60)) words=(--pairs 20 --strict --work)
        shift
        ;;
    --seconds) seconds=${2:?--seconds needs a number} words=(); shift ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    --help) sed -n '3,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) sed -n '5,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
case $seconds in '' | *[!0-9]*) echo "siege.sh: not a number" >&2; exit 2 ;; esac
program=$build/tests/siege/siege
[ -x "$program" ] || {
    echo "siege.sh: $program is not built: cmake --build $build --target siege" >&2
    exit 2
}
exec "$program" --seconds "$seconds" "${words[@]}"
