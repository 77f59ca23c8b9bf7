#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_systemd_keep.sh - restarts and kills of odeond and executor lose nothing, double nothing, and
# no client is started again. Runs inside the rig, in the folder that run.sh has made.
#
# One client, started once, posts numbers through all of it; its books are looked at in the end.
set -uo pipefail
export LC_ALL=C
# shellcheck source=tests/rig/service.sh
. ./service.sh

# after TEXT COMMAND...: something happens to the service while numbers flow; another odeond runs,
# and they go on.
after()
{
    local text=$1 main
    shift
    main=$(number_of MainPID)
    check "$text" "$@"
    check "... another odeond runs" eventually 30 main_is_not "$main"
    check "... numbers go on" numbers_flow
}

# Process 0, which there is while none runs, would be all of this test's group.
kill_main()
{
    local pid
    pid=$(number_of MainPID) && [ "$pid" -gt 0 ] && kill -9 "$pid"
}
kill_executor()
{
    kill -9 "$(executor_pid)"
}
# Whoever of the two is faster, the other one gets its signal, too.
kill_both()
{
    kill -9 "$(executor_pid)" "$(number_of MainPID)"
}
kill_again_and_again()
{
    local main
    for _ in {1..20}; do
        main=$(number_of MainPID)
        kill -9 "$main"
        eventually 30 main_is_not "$main" || return 1
    done
}

processed()
{
    odeonctl --json stats | grep -oE '"messages_processed": *[0-9]+' | head -n 1 |
        grep -oE '[0-9]+$'
}
processed_is_above()
{
    local n
    n=$(processed) && echo "$n, more than $1 are wanted" && [ "$n" -gt "$1" ]
}

# shellcheck disable=SC2120 # by check
configure()
{
    printf '%s\n' '[executor]' 'workers = 2' 'affinity = none' "$@" >/etc/odeon/odeond.conf
}

mkdir -p /etc/odeon
# shellcheck disable=SC2119 # none
configure
install_tree
check "systemctl start" systemctl start odeond
check "a plugin is loaded" odeonctl plugin load "$PWD/probe.so"
numbers_begin
check "numbers flow" numbers_flow
check "the service manager keeps descriptors" eventually 30 is_above NFileDescriptorStore 7
check "a setting is changed" odeonctl executor set throughput=77

before=$(processed)
after "systemctl restart" systemctl restart odeond
after "odeond is killed" kill_main
first=$(executor_pid)
check "the executor is killed" kill_executor
check "... another one runs" eventually 30 executor_is_not "$first"
check "... numbers go on" numbers_flow
after "both are killed" kill_both
after "odeond is killed twenty times" kill_again_and_again
check "systemctl daemon-reexec" systemctl daemon-reexec
check "... numbers go on" numbers_flow
after "systemctl restart" systemctl restart odeond

check "the configuration wants other sizes" configure 'queues-per-worker = 3'
after "systemctl restart" systemctl restart odeond
check "... the sizes are those of before" setting_is queues-per-worker 4

# What lies in the store does not fit a start: it is kept, whatever that start does, until one comes
# that it fits.
check "the configuration is wrong" configure 'queues-per-worker = 0'
check "systemctl restart" systemctl restart --no-block odeond
check "... the state is refused" journal_event "$(event STATE_REFUSED)"
check "... and kept" is_above NFileDescriptorStore 7
check "that odeond is killed, too" kill_main
check "... and kept all the same" eventually 30 is_above NFileDescriptorStore 7
check "the configuration is as it was" configure
after "systemctl restart" systemctl restart odeond

check "all numbers are back, each once, in order" numbers_end
check "going on is an event" journal_event "$(event STATE_RESUMED)"
check "the plugin has not been loaded again by anybody" bash -c 'odeonctl plugin list | grep probe'
check "the setting is in force" eventually 30 setting_is throughput 77
check "the statistics have gone on" processed_is_above "$before"
check "the client's end has freed what was kept for it" \
    eventually 30 is_below NFileDescriptorStore 8

check "systemctl stop" systemctl stop odeond
check "nothing is kept" eventually 30 property NFileDescriptorStore 0
check "systemctl start" systemctl start odeond
check "the service is a new one" bash -c '! odeonctl plugin list | grep probe'
check "systemctl stop" systemctl stop odeond.socket odeond.service
echo "1..$COUNT"
[ $BROKEN = 0 ]
