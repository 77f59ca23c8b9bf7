#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_systemd_events.sh - socket activation, reloads, starts that fail, and what the journal says
# of all that. Runs inside the rig, in the folder that run.sh has made.
set -uo pipefail
export LC_ALL=C
# shellcheck source=tests/rig/service.sh
. ./service.sh
CONFIGURATION=/etc/odeon/odeond.conf

# shellcheck disable=SC2120 # by check
configure()
{
    printf '%s\n' '[executor]' 'workers = 2' 'affinity = none' "$@" >$CONFIGURATION
}

# A line of another user's process is found by that process's id.
refused_by_pid()
{
    local pid
    setpriv --reuid=12345 --regid=12345 --clear-groups odeonctl status >/dev/null 2>&1 &
    pid=$!
    ! wait $pid || return 1
    echo "process $pid"
    journal_event "$(event CLIENT_REFUSED)" "ODEON_CLIENT_PID=$pid"
}

mkdir -p /etc/odeon
# shellcheck disable=SC2119 # none
configure
install_tree

check "the socket is started alone" systemctl start odeond.socket
check "the service does not run" property ActiveState inactive
check "a first client is answered" odeonctl status
check "the service runs" eventually 30 property ActiveState active
check "it is stopped" systemctl stop odeond.service
check "the next client starts it again" odeonctl status
check "up to the end: a reload of a service that is still starting would be taken for its start" \
    eventually 30 property ActiveState active
check "being ready is an event" journal_event "$(event SERVICE_READY)"

check "a setting is changed by a reload" configure 'throughput = 77'
check "systemctl reload" systemctl reload odeond
check "it is in force" eventually 30 setting_is throughput 77
check "that is an event" journal_event "$(event RELOAD_APPLIED)"
main=$(number_of MainPID)
check "a reload has one good and one wrong setting" configure 'throughput = 88' 'spin-us = much'
check "systemctl reload" systemctl reload odeond
check "the journal says that nothing is changed" \
    eventually 30 journal_event "$(event RELOAD_REFUSED)"
check "the good one is not in force" setting_is throughput 77
check "the service is active, with the same process" property MainPID "$main"
check "the catalogue says what to do" explained "$(event RELOAD_REFUSED)" 'odeond --check'

check "it is stopped" systemctl stop odeond.service
check "a start with that mistake does not succeed" bash -c '! systemctl start odeond.service'
check "that is an event" journal_event "$(event SERVICE_FAILED)"
check "it is tried again, and again" eventually 60 is_above NRestarts 3
check "the mistake is repaired" configure
check "the service comes up by itself" eventually 60 property ActiveState active
check "and answers" odeonctl status

check "a user without a role is refused, and named by process" refused_by_pid
check "a plugin is loaded" odeonctl plugin load "$PWD/probe.so"
check "an actor is spawned" odeonctl actor spawn probe_ledger --name victim
# the executor may be gone before it has answered
odeonctl actor send victim probe_crash attempts=1 >/dev/null 2>&1
check "plugin and actor type are fields of the journal" \
    eventually 30 journal_event "$(event HANDLER_CRASHED)" \
        ODEON_PLUGIN=probe ODEON_ACTOR_TYPE=probe_ledger
check "other types are not" no_journal_event "$(event HANDLER_CRASHED)" ODEON_ACTOR_TYPE=probe_echo
check "the catalogue's text names the plugin" \
    explained "$(event HANDLER_CRASHED)" 'A handler of plugin probe has crashed'
check "the executor's return is an event" eventually 30 journal_event "$(event EXECUTOR_BACK)"
check "what a handler logs has its type" \
    odeonctl actor send victim probe_note level=5 text=remarkable
check "and can be found by it" eventually 30 journal_line ODEON_ACTOR_TYPE=probe_ledger remarkable
check "after so many crashes a type is not run any more" odeonctl executor set quarantine-crashes=1
odeonctl actor send victim probe_crash attempts=9 >/dev/null 2>&1
check "that is an event, too, with its type" \
    eventually 30 journal_event "$(event TYPE_QUARANTINED)" \
        ODEON_PLUGIN=probe ODEON_ACTOR_TYPE=probe_ledger
check "systemctl stop" systemctl stop odeond.socket odeond.service
echo "1..$COUNT"
[ $BROKEN = 0 ]
