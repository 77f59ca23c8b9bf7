#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The simulator: the engine's own sources on one thread, under a schedule, crashes and a load that
# are drawn from a seed (tests/sim).
#
#   tests/simulate.sh [--seeds N] [--from N] [--build DIR]    so many seeds from 1 (5000;
#   ODEON_TEST_QUICK: 500)
#   tests/simulate.sh --seed N [--bug NAME]                   one, once more: the same steps, the
#   same trace
#   tests/simulate.sh --seconds S                             seeds that nobody has tried, until the
#   time is over
#   tests/simulate.sh --teeth [--seeds N]                     each deliberate bug must be found, and
#   fail again in the same step
#
# One line for each seed that fails, "seed=… schedule=… steps=…: what"; --seed N repeats it.  Two
# processes at a time. Exit status: 0 nothing was found (--teeth: everything was), 1 not so, 2 could
# not run.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/release seeds=5000 from=1 mode=seeds bug='' seed='' seconds=''
[ -z "${ODEON_TEST_QUICK-}" ] || seeds=500

usage()
{
    sed -n '5,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

number()
{
    case ${2-} in '' | *[!0-9]*) echo "simulate.sh: $1: not a number: ${2-}" >&2; usage ;; esac
}

while [ $# -gt 0 ]; do
    case $1 in
    --seeds) number "$@"; seeds=$2; shift ;;
    --from) number "$@"; from=$2; shift ;;
    --seed) number "$@"; mode=one seed=$2; shift ;;
    --seconds) number "$@"; mode=seconds seconds=$2; shift ;;
    --bug) bug=${2:?--bug needs a name}; shift ;;
    --teeth) mode=teeth ;;
    --build) build=${2:?--build needs a directory}; shift ;;
    *) usage ;;
    esac
    shift
done
program=$build/tests/sim/simulate
[ -x "$program" ] || {
    echo "simulate.sh: $program is not built: cmake --build $build --target simulate" >&2
    exit 2
}
[ -z "$bug" ] || set -- --bug "$bug"

# Two ranges side by side; the worse of the two results.
side_by_side()
{
    local rc=0 result
    "$program" "${first[@]}" "$@" &
    local one=$!
    "$program" "${second[@]}" "$@" || rc=$?
    wait $one
    result=$?
    [ $result -le $rc ] || rc=$result
    return $rc
}

# A bug is found in a seed, and found again there: the same line, trace included.
tooth()
{
    local line again
    line=$("$program" --from "$from" --count "$seeds" --bug "$1" | grep -m1 '^seed=')
    if [ -z "$line" ]; then
        echo "not ok - $1 is not found in $seeds seeds"
        return 1
    fi
    seed=${line#seed=}
    for _ in 1 2; do
        again=$("$program" --seed "${seed%% *}" --bug "$1")
        if [ "$again" != "$line" ]; then
            printf 'not ok - %s is not found again as it was:\n# %s\n# %s\n' "$1" "$line" "$again"
            return 1
        fi
    done
    printf 'ok - %s: %s\n' "$1" "$line"
}

case $mode in
one) exec "$program" --seed "$seed" "$@" ;;
seconds)
    from=$(($(date +%s) * 1000000))
    echo "# from seed $from on"
    first=(--from "$from" --seconds "$seconds" --all) \
        second=(--from $((from + 500000)) --seconds "$seconds" --all)
    side_by_side "$@"
    ;;
seeds)
    first=(--from "$from" --count $((seeds / 2)) --all) \
        second=(--from $((from + seeds / 2)) --count $((seeds - seeds / 2)) --all)
    side_by_side "$@"
    ;;
teeth)
    missed=0 running=0
    verdicts=$(mktemp -d) || exit 2
    trap 'rm -rf "$verdicts"' EXIT
    bugs=$("$program" --list)
    for bug in $bugs; do
        [ $running -lt 2 ] || { wait -n; running=$((running - 1)); }
        tooth "$bug" >"$verdicts/$bug" &
        running=$((running + 1))
    done
    wait
    for bug in $bugs; do
        cat "$verdicts/$bug"
        grep -q '^ok - ' "$verdicts/$bug" || missed=$((missed + 1))
    done
    exit $((missed != 0))
    ;;
esac
