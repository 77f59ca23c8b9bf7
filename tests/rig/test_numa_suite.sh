#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_numa_suite.sh - programs of the suite and matrix search where memory has several nodes. Runs
# inside the machine of numa.sh: nodes 0 and 1 with CPUs 0-1 and 2-3.
#
# Prints TAP, and for each program under each policy how often a worker has stolen from its own
# node and from the other: `bench=rig_steals program=P policy=P own=N other=N`. Times say nothing
# here, results and counts do.
set -uo pipefail

# shellcheck source=tests/rig/tap.sh
. ./tap.sh
# shellcheck source=tests/rig/numa_service.sh
. ./numa_service.sh

# PROGRAM FIELD=VALUE...
PROGRAMS=(
    "fib n=14"
    "nqueens n=8 t=4 w=12"
    "quicksort n=40000 t=400"
    "recmatmul n=64 t=512 w=8"
    "bitonicsort n=128"
)
# One controller with 24 seekers, each of which has its next job when it has answered.
SEARCH="matrixsearch c=1 s=24 m=128 n=12 w=3 l=4 job=1 hub=2 nodes=2"
# Eight seekers that search for ever: as many as the queues of a node, with so many pages each. None
# has its second job before all have answered the first: so they have their matrices when more
# messages than those of two rounds and of what begins them have been run.
SEEKERS=8 SEEKER_PAGES=2198 SECOND_ROUND=60
ENDLESS="matrixsearch c=1 s=$SEEKERS m=3000 n=100000 w=6 l=4 job=2 hub=2 nodes=1"
SLACK=1800 # pages of the heap, and of the states of actors: less than a matrix has

# number NAME: of the service's statistics.
number()
{
    ./odeonctl --json stats | grep -oE "\"$1\": *[0-9]+" | head -n 1 | grep -oE '[0-9]+$'
}

# ---- results and steals

# run PROGRAM FIELD=VALUE...: right, three times.
run()
{
    ./odeon-savina "$@" --runs 3 --timeout 600 >/tmp/line 2>&1
    local rc=$?
    cat /tmp/line
    [ $rc = 0 ] && grep -q 'check=ok' /tmp/line
}

# tell PROGRAM POLICY: how often was stolen from whom, also added to OWN and OTHER of the policy.
declare -A OWN=() OTHER=()
tell()
{
    local own other
    own=$(($(number steals_core) + $(number steals_l2) + $(number steals_l3) +
        $(number steals_node)))
    other=$(number steals_machine)
    echo "# bench=rig_steals program=$1 policy=$2 own=$own other=$other"
    OWN[$2]=$((${OWN[$2]-0} + own)) OTHER[$2]=$((${OTHER[$2]-0} + other))
}

# suite POLICY
suite()
{
    local program words
    for program in "${PROGRAMS[@]}" "$SEARCH seek=1" "$SEARCH seek=3"; do
        read -ra words <<<"$program"
        check "$1: the service starts for ${words[0]}" \
            service_start savina queues-per-worker=4 stealing="$1"
        check "$1: ${words[*]} is right" run "${words[@]}"
        tell "${words[0]}" "$1"
        check "$1: the service ends behind ${words[0]}" service_stop
    done
}

# Under locality fewer of them are from the other node: half instead of two thirds. It is told and
# not judged, as who steals from whom is up to who is without work just then.
tell_sums()
{
    local policy
    for policy in "$@"; do
        echo "# bench=rig_steals program=all policy=$policy own=${OWN[$policy]}" \
            "other=${OTHER[$policy]}"
    done
}

# ---- memory

# "N0 N1": pages of the executor's own memory on each node, beyond BEFORE.
BEFORE='0 0'
own_pages()
{
    awk -v before="$BEFORE" '/ anon=/ && !/ file=/ {
        for (i = 3; i <= NF; i++)
            if ($i ~ /^N[01]=/) { split(substr($i, 2), pair, "="); n[pair[1]] += pair[2] }
    } END { split(before, was, " "); print n[0] - was[1], n[1] - was[2] }' \
        "/proc/$EXECUTOR/numa_maps"
}

all_are_filled()
{
    local n0 n1 messages
    messages=$(number messages_processed)
    read -r n0 n1 <<<"$(own_pages)"
    echo "messages: $messages, pages: $n0 $n1"
    [ "$messages" -ge $SECOND_ROUND ] && [ $((n0 + n1)) -ge $((SEEKERS * SEEKER_PAGES)) ]
}

# seekers_begin POLICY SEEK: until each has its matrix.
seekers_begin()
{
    local words
    read -ra words <<<"$ENDLESS seek=$2"
    service_start savina queues-per-worker=4 packing=no stealing="$1" || return 1
    executor_find
    BEFORE='0 0'
    BEFORE=$(own_pages)
    ./odeon-savina "${words[@]}" --runs 1 --timeout 3600 >/tmp/line 2>&1 &
    eventually 60 all_are_filled
}

# Pinned seekers are dealt to the workers in turn, and nobody takes them away.
half_on_each()
{
    local n0 n1 half=$((SEEKERS / 2 * SEEKER_PAGES))
    read -r n0 n1 <<<"$(own_pages)"
    echo "pages: $n0 $n1, expected: $half each"
    [ "$n0" -ge $half ] && [ "$n0" -le $((half + SLACK)) ] &&
        [ "$n1" -ge $half ] && [ "$n1" -le $((half + SLACK)) ]
}

# Where nobody steals they are run on their node, so what they touch first is there.
all_on_node_0()
{
    local n0 n1
    read -r n0 n1 <<<"$(own_pages)"
    echo "pages: $n0 $n1"
    [ "$n0" -ge $((SEEKERS * SEEKER_PAGES)) ] && [ "$n1" -le $SLACK ]
}

# Where somebody does, the worker that runs a seeker first has its matrix: that is told.
tell_pages()
{
    local n0 n1
    read -r n0 n1 <<<"$(own_pages)"
    echo "# bench=rig_place policy=$1 own_pages=$n0 other_pages=$n1"
}

executor_gone()
{
    ! kill -0 "$EXECUTOR"
}

savina_has_ended()
{
    ! pgrep odeon-savina
}

# The program has no end: it says that there is no result. The executor may end by itself when its
# service does.
seekers_end()
{
    kill -9 "$(cat /tmp/service)" "$EXECUTOR"
    eventually 20 service_gone && eventually 20 executor_gone &&
        eventually 20 savina_has_ended && cat /tmp/line && ! grep -q check=ok /tmp/line
}

# place POLICY SEEK COMMAND...: what the command says of the matrices when all are there.
place()
{
    local policy=$1 seek=$2
    shift 2
    seekers_begin "$policy" "$seek" >/tmp/begun 2>&1
    check "$policy: seekers placed by $seek have their matrices" all_are_filled
    "$@"
    check "$policy: a program that is killed has no result" seekers_end
}

# A page belongs to one matrix.
[ ! -e /sys/kernel/mm/transparent_hugepage/enabled ] ||
    echo never >/sys/kernel/mm/transparent_hugepage/enabled
for policy in locality longest-victim; do
    suite $policy
    place $policy 4 check "$policy: half of them lie on each node" half_on_each
    place $policy 3 tell_pages $policy
done
tell_sums locality longest-victim
place none 3 check "none: all of them lie on their seekers' node" all_on_node_0
echo "1..$COUNT"
[ $BROKEN = 0 ]
