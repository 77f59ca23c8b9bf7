#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_numa.sh - where workers run and memory lies. Runs inside the machine of numa.sh: nodes 0 and
# 1 with CPUs 0-1 and 2-3, node 2 with memory only.
#
# Prints TAP. What the kernel says counts: /proc/PID/task for threads, /proc/PID/numa_maps for
# pages.
set -uo pipefail
SEGMENT=memfd:odeon-segment CGROUP=/sys/fs/cgroup/odeon

# shellcheck source=tests/rig/tap.sh
. ./tap.sh
# shellcheck source=tests/rig/numa_service.sh
. ./numa_service.sh

# Messages through all actors; 27 words a line.
count_words()
{
    ./odeon-wordcount /tmp/text --shards 8 --splitters 4 >/tmp/words 2>&1 ||
        { cat /tmp/words; return 1; }
    grep -E '(^|[^0-9])6000 the$' /tmp/words || { cat /tmp/words; return 1; }
}

# ---- threads

# The CPUs of threads that are bound to one, in order.
bound_cpus()
{
    sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\)$/\1/p' "/proc/$EXECUTOR"/task/*/status |
        sort -n | tr '\n' ' '
}

workers_are_on()
{
    local found
    found=$(bound_cpus)
    echo "bound to: $found, expected: $1"
    [ "$found" = "$1 " ]
}

