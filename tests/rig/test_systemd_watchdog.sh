#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_systemd_watchdog.sh - when the watchdog fires, and when it must not. Runs inside the rig, in
# the folder that run.sh has made.
#
# The period is 3 s here: what must fire is waited for with far more patience, what must not fire is
# looked at for two periods.
set -uo pipefail
export LC_ALL=C
# shellcheck source=tests/rig/service.sh
. ./service.sh
PERIOD_US=3000000

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

service_is()
{
    property ActiveState "$1"
}

mkdir -p /etc/odeon
printf '%s\n' '[odeond]' 'drain-timeout-ms = 100' '[executor]' 'workers = 2' 'affinity = none' \
    >/etc/odeon/odeond.conf
install_tree
drop_in WatchdogSec=3s
check "systemctl start" systemctl start odeond
check "a plugin is loaded" odeonctl plugin load "$PWD/probe.so"

numbers_begin
check "numbers flow" numbers_flow
begun=$(uptime_us)
check "the watchdog is fed while nothing is to be done" \
    eventually 30 fed_after $((begun + PERIOD_US))
check "one handler of two takes long" busy 0 12
begun=$(uptime_us)
check "the watchdog is fed all the same" eventually 30 fed_after $((begun + 2 * PERIOD_US))
check "nothing was started again" property NRestarts 0

check "the executor stands still" kill -STOP "$(executor_pid)"
check "the watchdog fires" eventually 60 is_above NRestarts 0
check "the journal says why" journal_event "$(event WATCHDOG_WITHHELD)"
check "... in words" journal_has 'the executor does not answer'
check "the service is there again" eventually 30 odeonctl status

check "numbers go on, their client was not started again" numbers_flow
check "odeond stands still" kill -STOP "$(systemctl show -P MainPID odeond)"
check "the watchdog fires" eventually 60 is_above NRestarts 1
check "the service is there again" eventually 30 odeonctl status
check "numbers go on" numbers_flow
check "all are back, each once, in order" numbers_end

check "one of two workers is in a handler" busy 0 15
check "and so is the other" busy 1 16
check "the watchdog fires" eventually 60 is_above NRestarts 2
check "the journal says that all workers are" journal_has 'all 2 workers are in handlers'

# Nobody is blamed for a kill from outside, so these two would be run again, and again: such
# handlers are what stall-kill-ms is for.
check "systemctl stop" systemctl stop odeond
check "systemctl start" systemctl start odeond
program=$(find /usr -name odeon-executor | head -n 1)
fourth=$(number_of NRestarts)
check "a plugin is loaded" odeonctl plugin load "$PWD/probe.so"
numbers_begin
check "numbers flow" numbers_flow
check "the executor's program is gone" mv "$program" "$program.away"
check "the executor dies" bash -c "kill -9 $(executor_pid)"
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
