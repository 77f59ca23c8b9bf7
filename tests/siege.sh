#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The siege: all attacks at once, from three users, beside honest clients and root (tests/siege).
#
#   tests/siege.sh [--minutes N | --seconds N] [--groups N] [--build DIR]
#
#   --minutes N  so long (default 10), in twenty rounds; behind each, processes that burn as much
#                processor time take the attackers' place for half of its time, then further ones
#                also burn what the service has computed; the honest calls' p99 may be at most 1.5
#                times that beside the first, by the median of the twenty pairs
#   --seconds N  so long, in one round: the figures are printed
#   --groups N   the service and each user have a processor group, as services have: the service's
#                of weight N (CPUWeight=), the others of 100
#   --build DIR  a build directory (default build/release)
#
# Needs root, for the users and for a memory group of 512 MB; without, it is skipped. Best on a
# machine that does nothing else. Exit status 0: all that held.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/release seconds=600
words=(--pairs 20 --strict --work) groups=()
while [ $# -gt 0 ]; do
    case $1 in
    --minutes)
        minutes=${2:?--minutes needs a number}
        case $minutes in *[!0-9]*) echo "siege.sh: not a number" >&2; exit 2 ;; esac
        seconds=$((minutes * 60)) words=(--pairs 20 --strict --work)
        shift
        ;;
    --seconds) seconds=${2:?--seconds needs a number} words=(); shift ;;
    --groups) groups=(--groups "${2:?--groups needs a weight}"); shift ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    --help) sed -n '3,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) sed -n '5,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
case ${groups[1]-} in 0 | *[!0-9]*) echo "siege.sh: not a weight" >&2; exit 2 ;; esac
case $seconds in '' | *[!0-9]*) echo "siege.sh: not a number" >&2; exit 2 ;; esac
program=$build/tests/siege/siege
[ -x "$program" ] || {
    echo "siege.sh: $program is not built: cmake --build $build --target siege" >&2
    exit 2
}
exec "$program" --seconds "$seconds" "${words[@]}" "${groups[@]}"