# Every thread that is bound was seen on its CPU (field 39 of stat; the name is the only one with
# blanks).
workers_run_there()
{
    local task allowed on rc=0
    for task in "/proc/$EXECUTOR"/task/*; do
        allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$task/status")
        case $allowed in *[!0-9]*) continue ;; esac
        on=$(sed 's/.*) //' "$task/stat" | cut -d ' ' -f 37)
        echo "$task: allowed $allowed, on $on"
        [ "$on" = "$allowed" ] || rc=1
    done
    return $rc
}

# ---- memory

# The segment's mappings with their policies; a preference may also be told as "prefer (many)".
segment_maps()
{
    grep $SEGMENT "/proc/$EXECUTOR/numa_maps" | sed 's/prefer (many)/prefer/'
}

# pages POLICY: "N0 N1 N2", the segment's pages on each node in mappings with this policy.
pages()
{
    segment_maps | awk -v policy="$1" '$2 == policy {
        for (i = 3; i <= NF; i++)
            if ($i ~ /^N[0-9]+=/) { split(substr($i, 2), pair, "="); n[pair[1]] += pair[2] }
    } END { print n[0] + 0, n[1] + 0, n[2] + 0 }'
}

# lies_local NODE: windows of this node's workers have pages, and all of them there.
lies_local()
{
    local found
    found=$(pages "prefer:$1")
    echo "pages of mappings for node $1: $found"
    segment_maps
    case $1 in
    0) [[ $found =~ ^[1-9][0-9]*\ 0\ 0$ ]] ;;
    1) [[ $found =~ ^0\ [1-9][0-9]*\ 0$ ]] ;;
    esac
}

nothing_for()
{
    segment_maps
    ! segment_maps | grep -q " prefer:$1 "
}

# Half of them on each of the two nodes, but for odd ends; nothing on the third.
lies_interleaved()
{
    local n0 n1 n2
    read -r n0 n1 n2 <<<"$(pages 'interleave:0-1')"
    echo "pages of interleaved mappings: $n0 $n1 $n2"
    segment_maps
    [ "$n2" = 0 ] && [ $((n0 + n1)) -ge 16 ] && [ $((n0 * 3)) -ge $((n1 * 2)) ] &&
        [ $((n1 * 3)) -ge $((n0 * 2)) ]
}

lies_by_touch()
{
    local n0 n1 n2
    read -r n0 n1 n2 <<<"$(pages default)"
    echo "pages of mappings without a policy: $n0 $n1 $n2"
    segment_maps
    [ "$n2" = 0 ] && [ "$n1" -gt "$n0" ] && ! segment_maps | grep -E 'prefer|interleave'
}

# ---- CPUs

cpu_set_online()
{
    echo "$2" >"/sys/devices/system/cpu/cpu$1/online"
}

cpuset_allow()
{
    echo "$1" >$CGROUP/cpuset.cpus
}

seq 3000 | sed 's/.*/the quick brown fox jumps over the lazy dog/' >/tmp/text
mkdir -p /run/odeon
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
mkdir $CGROUP
cpuset_allow 0-3
echo $$ >$CGROUP/cgroup.procs

check "the service starts with a worker for each core" service_start wordcount queues-per-worker=4
executor_find
# Each binds itself, when it gets a processor for the first time: the service does not wait for it.
check "each worker is bound to one" eventually 10 workers_are_on "0 1 2 3"
check "the node without processors is named" log_has 'memory node 2 has no processor'
check "messages are counted" count_words
check "workers run where they are bound" workers_run_there
check "memory of workers of node 0 lies there" lies_local 0
check "memory of workers of node 1 lies there" lies_local 1

check "a core is taken offline" cpu_set_online 3 0
check "the log says whose it was, and where it goes" eventually 10 \
    log_has 'CPU 3 may not be used any more: worker 3 goes on on CPU 2'
check "its worker is bound to the neighbour" eventually 10 workers_are_on "0 1 2 2"
check "messages are counted without it" count_words
check "the core comes back" cpu_set_online 3 1
check "the log says so" eventually 10 log_has 'CPU 3 may be used again: worker 3 runs there'
check "its worker is bound to it again" eventually 10 workers_are_on "0 1 2 3"

check "the cpuset shrinks to one node" cpuset_allow 0-1
check "the log names what is lost" eventually 10 \
    log_has 'CPU 2 may not be used any more: worker 2 goes on on CPU [01]'
check "workers share what is left" eventually 10 workers_are_on "0 0 1 1"
check "messages are counted with half the machine" count_words
check "the cpuset grows again" cpuset_allow 0-3
check "workers are bound as before" eventually 10 workers_are_on "0 1 2 3"
check "the service ends" service_stop

check "a start with a list of one CPU" \
    service_start wordcount queues-per-worker=4 workers=1 workers-max=1 affinity=2
executor_find
check "the worker is bound to it" eventually 10 workers_are_on "2"
check "messages are counted by one worker" count_words
check "all of its memory lies on its node" lies_local 1
check "nothing is meant for the other" nothing_for 0
check "the service ends, the list too" service_stop

check "a start with memory interleaved" \
    service_start wordcount queues-per-worker=4 workers=2 workers-max=2 affinity=0,3 \
    memory=interleave
executor_find
check "messages are counted, interleaved" count_words
check "memory lies on both nodes alike" lies_interleaved
check "a core of the list is taken offline" cpu_set_online 3 0
check "the executor is killed meanwhile" kill -9 "$EXECUTOR"
check "another one comes up" eventually 20 executor_is_not "$EXECUTOR"
executor_find
check "without the core" eventually 10 workers_are_on "0 0"
check "messages are counted after that" eventually 10 count_words
check "the core of the list comes back" cpu_set_online 3 1
check "to the worker that it belongs to" eventually 10 workers_are_on "0 3"
check "the service ends, interleaved" service_stop

# without a list, what the next executor finds is not what was wished for
check "a start with a worker for each core" service_start wordcount queues-per-worker=4
executor_find
check "the cpuset is one node, nobody asked" cpuset_allow 0-1
check "workers share it" eventually 10 workers_are_on "0 0 1 1"
check "the executor is killed with that" kill -9 "$EXECUTOR"
check "another one comes up on that node" eventually 20 executor_is_not "$EXECUTOR"
executor_find
check "and shares it out" eventually 10 workers_are_on "0 0 1 1"
check "the cpuset is the machine again" cpuset_allow 0-3
check "each worker has its core" eventually 10 workers_are_on "0 1 2 3"
check "a core that came later can be asked for" ./odeonctl executor set affinity=0,3
check "and is used" eventually 10 workers_are_on "0 0 3 3"
check "messages are counted there" count_words
check "the service ends, with all cores" service_stop

check "a start with memory where it is touched" \
    service_start wordcount queues-per-worker=4 workers=1 workers-max=1 affinity=3 \
    memory=first-touch
executor_find
check "messages are counted, untold" count_words
check "memory lies where the worker runs" lies_by_touch
check "the service ends, untold" service_stop
echo "1..$COUNT"
[ $BROKEN = 0 ]
