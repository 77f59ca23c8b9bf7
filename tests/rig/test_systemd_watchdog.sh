#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_systemd_watchdog.sh - when the watchdog fires, and when it must not. Runs inside the rig, in
# the folder that run.sh has made.
#
# The period is 3 s here: what must fire is waited for with far more patience, what must not fire is
# looked at for two periods. Whoever does not get a processor for a period is ended by the manager
# though nothing is wrong, and before it could say what is: what must not fire, or not before there
# is a word of it, is tried again with a period of twice the length. A service that is wrong is so
# with each.
set -uo pipefail
export LC_ALL=C
# shellcheck source=tests/rig/service.sh
. ./service.sh
PERIOD_S=3 PERIOD_MOST_S=100

# period_is SECONDS: of the odeond that is started next.
period_is()
{
    echo "$1" >period
    drop_in "WatchdogSec=$1s"
}

# in_time COMMAND...: with the period behind its arguments. Status 2: no period would help.
in_time()
{
    local period rc
    period=$(cat period)
    while rc=0 && "$@" "$period" || rc=$?; [ $rc != 0 ]; do
        period=$((2 * period))
        [ $rc = 1 ] && [ $period -lt $PERIOD_MOST_S ] || return 1
        echo "again, with a period of $period s"
        period_is $period
        systemctl restart odeond || return 1
    done
}

# fed_after MICROSECONDS: of the monotonic clock.
fed_after()
{
    is_above WatchdogTimestampMonotonic "$1"
}
uptime_us()
{
    local seconds
    read -r seconds _ </proc/uptime
    echo $((10#${seconds/./} * 10000))
}

# busy WORKER SECONDS: that worker is in a handler for so long.
busy()
{
    odeonctl actor spawn probe_ledger --name "busy$1.$2" --pinned="$1" &&
        odeonctl actor send "busy$1.$2" probe_work ns="$2"000000000
}

# fed_for N PERIOD: for so many periods nothing is started again.
fed_for()
{
    local begun restarts
    restarts=$(number_of NRestarts)
    begun=$(uptime_us)
    eventually 30 fed_after $((begun + $1 * $2 * 1000000)) || return 2
    property NRestarts "$restarts"
}
fed_beside_a_handler()
{
    busy 0 $((4 * $1)) && fed_for 2 "$1"
}

# fires SAYING COMMAND...: the command makes the watchdog fire, which the journal explains.
fires()
{
    local restarts saying=$1
    shift
    restarts=$(number_of NRestarts)
    "$@" || return 1
    eventually 60 is_above NRestarts "$restarts" || return 2
    journal_event_now "$(event WATCHDOG_WITHHELD)" && journal_has_now "$saying"
}
stop_executor()
{
    local pid
    pid=$(executor_pid) && [ "$pid" != 0 ] && kill -STOP "$pid"
}
fires_for_executor()
{
    fires 'the executor does not answer' stop_executor
}
# They do not end by themselves, so that the second one finds the first, however late it begins.
busy_both()
{
    busy 0 $((3600 + $1)) && busy 1 $((3600 + $1))
}
fires_for_handlers()
{
    fires 'all 2 workers are in handlers' busy_both "$1"
}
ends_odeond()
{
    local main
    main=$(number_of MainPID)
    [ "$main" != 0 ] && kill -STOP "$main" || return 1
    eventually 60 main_is_not "$main" || return 2
}
executor_dies()
{
    kill -9 "$1"
    eventually 30 bash -c "! kill -0 $1"
}

mkdir -p /etc/odeon
printf '%s\n' '[odeond]' 'drain-timeout-ms = 100' '[executor]' 'workers = 2' 'affinity = none' \
    >/etc/odeon/odeond.conf
install_tree
period_is $PERIOD_S
check "systemctl start" systemctl start odeond
check "a plugin is loaded" odeonctl plugin load "$PWD/probe.so"

numbers_begin
check "numbers flow" numbers_flow
check "the watchdog is fed while nothing is to be done" in_time fed_for 1
check "one handler of two takes long: it is fed all the same" in_time fed_beside_a_handler

check "the executor stands still: the watchdog fires, the journal says why" \
    in_time fires_for_executor
check "the service is there again" eventually 30 odeonctl status

check "numbers go on, their client was not started again" numbers_flow
check "odeond stands still: the watchdog fires" in_time ends_odeond
check "the service is there again" eventually 30 odeonctl status
check "numbers go on" numbers_flow
check "all are back, each once, in order" numbers_end

check "both workers are in handlers: the watchdog fires, the journal says that all are" \
    in_time fires_for_handlers

# Nobody is blamed for a kill from outside, so these two would be run again, and again: such
# handlers are what stall-kill-ms is for.
check "systemctl stop" systemctl stop odeond
period_is $PERIOD_S
check "systemctl start" systemctl start odeond
program=$(find /usr -name odeon-executor | head -n 1)
fourth=$(number_of NRestarts)
check "a plugin is loaded" odeonctl plugin load "$PWD/probe.so"
numbers_begin
check "numbers flow" numbers_flow
executor=$(executor_pid)
check "the executor's program is gone" mv "$program" "$program.away"
check "the executor dies" executor_dies "${executor:?}"
check "the watchdog fires" eventually 60 is_above NRestarts "$fourth"
check "no start succeeds, and the service manager does not give up" \
    eventually 60 is_above NRestarts $((fourth + 3))
check "the program is back" mv "$program.away" "$program"
check "the service is there again, by itself" eventually 60 odeonctl status
check "numbers go on" numbers_flow
check "all are back, each once, in order" numbers_end
check "systemctl stop" systemctl stop odeond.socket odeond.service
echo "1..$COUNT"
[ $BROKEN = 0 ]
